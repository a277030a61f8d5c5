// SPDX-License-Identifier: GPL-2.0-or-later
#include "try/machine.h"

#include <ctype.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NODES 1024
#define F_MEMS_ALLOWED 4	/* MPOL_F_MEMS_ALLOWED */

unsigned try_machine_nodes(void)
{
	uint64_t nodes[NODES / 64] = { 0 };
	unsigned n = 0, i;
	int mode;

	if (syscall(SYS_get_mempolicy, &mode, nodes, (unsigned long)NODES,
		    NULL, (unsigned long)F_MEMS_ALLOWED))
		return 1;
	for (i = 0; i < NODES / 64; i++)
		n += (unsigned)__builtin_popcountll(nodes[i]);
	return n ? n : 1;
}

/* The first CPU of the core that a CPU is of; -1: not known. */
static int core_of(const char *folder, int cpu)
{
	char path[256], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/cpu%d/topology/thread_siblings_list",
		 folder, cpu);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (!fgets(text, sizeof(text), f))
		text[0] = 0;
	fclose(f);
	return isdigit((unsigned char)text[0]) ? atoi(text) : -1;
}

unsigned try_machine_cores(const char *folder)
{
	unsigned char seen[CPU_SETSIZE] = { 0 };
	unsigned n = 0;
	cpu_set_t set;
	int cpu, core;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 0;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		core = core_of(folder, cpu);
		if (core < 0 || core >= CPU_SETSIZE)
			return 0;
		n += !seen[core];
		seen[core] = 1;
	}
	return n;
}

int try_machine_is_virtual(void)
{
	char line[4096];
	FILE *f = fopen("/proc/cpuinfo", "re");
	int is = 0;

	while (f && !is && fgets(line, sizeof(line), f))
		if (!strncmp(line, "flags", 5))
			is = strstr(line, " hypervisor") != NULL;
	if (f)
		fclose(f);
	return is;
}

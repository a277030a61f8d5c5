// SPDX-License-Identifier: GPL-2.0-or-later
#include "doctor/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *id;
	const char *title;
	void (*run)(struct probe *p);
} all[] = {
	{ "page_faults", "see page faults (perf)", probe_perf_user },
	{ "kernel_faults", "see faults inside system calls",
	  probe_perf_kernel },
	{ "ring", "room for samples (perf ring)", probe_perf_ring },
	{ "tracepoint", "exact read or write (tracepoint)",
	  probe_tracepoint },
	{ "ptrace", "control a program (ptrace)", probe_ptrace },
	{ "attach", "attach to a running program (-p)", probe_attach },
	{ "seccomp", "stop at chosen system calls (seccomp)",
	  probe_seccomp },
	{ "pidfd_getfd", "fetch the program's descriptors",
	  probe_pidfd_getfd },
	{ "userfaultfd", "userfaultfd", probe_userfaultfd },
	{ "wp_shmem", "see each page alone (no fault-around)",
	  probe_wp_shmem },
	{ "wp_async", "protect any mapping (WP_ASYNC)", probe_wp_async },
	{ "rwp", "protect memory where it is (RWP)", probe_rwp },
	{ "memfd", "back memory with a memfd", probe_memfd },
	{ "process_madvise", "reset many regions at once",
	  probe_process_madvise },
	{ "pagemap", "physical addresses (pagemap)", probe_pagemap },
	{ "move_pages", "NUMA node of a page", probe_move_pages },
	{ "machine", "CPUs and NUMA nodes", probe_machine },
	{ "thp", "transparent huge pages", probe_thp },
	{ "overcommit", "memory overcommit", probe_overcommit },
	{ "max_map_count", "number of mappings", probe_map_count },
	{ "translator", "count every access (translator)", probe_translator },
	{ "address_space", "room for counters", probe_address_space },
	{ "kernel_module", "the kernel module moca", probe_kernel_module },
};

int probe_all(struct probe probes[PROBES_MAX])
{
	int n = sizeof(all) / sizeof(all[0]), i;

	_Static_assert(sizeof(all) / sizeof(all[0]) <= PROBES_MAX,
		       "PROBES_MAX is too small");
	memset(probes, 0, PROBES_MAX * sizeof(*probes));
	for (i = 0; i < n; i++) {
		probes[i].id = all[i].id;
		probes[i].title = all[i].title;
		all[i].run(&probes[i]);
	}
	return n;
}

const struct probe *probe_find(const struct probe *probes, int count,
			       const char *id)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(probes[i].id, id))
			return &probes[i];
	abort();
}

int probe_read(const char *path, char *buf, unsigned long size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	ssize_t n;

	buf[0] = 0;
	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	err = n < 0 ? -errno : 0;
	close(fd);
	if (err)
		return err;
	buf[n] = 0;
	buf[strcspn(buf, "\n")] = 0;
	return 0;
}

void probe_set(struct probe *p, enum probe_status status, const char *fmt, ...)
{
	va_list ap;

	p->status = status;
	va_start(ap, fmt);
	vsnprintf(p->found, sizeof(p->found), fmt, ap);
	va_end(ap);
}

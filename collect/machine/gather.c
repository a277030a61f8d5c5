// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/machine/gather.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/machine/machine.h"
#include "collect/machine/sysfs.h"
#include "lib/base/proc.h"

#define NODES "/sys/devices/system/node"
#define TIERS "/sys/devices/virtual/memory_tiering"
#define THP "/sys/kernel/mm/transparent_hugepage"
#define POOLS "/sys/kernel/mm/hugepages"

/* --- nodes ---------------------------------------------------------------- */

static uint64_t meminfo(unsigned node, const char *what)
{
	char path[128], key[64], buf[64];

	snprintf(path, sizeof(path), NODES "/node%u/meminfo", node);
	snprintf(key, sizeof(key), "Node %u %s:", node, what);
	return moca_proc_field(buf, sizeof(buf), path, key) ?
		       0 : strtoull(buf, NULL, 10) * 1024;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* "access1" counts CPUs only, "access0" (older kernels) other devices, too. */
static void add_access(struct moca_machine_node *n)
{
	char path[128];
	struct dirent *de;
	uint32_t *list;
	unsigned way;
	DIR *dir = NULL;

	for (way = 2; way-- && !dir;) {
		snprintf(path, sizeof(path), NODES "/node%u/access%u/initiators",
			 n->id, way);
		dir = opendir(path);
	}
	list = dir ? calloc(MOCA_MACHINE_NODES_MAX, sizeof(*list)) : NULL;
	if (!list)
		goto out;
	while ((de = readdir(dir)) &&
	       n->initiator_count < MOCA_MACHINE_NODES_MAX)
		if (sscanf(de->d_name, "node%u",
			   &list[n->initiator_count]) == 1)
			n->initiator_count++;
	qsort(list, n->initiator_count, sizeof(*list), by_number);
	n->initiators = list;
	n->read_latency_ns = sysfs_number("%s/read_latency", path);
	n->write_latency_ns = sysfs_number("%s/write_latency", path);
	n->read_bandwidth = sysfs_number("%s/read_bandwidth", path);
	n->write_bandwidth = sysfs_number("%s/write_bandwidth", path);
out:
	if (dir)
		closedir(dir);
}

static int add_distances(struct moca_machine_node *n, size_t nodes)
{
	uint32_t *d = calloc(nodes, sizeof(*d));
	char buf[SYSFS_TEXT], *at = buf, *end;
	size_t i;

	if (!d)
		return -ENOMEM;
	sysfs_line(buf, sizeof(buf), NODES "/node%u/distance", n->id);
	for (i = 0; i < nodes; i++, at = end) {
		unsigned long v = strtoul(at, &end, 10);

		if (end == at)
			break;
		d[i] = v <= UINT16_MAX ? (uint32_t)v : 0;
	}
	n->distances = d;
	return 0;
}

static void set_cpus(int32_t *cpus, size_t *count, const char *list,
		     int32_t node)
{
	unsigned last = 0, cpu;

	while (sysfs_next(&list, &last, &cpu)) {
		if (cpu >= MOCA_MACHINE_CPUS_MAX)
			continue;
		cpus[cpu] = node;
		if (*count <= cpu)
			*count = cpu + 1;
	}
}

/* A kernel without NUMA has one node, and no files of it. */
static int is_without_numa(void)
{
	return syscall(SYS_get_mempolicy, NULL, NULL, 0, NULL, 0) < 0 &&
	       errno == ENOSYS;
}

static void add_only_node(struct moca_machine *m,
			  struct moca_machine_node *n, int32_t *cpus)
{
	char buf[SYSFS_TEXT];

	*n = (struct moca_machine_node){
		.bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * m->page_size,
		.free_bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) *
			      m->page_size,
	};
	m->node_count = 1;
	sysfs_line(buf, sizeof(buf), "/sys/devices/system/cpu/online");
	if (!*buf)
		snprintf(buf, sizeof(buf), "0-%ld",
			 sysconf(_SC_NPROCESSORS_CONF) - 1);
	set_cpus(cpus, &m->cpu_count, buf, 0);
}

static void add_tiers(const struct moca_machine *m,
		      struct moca_machine_node *nodes)
{
	DIR *dir = opendir(TIERS);
	char buf[SYSFS_TEXT];
	struct dirent *de;
	unsigned tier, last, node;
	const char *at;
	int i;

	while (dir && (de = readdir(dir))) {
		if (sscanf(de->d_name, "memory_tier%u", &tier) != 1 ||
		    sysfs_line(buf, sizeof(buf), TIERS "/memory_tier%u/nodelist",
			       tier))
			continue;
		for (at = buf, last = 0; sysfs_next(&at, &last, &node);) {
			i = moca_machine_node(m, (int32_t)node);
			if (i >= 0)
				nodes[i].tier = tier;
		}
	}
	if (dir)
		closedir(dir);
}

static int add_nodes(struct moca_machine *m)
{
	struct moca_machine_node *nodes;
	char online[SYSFS_TEXT], buf[SYSFS_TEXT];
	unsigned last = 0, id;
	const char *at = online;
	int32_t *cpus;
	size_t i;
	int err = 0;

	nodes = calloc(MOCA_MACHINE_NODES_MAX, sizeof(*nodes));
	cpus = malloc(MOCA_MACHINE_CPUS_MAX * sizeof(*cpus));
	if (!nodes || !cpus)
		return -ENOMEM;
	memset(cpus, 0xff, MOCA_MACHINE_CPUS_MAX * sizeof(*cpus));
	m->nodes = nodes;
	m->node_of_cpu = cpus;
	if (sysfs_line(online, sizeof(online), NODES "/online") &&
	    is_without_numa())
		add_only_node(m, nodes, cpus);
	while (sysfs_next(&at, &last, &id) &&
	       m->node_count < MOCA_MACHINE_NODES_MAX) {
		nodes[m->node_count++] = (struct moca_machine_node){
			.id = id, .bytes = meminfo(id, "MemTotal"),
			.free_bytes = meminfo(id, "MemFree"),
		};
		sysfs_line(buf, sizeof(buf), NODES "/node%u/cpulist", id);
		set_cpus(cpus, &m->cpu_count, buf, (int32_t)id);
	}
	for (i = 0; i < m->node_count && !err; i++) {
		add_access(&nodes[i]);
		err = add_distances(&nodes[i], m->node_count);
	}
	add_tiers(m, nodes);
	return err;
}

unsigned machine_nodes(void)
{
	char online[SYSFS_TEXT];
	const char *at = online;
	unsigned last = 0, id, n = 0;

	if (sysfs_line(online, sizeof(online), NODES "/online"))
		return (unsigned)is_without_numa();
	while (sysfs_next(&at, &last, &id))
		n++;
	return n;
}

/* --- settings ------------------------------------------------------------- */

static void set(struct moca_machine *m, const char *name, const char *value)
{
	struct moca_machine_setting *s =
		(struct moca_machine_setting *)m->settings + m->setting_count;

	if (!*value || m->setting_count == MOCA_MACHINE_SETTINGS_MAX)
		return;
	s->name = strdup(name);
	s->value = strdup(value);
	if (s->name && s->value)
		m->setting_count++;
}

/* Of "always [madvise] never", what is chosen. */
static void set_choice(struct moca_machine *m, const char *name,
		       const char *file)
{
	char buf[256], *open, *close;

	if (sysfs_line(buf, sizeof(buf), "%s", file))
		return;
	open = strchr(buf, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close)
		*close = 0;
	set(m, name, close ? open + 1 : buf);
}

/* The pools of one folder: "hugepages.2048kB.total", of a node with its name. */
static void set_pools(struct moca_machine *m, const char *folder,
		      const char *of)
{
	static const char *const files[][2] = {
		{ "nr_hugepages", "total" }, { "free_hugepages", "free" },
		{ "nr_overcommit_hugepages", "overcommit" },
	};
	DIR *dir = opendir(folder);
	char name[128], value[64];
	struct dirent *de;
	unsigned long kb;
	size_t i;

	while (dir && (de = readdir(dir))) {
		if (sscanf(de->d_name, "hugepages-%lukB", &kb) != 1)
			continue;
		for (i = 0; i < sizeof(files) / sizeof(*files); i++) {
			if (sysfs_line(value, sizeof(value), "%s/%s/%s", folder,
				       de->d_name, files[i][0]))
				continue;
			snprintf(name, sizeof(name), "%shugepages.%lukB.%s",
				 of, kb, files[i][1]);
			set(m, name, value);
		}
	}
	if (dir)
		closedir(dir);
}

static void set_program(struct moca_machine *m, pid_t program)
{
	static const char *const policies[] = {
		"default", "preferred", "bind", "interleave", "local",
		"preferred many", "weighted interleave",
	};
	unsigned long mask[MOCA_MACHINE_NODES_MAX / 64] = { 0 };
	char path[64], buf[SYSFS_TEXT];
	unsigned mode = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", program);
	if (!moca_proc_field(buf, sizeof(buf), path, "Cpus_allowed_list:"))
		set(m, "program.cpus_allowed", buf);
	if (!moca_proc_field(buf, sizeof(buf), path, "Mems_allowed_list:"))
		set(m, "program.mems_allowed", buf);
	/* One can ask only of oneself; what is started inherits it. */
	if (program == getppid() &&
	    !syscall(SYS_get_mempolicy, &mode, mask,
		     (unsigned long)MOCA_MACHINE_NODES_MAX, NULL, 0ul) &&
	    (mode & 0xff) < sizeof(policies) / sizeof(*policies))
		set(m, "program.mempolicy", policies[mode & 0xff]);
}

static int add_settings(struct moca_machine *m, pid_t program)
{
	char buf[SYSFS_TEXT], folder[128], of[32];
	size_t i;

	m->settings = calloc(MOCA_MACHINE_SETTINGS_MAX, sizeof(*m->settings));
	if (!m->settings)
		return -ENOMEM;
	if (!moca_proc_field(buf, sizeof(buf), "/proc/cpuinfo", "model name"))
		set(m, "cpu.model", buf);
	if (!moca_proc_field(buf, sizeof(buf), "/proc/meminfo", "MemTotal:"))
		set(m, "memory.total", buf);
	set_choice(m, "thp.enabled", THP "/enabled");
	set_choice(m, "thp.defrag", THP "/defrag");
	set_choice(m, "thp.shmem_enabled", THP "/shmem_enabled");
	if (!sysfs_line(buf, sizeof(buf), "/proc/sys/kernel/numa_balancing"))
		set(m, "numa_balancing", buf);
	if (!sysfs_line(buf, sizeof(buf), "/sys/kernel/mm/numa/demotion_enabled"))
		set(m, "demotion", buf);
	if (!sysfs_line(buf, sizeof(buf), "/proc/sys/vm/zone_reclaim_mode"))
		set(m, "zone_reclaim_mode", buf);
	set_program(m, program);
	set_pools(m, POOLS, "");
	for (i = 0; i < m->node_count && m->node_count > 1; i++) {
		snprintf(folder, sizeof(folder), NODES "/node%u/hugepages",
			 m->nodes[i].id);
		snprintf(of, sizeof(of), "node%u.", m->nodes[i].id);
		set_pools(m, folder, of);
	}
	return 0;
}

int machine_gather(struct moca_machine *m, pid_t program)
{
	int err;

	*m = (struct moca_machine){ .page_size =
					    (uint64_t)sysconf(_SC_PAGESIZE) };
	err = add_nodes(m);
	return err ? err : add_settings(m, program);
}

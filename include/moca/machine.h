/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The machine that a trace was recorded on: NUMA nodes, which CPU is on which,
 * memory, and settings of the kernel that decide where pages lie and how large
 * they are. As it was when the recording began; nothing in it is of the machine
 * that reads.
 */
#ifndef MOCA_MACHINE_H
#define MOCA_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct moca_trace;

/* A NUMA node that was online. */
struct moca_machine_node {
	uint32_t id;		/* the kernel's number; rising, with gaps */
	uint32_t tier;		/* of /sys/devices/virtual/memory_tiering: the
				   lower the faster; 0 = not known */
	uint64_t bytes;		/* of memory; 0 = has none */
	uint64_t free_bytes;	/* of these */
	/* From the nearest CPUs, as the firmware tells; 0 = not known. */
	uint64_t read_latency_ns;
	uint64_t write_latency_ns;
	uint64_t read_bandwidth;	/* MiB/s */
	uint64_t write_bandwidth;
	size_t initiator_count;	/* nodes whose CPUs are nearest to it */
	const uint32_t *initiators;	/* their ids, rising */
	const uint32_t *distances;	/* to each node by index, as ACPI has
					   them: 10 = itself; 0 = not known */
};

/* For example "thp.enabled", "always"; doc/format.md lists the names. */
struct moca_machine_setting {
	const char *name;
	const char *value;	/* as the kernel told it, of any characters */
};

struct moca_machine {
	uint64_t page_size;	/* bytes; 0 = not known */
	size_t node_count;	/* 0 = its nodes could not be read */
	const struct moca_machine_node *nodes;
	size_t cpu_count;	/* highest number of a CPU, and 1 */
	const int32_t *node_of_cpu;	/* an id; -1 = offline, or unknown */
	size_t setting_count;
	const struct moca_machine_setting *settings;
	const char *xml;	/* hwloc's, NUL-terminated; NULL = none. It is
				   from the file: parse it with care */
	size_t xml_len;		/* without the NUL */
};

/* Limits of what is recorded and read. */
#define MOCA_MACHINE_NODES_MAX 1024
#define MOCA_MACHINE_CPUS_MAX 65536
#define MOCA_MACHINE_SETTINGS_MAX 256

/*
 * The machine, or NULL: it was not recorded, or its file is damaged
 * (moca_trace_damage counts it). Lives as long as the trace.
 */
const struct moca_machine *moca_trace_machine(const struct moca_trace *t);

/* The value of a setting, or NULL. */
const char *moca_machine_setting(const struct moca_machine *m,
				 const char *name);
/* The index of the node with that id, or -1. */
int moca_machine_node(const struct moca_machine *m, int32_t id);
/* The id of a CPU's node; -1 = not known. */
int32_t moca_machine_cpu_node(const struct moca_machine *m, uint32_t cpu);

#ifdef __cplusplus
}
#endif
#endif

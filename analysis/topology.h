/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which CPUs belong to which NUMA node: of the machine that was recorded, of
 * an hwloc XML file, or of a machine that one would like to know about.
 */
#ifndef MOCA_TOPOLOGY_H
#define MOCA_TOPOLOGY_H

#include <stdint.h>

#include <moca/reader.h>

#define MOCA_TOPOLOGY_NODES 64
#define MOCA_TOPOLOGY_CPUS 4096
#define MOCA_TOPOLOGY_NO_NODE 0xff

/* Why a machine is a supposed one that nobody asked for. */
enum moca_assumed {
	MOCA_ASSUMED_NOT = 0,
	MOCA_ASSUMED_ONE_NODE,	/* the recorded one has one node */
	MOCA_ASSUMED_UNKNOWN,	/* the machine was not recorded */
};

/* Nodes are counted from 0; ids has the kernel's numbers of them. */
struct moca_topology {
	unsigned nodes;
	unsigned cpus;
	/*
	 * 1: its CPUs are not those of the trace. Threads are dealt out over
	 * it; else each access counts where its CPU was.
	 */
	int what_if;
	enum moca_assumed assumed;
	uint16_t ids[MOCA_TOPOLOGY_NODES];
	/* MOCA_TOPOLOGY_NO_NODE: not known; only where what_if is 0. */
	uint8_t node_of[MOCA_TOPOLOGY_CPUS];
};

/* The node that the kernel calls id, or -1. */
int moca_topology_node(const struct moca_topology *t, int id);
/* The node of a CPU, or -1. */
static inline int moca_topology_cpu_node(const struct moca_topology *t,
					 unsigned cpu)
{
	return cpu < t->cpus && t->node_of[cpu] != MOCA_TOPOLOGY_NO_NODE ?
		       t->node_of[cpu] : -1;
}

/*
 * text: "NODESxCPUS" (CPUS per node) or the path of an XML file as lstopo
 * writes. 0; -EINVAL (no such thing, or too large), -errno of the file.
 */
int moca_topology_parse(struct moca_topology *out, const char *text,
			const struct moca_trace *t);
/*
 * The recorded machine's own, if the trace tells one with two nodes or more;
 * else one is assumed: its CPUs in two halves. The machine that reads is not
 * looked at.
 */
void moca_topology_of(struct moca_topology *out, const struct moca_trace *t);

#endif

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

struct moca_topology {
	unsigned nodes;
	unsigned cpus;
	/*
	 * 1: its CPUs are not those of the trace. Threads are dealt out over
	 * it; else each access counts where its CPU was.
	 */
	int what_if;
	/* 1: nobody asked for it; the machine has one node. */
	int assumed;
	uint8_t node_of[MOCA_TOPOLOGY_CPUS];
};

/*
 * text: "NODESxCPUS" (CPUS per node) or the path of an XML file as lstopo
 * writes. 0; -EINVAL (no such thing, or too large), -errno of the file.
 */
int moca_topology_parse(struct moca_topology *out, const char *text,
			const struct moca_trace *t);
/*
 * The recorded machine's own if it has two nodes or more and is this one;
 * else one is assumed: its CPUs in two halves.
 */
void moca_topology_of(struct moca_topology *out, const struct moca_trace *t);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hwloc's XML of a trace. It may be anybody's, and hwloc was not made for that:
 * a process of its own reads it, with little time and memory.
 */
#ifndef MOCA_ANALYSIS_MACHINE_XML_H
#define MOCA_ANALYSIS_MACHINE_XML_H

#include <stdio.h>

#include <hwloc.h>
#include <moca/machine.h>

/*
 * Have describe write what it makes of the topology, at most 16 MiB; the caller
 * frees *text. 0; -ENOENT (there is no XML); -EBADMSG (hwloc does not take it,
 * died of it, or describe did not return 0); -errno.
 */
int machine_xml_read(const struct moca_machine *m,
		     int (*describe)(hwloc_topology_t h, FILE *out,
				     const struct moca_machine *m),
		     char **text);

/* Does the XML tell no other nodes than the rest? 0, or as above. */
int machine_xml_check(const struct moca_machine *m);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --object of formats that read the trace's chunks by themselves. */
#ifndef MOCA_CLI_EXPORT_PICKED_H
#define MOCA_CLI_EXPORT_PICKED_H

#include "cli/export.h"
#include "export/pick.h"
#include "query/pick.h"

struct export_picked {
	struct query_filter filter;
	struct query_pick *of;
	struct export_pick pick;
	const struct export_pick *use;	/* for the exporter; NULL: without --object */
};

/*
 * Find what accesses went to; of all tasks in spite of --task, if all_tasks. *p must not
 * move. 0 or -errno of the trace; close it in any case.
 */
int export_picked_open(struct export_picked *p, const struct export *x,
		       int all_tasks);
void export_picked_close(struct export_picked *p);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `moca info`: the machine and its NUMA nodes, as text and as JSON. */
#ifndef MOCA_REPORT_NODES_H
#define MOCA_REPORT_NODES_H

#include "analysis/info/nodes.h"
#include "lib/text/json.h"

/* One line for the head; the tables, if there are several nodes; JSON. */
void nodes_print_machine(const struct nodes_table *n);
void nodes_print(const struct nodes_table *n, const struct moca_trace *t,
		 int all);
void nodes_json(struct json *j, const struct nodes_table *n);
/* Members of a task's object. */
void nodes_json_task(struct json *j, const struct nodes_table *n, size_t task);

#endif

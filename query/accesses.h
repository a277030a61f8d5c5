/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of the table accesses. */
#ifndef MOCA_QUERY_ACCESSES_H
#define MOCA_QUERY_ACCESSES_H

#include "query/table.h"

enum access_column {
	ACCESS_TIME, ACCESS_TASK, ACCESS_PID, ACCESS_TID, ACCESS_THREAD,
	ACCESS_CPU, ACCESS_NODE, ACCESS_TYPE, ACCESS_MODE, ACCESS_ADDR,
	ACCESS_PAGE, ACCESS_IP, ACCESS_PHYS, ACCESS_INTERVAL, ACCESS_WEIGHT,
	ACCESS_STACK, ACCESS_OBJECT, ACCESS_KIND, ACCESS_SITE, ACCESS_ALIKE,
	ACCESS_COLUMNS
};

/* Bits of columns: that need the objects; that are of the task. */
#define ACCESS_OBJECTS (1u << ACCESS_OBJECT | 1u << ACCESS_KIND | \
			1u << ACCESS_SITE)
#define ACCESS_TASKS (1u << ACCESS_TASK | 1u << ACCESS_PID | \
		      1u << ACCESS_TID | 1u << ACCESS_THREAD)
/* That many accesses have in common; of all these, those that are texts. */
#define ACCESS_GROUPED (ACCESS_OBJECTS | ACCESS_TASKS | 1u << ACCESS_CPU | \
			1u << ACCESS_NODE | 1u << ACCESS_TYPE | \
			1u << ACCESS_MODE | 1u << ACCESS_WEIGHT | \
			1u << ACCESS_ALIKE)
#define ACCESS_TEXTS (ACCESS_OBJECTS | 1u << ACCESS_THREAD | \
		      1u << ACCESS_TYPE | 1u << ACCESS_MODE)

const char *access_type_name(unsigned type);
const char *access_mode_name(unsigned mode);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the reader share. */
#ifndef MOCA_FORMAT_TRACE_H
#define MOCA_FORMAT_TRACE_H

#include <pthread.h>

#include <moca/reader.h>

#include "lib/format/mapping.h"
#include "lib/format/meta.h"

struct moca_trace {
	int dirfd;
	struct moca_meta *meta;
	struct moca_task *tasks;	/* task.name is allocated */
	uint64_t *file_ends;		/* bytes of each task's file, at open */
	size_t task_count;
	pthread_mutex_t damage_lock;	/* of the next four */
	struct moca_damage damage;
	uint64_t *places;		/* set of damaged chunks; 0 = empty */
	size_t place_count;
	size_t place_cap;
	pthread_mutex_t mapping_lock;	/* of the next two */
	int mappings_built;
	struct moca_mappings mappings;
};

/* Count the chunk at pos of the task's file as damaged, unless it is. */
void moca_trace_damaged_chunk(struct moca_trace *t, uint32_t task,
			      uint64_t pos);
/* The task with that number, or NULL. */
const struct moca_task *moca_trace_find_task(const struct moca_trace *t,
					     uint32_t id);

#endif

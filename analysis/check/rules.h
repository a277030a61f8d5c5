/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the rules of meaning.h share. */
#ifndef MOCA_ANALYSIS_CHECK_RULES_H
#define MOCA_ANALYSIS_CHECK_RULES_H

#include <stddef.h>

#include "analysis/check/meaning.h"
#include "analysis/timeline.h"

enum rule {
	RULE_LIFE,		/* life.c */
	RULE_MAPPING,		/* mapping.c */
	RULE_FIRST_TOUCH,	/* first-touch.c */
	RULE_SUMS,		/* sums.c */
	RULE_CHANGES,		/* changes.c */
	RULE_OBJECTS,		/* objects.c */
	RULE_STACKS,		/* stacks.c */
	RULE_HEAT,		/* heat.c */
	RULES,
};

struct meaning {
	struct moca_trace *t;
	void (*tell)(void *arg, const char *text);
	void *arg;
	uint64_t found[RULES];
	uint64_t excused[RULES];	/* may follow from changes that were lost */
	uint64_t lost;			/* changes that the trace lacks */
	char *left_out[RULES];
	struct unmapped *unmapped;	/* of mapping.c */
	struct granules *granules;	/* of first-touch.c */
	struct touched *touched;	/* of sums.c */
	struct processes *processes;	/* of changes.c */
	struct objects *objects;	/* of objects.c */
	uint64_t hot;			/* of heat.c: pages since the last look */
	/* By index of the task: changes and events told so far. */
	struct told_of {
		uint64_t changes, events;
	} *told;
	uint64_t execs, vforks;		/* processes that had images before, or
					   share one */
	uint64_t steps;			/* of mapping.c */
	int err;
};

/* A record that breaks a rule: unless changes were lost, from which it may
 * follow. */
__attribute__((format(printf, 3, 4)))
void meaning_wrong(struct meaning *m, enum rule rule, const char *fmt, ...);
/* The same, where no change that was lost can be the reason. */
__attribute__((format(printf, 3, 4)))
void meaning_wrong_anyway(struct meaning *m, enum rule rule, const char *fmt,
			  ...);
/* The rule did not see all: once per rule. */
__attribute__((format(printf, 3, 4)))
void meaning_skip(struct meaning *m, enum rule rule, const char *fmt, ...);
/* The task with that number, or NULL. */
const struct moca_task *meaning_task(const struct meaning *m, uint32_t id);
/* "task-3", or of those that have chunks in two files "task-shared, task-20". */
const char *meaning_file(uint32_t task, char *buf, size_t size);

void life_chunk(struct meaning *m, const struct moca_chunk *c,
		const struct moca_task *task);
void life_counts(struct meaning *m, const struct moca_counts *c,
		 const struct moca_task *task);

void stacks_chunk(struct meaning *m, const struct moca_chunk *c);

void heat_event(struct meaning *m, const struct moca_timeline_item *i);

int mapping_new(struct meaning *m);
void mapping_chunk(struct meaning *m, const struct moca_chunk *c,
		   const struct moca_task *task);
/* When the process ran another program last, until time_ns; 0: it did not. */
uint64_t mapping_last_exec(const struct meaning *m, uint32_t pid,
			   uint64_t time_ns);
void mapping_end(struct meaning *m);
void mapping_free(struct meaning *m);

int first_touch_counts(struct meaning *m, const struct moca_counts *c,
		       const struct moca_task *task);
void first_touch_free(struct meaning *m);

int sums_counts(struct meaning *m, const struct moca_counts *c,
		 const struct moca_task *task);
void sums_end(struct meaning *m);
void sums_free(struct meaning *m);

/* The number of the item among its task's changes or events, from 0. */
uint64_t meaning_number(const struct meaning *m,
			const struct moca_timeline_item *i);

/* These get all changes and events by time. 0 or -errno. */
int changes_change(struct meaning *m, const struct moca_timeline_item *i);
void changes_event(struct meaning *m, const struct moca_timeline_item *i);
void changes_free(struct meaning *m);

int objects_new(struct meaning *m);
int objects_change(struct meaning *m, const struct moca_timeline_item *i);
int objects_event(struct meaning *m, const struct moca_timeline_item *i);
void objects_end(struct meaning *m);
void objects_free(struct meaning *m);

#endif

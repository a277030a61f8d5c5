// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/check/meaning.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/check/rules.h"
#include "analysis/trace.h"

/* Of each rule, those told one by one. */
#define TOLD_MAX 3
#define TEXT_MAX_ 400
/* Tasks from this number on have their first chunks in task-shared. */
#define SHARED_FROM 16u

static const char *const more[RULES] = {
	[RULE_LIFE] = "records are outside of their tasks' lives",
	[RULE_MAPPING] = "accesses are to memory that was not mapped",
	[RULE_FIRST_TOUCH] = "first touches are wrong",
	[RULE_SUMS] = "sums of pages are wrong",
	[RULE_CHANGES] = "changes of tasks and mappings contradict others",
	[RULE_STACKS] = "accesses tell call stacks that are not there",
	[RULE_HEAT] = "looks at heat contradict themselves",
};

__attribute__((format(printf, 3, 0)))
static void tell_wrong(struct meaning *m, enum rule rule, const char *fmt,
		       va_list ap)
{
	char text[TEXT_MAX_];

	if (m->found[rule]++ >= TOLD_MAX)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	m->tell(m->arg, text);
}

void meaning_wrong(struct meaning *m, enum rule rule, const char *fmt, ...)
{
	va_list ap;

	if (m->lost) {
		m->excused[rule]++;
		return;
	}
	va_start(ap, fmt);
	tell_wrong(m, rule, fmt, ap);
	va_end(ap);
}

void meaning_wrong_anyway(struct meaning *m, enum rule rule, const char *fmt,
			  ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell_wrong(m, rule, fmt, ap);
	va_end(ap);
}

void meaning_skip(struct meaning *m, enum rule rule, const char *fmt, ...)
{
	va_list ap;

	if (m->left_out[rule])
		return;
	va_start(ap, fmt);
	if (vasprintf(&m->left_out[rule], fmt, ap) < 0)
		m->left_out[rule] = NULL;
	va_end(ap);
}

const char *meaning_left_out(const struct meaning *m, unsigned n)
{
	for (unsigned i = 0; i < RULES; i++)
		if (m->left_out[i] && !n--)
			return m->left_out[i];
	return NULL;
}

const struct moca_task *meaning_task(const struct meaning *m, uint32_t id)
{
	size_t i = trace_task_index(m->t, id);

	return i == SIZE_MAX ? NULL : moca_trace_task(m->t, i);
}

const char *meaning_file(uint32_t task, char *buf, size_t size)
{
	snprintf(buf, size, "%stask-%" PRIu32,
		 task >= SHARED_FROM ? "task-shared or " : "", task);
	return buf;
}

int meaning_new(struct meaning **out, struct moca_trace *t,
		void (*tell)(void *arg, const char *text), void *arg)
{
	struct meaning *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->t = t;
	m->tell = tell;
	m->arg = arg;
	m->lost = trace_meta_u64(t, META_CHANGES_LOST, 0);
	err = mapping_new(m);
	if (err) {
		meaning_free(m);
		return err;
	}
	*out = m;
	return 0;
}

void meaning_free(struct meaning *m)
{
	if (!m)
		return;
	mapping_free(m);
	first_touch_free(m);
	sums_free(m);
	changes_free(m);
	objects_free(m);
	free(m->told);
	for (unsigned i = 0; i < RULES; i++)
		free(m->left_out[i]);
	free(m);
}

void meaning_chunk(struct meaning *m, const struct moca_chunk *c)
{
	const struct moca_task *task = meaning_task(m, c->task);

	if (!task)
		return;
	life_chunk(m, c, task);
	mapping_chunk(m, c, task);
	stacks_chunk(m, c);
}

void meaning_counts(struct meaning *m, const struct moca_counts *c)
{
	const struct moca_task *task = meaning_task(m, c->task);

	if (!task)
		return;
	life_counts(m, c, task);
	if (!m->err)
		m->err = first_touch_counts(m, c, task);
	if (!m->err)
		m->err = sums_counts(m, c, task);
}

uint64_t meaning_number(const struct meaning *m,
			const struct moca_timeline_item *i)
{
	const struct told_of *t = &m->told[trace_task_index(m->t, i->task->id)];

	return i->kind == MOCA_TIMELINE_CHANGE ? t->changes : t->events;
}

static int take(struct meaning *m, const struct moca_timeline_item *i)
{
	struct told_of *t = &m->told[trace_task_index(m->t, i->task->id)];
	int err = 0;

	if (i->kind == MOCA_TIMELINE_CHANGE) {
		err = changes_change(m, i);
		if (!err)
			err = objects_change(m, i);
		t->changes++;
	} else if (i->kind == MOCA_TIMELINE_EVENT) {
		changes_event(m, i);
		heat_event(m, i);
		err = objects_event(m, i);
		t->events++;
	}
	return err;
}

/* Changes and events alone. */
static int by_time(struct meaning *m)
{
	const struct moca_query none = {
		.size = sizeof(none), .begin_ns = UINT64_MAX,
	};
	struct moca_timeline_item item;
	struct moca_timeline *tl;
	int err;

	m->told = calloc(moca_trace_task_count(m->t) + 1, sizeof(*m->told));
	err = m->told ? objects_new(m) : -ENOMEM;
	if (!err)
		err = moca_timeline_open(&tl, m->t, &none);
	if (err)
		return err;
	while ((err = moca_timeline_next(tl, &item)) > 0) {
		err = take(m, &item);
		if (err)
			break;
	}
	moca_timeline_close(tl);
	if (!err)
		objects_end(m);
	return err;
}

int meaning_end(struct meaning *m)
{
	char text[TEXT_MAX_];
	int err = m->err;

	if (!err)
		err = by_time(m);
	if (!err) {
		sums_end(m);
		mapping_end(m);
	}
	for (unsigned i = 0; i < RULES; i++) {
		if (m->excused[i])
			meaning_skip(m, i, "%" PRIu64 " %s, and %" PRIu64 " change%s lost that may say why",
				     m->excused[i], more[i], m->lost,
				     m->lost == 1 ? " was" : "s were");
		if (m->found[i] <= TOLD_MAX)
			continue;
		snprintf(text, sizeof(text), "%" PRIu64 " more %s",
			 m->found[i] - TOLD_MAX, more[i]);
		m->tell(m->arg, text);
	}
	return err;
}

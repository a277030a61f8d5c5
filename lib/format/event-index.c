// SPDX-License-Identifier: LGPL-2.1-or-later
/* Opening a trace: its event files, and which task each is of. */
#include "lib/format/event-decode.h"
#include "lib/format/trace.h"

/* What one event file tells. */
struct found {
	struct moca_task task;	/* as if it were one of its own */
	struct moca_event_file file;
	size_t own;		/* number of its own task, or NONE */
};

#define NONE SIZE_MAX

/* A task without a task-N: of the streams of one thread. */
struct own {
	size_t first;		/* in found */
	size_t last;
	uint64_t start_ns;
	uint32_t id;
};

struct scan {
	struct moca_trace *t;
	struct found *found;
	size_t count;
	size_t *by_thread;	/* tasks with a file: by pid, tid, start_ns */
	struct own *own;
	size_t own_count;
};

static void widen(struct moca_event_file *file, uint64_t begin, uint64_t end)
{
	if (begin < file->begin_ns)
		file->begin_ns = begin;
	if (end > file->end_ns)
		file->end_ns = end;
}

static int fold_change(void *arg, const struct moca_change *e)
{
	struct found *s = arg;

	widen(&s->file, e->time_ns, e->time_ns);
	return moca_task_fold(&s->task, e);
}

static int fold_chunk(void *arg, struct moca_decoder *d,
		      const struct moca_file *f, const struct moca_header *h,
		      uint64_t pos)
{
	struct found *s = arg;
	struct moca_task *task = &s->task;

	if (h->kind == MOCA_KIND_CHANGES)
		return moca_decoder_each_change(d, f, h, pos, fold_change, s);
	if (h->kind != MOCA_KIND_EVENTS)
		return 0;
	if (h->records)
		widen(&s->file, h->begin_ns, h->end_ns);
	task->events = moca_add_sat(task->events, h->records);
	task->events_lost = moca_add_sat(task->events_lost, h->lost);
	task->events_torn = moca_add_sat(task->events_torn, h->interval);
	return 0;
}

static int scan_files(struct scan *s, const uint32_t *numbers, size_t count,
		      struct moca_decoder *d)
{
	struct found *f;
	size_t i;
	int ret;

	s->found = calloc(count + 1, sizeof(*s->found));
	if (!s->found)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		f = &s->found[s->count];
		f->own = NONE;
		f->file = (struct moca_event_file){ .number = numbers[i],
						     .begin_ns = UINT64_MAX };
		ret = moca_task_init(&f->task, 0);
		if (ret)
			return ret;
		ret = moca_trace_scan(s->t, MOCA_FILE_EVENT, numbers[i],
				      &f->file.end, d, fold_chunk, f);
		if (ret == -EINVAL) {
			s->t->damage.files++;
			free((char *)f->task.name);
			f->task.name = NULL;
			continue;
		}
		if (ret)
			return ret;
		if (f->file.begin_ns > f->file.end_ns)
			f->file.begin_ns = f->file.end_ns;
		/* If the event that tells is lost, what there is. */
		if (!f->task.start_ns)
			f->task.start_ns = f->file.begin_ns;
		s->count++;
	}
	return 0;
}

static int add_type(void *arg, const struct moca_type_text *text)
{
	int ret = moca_types_add(arg, text);

	return ret == -EINVAL ? -EBADMSG : ret;
}

static int fold_types(void *arg, struct moca_decoder *d,
		      const struct moca_file *f, const struct moca_header *h,
		      uint64_t pos)
{
	return h->kind == MOCA_KIND_TYPES ?
		       moca_decoder_types(d, f, h, pos, add_type, arg) :
		       0;
}

static int scan_types(struct moca_trace *t, struct moca_decoder *d)
{
	uint64_t end;
	int ret;

	ret = moca_trace_scan(t, MOCA_FILE_TYPES, 0, &end, d, fold_types,
			      &t->types);
	if (ret == -EINVAL) {
		t->damage.files++;
		ret = 0;
	}
	return ret;
}

static int compare_threads(const struct moca_task *x, const struct moca_task *y)
{
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int compare_tasks(const void *a, const void *b, void *tasks)
{
	size_t i = *(const size_t *)a, j = *(const size_t *)b;
	const struct moca_task *t = tasks;
	int d = compare_threads(&t[i], &t[j]);

	return d ? d : i < j ? -1 : i > j;
}

static int compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int d = compare_threads(&x->task, &y->task);

	if (d)
		return d;
	return x->file.number < y->file.number ? -1 : 1;
}

static uint64_t life_end(const struct moca_task *t)
{
	return t->end_ns ? t->end_ns : UINT64_MAX;
}

/*
 * The task with a file that a stream is of: the same thread, which lived when
 * the stream began or else next. Its index, or NONE.
 */
static size_t find_task(const struct scan *s, const struct moca_task *stream)
{
	const struct moca_task *t;
	size_t lo = 0, hi = s->t->file_count, mid, i;

	if (!stream->pid && !stream->tid)
		return NONE;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		t = &s->t->tasks[s->by_thread[mid]];
		if (compare_threads(t, stream) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* The last that started before it, then the first after it. */
	for (i = lo ? lo - 1 : lo; i <= lo && i < s->t->file_count; i++) {
		t = &s->t->tasks[s->by_thread[i]];
		if (t->pid == stream->pid && t->tid == stream->tid &&
		    life_end(t) >= stream->start_ns &&
		    t->start_ns <= life_end(stream))
			return s->by_thread[i];
	}
	return NONE;
}

static int compare_own(const void *a, const void *b)
{
	const struct own *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->first < y->first ? -1 : 1;
}

static size_t new_own(struct scan *s, size_t i)
{
	s->own[s->own_count] = (struct own){
		.first = i, .last = i, .start_ns = s->found[i].task.start_ns,
	};
	return s->own_count++;
}

/* Streams of one task, of which those in one slot follow each other. */
struct slots {
	uint64_t ends[MOCA_EVENT_STREAMS_MAX];
	size_t used;
};

static int take_slot(struct slots *s, const struct moca_event_file *f)
{
	size_t k;

	for (k = 0; k < s->used && s->ends[k] >= f->begin_ns; k++)
		;
	if (k == MOCA_EVENT_STREAMS_MAX)
		return 0;
	s->used += k == s->used;
	s->ends[k] = f->end_ns;
	return 1;
}

/*
 * Give each stream, in order of thread and start, to a task. To merge them
 * costs memory: of more at a time than can be, each is a task of its own.
 */
static void attach(struct scan *s)
{
	struct slots of_task = { .used = 0 }, of_own = { .used = 0 };
	size_t i, task, last_task = NONE, own = NONE;
	struct found *f;

	for (i = 0; i < s->count; i++) {
		f = &s->found[i];
		if (!i || f->task.pid != f[-1].task.pid ||
		    f->task.tid != f[-1].task.tid || !f->task.tid)
			own = NONE;
		task = find_task(s, &f->task);
		if (task != NONE) {
			if (task != last_task)
				of_task.used = 0;
			last_task = task;
			f->file.task = (uint32_t)task;
			if (!take_slot(&of_task, &f->file))
				f->own = new_own(s, i);
			continue;
		}
		if (own == NONE) {
			own = new_own(s, i);
			of_own.used = 0;
		}
		if (take_slot(&of_own, &f->file)) {
			f->own = own;
			s->own[own].last = i;
		} else {
			f->own = new_own(s, i);
		}
	}
}

static void add_counts(struct moca_task *to, const struct moca_task *from)
{
	to->events = moca_add_sat(to->events, from->events);
	to->events_lost = moca_add_sat(to->events_lost, from->events_lost);
	to->events_torn = moca_add_sat(to->events_torn, from->events_torn);
}

/* Make the tasks of their own, numbered in order of time. */
static int add_tasks(struct scan *s)
{
	struct moca_trace *t = s->t;
	uint32_t id = t->task_count ? t->tasks[t->task_count - 1].id + 1 : 0;
	struct moca_task *p;
	size_t i, *place;

	p = realloc(t->tasks, (t->task_count + s->own_count + 1) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	t->tasks = p;
	memset(p + t->task_count, 0, (s->own_count + 1) * sizeof(*p));
	place = calloc(s->count + 1, sizeof(*place));
	if (!place)
		return -ENOMEM;
	/* found knows its own task by a number that sorting changes. */
	for (i = 0; i < s->own_count; i++)
		s->own[i].id = (uint32_t)i;
	qsort(s->own, s->own_count, sizeof(*s->own), compare_own);
	for (i = 0; i < s->own_count; i++) {
		struct found *first = &s->found[s->own[i].first];
		struct found *last = &s->found[s->own[i].last];

		place[s->own[i].id] = t->task_count;
		p = &t->tasks[t->task_count++];
		*p = first->task;
		p->id = id++;
		p->parent = MOCA_NO_TASK;
		p->flags |= MOCA_TASK_EVENTS;
		p->end_ns = last->task.end_ns;
		p->status = last->task.status;
		p->events = p->events_lost = p->events_torn = 0;
		p->name = last->task.name;
		last->task.name = NULL;
	}
	for (i = 0; i < s->count; i++)
		if (s->found[i].own != NONE)
			s->found[i].file.task =
				(uint32_t)place[s->found[i].own];
	free(place);
	return 0;
}

static int compare_files(const void *a, const void *b)
{
	const struct moca_event_file *x = a, *y = b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static int finish(struct scan *s)
{
	struct moca_trace *t = s->t;
	size_t i, k = 0;

	t->events = calloc(s->count + 1, sizeof(*t->events));
	t->first_event = calloc(t->task_count + 1, sizeof(*t->first_event));
	if (!t->events || !t->first_event)
		return -ENOMEM;
	t->event_count = s->count;
	for (i = 0; i < s->count; i++) {
		t->events[i] = s->found[i].file;
		add_counts(&t->tasks[s->found[i].file.task],
			   &s->found[i].task);
	}
	qsort(t->events, s->count, sizeof(*t->events), compare_files);
	for (i = 0; i <= t->task_count; i++) {
		while (k < s->count && t->events[k].task < i)
			k++;
		t->first_event[i] = k;
	}
	return moca_types_finish(&t->types);
}

int moca_trace_scan_events(struct moca_trace *t, const uint32_t *numbers,
			    size_t count, int has_types,
			    struct moca_decoder *d)
{
	struct scan s = { .t = t };
	size_t i;
	int ret;

	ret = scan_files(&s, numbers, count, d);
	/*
	 * While recording, an event is described before it is recorded: those
	 * that were just seen are all described by now.
	 */
	if (!ret && has_types)
		ret = scan_types(t, d);
	s.by_thread = calloc(t->file_count + 1, sizeof(*s.by_thread));
	s.own = calloc(s.count + 1, sizeof(*s.own));
	if (!ret && (!s.by_thread || !s.own))
		ret = -ENOMEM;
	if (ret)
		goto out;
	for (i = 0; i < t->file_count; i++)
		s.by_thread[i] = i;
	qsort_r(s.by_thread, t->file_count, sizeof(*s.by_thread),
		compare_tasks, t->tasks);
	qsort(s.found, s.count, sizeof(*s.found), compare_found);
	attach(&s);
	ret = add_tasks(&s);
	if (!ret)
		ret = finish(&s);
out:
	/* One more may have a name when scanning failed half-way. */
	for (i = 0; s.found && i <= s.count; i++)
		free((char *)s.found[i].task.name);
	free(s.found);
	free(s.by_thread);
	free(s.own);
	return ret;
}

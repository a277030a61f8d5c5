// SPDX-License-Identifier: LGPL-2.1-or-later
/* The tasks of a trace, and where their chunks are. */
#include "lib/format/trace.h"

#include "lib/base/vec.h"

/* A chunk in task-shared. */
struct place {
	uint64_t pos;
	size_t task;		/* index, in order of appearance */
};

struct index {
	struct moca_trace *t;
	size_t room, file_room;	/* of t->tasks and t->task_files */
	uint32_t *by_id;	/* index + 1 of each task; 0: not seen */
	size_t ids;
	struct place *places;
	size_t place_count, place_room;
};

static int fold_task_change(void *arg, const struct moca_change *e)
{
	return moca_task_fold(arg, e);
}

static int fold_counts(struct moca_task *task, const struct moca_header *h)
{
	if (!moca_counts_header_valid(h))
		return -EBADMSG;
	task->counts = moca_add_sat(task->counts, h->records);
	task->loads = moca_add_sat(task->loads, h->cpumask[MOCA_COUNTS_LOADS]);
	task->stores = moca_add_sat(task->stores,
				    h->cpumask[MOCA_COUNTS_STORES]);
	return 0;
}

static int fold_task_chunk(void *arg, struct moca_decoder *d,
			   const struct moca_file *f,
			   const struct moca_header *h, uint64_t pos)
{
	struct moca_task *task = arg;

	if (h->kind == MOCA_KIND_CHANGES)
		return moca_decoder_each_change(d, f, h, pos, fold_task_change,
					       task);
	if (h->kind == MOCA_KIND_COUNTS)
		return fold_counts(task, h);
	if (h->kind != MOCA_KIND_ACCESSES)
		return 0;
	/* The payload is not read here: the header alone has to hold. */
	if (!moca_weights_valid(h))
		return -EBADMSG;
	task->chunks++;
	task->accesses = moca_add_sat(task->accesses, h->records);
	task->reads = moca_add_sat(task->reads, h->reads);
	task->writes = moca_add_sat(task->writes, h->writes);
	task->lost = moca_add_sat(task->lost, h->lost);
	task->weight = moca_add_sat(task->weight, h->weights.all);
	task->read_weight = moca_add_sat(task->read_weight, h->weights.reads);
	task->write_weight = moca_add_sat(task->write_weight,
					  h->weights.writes);
	if (task->top_weight < h->weights.top)
		task->top_weight = (uint32_t)h->weights.top;
	return 0;
}

static int has_id(const struct index *x, uint32_t id)
{
	return id < x->ids && x->by_id[id];
}

static int grow_ids(struct index *x, uint32_t id)
{
	return moca_vec_fit_zeroed(x->by_id, x->ids, (size_t)id + 1);
}

/* One more than there are: moca_trace_close frees a name beyond the last. */
/* For one task more, and one behind the last: tasks of events. */
static int grow_tasks(struct index *x)
{
	struct moca_trace *t = x->t;
	int err = moca_vec_fit_zeroed(t->tasks, x->room, t->task_count + 2);

	return err ? err : moca_vec_fit_zeroed(t->task_files, x->file_room,
					       t->task_count + 2);
}

/* Its index goes to *at; it is added if it is new. 0 or -ENOMEM. */
static int find_or_add(struct index *x, uint32_t id, size_t *at)
{
	struct moca_trace *t = x->t;
	int ret;

	if (!has_id(x, id)) {
		ret = grow_ids(x, id);
		if (!ret)
			ret = grow_tasks(x);
		if (!ret)
			ret = moca_task_init(&t->tasks[t->task_count], id);
		if (ret)
			return ret;
		x->by_id[id] = (uint32_t)++t->task_count;
	}
	*at = x->by_id[id] - 1;
	return 0;
}

static int fold_shared(void *arg, struct moca_decoder *d,
		       const struct moca_file *f, const struct moca_header *h,
		       uint64_t pos)
{
	struct index *x = arg;
	size_t at;
	int ret = find_or_add(x, h->task, &at);

	if (ret)
		return ret;
	if (moca_vec_fit(x->places, x->place_room, x->place_count + 1))
		return -ENOMEM;
	x->places[x->place_count++] = (struct place){ pos, at };
	x->t->task_files[at].place_count++;
	return fold_task_chunk(&x->t->tasks[at], d, f, h, pos);
}

static int scan_shared(struct index *x, struct moca_decoder *d)
{
	uint64_t end;
	int ret = moca_trace_scan(x->t, MOCA_FILE_SHARED, 0, &end, d,
				  fold_shared, x);

	if (ret == -EINVAL) {
		x->t->damage.files++;
		ret = 0;
	}
	return ret;
}

static int scan_own(struct index *x, uint32_t id, struct moca_decoder *d)
{
	struct moca_trace *t = x->t;
	int known = has_id(x, id), ret;
	size_t at;

	ret = find_or_add(x, id, &at);
	if (ret)
		return ret;
	ret = moca_trace_scan(t, MOCA_FILE_TASK, id, &t->task_files[at].end, d,
			      fold_task_chunk, &t->tasks[at]);
	if (ret != -EINVAL)
		return ret;
	t->damage.files++;
	t->task_files[at].end = 0;
	if (!known) {
		x->by_id[id] = 0;
		t->task_count--;
		free((char *)t->tasks[at].name);
		t->tasks[at].name = NULL;
	}
	return 0;
}

/* By number, and the places by task. */
static int sort(struct index *x)
{
	struct moca_trace *t = x->t;
	size_t count = t->task_count, n = 0, place = 0;
	struct moca_task_file *files = calloc(count + 1, sizeof(*files)), *f;
	struct moca_task *tasks = calloc(count + 1, sizeof(*tasks));

	t->shared_places = calloc(x->place_count + 1,
				  sizeof(*t->shared_places));
	if (!files || !tasks || !t->shared_places) {
		free(files);
		free(tasks);
		return -ENOMEM;
	}
	for (size_t id = 0; id < x->ids; id++) {
		if (!x->by_id[id])
			continue;
		f = &t->task_files[x->by_id[id] - 1];
		f->place = place;
		place += f->place_count;
		tasks[n] = t->tasks[x->by_id[id] - 1];
		files[n++] = *f;
	}
	for (size_t i = 0; i < x->place_count; i++) {
		f = &t->task_files[x->places[i].task];
		t->shared_places[f->place++] = x->places[i].pos;
	}
	free(t->tasks);
	free(t->task_files);
	t->tasks = tasks;
	t->task_files = files;
	return 0;
}

int moca_trace_scan_tasks(struct moca_trace *t, const uint32_t *numbers,
			  size_t count, int has_shared, struct moca_decoder *d)
{
	struct index x = { .t = t };
	int ret = has_shared ? scan_shared(&x, d) : 0;

	for (size_t i = 0; !ret && i < count; i++)
		ret = scan_own(&x, numbers[i], d);
	if (!ret)
		ret = sort(&x);
	t->file_count = t->task_count;
	free(x.by_id);
	free(x.places);
	return ret;
}

static int open_own(struct moca_file *f, const struct moca_trace *t,
		    size_t task)
{
	return moca_file_open(f, t->dirfd, MOCA_FILE_TASK, t->tasks[task].id,
			      t->task_files[task].end);
}

int moca_task_file_open(struct moca_file *f, const struct moca_trace *t,
			size_t task)
{
	const struct moca_task_file *from = &t->task_files[task];
	int ret;

	if (!from->place_count)
		return open_own(f, t, task);
	ret = moca_file_open(f, t->dirfd, MOCA_FILE_SHARED, 0, INT64_MAX);
	if (ret)
		return ret;
	f->task = t->tasks[task].id;
	f->places = &t->shared_places[from->place];
	f->place_count = from->place_count;
	return 0;
}

int moca_task_file_next(struct moca_file *f, const struct moca_trace *t,
			size_t task, struct moca_header *h, uint64_t *pos)
{
	int ret = moca_file_next(f, h, pos);

	if (ret || !f->places || !t->task_files[task].end)
		return ret;
	moca_file_close(f);
	ret = open_own(f, t, task);
	return ret ? ret : moca_file_next(f, h, pos);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/writer.h"

#include <fcntl.h>

#include "lib/base/vec.h"
#include "lib/format/access.h"
#include "lib/format/append.h"
#include "lib/format/change.h"
#include "lib/format/counts.h"
#include "lib/format/jit.h"
#include "lib/format/stacks.h"
#include "lib/format/stream.h"

/*
 * To make a file can take milliseconds (ext4, where many were removed). Of
 * thousands of threads most do little: beyond the first tasks, each writes this
 * much to a file for all before it gets one of its own.
 */
#define OWN_FILES 16
#define SHARED_BYTES (64u << 10)

struct task_state {
	uint64_t next_number[MOCA_KINDS];
	struct moca_append file;
	int created;
	uint64_t shared_bytes;
};

struct moca_writer {
	int dirfd;
	struct task_state *tasks;
	size_t task_cap;
	struct moca_append shared;
	struct moca_append stacks;
	uint64_t stacks_next[MOCA_KINDS];	/* numbers of chunks */
	struct moca_stream_out stream;
	struct moca_buf changes;
	struct moca_access_scratch *scratch;
	struct moca_counts_scratch *counts;	/* NULL until it is needed */
	uint64_t bytes;
	uint64_t access_bytes;
	uint64_t accesses;
};

int moca_writer_create(struct moca_writer **out, int dirfd)
{
	struct moca_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->dirfd = dirfd;
	w->shared = (struct moca_append){
		.type = MOCA_FILE_SHARED,
		.flags = O_CREAT | O_EXCL,
	};
	w->stacks = (struct moca_append){
		.type = MOCA_FILE_STACKS,
		.flags = O_CREAT | O_EXCL,
	};
	w->scratch = malloc(sizeof(*w->scratch));
	if (moca_stream_out_init(&w->stream, MOCA_STREAM_LEVEL) || !w->scratch) {
		moca_writer_destroy(w);
		return -ENOMEM;
	}
	*out = w;
	return 0;
}

void moca_writer_destroy(struct moca_writer *w)
{
	if (!w)
		return;
	moca_stream_out_free(&w->stream);
	moca_buf_free(&w->changes);
	free(w->scratch);
	free(w->counts);
	free(w->tasks);
	free(w);
}

/* The task's state, made on first use; NULL if there is no memory. */
static struct task_state *task_state(struct moca_writer *w, uint32_t task)
{
	if (moca_vec_fit_zeroed(w->tasks, w->task_cap, (size_t)task + 1))
		return NULL;
	return &w->tasks[task];
}

/* Write the chunk that h and w->stream hold. */
static int write_chunk(struct moca_writer *w, struct moca_header *h)
{
	struct task_state *t = task_state(w, h->task);
	struct moca_append *to;
	uint64_t total;
	int ret;

	if (!t)
		return -ENOMEM;
	to = h->task >= OWN_FILES && t->shared_bytes < SHARED_BYTES ?
		     &w->shared : &t->file;
	/* A file that is there before its first chunk is not ours. */
	if (!t->created)
		t->file = (struct moca_append){
			.type = MOCA_FILE_TASK,
			.number = h->task,
			.flags = O_CREAT | O_EXCL,
		};
	ret = moca_append_chunk(w->dirfd, to, h, &w->stream, t->next_number,
				&total);
	t->created = to == &t->file && !t->file.flags;
	if (ret)
		return ret;
	if (to == &w->shared)
		t->shared_bytes += total;
	w->bytes += total;
	if (h->kind == MOCA_KIND_ACCESSES) {
		w->access_bytes += total;
		w->accesses += h->records;
	}
	return 0;
}

/* Check the records and take from them what the header says. */
static int summarise(struct moca_header *h, const struct moca_access *recs,
		     size_t n)
{
	const struct moca_access *r;
	uint64_t prev = 0;
	uint32_t word;
	size_t i;

	for (i = 0; i < n; i++) {
		r = &recs[i];
		if (r->time_ns < prev || r->type > MOCA_ACCESS_EXEC ||
		    r->mode > MOCA_MODE_KERNEL ||
		    r->weight > MOCA_WEIGHT_MAX ||
		    (r->weight & (r->weight - 1u)))
			return -EINVAL;
		prev = r->time_ns;
		h->writes += r->type == MOCA_ACCESS_WRITE;
		h->reads += r->type == MOCA_ACCESS_READ ||
			    r->type == MOCA_ACCESS_EXEC;
		moca_weights_add(&h->weights, r);
		if (r->weight != 1)
			h->flags |= MOCA_CHUNK_WEIGHTS;
		word = r->cpu / 64;
		if (word >= MOCA_CPUMASK_WORDS)
			continue;
		h->cpumask[word] |= 1ull << r->cpu % 64;
		if (word >= h->cpu_words)
			h->cpu_words = word + 1;
	}
	if (!n)
		return 0;
	/* Queries skip chunks by these bounds: every record is within. */
	if (recs[0].time_ns < h->begin_ns)
		h->begin_ns = recs[0].time_ns;
	if (prev >= h->end_ns)
		h->end_ns = moca_add_sat(prev, 1);
	return 0;
}

int moca_writer_accesses(struct moca_writer *w,
			 const struct moca_chunk_info *info,
			 const struct moca_access *recs, size_t n)
{
	struct moca_header h = {
		.kind = MOCA_KIND_ACCESSES,
		.flags = info->more ? MOCA_CHUNK_MORE : 0,
		.task = info->task,
		.interval = info->interval,
		.begin_ns = info->begin_ns,
		.end_ns = info->end_ns,
		.lost = info->lost,
	};
	int ret;

	if (n > MOCA_CHUNK_RECORDS_MAX)
		return -E2BIG;
	if (info->task >= MOCA_TASKS_MAX || info->end_ns < info->begin_ns)
		return -EINVAL;
	h.records = (uint32_t)n;
	ret = summarise(&h, recs, n);
	if (ret)
		return ret;
	moca_stream_reset(&w->stream);
	if (n)
		ret = moca_access_encode(w->scratch, &w->stream, recs, n,
					 h.begin_ns);
	return ret ? ret : write_chunk(w, &h);
}

/* Check the rows and take from them what the header says. */
static int summarise_counts(struct moca_header *h,
			    const struct moca_count *rows, size_t n)
{
	uint64_t *loads = &h->cpumask[MOCA_COUNTS_LOADS];
	uint64_t *stores = &h->cpumask[MOCA_COUNTS_STORES];
	uint64_t mask = (1ull << h->cpumask[MOCA_COUNTS_SHIFT]) - 1;
	const struct moca_count *r;
	size_t i;

	for (i = 0; i < n; i++) {
		r = &rows[i];
		if (r->addr & mask || (i && r->addr <= rows[i - 1].addr) ||
		    !(r->loads | r->stores) || r->first_store > 1 ||
		    __builtin_add_overflow(*loads, r->loads, loads) ||
		    __builtin_add_overflow(*stores, r->stores, stores))
			return -EINVAL;
		if (!r->first_ns && r->first_store)
			return -EINVAL;
		if (!r->first_ns)
			continue;
		if (r->first_store ? !r->stores : !r->loads)
			return -EINVAL;
		if (r->first_ns < h->begin_ns)
			h->begin_ns = r->first_ns;
		if (r->first_ns > h->end_ns)
			h->end_ns = r->first_ns;
	}
	return moca_counts_header_valid(h) ? 0 : -EINVAL;
}

int moca_writer_counts(struct moca_writer *w,
		       const struct moca_chunk_info *info, unsigned shift,
		       const struct moca_count *rows, size_t n)
{
	struct moca_header h = {
		.kind = MOCA_KIND_COUNTS,
		.flags = info->more ? MOCA_CHUNK_MORE : 0,
		.task = info->task,
		.interval = info->interval,
		.begin_ns = info->begin_ns,
		.end_ns = info->end_ns,
		.cpu_words = MOCA_COUNTS_WORDS,
		.cpumask[MOCA_COUNTS_SHIFT] = shift,
	};
	int ret;

	if (n > MOCA_CHUNK_RECORDS_MAX)
		return -E2BIG;
	if (info->task >= MOCA_TASKS_MAX || info->lost ||
	    shift < MOCA_GRANULE_SHIFT_MIN || shift > MOCA_GRANULE_SHIFT_MAX)
		return -EINVAL;
	h.records = (uint32_t)n;
	ret = summarise_counts(&h, rows, n);
	if (ret)
		return ret;
	if (!w->counts)
		w->counts = malloc(sizeof(*w->counts));
	if (!w->counts)
		return -ENOMEM;
	moca_stream_reset(&w->stream);
	if (n)
		ret = moca_counts_encode(w->counts, &w->stream, rows, n, shift,
					 h.begin_ns);
	return ret ? ret : write_chunk(w, &h);
}

int moca_writer_changes(struct moca_writer *w, uint32_t task,
		       const struct moca_change *changes, size_t n)
{
	struct moca_header h = { .kind = MOCA_KIND_CHANGES, .task = task };
	int ret = 0;

	if (task >= MOCA_TASKS_MAX)
		return -EINVAL;
	while (n && !ret) {
		ret = moca_changes_pack(&w->stream, &w->changes, &h, &changes, &n);
		if (!ret)
			ret = write_chunk(w, &h);
	}
	return ret;
}

int moca_writer_stacks(struct moca_writer *w, uint32_t first,
		       const struct moca_stack *list, size_t n)
{
	struct moca_header h = { .kind = MOCA_KIND_STACKS };
	uint64_t bytes;
	int done, ret;

	for (; n; first += (uint32_t)done, list += done, n -= (size_t)done) {
		w->changes.len = 0;
		done = moca_stacks_encode(&w->changes, first, list, n);
		if (done < 0)
			return done;
		h.records = (uint32_t)done;
		moca_stream_reset(&w->stream);
		ret = moca_stream_put(&w->stream, MOCA_S_STACK_LIST,
				      w->changes.data, w->changes.len, 1);
		if (!ret)
			ret = moca_append_chunk(w->dirfd, &w->stacks, &h,
						&w->stream, w->stacks_next,
						&bytes);
		if (ret)
			return ret;
		w->bytes += bytes;
	}
	return 0;
}

int moca_writer_jit(struct moca_writer *w, const struct moca_jits *j)
{
	struct moca_append file = {
		.type = MOCA_FILE_JIT,
		.flags = O_CREAT | O_EXCL,
	};
	struct moca_header h = { .kind = MOCA_KIND_JIT };
	uint64_t next[MOCA_KINDS] = { 0 }, bytes;
	int n, ret;

	for (size_t i = 0; i < j->count; i += (size_t)n) {
		w->changes.len = 0;
		n = moca_jits_encode(&w->changes, j, i);
		if (n < 0)
			return n;
		h.records = (uint32_t)n;
		moca_stream_reset(&w->stream);
		ret = moca_stream_put(&w->stream, MOCA_S_JIT_LIST,
				      w->changes.data, w->changes.len, 1);
		if (!ret)
			ret = moca_append_chunk(w->dirfd, &file, &h, &w->stream,
						next, &bytes);
		if (ret)
			return ret;
		w->bytes += bytes;
	}
	return 0;
}

uint64_t moca_writer_bytes(const struct moca_writer *w)
{
	return w->bytes;
}

uint64_t moca_writer_access_count(const struct moca_writer *w)
{
	return w->accesses;
}

uint64_t moca_writer_access_bytes(const struct moca_writer *w)
{
	return w->access_bytes;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread's buffer: its file, its header, and looking at it safely. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/trace/guard.h"
#include "collect/trace/tracer.h"
#include "lib/ring/clock.h"
#include "lib/ring/protocol.h"

struct header_args {
	const struct tracer_session *s;
	const struct tracer_stream *st;
	uint32_t word_bits;
};

/* Guarded: another program of the user might cut the file at once. */
static void fill_header(void *arg)
{
	const struct header_args *a = arg;
	const struct tracer_options *o = &a->s->opt;
	struct moca_ring_header *h = a->st->ring.shm;

	h->magic = MOCA_RING_MAGIC;
	h->version = MOCA_RING_VERSION;
	h->mode = (uint16_t)o->mode;
	h->session = a->s->slot.session;
	h->incarnation = a->st->incarnation;
	h->stream = a->st->number;
	h->pid = a->st->pid;
	h->tid = a->st->tid;
	h->clock = a->s->clock_kind;
	h->subbuf_size = o->subbuf_size;
	h->subbufs = o->subbufs;
	h->timeout_ms = o->timeout_ms;
	h->word_bits = a->word_bits;
	h->start_ns = a->st->start_ns;
	memcpy(h->name, a->st->name, sizeof(h->name));
	h->limit = (uint64_t)o->subbuf_size * o->subbufs;
}

int tracer_stream_create(struct tracer_session *s, struct tracer_stream **out,
			 const struct moca_msg_join *join, pid_t pid, int *fd)
{
	const struct tracer_options *o = &s->opt;
	struct header_args args = { .s = s, .word_bits = join->word_bits };
	struct tracer_stream *st = calloc(1, sizeof(*st));
	char file[32];
	void *base;
	int err;

	if (!st)
		return -ENOMEM;
	st->number = s->next_stream;
	st->pid = (uint32_t)pid;
	st->tid = join->tid;
	st->incarnation = join->incarnation;
	st->lost_before = join->lost;
	st->start_ns = moca_now_ns();
	memcpy(st->name, join->name, sizeof(st->name));
	st->name[sizeof(st->name) - 1] = 0;
	st->size = MOCA_RING_DATA + (size_t)o->subbuf_size * o->subbufs;
	tracer_shm_stream_name(file, st->number);
	*fd = tracer_shm_file(&s->shm, file, st->size, &base);
	if (*fd < 0) {
		err = *fd;
		free(st);
		return err;
	}
	err = moca_ring_reader_init(&st->ring, base, o->subbuf_size,
				    o->subbufs, o->mode);
	st->ring.shm = base;
	st->ring.id_end = &s->catalog.end;
	args.st = st;
	if (!err)
		err = tracer_guard(fill_header, &args);
	atomic_fetch_add(&s->totals.memory, st->size);
	if (err) {
		close(*fd);
		tracer_stream_destroy(s, st);
		return err;
	}
	*out = st;
	return 0;
}

void tracer_stream_destroy(struct tracer_session *s, struct tracer_stream *st)
{
	char file[32];

	tracer_shm_stream_name(file, st->number);
	unlinkat(s->shm.dirfd, file, 0);
	munmap(st->ring.shm, st->size);
	moca_ring_reader_free(&st->ring);
	atomic_fetch_sub(&s->totals.memory, st->size);
	free(st);
}

struct call {
	struct moca_ring_reader *r;
	enum moca_ring_read_how how;
	struct moca_ring_batch *batch;
	struct tracer_peek *peek;
	uint64_t lost;
	int ret;
};

static void call_read(void *arg)
{
	struct call *c = arg;

	c->ret = moca_ring_read(c->r, c->how, c->batch);
}

static void call_release(void *arg)
{
	struct call *c = arg;

	moca_ring_release(c->r);
}

static void call_lost(void *arg)
{
	struct call *c = arg;

	c->lost = moca_ring_take_lost(c->r);
}

static void call_peek(void *arg)
{
	struct call *c = arg;
	struct moca_ring_header *h = c->r->shm;

	/* First, and pairs with the thread's last store of reserve. */
	c->peek->ended = __atomic_load_n(&h->ended, __ATOMIC_ACQUIRE);
	c->peek->reserve = __atomic_load_n(&h->reserve, __ATOMIC_RELAXED);
	c->peek->limit = __atomic_load_n(&h->limit, __ATOMIC_RELAXED);
}

int tracer_ring_read(struct moca_ring_reader *r, enum moca_ring_read_how how,
		     struct moca_ring_batch *out)
{
	struct call c = { .r = r, .how = how, .batch = out };

	return tracer_guard(call_read, &c) ? -EFAULT : c.ret;
}

int tracer_ring_release(struct moca_ring_reader *r)
{
	struct call c = { .r = r };

	return tracer_guard(call_release, &c);
}

int tracer_ring_take_lost(struct moca_ring_reader *r, uint64_t *lost)
{
	struct call c = { .r = r };
	int err = tracer_guard(call_lost, &c);

	*lost = err ? 0 : c.lost;
	return err;
}

int tracer_ring_peek(struct moca_ring_reader *r, struct tracer_peek *out)
{
	struct call c = { .r = r, .peek = out };

	return tracer_guard(call_peek, &c);
}

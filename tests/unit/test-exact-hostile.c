// SPDX-License-Identifier: GPL-2.0-or-later
/* Arenas full of nonsense: the trace is sound, and says that there was some. */
#include <sys/mman.h>

#include "collect/exact/harvest.h"
#include "collect/run/queue.h"
#include "lib/ring/layout.h"
#include "tests/unit/trace-util.h"

#define ROUNDS 1000

static uint64_t seed = 88172645463325252ull;

static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Often small, or near a limit. */
static uint64_t number(void)
{
	static const uint64_t odd[] = { 0, 1, 7, 8, 40, 56, 4096, UINT32_MAX,
					1ull << 24, 1ull << 32, INT64_MAX,
					UINT64_MAX, UINT64_MAX - 7 };
	uint64_t r = random64();

	return r % 3 ? random64() >> r % 64 :
		       odd[random64() % (sizeof(odd) / sizeof(*odd))];
}

static void fill(struct exact_arena *a, unsigned int n)
{
	struct moca_exact_slot *s = exact_arena_slot(a, n);
	uint64_t part[512], *p = (uint64_t *)s;
	uint8_t *ring = (uint8_t *)s + MOCA_EXACT_EVENTS;
	uint64_t log[64];
	size_t i;

	/* What tells how long things are is not all nonsense, or little of
	 * the rest would be looked at. */
	for (i = 0; i < sizeof(*s) / 8; i++)
		p[i] = number();
	for (i = 0; i < 4096; i++)
		ring[i] = (uint8_t)random64();
	for (i = 0; i < 4096; i += 64) {
		struct moca_exact_event *e = (void *)(ring + i);

		if (random64() % 8)
			e->size = 64;
		if (random64() % 8)
			e->type = 4 + random64() % 5;
	}
	if (random64() % 4) {
		s->events_tail = number() & ~7ull;
		s->events_head = s->events_tail + random64() % 4096 / 64 * 64;
	}
	for (i = 0; i < 64; i++)
		log[i] = number() << MOCA_EXACT_LOG_GRANULE_SHIFT |
			 (number() & 7) | number() << 3;
	if (random64() % 4)
		s->log_count = random64() % 100;
	else if (s->log_count > 100000)
		s->log_count = 100000 + random64() % 1000;
	for (i = 0; i < 512; i++)
		part[i] = number();
	if (pwrite(a->fd, log, sizeof(log),
		   n * MOCA_EXACT_SLOT_SIZE + MOCA_EXACT_LOG) < 0 ||
	    pwrite(a->fd, part, sizeof(part),
		   n * MOCA_EXACT_SLOT_SIZE + MOCA_EXACT_COUNTS) < 0 ||
	    pwrite(a->fd, part, sizeof(part),
		   n * MOCA_EXACT_SLOT_SIZE + MOCA_EXACT_TOUCHED) < 0)
		abort();
}

/* Every row and event can be read, and the sums are those that were told. */
static int read_back(const struct exact_totals *t)
{
	const struct moca_counts *c;
	const struct moca_change *e;
	struct moca_damage damage;
	struct moca_cursor *cursor;
	struct moca_trace *trace;
	uint64_t loads = 0, stores = 0, events = 0;
	uint32_t task;
	int ret;

	CHECK(!moca_trace_open(&trace, dir));
	CHECK(!moca_cursor_open(&cursor, trace, NULL));
	while ((ret = moca_cursor_counts(cursor, &c)) > 0)
		if (__builtin_add_overflow(loads, c->loads, &loads) ||
		    __builtin_add_overflow(stores, c->stores, &stores))
			loads = stores = UINT64_MAX;
	CHECK(!ret);
	moca_cursor_close(cursor);
	CHECK(!moca_cursor_open(&cursor, trace, NULL));
	while ((ret = moca_cursor_change(cursor, &e, &task)) > 0)
		CHECK(strlen(e->name) < 4096 && ++events);
	CHECK(!ret);
	moca_cursor_close(cursor);
	moca_trace_damage(trace, &damage);
	CHECK(!damage.files && !damage.chunks && !damage.tail_bytes);
	CHECK(loads == t->loads && stores == t->stores);
	/* Some of it was not nonsense enough. */
	CHECK(loads && events);
	moca_trace_close(trace);
	return 0;
}

static int t_nonsense(void)
{
	struct moca_record_options opt = { .quiet = 1 };
	struct recorder rec = { .opt = &opt, .front = -1 };
	struct harvest *h;
	struct moca_meta *meta = moca_meta_new();
	struct moca_writer *writer;
	struct counted_task task = { .slot = 0, .tid = 5, .pid = 5,
			      .inner_tid = 5 };
	struct exact_arena *a;
	int fd = memfd_create("test-exact-hostile", MFD_CLOEXEC);

	dir_new();
	rec.dir = dir;
	rec.dirfd = dirfd_;
	rec.queue = queue_new(NULL);
	CHECK(rec.queue);
	rec.start_ns = moca_now_ns() - 1000000000;
	moca_exact_recording.shift = 12;
	CHECK(fd >= 0 && !ftruncate(fd, MOCA_EXACT_ARENA_SIZE));
	CHECK(meta && !moca_writer_create(&writer, dirfd_));
	CHECK(!harvest_new(&h, &rec, meta, writer));
	CHECK((a = exact_arena_new(fd)));
	task.parent = MOCA_NO_TASK;
	task.arena = a;
	a->views[0].task = &task;
	for (int i = 0; i < ROUNDS; i++) {
		fill(a, 0);
		slot_drain(h, a, 0);
		slot_count(h, a, 0, i & 1 ? number() : 0, i % 5 == 4);
		slot_shared(h, a, 0);
		events_write(h, &task);
		CHECK(exact_arena_used(a) <= MOCA_EXACT_SLOTS);
		if (i % 5 != 4)
			continue;
		exact_arena_release(a, 0);
		CHECK(slot_state(a, 0) == MOCA_EXACT_FREE);
		a->views[0].task = &task;
	}
	/* That events were lost is no lack of memory, nor as many as it says. */
	CHECK(!queue_lost(rec.queue));
	CHECK(queue_missed(rec.queue) > 0);
	CHECK(queue_missed(rec.queue) <= (uint64_t)ROUNDS << 32);
	CHECK(!h->recording.failed);
	CHECK(exact_gaps(harvest_totals(h)) > 0);
	moca_meta_set(meta, "state", "complete");
	exact_describe_totals(meta, harvest_totals(h));
	CHECK(!moca_meta_write(meta, dirfd_));
	exact_arena_free(a);
	free(task.events);
	return read_back(harvest_totals(h));
}

int main(void)
{
	const char *from = getenv("SEED");

	if (from)
		seed ^= strtoull(from, NULL, 0) * 2654435761u;
	run("nonsense in arenas", t_nonsense);
	dir_remove();
	return failures != 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread that was killed in a loop whose accesses are counted when it is left:
 * what it has done of that is counted here. exact-arena.h says how it can be told.
 */
#include <errno.h>
#include <unistd.h>

#include "collect/exact/harvest.h"

static int put(const struct exact_arena *a, unsigned int n, uint64_t offset,
	       const uint64_t *word)
{
	off_t at = (off_t)(n * MOCA_EXACT_SLOT_SIZE + offset);
	ssize_t done;

	do {
		done = pwrite(a->fd, word, sizeof(*word), at);
	} while (done < 0 && errno == EINTR);
	return done == sizeof(*word) ? 0 : done < 0 ? -errno : -EIO;
}

/* A counter has come down to 0, and goes on from the top. */
static int log_wrap(const struct exact_arena *a, unsigned int n,
		    struct moca_exact_slot *s, uint64_t granule, int store)
{
	uint64_t count = s->log_count;
	uint64_t entry = granule << MOCA_EXACT_LOG_GRANULE_SHIFT |
			 MOCA_EXACT_LOG_WRAP |
			 (store ? MOCA_EXACT_LOG_STORE : 0);
	int err;

	if (count >= MOCA_EXACT_LOG_MAX)
		return -EINVAL;
	err = put(a, n, MOCA_EXACT_LOG + count * sizeof(entry), &entry);
	if (!err)
		s->log_count = count + 1;
	return err;
}

static int count(const struct exact_arena *a, unsigned int n,
		 struct moca_exact_slot *s, const struct moca_exact_loop *l,
		 unsigned int which, uint64_t iterations)
{
	uint64_t granule = l->entry[which].granule, word;
	uint64_t offset = MOCA_EXACT_COUNTS +
			  granule % MOCA_EXACT_CELLS * sizeof(word);
	uint32_t loads = (uint32_t)(l->entry[which].load * iterations);
	uint32_t stores = (uint32_t)(l->entry[which].store * iterations);
	uint32_t load, store;
	int err;

	if (granule >> (64 - MOCA_EXACT_LOG_GRANULE_SHIFT))
		return -EINVAL;
	err = exact_arena_read(a, n, offset, &word, sizeof(word));
	if (err)
		return err;
	load = (uint32_t)word;
	store = word >> 32;
	word = (uint64_t)(store - stores) << 32 | (uint32_t)(load - loads);
	err = put(a, n, offset, &word);
	if (!err && load < loads)
		err = log_wrap(a, n, s, granule, 0);
	if (!err && store < stores)
		err = log_wrap(a, n, s, granule, 1);
	return err;
}

/* How often each entry is to be counted yet, or -1: it is nonsense. */
static int64_t iterations(const struct moca_exact_loop *l)
{
	uint64_t size = l->step < 0 ? -(uint64_t)l->step : (uint64_t)l->step;
	uint64_t moved = l->step < 0 ? l->start - l->now : l->now - l->start;

	if (moved == -size)
		return 0;
	if (!size || moved % size ||
	    moved / size > MOCA_EXACT_LOOP_ITERATIONS)
		return -1;
	return (int64_t)(moved / size);
}

int slot_finish_loop(const struct exact_arena *a, unsigned int n,
		     struct moca_exact_slot *s)
{
	struct moca_exact_loop l;
	int64_t times;
	int err = exact_arena_read(a, n, MOCA_EXACT_LOOP, &l, sizeof(l));

	if (err || !l.entries)
		return err;
	times = iterations(&l);
	if (times < 0 || l.entries > MOCA_EXACT_LOOP_ENTRIES ||
	    l.next > l.entries || l.done > l.next || l.next - l.done > 1)
		return -EINVAL;
	if (l.next > l.done) {	/* perhaps done: then this changes nothing */
		uint64_t granule = l.entry[l.done].granule;

		err = put(a, n, MOCA_EXACT_COUNTS + granule % MOCA_EXACT_CELLS *
			  sizeof(l.word), &l.word);
		l.done = l.next;
	}
	for (; times && !err && l.done < l.entries; l.done++)
		err = count(a, n, s, &l, l.done, (uint64_t)times);
	return err;
}

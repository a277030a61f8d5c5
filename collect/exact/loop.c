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

/* A part's granule; 0, or -EINVAL: there is none of that number. */
static int granule_of(const struct moca_exact_loop *l, unsigned int part,
		      uint64_t *granule)
{
	const struct moca_exact_loop_entry *e = &l->entry[part / 2];

	*granule = e->granule + (part % 2 ? (uint64_t)e->way : 0);
	return *granule >> (64 - MOCA_EXACT_LOG_GRANULE_SHIFT) ? -EINVAL : 0;
}

static uint64_t offset_of(uint64_t granule)
{
	return MOCA_EXACT_COUNTS + granule % MOCA_EXACT_CELLS * 8;
}

/* How often a part's accesses were made, and are not counted yet. */
static uint32_t times(const struct moca_exact_loop *l, unsigned int part,
		      uint32_t begun)
{
	const struct moca_exact_loop_entry *e = &l->entry[part / 2];
	uint32_t first = begun < e->split ? begun : e->split;

	if (part % 2)
		return begun - first;
	return first > e->ahead ? first - e->ahead : 0;
}

static int count(const struct exact_arena *a, unsigned int n,
		 struct moca_exact_slot *s, const struct moca_exact_loop *l,
		 unsigned int part, uint32_t n_times)
{
	uint32_t loads = l->entry[part / 2].load * n_times;
	uint32_t stores = l->entry[part / 2].store * n_times;
	uint32_t load, store;
	uint64_t granule, word;
	int err = granule_of(l, part, &granule);

	if (!err)
		err = exact_arena_read(a, n, offset_of(granule), &word,
				       sizeof(word));
	if (err)
		return err;
	load = (uint32_t)word;
	store = word >> 32;
	word = (uint64_t)(store - stores) << 32 | (uint32_t)(load - loads);
	err = put(a, n, offset_of(granule), &word);
	if (!err && load < loads)
		err = log_wrap(a, n, s, granule, 0);
	if (!err && store < stores)
		err = log_wrap(a, n, s, granule, 1);
	return err;
}

/* Iterations that have begun, or -1: it is nonsense. */
static int32_t iterations(const struct moca_exact_loop *l)
{
	uint64_t size = l->step < 0 ? -(uint64_t)l->step : (uint64_t)l->step;
	uint64_t moved = l->step < 0 ? l->start - l->now : l->now - l->start;

	if (!size)
		return -1;
	if (moved == -size)
		return 0;
	if (moved % size || moved / size >= MOCA_EXACT_LOOP_ITERATIONS)
		return -1;
	return (int32_t)(moved / size) + 1;
}

int slot_finish_loop(const struct exact_arena *a, unsigned int n,
		     struct moca_exact_slot *s)
{
	struct moca_exact_loop l;
	uint64_t granule;
	int32_t begun;
	int err = exact_arena_read(a, n, MOCA_EXACT_LOOP, &l, sizeof(l));

	if (err || !l.entries)
		return err;
	begun = iterations(&l);
	if (begun < 0 || l.entries > MOCA_EXACT_LOOP_ENTRIES ||
	    l.next > 2 * l.entries || l.done > l.next)
		return -EINVAL;
	if (l.next > l.done) {	/* perhaps done: then this changes nothing */
		err = granule_of(&l, l.next - 1, &granule);
		if (!err)
			err = put(a, n, offset_of(granule), &l.word);
	}
	for (unsigned int part = l.next; !err && part < 2 * l.entries; part++) {
		uint32_t n_times = times(&l, part, (uint32_t)begun);

		if (n_times)
			err = count(a, n, s, &l, part, n_times);
	}
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An arena from outside. Its memory is read, but for the first page of a slot
 * and its events: to look at a hole of a mapping would fill it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/exact/collector.h"
#include "collect/run/own.h"

#define VIEW (MOCA_EXACT_EVENTS + MOCA_EXACT_EVENTS_SIZE)

struct exact_arena *exact_arena_new(int fd)
{
	static atomic_uint numbers;
	struct exact_arena *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->views = calloc(MOCA_EXACT_SLOTS, sizeof(*a->views));
	if (!a->views) {
		free(a);
		return NULL;
	}
	a->fd = fd;
	a->number = atomic_fetch_add(&numbers, 1);
	atomic_store(&a->spaces, 1);
	return a;
}

void exact_arena_free(struct exact_arena *a)
{
	/* Views beyond the last mapped one are untouched memory. */
	for (unsigned int i = 0; i < a->mapped; i++) {
		if (a->views[i].head)
			munmap(a->views[i].head, VIEW);
		exact_tally_free(a->views[i].tally);
	}
	free(a->views);
	own_memory_forget(a->fd);
	close(a->fd);
	free(a);
}

int exact_arena_tell_own(struct exact_arena *a)
{
	struct moca_exact_slot *s = exact_arena_slot(a, 0);
	uint64_t files[MOCA_EXACT_OWN_FILES][2];
	size_t n = own_files(files, MOCA_EXACT_OWN_FILES);
	struct moca_exact_shared *shared;

	if (!s)
		return -ENOMEM;
	shared = (void *)((char *)s + MOCA_EXACT_SHARED);
	for (size_t i = 0; i < n; i++) {
		shared->own[i].dev = files[i][0];
		shared->own[i].ino = files[i][1];
	}
	return 0;
}

struct moca_exact_slot *exact_arena_slot(struct exact_arena *a, unsigned int n)
{
	void *p;

	if (a->views[n].head)
		return a->views[n].head;
	p = mmap(NULL, VIEW, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		 a->fd, (off_t)(n * MOCA_EXACT_SLOT_SIZE));
	if (p == MAP_FAILED)
		return NULL;
	a->views[n].head = p;
	if (a->mapped <= n)
		a->mapped = n + 1;
	return p;
}

unsigned int exact_arena_used(struct exact_arena *a)
{
	struct moca_exact_slot *s = exact_arena_slot(a, 0);
	struct moca_exact_shared *shared;
	unsigned int used;

	if (!s)
		return 0;
	shared = (void *)((char *)s + MOCA_EXACT_SHARED);
	/* Pairs with the agent's after it has made a slot LIVE. */
	used = __atomic_load_n(&shared->used, __ATOMIC_ACQUIRE);
	return used < MOCA_EXACT_SLOTS ? used : MOCA_EXACT_SLOTS;
}

static void punch(const struct exact_arena *a, unsigned int n, uint64_t from,
		  uint64_t to)
{
	fallocate(a->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		  (off_t)(n * MOCA_EXACT_SLOT_SIZE + from), (off_t)(to - from));
}

/* Does a LIVE one have chart (its number + 1) as its parent? */
static int is_parent(struct exact_arena *a, uint32_t chart, unsigned int used)
{
	struct moca_exact_chart c;

	for (unsigned int n = 0; n < used; n++)
		if (!exact_arena_read(a, n, MOCA_EXACT_CHART, &c,
				      offsetof(struct moca_exact_chart, agent)) &&
		    c.state == MOCA_EXACT_LIVE && c.parent == chart)
			return 1;
	return 0;
}

static unsigned int charts_used(struct exact_arena *a)
{
	const struct moca_exact_slot *s = exact_arena_slot(a, 0);
	const struct moca_exact_shared *shared;
	uint32_t used;

	if (!s)
		return MOCA_EXACT_SLOTS;
	shared = (const void *)((const char *)s + MOCA_EXACT_SHARED);
	/* Pairs with the agent's before it takes one. */
	used = __atomic_load_n(&shared->charts, __ATOMIC_ACQUIRE);
	return used < MOCA_EXACT_SLOTS ? used : MOCA_EXACT_SLOTS;
}

void exact_arena_free_chart(struct exact_arena *a, uint32_t chart)
{
	unsigned int used = charts_used(a);
	struct moca_exact_chart c;

	if (chart && chart <= MOCA_EXACT_SLOTS)
		a->gone[chart - 1] = 1;
	/* It, and those that were kept for it: its parent, and so on. */
	while (chart && chart <= MOCA_EXACT_SLOTS && a->gone[chart - 1] &&
	       !is_parent(a, chart, used)) {
		if (exact_arena_read(a, chart - 1, MOCA_EXACT_CHART, &c,
				     sizeof(c)))
			return;
		a->gone[chart - 1] = 0;
		punch(a, chart - 1, MOCA_EXACT_CHART,
		      MOCA_EXACT_CHART + MOCA_EXACT_CHART_SIZE);
		chart = c.parent;
	}
}

void exact_arena_release(struct exact_arena *a, unsigned int n)
{
	struct exact_view *v = &a->views[n];

	exact_tally_free(v->tally);
	/* The first page stays: to look at its state would make it again. So does
	 * the chart, which is a process's. */
	punch(a, n, MOCA_EXACT_EVENTS, MOCA_EXACT_CHART);
	punch(a, n, MOCA_EXACT_CHART + MOCA_EXACT_CHART_SIZE,
	      MOCA_EXACT_SLOT_SIZE);
	memset((char *)v->head + sizeof(v->head->state), 0,
	       sizeof(*v->head) - sizeof(v->head->state));
	v->task = NULL;
	v->tally = NULL;
	memset(v->gaps, 0, sizeof(v->gaps));
	memset(&v->apart, 0, sizeof(v->apart));
	v->lost = 0;
	v->told_ns = 0;
	/* Pairs with the agent's exchange that takes it: it finds all zero. */
	__atomic_store_n(&v->head->state, MOCA_EXACT_FREE, __ATOMIC_RELEASE);
}

uint64_t exact_arena_memory(const struct exact_arena *a)
{
	struct stat st;

	return fstat(a->fd, &st) ? 0 : (uint64_t)st.st_blocks * 512;
}

int exact_arena_read(const struct exact_arena *a, unsigned int n,
		     uint64_t offset, void *buf, size_t len)
{
	uint64_t at = n * MOCA_EXACT_SLOT_SIZE + offset;
	size_t done = 0;
	ssize_t got;

	for (; done < len; done += got) {
		got = pread(a->fd, (char *)buf + done, len - done,
			    (off_t)(at + done));
		if (got < 0 && errno == EINTR)
			got = 0;
		else if (got <= 0)
			return got ? -errno : -EIO;
	}
	return 0;
}

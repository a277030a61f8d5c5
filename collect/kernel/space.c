// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel/space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/run/own.h"
#include "collect/run/pageset.h"
#include "lib/base/identity.h"
#include "lib/base/vec.h"

/* Of struct map's flags: it is Moca's own. Beside MOCA_MAPF_*. */
#define MAP_OWN (1u << 31)

struct map {
	uint64_t start, end;
	uint64_t offset;	/* of start in its file */
	uint64_t inode;
	uint32_t dev, flags, prot;
};

struct kernel_space {
	int holders;
	struct map *maps;	/* sorted, disjoint */
	size_t count, room;
	struct pageset *seen;	/* by a thread that is known */
	struct pageset *swept;	/* by one that is not */
};

struct kernel_space *kernel_space_new(void)
{
	struct kernel_space *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->holders = 1;
	s->seen = pageset_new();
	s->swept = pageset_new();
	if (!s->seen || !s->swept) {
		kernel_space_drop(s);
		return NULL;
	}
	return s;
}

struct kernel_space *kernel_space_copy(const struct kernel_space *from)
{
	struct kernel_space *s = kernel_space_new();

	if (!s || !from->count)
		return s;
	s->maps = malloc(from->count * sizeof(*s->maps));
	if (!s->maps) {
		kernel_space_drop(s);
		return NULL;
	}
	memcpy(s->maps, from->maps, from->count * sizeof(*s->maps));
	s->count = s->room = from->count;
	return s;
}

struct kernel_space *kernel_space_hold(struct kernel_space *s)
{
	s->holders++;
	return s;
}

void kernel_space_drop(struct kernel_space *s)
{
	if (!s || --s->holders)
		return;
	pageset_free(s->seen);
	pageset_free(s->swept);
	free(s->maps);
	free(s);
}

/* Index of the first map that ends above addr. */
static size_t first_above(const struct kernel_space *s, uint64_t addr)
{
	size_t lo = 0, hi = s->count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->maps[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int same(const struct map *a, const struct map *b)
{
	return a->inode == b->inode && a->dev == b->dev &&
	       a->flags == b->flags && a->prot == b->prot &&
	       (!(a->flags & MOCA_MAPF_FILE) ||
		a->offset - a->start == b->offset - b->start);
}

static void forget_pages(struct kernel_space *s, uint64_t start, uint64_t end)
{
	pageset_clear(s->seen, start, end);
	pageset_clear(s->swept, start, end);
}

/* Tell of the parts of m that are not known, and forget what was there. */
static void tell_pieces(struct kernel_space *s, const struct map *m, size_t i,
			const struct moca_rec_mapping *rec,
			kernel_space_piece piece, void *arg)
{
	uint64_t pos = m->start, open = m->start;

	for (; i < s->count && s->maps[i].start < m->end; i++) {
		const struct map *o = &s->maps[i];
		uint64_t start = o->start > pos ? o->start : pos;
		uint64_t end = o->end < m->end ? o->end : m->end;

		if (same(o, m)) {
			if (open < start)
				piece(arg, rec, open, start);
			open = end;
		} else {
			forget_pages(s, start, end);
		}
		pos = end;
	}
	if (open < m->end)
		piece(arg, rec, open, m->end);
}

/* Replace maps [from, to) by the n in with. */
static int splice(struct kernel_space *s, size_t from, size_t to,
		  const struct map *with, size_t n)
{
	size_t count = s->count - (to - from) + n;

	if (moca_vec_fit(s->maps, s->room, count))
		return -ENOMEM;
	memmove(&s->maps[from + n], &s->maps[to],
		(s->count - to) * sizeof(*s->maps));
	memcpy(&s->maps[from], with, n * sizeof(*with));
	s->count = count;
	return 0;
}

static const struct map *find(const struct kernel_space *s, uint64_t addr)
{
	size_t i = first_above(s, addr);

	return i < s->count && s->maps[i].start <= addr ? &s->maps[i] : NULL;
}

int kernel_space_own(const struct kernel_space *s,
		     const struct moca_rec_mapping *rec)
{
	const struct map *before;

	if (rec->path[0])
		return own_is((pid_t)rec->pid, rec->path,
			      moca_identity_dev(rec->dev >> 20,
						rec->dev & 0xfffff),
			      rec->inode);
	if (rec->inode || rec->flags & (MOCA_MAPF_STACK | MOCA_MAPF_HEAP) ||
	    !rec->start)
		return 0;
	/* The variables of a library that are not in its file. */
	before = find(s, rec->start - 1);
	return before && before->flags & MAP_OWN &&
	       before->flags & MOCA_MAPF_FILE;
}

int kernel_space_map(struct kernel_space *s, const struct moca_rec_mapping *rec,
		     kernel_space_piece piece, void *arg)
{
	struct map m = {
		.start = rec->start, .end = rec->end, .offset = rec->offset,
		.inode = rec->inode, .dev = rec->dev, .flags = rec->flags,
		.prot = rec->prot,
	};
	size_t from = first_above(s, m.start), to = from, n = 0;
	struct map with[3];

	m.flags |= kernel_space_own(s, rec) ? MAP_OWN : 0;
	tell_pieces(s, &m, from, rec, piece, arg);
	while (to < s->count && s->maps[to].start < m.end)
		to++;
	/* What sticks out on both sides stays, as a part of it or by itself. */
	if (to > from && s->maps[from].start < m.start) {
		with[0] = s->maps[from];
		with[0].end = m.start;
		n = 1;
	}
	with[n++] = m;
	if (to > from && s->maps[to - 1].end > m.end) {
		with[n] = s->maps[to - 1];
		with[n].offset += m.end - with[n].start;
		with[n++].start = m.end;
	}
	return splice(s, from, to, with, n);
}

static int has(struct pageset *set, uint64_t addr)
{
	const struct page_block *b = pageset_block(set, addr, 0);
	unsigned int p = (addr >> 12) % BLOCK_PAGES;

	return b && b->seen[p / 64] >> (p % 64) & 1;
}

void kernel_space_touch(struct kernel_space *s, uint64_t addr, int known,
			struct moca_certificate *cert)
{
	const struct map *m;

	if (pageset_see(known ? s->seen : s->swept, addr) <= 0)
		return;
	m = find(s, addr);
	if (m && m->flags & MAP_OWN)
		return;
	if (m && m->flags & MOCA_MAPF_UNSAFE) {
		if (known)
			cert->pages_other++;
		return;
	}
	cert->pages_seen += known != 0;
	if (!has(known ? s->swept : s->seen, addr))
		cert->pages_touched++;
}

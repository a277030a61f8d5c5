// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/native/space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/native/rwp.h"
#include "collect/run/own.h"
#include "collect/run/pageset.h"
#include "collect/run/recorder.h"

/*
 * So much is protected at once. The kernel holds the lock of the program's mappings
 * meanwhile: its mmap waits.
 */
#define PIECE (16ull << 20)
/* No program fills so much: it is reserved, and most of it is not there. */
#define SPARSE (16ull << 30)
/* What userfaultfd takes: not below vm.mmap_min_addr, nor the last page. */
#define ADDRESSES_BEGIN 65536ull
#define ADDRESSES_END (USER_END - PAGE_SIZE)
/* How often mappings are read that change meanwhile, and ends looked at again. */
#define READS_MAX 4
#define HEALS_MAX 8

void native_space_begin(struct space *space)
{
	struct native_space *s = native_space_of(space);

	pthread_mutex_init(&s->lock, NULL);
	s->uffd = s->pagemap = s->maps = -1;
	s->leader = MOCA_NO_TASK;
}

void native_space_free(struct space *space)
{
	struct native_space *s = native_space_of(space);

	if (s->uffd >= 0)
		close(s->uffd);
	if (s->pagemap >= 0)
		close(s->pagemap);
	if (s->maps >= 0)
		close(s->maps);
	native_maps_free(&s->now);
	native_maps_free(&s->last);
	pageset_free(s->pages);
	pthread_mutex_destroy(&s->lock);
}

/* --- mappings ------------------------------------------------------------------- */

void native_maps_free(struct native_maps *m)
{
	maps_free(&m->list);
	free(m->states);
	m->states = NULL;
}

static ssize_t find(const struct native_maps *m, uint64_t addr)
{
	const struct vma *v = maps_at(&m->list, addr);

	return v ? v - m->list.items : -1;
}

enum native_state native_maps_state(const struct native_maps *m, uint64_t addr)
{
	ssize_t i = find(m, addr);

	return i < 0 ? NATIVE_UNKNOWN : m->states[i];
}

enum native_state native_space_state(const struct native_space *s, uint64_t addr)
{
	/* Pairs with the supervisor's store. */
	return atomic_load_explicit(&s->ready, memory_order_acquire) ?
		       native_maps_state(&s->now, addr) : NATIVE_UNKNOWN;
}

static uint64_t dev_of(const struct vma *v)
{
	return moca_identity_dev(v->major, v->minor);
}

/* Memory that the program does not have, or can do nothing with. */
static int is_apart(const struct vma *v, pid_t pid)
{
	return v->start >= USER_END || !v->prot || !strcmp(v->name, "[vdso]") ||
	       !strncmp(v->name, "[vvar", strlen("[vvar")) ||
	       !strcmp(v->name, "[vsyscall]") ||
	       own_is(pid, v->name, dev_of(v), v->ino);
}

/* Is it the same mapping, but for its ends and what may be done with it? */
static int is_same(const struct vma *a, const struct vma *b)
{
	return a->ino == b->ino && dev_of(a) == dev_of(b) &&
	       a->shared == b->shared &&
	       (!a->ino || a->offset - a->start == b->offset - b->start) &&
	       !strcmp(a->name, b->name);
}

/* --- what differs --------------------------------------------------------------- */

/* Pieces of one mapping that follow each other are told as one. */
struct open_piece {
	native_tell tell;
	void *arg;
	pid_t pid;
	const struct vma *v;	/* NULL with an end: nothing is mapped there */
	enum native_state state;
	uint64_t start, end;
	int ended;
};

static void flush(struct open_piece *p)
{
	const struct vma *v = p->v;
	struct moca_change e = {
		.type = v ? MOCA_CHANGE_MMAP : MOCA_CHANGE_MUNMAP,
		.addr = p->start, .len = p->end - p->start, .name = "",
		.parent = MOCA_NO_TASK,
	};
	struct moca_identity of;

	if (p->start == p->end)
		return;
	if (v) {
		of = maps_identity(v);
		e.prot = (uint32_t)v->prot;
		e.name = v->name;
		e.memory = of.memory;
		e.dev = of.dev;
		e.ino = of.ino;
		if (v->name[0] == '/') {
			e.flags |= MOCA_MAP_FILE;
			e.offset = v->offset + (p->start - v->start);
		}
		if (v->shared)
			e.flags |= MOCA_MAP_SHARED;
		if (!strcmp(v->name, "[stack]"))
			e.flags |= MOCA_MAP_STACK;
		if (own_is(p->pid, v->name, dev_of(v), v->ino))
			e.flags |= MOCA_MAP_MOCA;
		if (p->state == NATIVE_PROTECTED)
			e.flags |= MOCA_MAP_CERTIFIED | MOCA_MAP_ZAPPED;
	}
	p->tell(p->arg, &e, p->ended);
	p->start = p->end = 0;
}

static void add_piece(struct open_piece *p, const struct vma *v,
		      enum native_state state, uint64_t start, uint64_t end,
		      int ended)
{
	if (p->start == p->end || p->v != v || p->end != start ||
	    p->ended != ended) {
		flush(p);
		p->v = v;
		p->state = state;
		p->start = start;
		p->ended = ended;
	}
	p->end = end;
}

static uint64_t until(const struct vma_list *l, size_t i, uint64_t at)
{
	if (i == l->count)
		return UINT64_MAX;
	return l->items[i].start > at ? l->items[i].start : l->items[i].end;
}

void native_maps_differ(const struct native_maps *before,
			const struct native_maps *now, pid_t pid,
			native_tell tell, void *arg)
{
	const struct vma_list *a = &before->list, *b = &now->list;
	struct open_piece p = { .tell = tell, .arg = arg, .pid = pid };
	uint64_t at = 0, next;
	size_t i = 0, j = 0;

	for (;; at = next) {
		const struct vma *o, *n;

		while (i < a->count && a->items[i].end <= at)
			i++;
		while (j < b->count && b->items[j].end <= at)
			j++;
		next = until(a, i, at);
		if (until(b, j, at) < next)
			next = until(b, j, at);
		if (next == UINT64_MAX)
			break;
		o = i < a->count && a->items[i].start <= at ? &a->items[i] : NULL;
		n = j < b->count && b->items[j].start <= at ? &b->items[j] : NULL;
		if ((!o && !n) || (o && o->start >= USER_END) ||
		    (n && n->start >= USER_END))
			continue;
		if (!o || !n || !is_same(o, n))
			add_piece(&p, n, n ? now->states[j] : NATIVE_APART, at,
				  next, o != NULL);
		else if (o->prot != n->prot ||
			 before->states[i] != now->states[j])
			add_piece(&p, n, now->states[j], at, next, 0);
	}
	flush(&p);
}

/* --- protecting ----------------------------------------------------------------- */

/* Pages of v that were protected before, as pages of it, and touched since. */
static void look(struct native_space *s, const struct native_maps *before,
		 const struct vma *v,
		 void (*witness)(void *arg, uint64_t start, uint64_t end),
		 void *arg)
{
	const struct vma_list *l = &before->list;
	uint64_t start = v->start, end = v->end;
	size_t lo = 0, hi = l->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->items[mid].end <= start)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < l->count && l->items[lo].start < end; lo++) {
		const struct vma *o = &l->items[lo];

		if (before->states[lo] == NATIVE_PROTECTED && is_same(o, v))
			rwp_touched(s->pagemap, o->start > start ? o->start : start,
				    o->end < end ? o->end : end, witness, arg);
	}
}

/* 0 or -errno; -ENOENT: it is not registered, or not all of it. */
static int protect(const struct native_space *s, uint64_t start, uint64_t end)
{
	uint64_t piece = end - start > SPARSE ? SPARSE / 16 : PIECE;
	int err = 0;

	for (uint64_t at = start; at < end && !err; at += piece)
		err = rwp_protect(s->uffd, at,
				  end - at > piece ? at + piece : end);
	return err;
}

/* Memory that lies in no file. */
static int is_plain(const struct vma *v, pid_t pid)
{
	return !v->ino && v->name[0] != '/' && !is_apart(v, pid);
}

/*
 * Was one mapping cut at addr by a registration that ends there, or is what lies
 * on both sides one without us? Then both are registered, and one again: 1.
 */
static int heal(const struct native_space *s, uint64_t addr)
{
	struct rwp_mapping low, high;

	if (rwp_mapping_at(s->maps, addr - 1, &low) ||
	    rwp_mapping_at(s->maps, addr, &high) || low.end != high.start ||
	    low.ino || high.ino || low.rights != high.rights || !low.rights)
		return 0;
	rwp_register(s->uffd, low.start, high.end);
	return 1;
}

/*
 * A registration that ended amid a mapping of the program's would cut it in two, and
 * its mremap would fail. The mappings may have changed since they were read. So all
 * between two mappings that cannot be registered is, with the holes in between, and
 * the ends are looked at again. 0, or -errno: one came that cannot be.
 */
static int register_zone(const struct native_space *s, uint64_t start,
			 uint64_t end)
{
	int err = rwp_register(s->uffd, start, end);

	for (int i = 0; i < HEALS_MAX && !err; i++)
		if (!heal(s, start) && !heal(s, end))
			break;
	return err;
}

static int register_plain(const struct native_space *s, const struct vma_list *l,
			  pid_t pid)
{
	uint64_t start = ADDRESSES_BEGIN, end;
	int plain = 0, err = 0, one;

	for (size_t i = 0; i <= l->count; i++) {
		const struct vma *v = i < l->count ? &l->items[i] : NULL;

		if (v && is_plain(v, pid)) {
			plain = 1;
			continue;
		}
		end = v && v->start < USER_END ? v->start : ADDRESSES_END;
		if (plain && end > start) {
			one = register_zone(s, start, end);
			err = err ? err : one;
		}
		plain = 0;
		start = v ? v->end : end;
		if (start >= ADDRESSES_END)
			break;
	}
	return err;
}

/* *gone: the memory is being given back, as its last task ends. */
static enum native_state protect_one(const struct native_space *s,
				     const struct vma *v, int plain, int *gone)
{
	int err = protect(s, v->start, v->end);

	*gone |= err == -ESRCH;

	/* What lies in a file does not grow, nor is it one with what is beside it. */
	if (err == -ENOENT && !plain) {
		err = rwp_register(s->uffd, v->start, v->end);
		if (err == -EBUSY)
			return NATIVE_TAKEN;
		if (!err)
			err = protect(s, v->start, v->end);
	}
	/* Not this kind of memory; or it changed meanwhile: the next look tells. */
	return err ? NATIVE_REFUSED : NATIVE_PROTECTED;
}

/* Was the same mapping refused before? Then it is again. */
static int was_refused(const struct native_maps *before, const struct vma *v)
{
	ssize_t i = before ? find(before, v->start) : -1;
	const struct vma *o = i < 0 ? NULL : &before->list.items[i];

	return o && before->states[i] == NATIVE_REFUSED &&
	       o->start == v->start && o->end == v->end && o->prot == v->prot &&
	       o->ino && is_same(o, v);
}

/* Read, and register at once what is new. 0 or -errno. */
static int read_and_register(const struct native_space *s, pid_t pid,
			     struct vma_list *l)
{
	int err;

	for (int i = 0; i < READS_MAX; i++) {
		err = maps_read_again(s->maps, l);
		if (err)
			return err;
		/* EINVAL: what cannot be registered has come in between. */
		if (s->uffd < 0 || register_plain(s, l, pid) != -EINVAL ||
		    i == READS_MAX - 1)
			break;
		maps_free(l);
	}
	return 0;
}

int native_space_protect(struct native_space *s, pid_t pid,
			 const struct native_maps *before,
			 void (*witness)(void *arg, uint64_t start, uint64_t end),
			 void *arg, struct native_maps *out)
{
	int err, gone = 0;

	memset(out, 0, sizeof(*out));
	err = read_and_register(s, pid, &out->list);
	if (!err) {
		out->states = calloc(out->list.count, 1);
		err = out->states ? 0 : -ENOMEM;
	}
	if (err) {
		native_maps_free(out);
		return err;
	}
	for (size_t i = 0; i < out->list.count && !gone; i++) {
		const struct vma *v = &out->list.items[i];

		if (is_apart(v, pid))
			continue;
		if (s->uffd < 0 || was_refused(before, v)) {
			out->states[i] = NATIVE_REFUSED;
			continue;
		}
		if (before && witness)
			look(s, before, v, witness, arg);
		out->states[i] = (uint8_t)protect_one(s, v, is_plain(v, pid),
						      &gone);
	}
	if (gone)
		native_maps_free(out);
	return gone ? -ESRCH : 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Limits of the program's memory. The kernel counts our memory as the program's.
 * So the kernel's soft limit is the program's own limit plus the size of our
 * memory, and it is raised before each mapping that we make. The program is
 * refused what it would be refused without us, and our tables are never refused.
 * The hard limit has room for all that we shall map: without rights it cannot be
 * raised later.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/resource.h>
#include <moca/types.h>

#include "agent/exact/context.h"
#include "agent/exact/maps.h"
#include "agent/exact/signal.h"
#include "agent/exact/translate.h"

/* More than what caches and tables grow by. */
#define ROOM (8ull << 30)

struct limit {
	uint64_t cur, max;
};

static struct {
	const int resource;
	int set;		/* it was, by the program or before it began */
	struct limit limit;	/* as the program knows it */
	uint64_t ours;		/* bytes of ours that the kernel counts */
	uint64_t room;		/* what the kernel's hard limit is above */
} limits[] = { { .resource = RLIMIT_AS }, { .resource = RLIMIT_DATA } };

#define LIMITS (int)(sizeof(limits) / sizeof(*limits))

static uint64_t plus(uint64_t limit, uint64_t more)
{
	return limit + more < limit ? ~0ull : limit + more;
}

static int index_of(uint32_t resource)
{
	for (int i = 0; i < LIMITS; i++)
		if ((uint32_t)limits[i].resource == resource)
			return i;
	return -1;
}

static long call(int index, const struct limit *new, struct limit *old)
{
	return moca_exact_call(__NR_prlimit64, 0, limits[index].resource,
			       (long)new, (long)old, 0, 0);
}

/* --- what is ours --------------------------------------------------------------- */

struct sum {
	uint64_t all, data;	/* data: as RLIMIT_DATA counts, all: RLIMIT_AS */
	uint64_t library_end;	/* of a library of ours, as far as it is known */
};

static void add_line(void *arg, const struct moca_maps_line *l)
{
	struct sum *s = arg;
	uint64_t bytes = 0;

	for (int i = 0; i < moca_exact_own_count; i++) {
		const struct own *o = &moca_exact_own[i];
		uint64_t from = o->start > l->start ? o->start : l->start;
		uint64_t to = o->end < l->end ? o->end : l->end;

		if (from < to)
			bytes += to - from;
	}
	/* The library's .bss, which is anonymous, lies behind its file. */
	if (moca_exact_maps_ours(l) ||
	    (!*l->name && l->start == s->library_end)) {
		bytes = l->end - l->start;
		s->library_end = l->end;
	}
	s->all += bytes;
	if (l->writable && !l->shared)
		s->data += bytes;
}

static void count_ours(int index)
{
	struct sum s = { 0 };

	moca_exact_maps(add_line, &s);
	/* The arena is ours: it could not be read. */
	if (!s.all)
		return;
	limits[index].ours = limits[index].resource == RLIMIT_AS ? s.all :
								   s.data;
}

/* --- the kernel's limit ----------------------------------------------------------- */

static struct limit kernels(int index)
{
	struct limit l = limits[index].limit;

	l.max = plus(l.max, limits[index].room);
	l.cur = plus(l.cur, limits[index].ours);
	if (l.cur > l.max)
		l.cur = l.max;
	return l;
}

/* 0 or -errno. */
static long apply(int index)
{
	struct limit real = kernels(index);

	return call(index, &real, NULL);
}

void moca_exact_limits_more(int64_t bytes)
{
	for (int i = 0; i < LIMITS; i++) {
		if (!limits[i].set)
			continue;
		limits[i].ours += (uint64_t)bytes;
		apply(i);
	}
}

void moca_exact_limits_anew(void)
{
	if (!limits[0].set && !limits[1].set)
		return;
	moca_exact_lock();
	for (int i = 0; i < LIMITS; i++) {
		if (!limits[i].set)
			continue;
		count_ours(i);
		apply(i);
	}
	moca_exact_unlock();
}

void moca_exact_limits_begin(void)
{
	int i = index_of(RLIMIT_DATA);

	/* With a limited address space there is no agent (collect/exact). */
	if (call(i, NULL, &limits[i].limit) || limits[i].limit.cur == ~0ull)
		return;
	count_ours(i);
	limits[i].set = 1;
	apply(i);
}

/* The hard limit stays: it could not be raised again when the exec fails. */
void moca_exact_limits_exec(int exec)
{
	struct limit real;

	moca_exact_lock();
	for (int i = 0; i < LIMITS; i++) {
		if (!limits[i].set)
			continue;
		real = kernels(i);
		if (exec)
			real.cur = limits[i].limit.cur;
		call(i, &real, NULL);
	}
	moca_exact_unlock();
}

/* --- the program's calls ------------------------------------------------------------ */

static long set(int index, const struct limit *new)
{
	struct limit was = limits[index].limit, now;
	uint64_t room = limits[index].room;
	long ret = call(index, NULL, &now);

	if (ret)
		return ret;
	if (new->cur > new->max)
		return -EINVAL;
	if (!limits[index].set)
		count_ours(index);
	limits[index].limit = *new;
	/* Not more at the next call: it could not be raised. */
	if (!room)
		limits[index].room = limits[index].ours + ROOM;
	/* What the program may set without rights, the kernel shall allow us. */
	if (kernels(index).max > now.max &&
	    new->max <= (limits[index].set ? was.max : now.max))
		limits[index].room = now.max - new->max;
	ret = apply(index);
	if (ret) {
		limits[index].limit = was;
		limits[index].room = room;
		return ret;
	}
	limits[index].set = 1;
	return 0;
}

static long change(int index, uint64_t new, uint64_t old)
{
	struct limit l, was;
	long ret = 0;

	if (new && moca_exact_peek(&l, new, sizeof(l)))
		return -EFAULT;
	moca_exact_lock();
	if (limits[index].set)
		was = limits[index].limit;
	else
		ret = call(index, NULL, &was);
	if (!ret && new)
		ret = set(index, &l);
	moca_exact_unlock();
	if (ret)
		return ret;
	return old ? moca_exact_poke(old, &was, sizeof(was)) : 0;
}

int moca_exact_limits_syscall(struct context *c, long nr)
{
	uint64_t a = c->gpr[RDI], b = c->gpr[RSI];
	int one = nr != __NR_prlimit64;
	int index = index_of((uint32_t)(one ? a : b));

	/* The child of a vfork has limits of its own, but its parent's table. */
	if (index < 0 || (one ? !b : a && a != moca_exact.pid) ||
	    c->slot->kind == MOCA_TASK_VFORK)
		return 0;
	if (!one)
		c->gpr[RAX] = (uint64_t)change(index, c->gpr[RDX], c->gpr[10]);
	else if (nr == __NR_setrlimit)
		c->gpr[RAX] = (uint64_t)change(index, b, 0);
	else
		c->gpr[RAX] = (uint64_t)change(index, 0, b);
	return 1;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tasks and their slots: clone, fork, vfork, exit. */
#include <asm/unistd.h>
#include <linux/sched.h>
#include <moca/types.h>

#include "agent/exact/chart.h"
#include "agent/exact/native.h"
#include "agent/exact/signal.h"

static struct moca_exact_slot *slot_at(uint32_t i)
{
	return (struct moca_exact_slot *)(moca_exact.arena +
					  i * MOCA_EXACT_SLOT_SIZE);
}

static int take(struct moca_exact_slot *s)
{
	uint32_t from = MOCA_EXACT_FREE;

	return __atomic_compare_exchange_n(&s->state, &from, MOCA_EXACT_LIVE, 0,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static struct moca_exact_slot *find_slot(void)
{
	struct moca_exact_shared *sh = moca_exact.shared;

	for (;;) {
		uint32_t used = __atomic_load_n(&sh->used, __ATOMIC_ACQUIRE);

		if (used > MOCA_EXACT_SLOTS)
			return NULL;
		for (uint32_t i = 0; i < used; i++)
			if (slot_at(i)->state == MOCA_EXACT_FREE &&
			    take(slot_at(i)))
				return slot_at(i);
		if (used == MOCA_EXACT_SLOTS)
			return NULL;
		if (__atomic_compare_exchange_n(&sh->used, &used, used + 1, 0,
						__ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED) &&
		    take(slot_at(used)))
			return slot_at(used);
	}
}

struct context *moca_exact_thread_new(uint32_t kind)
{
	struct moca_exact_slot *s = find_slot();
	struct context *c;

	if (!s)
		return NULL;
	if (!moca_exact_retreat_has_room(s)) {
		__atomic_store_n(&s->state, MOCA_EXACT_FREE, __ATOMIC_RELEASE);
		return NULL;
	}
	c = context_of(s);
	memset(c, 0, sizeof(*c));
	c->slot = s;
	c->self = (uint64_t)c;
	c->stack = (uint64_t)s + MOCA_EXACT_CONTEXT + (2ul << 20) - 64;
	s->kind = kind;
	return c;
}

/* It did not come to be. */
static void give_back(struct context *c)
{
	struct moca_exact_slot *s = c->slot;

	memset((uint8_t *)s + 4, 0, sizeof(*s) - 4);
	__atomic_store_n(&s->state, MOCA_EXACT_FREE, __ATOMIC_RELEASE);
}

/* Tells the collector who it is; from now on it can be seen. */
static void introduce(struct context *c)
{
	struct moca_exact_slot *s = c->slot;

	s->start_clock = clock_now();
	s->stack = c->gpr[RSP];
	s->tls = c->fs;
	s->pid = (uint32_t)moca_exact_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
	if (s->kind & MOCA_TASK_FORK)
		moca_exact.pid = s->pid;
	c->space = moca_exact.pid;
	s->chart = moca_exact.chart;
	__atomic_store_n(&s->tid, (uint32_t)moca_exact_call(__NR_gettid, 0, 0,
							    0, 0, 0, 0),
			 __ATOMIC_RELEASE);
}

void moca_exact_thread_first(struct context *c)
{
	introduce(c);
}

struct request {
	uint64_t flags, stack, tls;
};

static int read_request(struct context *c, long nr, struct request *q)
{
	struct clone_args a = { 0 };

	*q = (struct request){ 0 };
	switch (nr) {
	case __NR_clone:
		q->flags = c->gpr[RDI];
		q->stack = c->gpr[RSI];
		q->tls = c->gpr[8];
		return 0;
	case __NR_vfork:
		q->flags = CLONE_VM | CLONE_VFORK;
		return 0;
	case __NR_fork:
		return 0;
	}
	if (c->gpr[RSI] < CLONE_ARGS_SIZE_VER0)
		return -1;	/* the kernel will say what is wrong */
	if (moca_exact_peek(&a, c->gpr[RDI], c->gpr[RSI] < sizeof(a) ?
						     c->gpr[RSI] : sizeof(a)))
		return -1;
	q->flags = a.flags;
	q->stack = a.stack ? a.stack + a.stack_size : 0;
	q->tls = a.tls;
	return 0;
}

static uint32_t kind_of(uint64_t flags)
{
	return flags & CLONE_THREAD ? MOCA_TASK_THREAD :
	       flags & CLONE_VM	    ? MOCA_TASK_VFORK :
				      MOCA_TASK_FORK;
}

static struct context *prepare(struct context *c, const struct request *q)
{
	struct context *child = moca_exact_thread_new(kind_of(q->flags));

	if (!child)
		return NULL;
	memcpy(child->gpr, c->gpr, sizeof(c->gpr));
	child->flags = c->flags;
	child->pc = c->pc;
	child->gs = c->gs;
	child->fs = q->flags & CLONE_SETTLS ? q->tls : c->fs;
	child->gpr[RAX] = 0;
	child->gpr[RCX] = c->pc;
	child->gpr[11] = c->flags;
	if (q->stack)
		child->gpr[RSP] = q->stack;
	child->slot->parent = c->slot->tid;
	child->of_vfork = !!(q->flags & CLONE_VFORK);
	return child;
}

void moca_exact_thread_clone(struct context *c, long nr)
{
	struct context *child;
	struct request q;

	if (read_request(c, nr, &q)) {
		if (moca_exact_syscall(c))
			c->pc -= 2;
		return;
	}
	child = prepare(c, &q);
	if (!child && moca_exact_retreat_will_ask(c)) {
		c->pc -= 2;	/* made natively, once it was asked */
		return;
	}
	if (!child) {
		moca_exact_gap(c, MOCA_EXACT_GAP_SLOTS, 0);
		c->gpr[RAX] = (uint64_t)-11;	/* EAGAIN */
		return;
	}
	/* Signals are blocked from here on, by that. */
	moca_exact_signal_clone(child, c, q.flags);
	if (c->pending) {
		moca_exact_signal_cloned(c);
		give_back(child);
		c->pc -= 2;
		return;
	}
	/* A fork must not find the lock taken for ever. */
	if (!(q.flags & CLONE_VM)) {
		moca_exact_lock();
		moca_exact_cache_fork();
	}
	moca_exact_clone(c, (uint64_t)child + CONTEXT_SIZE);
	if (!(q.flags & CLONE_VM)) {
		moca_exact_chart_parent((int64_t)c->gpr[RAX] >= 0);
		moca_exact_unlock();
	}
	if ((int64_t)c->gpr[RAX] < 0)
		give_back(child);
	moca_exact_signal_cloned(c);
}

/* On the child's own stack; the context says what it goes on with. */
void moca_exact_child(struct context *c);
void moca_exact_child(struct context *c)
{
	if (c->slot->kind & MOCA_TASK_FORK) {
		moca_exact_chart_child();
		moca_exact_unlock();
	}
	introduce(c);
	if (c->slot->kind & MOCA_TASK_FORK)
		moca_exact_retreat_forked();
	moca_exact_signal_begin(c);
	moca_exact_go(c, c->pc);
}

void moca_exact_last_call(long nr, long status) __attribute__((noreturn));

void moca_exact_thread_exit(struct context *c, long nr)
{
	struct moca_exact_slot *s = c->slot;
	long status = (long)c->gpr[RDI];

	s->status = (int32_t)((status & 0xff) << 8);
	s->end_clock = clock_now();
	/*
	 * Slots of a process that ends are found by the collector. A sandbox may
	 * let it make no other call, so the signals stay as they are.
	 */
	if (nr == __NR_exit_group)
		moca_exact_last_call(nr, status);
	moca_exact_signals_block();
	__atomic_store_n(&s->state, MOCA_EXACT_ENDED, __ATOMIC_RELEASE);
	moca_exact_last_call(nr, status);
}

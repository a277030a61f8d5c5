// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * All threads go on natively, as the program takes memory of ours for itself.
 *
 * The thread whose call it is (the caller) asks each other by a signal. Its handler
 * brings it to a boundary, as a signal of the program's would; there it copies what
 * it goes on with to its *refuge*, memory that the call leaves alone, says that it
 * has arrived, and waits. When all have, the caller does the same, the kernel gets
 * the program's own handlers, and all go on natively, the caller with its call.
 *
 * A thread in a system call is interrupted, and makes the call anew. Who is amid
 * vfork comes back when its child, which is left alone meanwhile, has its own memory.
 */
#include <asm/siginfo.h>
#include <linux/futex.h>
#include <linux/kcmp.h>
#include <linux/time_types.h>
#include <moca/types.h>

#include "agent/exact/chart.h"
#include "agent/exact/native.h"
#include "agent/exact/signal.h"

#define REFUGE_SIZE 65536ul
#define STATE_AT 4096ul		/* of floating point and vectors */
#define STACK_SIZE 8192ul	/* at its end */
#define CODE (-0x4d43)		/* si_code: of user space, nobody else's */
#define SPARE 16u		/* refuges of threads that begin meanwhile */
#define PAUSE_NS 200000
#define UNKNOWN_MAX 50000	/* pauses: a task that was made and never began */

struct refuge {
	uint32_t arrived;
	uint32_t is_caller;
	uint32_t is_of_vfork;
	uint64_t gs;
	/* At %rsp - 8 in rt_sigreturn. */
	struct kucontext uc;
};

static uint32_t under_way;	/* exchanged by who begins */
static uint32_t done;		/* a futex: they may go */
static uint8_t *refuges;	/* by slot */
/* Beyond these no task begins that would have no refuge. */
static uint32_t refuge_count = MOCA_EXACT_SLOTS;
static const struct context *caller;

static uint32_t number_of(const struct moca_exact_slot *s)
{
	return (uint32_t)(((uint64_t)s - moca_exact.arena) /
			  MOCA_EXACT_SLOT_SIZE);
}

static struct refuge *refuge_of(uint32_t n)
{
	return (struct refuge *)(refuges + n * REFUGE_SIZE);
}

/* --- a thread that was asked -------------------------------------------------- */

int moca_exact_retreat_asks(const struct ksiginfo *info)
{
	return info->code == CODE && info->rest[0] == (uint64_t)&under_way;
}

/* A call that was interrupted by this alone, and has had no effect. */
static int is_made_anew(const struct context *c, const struct kucontext *uc)
{
	return !c->pending && uc->mc.ip == (uint64_t)moca_exact_after_syscall &&
	       uc->mc.ax == (uint64_t)-EINTR && c->nr != __NR_close;
}

static void at_next_boundary(struct context *c)
{
	/* Not SIGTRAP's number, of which only one would be kept. */
	struct ksiginfo info = { .signo = SIGNALS + 1, .code = CODE };

	info.rest[0] = (uint64_t)&under_way;
	c->retreats = 1;
	moca_exact_signal_push(c, &info, 0);
}

int moca_exact_retreat_asked(struct context *c, struct kucontext *uc)
{
	if (c->retreats)
		return 0;
	if (is_made_anew(c, uc))
		uc->mc.ip = (uint64_t)moca_exact_not_made;
	at_next_boundary(c);
	return 1;
}

/* Of the caller's that it sent before it saw that this thread had arrived. */
static void drop_asking(void)
{
	const struct __kernel_timespec now = { 0, 0 };
	const uint64_t trap = SIGBIT(SIGTRAP);
	struct ksiginfo info;

	while (moca_exact_call(__NR_rt_sigtimedwait, (long)&trap, (long)&info,
			       (long)&now, 8, 0, 0) == SIGTRAP)
		if (!moca_exact_retreat_asks(&info)) {
			moca_exact_signal_again(&info);
			break;
		}
}

/*
 * Nobody needs it any more, and calls shall find there what they would find without
 * us: all of ours but this code and the refuges.
 */
static void release(uint64_t refuge)
{
	const struct moca_exact_setup *s = &moca_exact.setup;
	int kept = 0;

	for (int i = 0; i < moca_exact_own_count; i++) {
		struct own o = moca_exact_own[i];

		if ((o.start <= s->agent && s->agent < o.end) ||
		    (o.start <= refuge && refuge < o.end))
			moca_exact_own[kept++] = o;
		else
			moca_exact_call(__NR_munmap, (long)o.start,
					(long)(o.end - o.start), 0, 0, 0, 0);
	}
	moca_exact_own_count = kept;
	moca_exact_limits_anew();
}

/* On the refuge's stack. Nothing of the arena is used any more. */
static void wait_and_go(struct refuge *r) __attribute__((noreturn));
static void wait_and_go(struct refuge *r)
{
	/* Pairs with the caller's look: this thread is done with the arena. */
	__atomic_store_n(&r->arrived, 1, __ATOMIC_RELEASE);
	if (r->is_caller) {
		if (!r->is_of_vfork)
			release((uint64_t)r);
		/* Pairs with the others': all have arrived. */
		__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
		moca_exact_call(__NR_futex, (long)&done, FUTEX_WAKE, 1 << 30, 0,
				0, 0);
	}
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
		moca_exact_call(__NR_futex, (long)&done, FUTEX_WAIT, 0, 0, 0, 0);
	drop_asking();
	__asm__ volatile("wrgsbase %0" : : "r"(r->gs) : "memory");
	moca_exact_sigreturn(&r->uc);
}

void moca_exact_retreat_now(struct context *c, struct kucontext *uc,
			    uint64_t pc)
{
	struct refuge *r = refuge_of(number_of(c->slot));
	uint8_t *base = (uint8_t *)r;
	const struct _fpstate_64 *fp = (const void *)uc->mc.fpstate;
	size_t size = fp ? moca_exact_state_size(fp) : 0;

	moca_exact_signals_block();
	moca_exact_signals_give_back(c);
	moca_exact_tell_native(c, MOCA_EXACT_GAP_NATIVE, pc, c == caller ?
			       "its call takes the memory that counters are in" :
			       "another thread's call takes the memory that "
			       "counters are in");
	r->uc = *uc;
	r->uc.mc.ip = pc;
	r->uc.mc.flags &= ~FLAG_TF;
	r->uc.sigmask = c->signal.mask;
	r->uc.stack = moca_exact_program_stack(c);
	r->gs = c->gs;
	if (size && size <= REFUGE_SIZE - STATE_AT - STACK_SIZE) {
		memcpy(base + STATE_AT, fp, size);
		r->uc.mc.fpstate = (uint64_t)(base + STATE_AT);
	}
	r->is_caller = c == caller;
	r->is_of_vfork = c->of_vfork;
	/* The others' actions are the caller's, but for processes of their own. */
	if (c == caller || c->signal.hand != caller->signal.hand)
		moca_exact_signal_native(c);
	c->gone = 1;
	moca_exact_on_stack(base + REFUGE_SIZE - 64, (void (*)(void *))wait_and_go,
			    r);
}

/* --- the caller --------------------------------------------------------------- */

/*
 * A process that was made in this memory (CLONE_VM) leaves it by an exec, of which
 * kcmp tells. Where that is not allowed, it is still here: one that is asked in
 * vain is waited for, one that is not asked would count in the program's memory.
 */
static int shares_memory(const struct context *c, const struct moca_exact_slot *s)
{
	long ret;

	if (s->pid == c->slot->pid)
		return 1;
	if (context_of((struct moca_exact_slot *)s)->space != c->space)
		return 0;
	ret = moca_exact_call(__NR_kcmp, c->slot->pid, s->pid, KCMP_VM, 0, 0, 0);
	return !ret || (ret < 0 && ret != -ESRCH);
}

int moca_exact_retreat_is_needed(const struct context *c)
{
	uint32_t used = __atomic_load_n(&moca_exact.shared->used,
					__ATOMIC_ACQUIRE);

	for (uint32_t n = 0; n < used && n < MOCA_EXACT_SLOTS; n++) {
		const struct moca_exact_slot *s = (void *)(moca_exact.arena +
						n * MOCA_EXACT_SLOT_SIZE);

		if (s == c->slot || s->state != MOCA_EXACT_LIVE ||
		    context_of((struct moca_exact_slot *)s)->gone)
			continue;
		/* One that is being made is of this process, or soon known. */
		if (!__atomic_load_n(&s->tid, __ATOMIC_ACQUIRE) ||
		    shares_memory(c, s))
			return 1;
	}
	return 0;
}

/* 0, or -ESRCH: there is none. */
static long ask(const struct moca_exact_slot *s)
{
	struct ksiginfo info = { .signo = SIGTRAP, .code = CODE };

	info.rest[0] = (uint64_t)&under_way;
	return moca_exact_call(__NR_rt_tgsigqueueinfo, s->pid, s->tid, SIGTRAP,
			       (long)&info, 0, 0);
}

/* 1: it still counts. unknown: nobody knows yet who it is. */
static int is_awaited(struct context *c, uint32_t n, int *unknown)
{
	struct moca_exact_slot *s = (void *)(moca_exact.arena +
					     n * MOCA_EXACT_SLOT_SIZE);
	/* Pairs with the task's when it introduces itself. */
	uint32_t tid = __atomic_load_n(&s->tid, __ATOMIC_ACQUIRE);

	if (s == c->slot || s->state != MOCA_EXACT_LIVE ||
	    context_of(s)->gone ||
	    (n < refuge_count &&
	     __atomic_load_n(&refuge_of(n)->arrived, __ATOMIC_ACQUIRE)))
		return 0;
	if (!tid) {
		*unknown = 1;
		return 1;
	}
	if (!shares_memory(c, s))
		return 0;
	if (context_of(s)->of_vfork)
		return 1;
	/* It waits for the caller itself. */
	if (c->of_vfork && tid == c->slot->parent)
		return 0;
	return ask(s) != -ESRCH;
}

static void wait_for_all(struct context *c)
{
	const struct __kernel_timespec pause = { 0, PAUSE_NS };
	int pauses = 0, awaited, unknown;

	do {
		uint32_t used = __atomic_load_n(&moca_exact.shared->used,
						__ATOMIC_ACQUIRE);

		awaited = unknown = 0;
		for (uint32_t n = 0; n < used && n < MOCA_EXACT_SLOTS; n++)
			awaited += is_awaited(c, n, &unknown);
		if (awaited == 1 && unknown && ++pauses > UNKNOWN_MAX)
			awaited = 0;
		if (awaited)
			moca_exact_call(__NR_nanosleep, (long)&pause, 0, 0, 0, 0,
					0);
	} while (awaited);
}

/* For as many threads as there may be, or, with little room, for those there are. */
static int map_refuges(void)
{
	uint32_t used;

	refuges = moca_exact_map_anywhere(MOCA_EXACT_SLOTS * REFUGE_SIZE);
	if (refuges)
		return 0;
	used = __atomic_load_n(&moca_exact.shared->used, __ATOMIC_SEQ_CST);
	do {
		/* Who takes a slot is among the used ones then, or sees this. */
		__atomic_store_n(&refuge_count, used + SPARE, __ATOMIC_SEQ_CST);
		used = __atomic_load_n(&moca_exact.shared->used,
				       __ATOMIC_SEQ_CST);
	} while (used > refuge_count);
	if (refuge_count < MOCA_EXACT_SLOTS)
		refuges = moca_exact_map_anywhere(refuge_count * REFUGE_SIZE);
	if (!refuges)
		__atomic_store_n(&refuge_count, MOCA_EXACT_SLOTS,
				 __ATOMIC_RELEASE);
	return refuges ? 0 : -ENOMEM;
}

int moca_exact_retreat_has_room(const struct moca_exact_slot *s)
{
	return number_of(s) < __atomic_load_n(&refuge_count, __ATOMIC_SEQ_CST);
}

int moca_exact_retreat_will_ask(const struct context *c)
{
	return !c->of_vfork && __atomic_load_n(&refuge_count, __ATOMIC_ACQUIRE) <
				       MOCA_EXACT_SLOTS;
}

int moca_exact_retreat(struct context *c)
{
	int ret;

	if (__atomic_exchange_n(&under_way, 1, __ATOMIC_ACQ_REL))
		return 1;
	moca_exact_signals_block();
	if (c->pending) {
		__atomic_store_n(&under_way, 0, __ATOMIC_RELEASE);
		moca_exact_signals_unblock(c);
		return 1;
	}
	moca_exact_lock();
	ret = map_refuges();
	moca_exact_unlock();
	if (ret) {
		__atomic_store_n(&under_way, 0, __ATOMIC_RELEASE);
		moca_exact_signals_unblock(c);
		return ret;
	}
	caller = c;
	moca_exact_chart_leave();
	/* Of a thread that went on natively before: the kernel has its own. */
	moca_exact_sighand_trap();
	wait_for_all(c);
	at_next_boundary(c);
	moca_exact_signals_unblock(c);
	return 0;
}

void moca_exact_retreat_forked(void)
{
	under_way = 0;
	refuge_count = MOCA_EXACT_SLOTS;
}

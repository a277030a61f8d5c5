// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An agent that counts nothing of the program's: it writes into the arena what
 * the tests of the collector expect, as the real one would (lib/base/
 * exact-arena.h), and lets the program run. MOCA_EXACT_DEBUG says what: bits
 * below, and how many threads from bit 16 on.
 */
#include <stddef.h>
#include <stdint.h>
#include <asm/unistd.h>
#include <linux/sched.h>

#include <moca/types.h>
#include "include/abi/exact-arena.h"
#include "tests/exact/call.h"

#define WRAPS 1		/* 3 * 2^32 loads and 7 of a granule, 2^32 stores */
#define THREADS 2	/* one after the other, each with a slot */
#define HOSTILE 4	/* positions and lengths that are nonsense */
#define FORK 8		/* a child that counts and is killed by itself */
#define BUSY 16		/* counts on for 0.7 s, or more */
#define KILLED 32	/* ends by SIGKILL, having counted */
#define ENDED 64	/* says itself that the thread ended */
#define MANY 128	/* 200,000 granules, from the highest down */
#define ALL_LIVE 256	/* threads that stay, until exit_group */
#define LOOP 512	/* amid a loop, in one of many states */

#define STACK (64 << 10)

static struct moca_exact_setup setup;

static uint64_t now(void)
{
	return __builtin_ia32_rdtsc();
}

static struct moca_exact_slot *slot(unsigned int n)
{
	return (void *)(setup.arena + n * MOCA_EXACT_SLOT_SIZE);
}

static void *part(struct moca_exact_slot *s, uint64_t offset)
{
	return (char *)s + offset;
}

static struct moca_exact_slot *take(uint32_t kind, uint64_t stack)
{
	struct moca_exact_shared *shared = part(slot(0), MOCA_EXACT_SHARED);
	struct moca_exact_slot *s;

	for (unsigned int n = 0; n < MOCA_EXACT_SLOTS; n++) {
		uint32_t free = MOCA_EXACT_FREE, used;

		s = slot(n);
		if (!__atomic_compare_exchange_n(&s->state, &free,
						 MOCA_EXACT_LIVE, 0,
						 __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		do {
			used = __atomic_load_n(&shared->used, __ATOMIC_RELAXED);
		} while (used < n + 1 &&
			 !__atomic_compare_exchange_n(&shared->used, &used,
						      n + 1, 0,
						      __ATOMIC_RELEASE,
						      __ATOMIC_RELAXED));
		s->kind = kind;
		s->start_clock = now();
		s->stack = stack;
		s->tls = 0x1234;
		s->pid = call(__NR_getpid, 0, 0, 0, 0, 0, 0);
		*(uint64_t *)part(s, MOCA_EXACT_LOG) =
			(now() & ~3ull) | MOCA_EXACT_LOG_TIME;
		__atomic_store_n(&s->log_count, 1, __ATOMIC_RELEASE);
		__atomic_store_n(&s->tid, call(__NR_gettid, 0, 0, 0, 0, 0, 0),
				 __ATOMIC_RELEASE);
		return s;
	}
	call(__NR_exit_group, 99, 0, 0, 0, 0, 0);
	return NULL;
}

static void log_entry(struct moca_exact_slot *s, uint64_t granule,
		      uint64_t kind, int store)
{
	uint64_t *log = part(s, MOCA_EXACT_LOG);

	log[s->log_count] = (now() & ~3ull) | MOCA_EXACT_LOG_TIME;
	__atomic_store_n(&s->log_count, s->log_count + 1, __ATOMIC_RELEASE);
	log[s->log_count] = granule << MOCA_EXACT_LOG_GRANULE_SHIFT | kind |
			    (store ? MOCA_EXACT_LOG_STORE : 0);
	__atomic_store_n(&s->log_count, s->log_count + 1, __ATOMIC_RELEASE);
}

/* n accesses, as if one by one. */
static void count(struct moca_exact_slot *s, uint64_t addr, int store,
		  uint64_t n)
{
	uint64_t granule = addr >> setup.shift;
	uint64_t cell = granule & (MOCA_EXACT_CELLS - 1);
	uint32_t *c = part(s, MOCA_EXACT_COUNTS + cell * 8);
	uint8_t *bits = part(s, MOCA_EXACT_TOUCHED + cell / 4);
	unsigned int shift = cell % 4 * 2;

	while (n) {
		uint64_t k = n > 1u << 31 ? 1u << 31 : n;
		uint32_t before = __atomic_fetch_sub(&c[store], (uint32_t)k,
						     __ATOMIC_RELAXED);

		n -= k;
		if (k <= before)
			continue;
		if (*bits >> (shift + store) & 1)
			log_entry(s, granule, MOCA_EXACT_LOG_WRAP, store);
		else if (!(*bits >> shift & 3))
			log_entry(s, granule, MOCA_EXACT_LOG_FIRST, store);
		*bits |= 1 << (shift + store);
	}
}

static void event(struct moca_exact_slot *s, uint32_t type, uint64_t addr,
		  uint64_t len, const char *name)
{
	uint64_t mask = MOCA_EXACT_EVENTS_SIZE - 1, head = s->events_head;
	uint8_t *ring = part(s, MOCA_EXACT_EVENTS);
	struct moca_exact_event e = { .type = type, .addr = addr, .len = len,
				      .clock = now(), .prot = 3 };
	size_t n = 0;

	while (name[n++])
		;
	e.size = (sizeof(e) + n + 7) & ~7u;
	for (size_t i = 0; i < sizeof(e); i++)
		ring[(head + i) & mask] = ((uint8_t *)&e)[i];
	for (size_t i = 0; i < n; i++)
		ring[(head + sizeof(e) + i) & mask] = name[i];
	__atomic_store_n(&s->events_head, head + e.size, __ATOMIC_RELEASE);
}

static void end(struct moca_exact_slot *s)
{
	s->end_clock = now();
	__atomic_store_n(&s->state, MOCA_EXACT_ENDED, __ATOMIC_RELEASE);
}

static void thread_main(uint64_t stack)
{
	struct moca_exact_slot *s = take(MOCA_TASK_THREAD, stack);

	count(s, 0x20000000, 1, 5);
	count(s, 0x20000000, 0, 1);
	if (setup.debug & ALL_LIVE)
		for (;;)
			call(__NR_pause, 0, 0, 0, 0, 0, 0);
	end(s);
	call(__NR_exit, 0, 0, 0, 0, 0, 0);
}

/* Waits until it is gone, as its stack is the next one's. */
static void thread(uint64_t stack)
{
	static uint32_t gone;
	long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
		     CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
	register long tid __asm__("r10") = (long)&gone;
	register long tls __asm__("r8") = 0;
	long ret;

	__atomic_store_n(&gone, 1, __ATOMIC_RELEASE);
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%rsp, %%rdi\n\t"
			 "call *%[main]\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(__NR_clone), "D"(flags), "S"(stack), "d"(0),
			   "r"(tid), "r"(tls), [main] "b"(thread_main)
			 : "rcx", "r11", "memory");
	if (setup.debug & ALL_LIVE)
		return;
	while (__atomic_load_n(&gone, __ATOMIC_ACQUIRE))
		call(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
}

static void threads(unsigned int n)
{
	long size = setup.debug & ALL_LIVE ? (long)n * STACK : STACK;
	uint64_t stacks = call(__NR_mmap, 0, size, 3, 0x22, -1, 0);

	for (unsigned int i = 0; i < n; i++)
		thread(stacks + (setup.debug & ALL_LIVE ? (i + 1) * STACK :
							  STACK) - 64);
}

static void forked(void)
{
	struct moca_exact_slot *s;
	long pid = call(__NR_fork, 0, 0, 0, 0, 0, 0);

	if (pid) {
		call(__NR_wait4, pid, 0, 0, 0, 0, 0);
		return;
	}
	s = take(MOCA_TASK_FORK, 0);
	count(s, 0x30000000, 1, 11);
	call(__NR_kill, call(__NR_getpid, 0, 0, 0, 0, 0, 0), 9, 0, 0, 0, 0);
}

static void busy(struct moca_exact_slot *s)
{
	struct { long sec, ns; } pause = { 0, 1000000 };

	for (int i = 0; i < 700; i++) {
		count(s, 0x40000000, 0, 1000);
		if (i == 600)
			count(s, 0x40001000, 1, 1);
		call(__NR_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
	}
}

static void be_hostile(struct moca_exact_slot *s)
{
	struct moca_exact_shared *shared = part(slot(0), MOCA_EXACT_SHARED);
	uint64_t *log = part(s, MOCA_EXACT_LOG);

	shared->used = UINT32_MAX;
	shared->regions = UINT64_MAX;
	event(s, MOCA_CHANGE_MMAP, 1, 2, "of which the size is wrong");
	*(uint32_t *)part(s, MOCA_EXACT_EVENTS) = 12345;
	event(s, 77, 0, 0, "");
	/* Twice the same granule, wraps of none, and no kind at all. */
	log[1] = log[2] = 5ull << MOCA_EXACT_LOG_GRANULE_SHIFT;
	log[3] = 6ull << MOCA_EXACT_LOG_GRANULE_SHIFT | MOCA_EXACT_LOG_WRAP;
	log[4] = 3;
	s->log_count = 100000;
	s->gaps[0] = UINT64_MAX;
	s->gaps[1] = UINT64_MAX;
	s->apart = (struct moca_exact_apart){
		UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
	};
	slot(4095)->state = 17;
	slot(4095)->tid = 1;
	slot(4095)->log_count = UINT64_MAX;
}

/*
 * Two granules of a loop, of which 10 more iterations are to be counted: from the
 * state that a thread is killed in, by its number.
 */
static void loop(struct moca_exact_slot *s, unsigned int state)
{
	const uint64_t granule = 0x60000000 >> setup.shift;
	struct moca_exact_loop *l = part(s, MOCA_EXACT_LOOP);
	uint64_t *cell = part(s, MOCA_EXACT_COUNTS + granule * 8);
	int64_t step = state == 2 ? -24 : 8;

	count(s, 0x60000000, 0, state == 5 ? (1ull << 32) - 5 : 1);
	count(s, 0x61000000, 0, 1);
	count(s, 0x61000000, 1, 1);
	l->start = 5000;
	l->step = step;
	l->now = 5000 + (uint64_t)step * 10;	/* 11 have begun */
	l->entry[0].granule = granule;
	l->entry[0].load = 1;
	l->entry[1].granule = 0x61000000 >> setup.shift;
	l->entry[1].load = l->entry[1].store = 1;
	l->entry[0].split = l->entry[1].split = 50;
	l->entry[0].ahead = l->entry[1].ahead = 1;
	l->entry[0].way = l->entry[1].way = -1;
	l->entries = 2;
	if (state == 0)		/* none has begun */
		l->now = 5000 - (uint64_t)step;
	if (state == 2) {	/* the first one is counted */
		l->done = l->next = 2;
		count(s, 0x60000000, 0, 10);
	}
	if (state == 3 || state == 4) {	/* it is about to be, or was */
		l->next = 1;
		l->word = *cell - 10;
	}
	if (state == 4)
		count(s, 0x60000000, 0, 10);
	if (state == 6)
		l->now++;
	if (state == 7)
		l->step = 0;
	if (state == 8)
		l->entries = UINT32_MAX;
	if (state == 9)
		l->next = 7;
	if (state == 10)
		l->now = 5000 + (1ull << 40);
	if (state == 11)
		l->entry[0].granule = UINT64_MAX;
	if (state == 12) {	/* 4 of 11 were in the next granule */
		count(s, 0x60000000 - (1ul << setup.shift), 0, 1);
		l->entry[0].split = 7;
	}
}

static void many(struct moca_exact_slot *s)
{
	for (int i = 200000 - 1; i >= 0; i--)
		count(s, 0x500000000 + ((uint64_t)i << setup.shift), i & 1,
		      1 + i % 3);
}

/* The program's entry point. */
uint64_t stand_in(const struct moca_exact_setup *from, uint64_t stack);
uint64_t stand_in(const struct moca_exact_setup *from, uint64_t stack)
{
	const struct moca_exact_setup *volatile whole = from;
	struct moca_exact_shared *shared;
	struct moca_exact_slot *s;

	setup = *whole;
	s = take(0, stack);
	shared = part(s, MOCA_EXACT_SHARED);
	shared->regions = 3;
	shared->code_bytes = 4096;
	event(s, MOCA_CHANGE_MMAP, 0x10000000, 0x10000, "stand-in");
	event(s, MOCA_CHANGE_NAME, 0, 0, "renamed");
	count(s, 0x10000000, 0, 100);
	count(s, 0x10000040, 1, 10);
	count(s, 0x10002000, 1, 1);
	if (setup.debug & WRAPS) {
		count(s, 0x10003000, 0, 3 * (1ull << 32) + 7);
		count(s, 0x10003000, 1, 1ull << 32);
	}
	if (setup.debug & (THREADS | ALL_LIVE))
		threads(setup.debug >> 16);
	if (setup.debug & FORK)
		forked();
	if (setup.debug & MANY)
		many(s);
	if (setup.debug & BUSY)
		busy(s);
	if (setup.debug & LOOP)
		loop(s, setup.debug >> 16);
	if (setup.debug & HOSTILE)
		be_hostile(s);
	if (setup.debug & KILLED)
		call(__NR_kill, call(__NR_getpid, 0, 0, 0, 0, 0, 0), 9, 0, 0, 0,
		     0);
	if (setup.debug & ENDED)
		end(s);
	return setup.entry;
}

/* The program's stack pointer as it was; its registers are all 0 then. */
__asm__(".globl moca_exact_entry\n"
	".hidden moca_exact_entry\n"
	"moca_exact_entry:\n\t"
	"mov %rsp, %rbx\n\t"
	"mov %rsp, %rsi\n\t"
	"and $-16, %rsp\n\t"
	"call stand_in\n\t"
	"mov %rbx, %rsp\n\t"
	"xor %ebx, %ebx\n\t"
	"xor %edx, %edx\n\t"
	"jmp *%rax\n");

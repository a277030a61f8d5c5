// SPDX-License-Identifier: LGPL-2.1-or-later
/* Which thread counts where: slots, threads' begins and ends, forks. */
#include <asm/prctl.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <moca/types.h>

#include "agent/count/counters.h"

#define CONTEXT_ROOM (16ull << 20)	/* what is mapped below the counters */
#define COUNTS_SIZE (MOCA_EXACT_CELLS * 8)

struct moca_exact_setup moca_count_recording;
/* Of the program, if it was built by moca cc; the collector fills it in. */
extern const struct moca_exact_setup moca_count_setup __attribute__((weak));

static struct count_context *free_regions;
static atomic_flag regions_lock = ATOMIC_FLAG_INIT;
static pthread_key_t key;
static uint32_t forker;		/* tid, in its child */

static void die(const char *what)
{
	fprintf(stderr, "moca: a program that counts itself cannot go on: %s: "
			"%s\n", what, strerror(errno));
	abort();
}

static void set_gs(struct count_context *c)
{
	char *gs = (char *)c + COUNT_CONTEXT;

	((struct count_context **)c)[-1] = c;
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, gs))
		die("arch_prctl(ARCH_SET_GS)");
}

/* Counters that nobody looks at: rewritten code must have some. */
static struct count_context *region(void)
{
	struct count_context *c;
	char *p;

	while (atomic_flag_test_and_set_explicit(&regions_lock,
						 memory_order_acquire))
		;
	c = free_regions;
	if (c)
		free_regions = c->next;
	atomic_flag_clear_explicit(&regions_lock, memory_order_release);
	if (c)
		return c;
	p = mmap(NULL, CONTEXT_ROOM + COUNTS_SIZE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		die("4 GiB of address space for a thread's counters (ulimit -v)");
	madvise(p, CONTEXT_ROOM + COUNTS_SIZE, MADV_NOHUGEPAGE);
	madvise(p, CONTEXT_ROOM + COUNTS_SIZE, MADV_DONTDUMP);
	return (struct count_context *)(p + CONTEXT_ROOM - COUNT_CONTEXT);
}

static void give_back(struct count_context *c)
{
	while (atomic_flag_test_and_set_explicit(&regions_lock,
						 memory_order_acquire))
		;
	c->next = free_regions;
	free_regions = c;
	atomic_flag_clear_explicit(&regions_lock, memory_order_release);
}

static struct moca_exact_shared *shared(void)
{
	return (void *)(moca_count_recording.arena + MOCA_EXACT_SHARED);
}

/* A free slot, LIVE now; NULL when there is none. */
static struct moca_exact_slot *take(void)
{
	uint32_t used = __atomic_load_n(&shared()->used, __ATOMIC_RELAXED), i;
	struct moca_exact_slot *s;

	for (i = 0; i < MOCA_EXACT_SLOTS; i++) {
		uint32_t expected = MOCA_EXACT_FREE;

		s = (void *)(moca_count_recording.arena +
			     i * MOCA_EXACT_SLOT_SIZE);
		/* The collector has given it back, empty. */
		if (__atomic_compare_exchange_n(&s->state, &expected,
						MOCA_EXACT_LIVE, false,
						__ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			break;
	}
	if (i == MOCA_EXACT_SLOTS)
		return NULL;
	while (used < i + 1 &&
	       !__atomic_compare_exchange_n(&shared()->used, &used, i + 1, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return s;
}

void count_attach(uint32_t kind, uint32_t parent)
{
	struct moca_exact_slot *s;
	struct count_context *c;
	uint64_t fs;

	s = moca_count_recording.version ? take() : NULL;
	if (!s) {
		c = region();
		c->slot = NULL;
		set_gs(c);
		if (moca_count_recording.version) {
			s = (void *)moca_count_recording.arena;
			__atomic_fetch_add(&s->gaps[MOCA_EXACT_GAP_SLOTS], 1,
					   __ATOMIC_RELAXED);
		}
		return;
	}
	c = (void *)((char *)s + MOCA_EXACT_COUNTS - COUNT_CONTEXT);
	*c = (struct count_context){ .slot = s };
	__asm__("movq %%fs:0, %0" : "=r"(fs));
	s->kind = kind;
	s->pid = (uint32_t)getpid();
	s->parent = parent;
	s->start_clock = count_clock();
	s->stack = (uint64_t)__builtin_frame_address(0);
	s->tls = fs;
	/* By it the collector knows the slot. */
	__atomic_store_n(&s->tid, (uint32_t)syscall(SYS_gettid),
			 __ATOMIC_RELEASE);
	set_gs(c);
}

void count_detach(void)
{
	struct count_context *c = count_context();
	struct moca_exact_slot *s = c->slot;

	if (!s) {
		/* What it does from here on may go where another one's does. */
		give_back(c);
		return;
	}
	c = region();
	c->slot = NULL;
	set_gs(c);
	give_back(c);
	s->end_clock = count_clock();
	/* Pairs with the collector's look at the state. */
	__atomic_store_n(&s->state, MOCA_EXACT_ENDED, __ATOMIC_RELEASE);
}

/* --- threads -------------------------------------------------------------- */

/* After the destructors of other keys, as far as that can be had. */
static void at_thread_exit(void *rounds)
{
	intptr_t n = (intptr_t)rounds;

	if (n < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(key, (void *)(n + 1));
	else
		count_detach();
}

struct start {
	void *(*run)(void *);
	int (*run_c11)(void *);
	void *arg;
	uint32_t parent;
	atomic_bool taken;
};

/* Not by malloc: the trace would have it as the program's allocation. */
static struct start starts[256];

/* Pairs with started(): what was in it has been read. */
static void forget(struct start *s)
{
	if (s >= starts && s < starts + sizeof(starts) / sizeof(*starts))
		atomic_store_explicit(&s->taken, false, memory_order_release);
	else
		free(s);
}

static struct start begin(void *p)
{
	struct start *from = p, s = { .run = from->run, .arg = from->arg,
				      .run_c11 = from->run_c11 };

	count_attach(MOCA_TASK_THREAD, from->parent);
	forget(from);
	pthread_setspecific(key, (void *)1);
	return s;
}

static void *begin_posix(void *p)
{
	struct start s = begin(p);

	return s.run(s.arg);
}

static int begin_c11(void *p)
{
	struct start s = begin(p);

	return s.run_c11(s.arg);
}

static struct start *started(void *arg)
{
	struct start *s = NULL;
	size_t i;

	for (i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		/* Pairs with forget(). */
		if (!atomic_exchange_explicit(&starts[i].taken, true,
					      memory_order_acquire)) {
			s = &starts[i];
			break;
		}
	if (!s)
		s = malloc(sizeof(*s));
	if (!s)
		return NULL;
	s->run = NULL;
	s->run_c11 = NULL;
	s->arg = arg;
	s->parent = (uint32_t)syscall(SYS_gettid);
	return s;
}

#ifdef MOCA_COUNT_STATIC
/* The linker is told to: moca cc passes --wrap. */
#define REAL(name) __real_##name
#define OURS(name) __wrap_##name
int __real_pthread_create(pthread_t *, const pthread_attr_t *,
			  void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *,
			  void *(*)(void *), void *);
int __real_thrd_create(thrd_t *, thrd_start_t, void *) __attribute__((weak));
int __wrap_thrd_create(thrd_t *, thrd_start_t, void *);
#else
#define OURS(name) name
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#endif

int OURS(pthread_create)(pthread_t *t, const pthread_attr_t *attr,
			 void *(*run)(void *), void *arg)
{
	struct start *s = started(arg);
	int err;

	if (!s)
		return EAGAIN;
	s->run = run;
	err = REAL(pthread_create)(t, attr, begin_posix, s);
	if (err)
		forget(s);
	return err;
}

int OURS(thrd_create)(thrd_t *t, thrd_start_t run, void *arg)
{
	struct start *s = started(arg);
	int err;

	if (!s)
		return thrd_nomem;
	s->run_c11 = run;
	err = REAL(thrd_create)(t, begin_c11, s);
	if (err != thrd_success)
		forget(s);
	return err;
}

/* --- the process ------------------------------------------------------------- */

static void before_fork(void)
{
	forker = (uint32_t)syscall(SYS_gettid);
}

static void in_child(void)
{
	/* Its parent's slot is the parent's alone. */
	if (moca_count_recording.version)
		count_attach(MOCA_TASK_FORK, forker);
}

static void begin_process(void)
{
	if (&moca_count_setup && moca_count_setup.version)
		moca_count_recording = moca_count_setup;
	if (moca_count_recording.version > MOCA_EXACT_VERSION) {
		errno = EPROTO;
		die("moca record is newer than this program's libmoca-count");
	}
	count_attach(0, 0);
	if (pthread_key_create(&key, at_thread_exit))
		die("pthread_key_create");
	pthread_atfork(before_fork, NULL, in_child);
}

#ifdef MOCA_COUNT_STATIC
__attribute__((section(".preinit_array"), used))
static void (*const at_begin)(void) = begin_process;
#else
__attribute__((constructor(101))) static void at_begin(void)
{
	begin_process();
}
#endif

__attribute__((destructor(101))) static void at_end(void)
{
	count_tell_code();
}

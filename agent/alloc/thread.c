// SPDX-License-Identifier: LGPL-2.1-or-later
/* A thread's state: from a pool, given back at its end, begun anew by fork. */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/alloc/call.h"
#include "agent/alloc/emit.h"
#include "agent/alloc/stack.h"
#include "agent/alloc/thin.h"
#include "agent/alloc/thread.h"
#include "lib/base/arch.h"

#define POOL 32		/* states in .bss; what is beyond is mapped */
#define TLS_MODULES 64
#define ROUNDS 4	/* of destructors, PTHREAD_DESTRUCTOR_ITERATIONS */

__thread struct alloc_thread *alloc_self;
/* Our destructor was the last one. */
static __thread int ended __attribute__((tls_model("initial-exec")));
uint32_t alloc_unloads;

static struct alloc_thread pool[POOL] __attribute__((aligned(ALLOC_PAGE)));
static struct alloc_thread *threads;	/* all states, ever */
static uint32_t pool_used;

static pthread_key_t key;
static int have_key;

/* Blocks of modules loaded at the start, at the thread pointer less off. */
static struct {
	uint64_t off, size, base;
} tls[TLS_MODULES];
static unsigned tls_count;

static int own_tid(void)
{
	return syscall(SYS_gettid);
}

/*
 * By an instruction of this library's: so the recorder knows that the memory is
 * not the program's, and leaves it alone (collect/fault/mapcall.c). It would
 * be of pages that exist once they are read, most of which never hold anything.
 */
static void *map_own(size_t len)
{
	long p = alloc_call(SYS_mmap, 0, (long)len, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p < 0 && p > -4096 ? NULL : (void *)p;
}

static struct alloc_thread *new_state(void)
{
	struct alloc_thread *t;
	uint32_t i;

	i = __atomic_fetch_add(&pool_used, 1, __ATOMIC_RELAXED);
	if (i < POOL) {
		t = &pool[i];
	} else {
		__atomic_store_n(&pool_used, POOL, __ATOMIC_RELAXED);
		t = map_own(sizeof(*t));
		if (!t)
			return NULL;
	}
	syscall(SYS_madvise, t, ALLOC_WIPED, MADV_WIPEONFORK);
	return t;
}

/* A state that an earlier thread left, or a new one. */
static struct alloc_thread *take_state(int32_t tid)
{
	struct alloc_thread *t;
	int32_t nobody;

	for (t = __atomic_load_n(&threads, __ATOMIC_ACQUIRE); t; t = t->next) {
		nobody = 0;
		/* Pairs with give_back. */
		if (!__atomic_load_n(&t->tid, __ATOMIC_RELAXED) &&
		    __atomic_compare_exchange_n(&t->tid, &nobody, tid, 0,
						__ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return t;
	}
	t = new_state();
	if (!t)
		return NULL;
	t->tid = tid;
	t->next = __atomic_load_n(&threads, __ATOMIC_RELAXED);
	/* Pairs with the walks: all of it is there. */
	while (!__atomic_compare_exchange_n(&threads, &t->next, t, 0,
					    __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	return t;
}

static void main_stack(uint64_t *low, uint64_t *high)
{
	extern void *__libc_stack_end;
	struct rlimit limit;
	uint64_t size = 128 << 20;

	if (!syscall(SYS_getrlimit, RLIMIT_STACK, &limit) &&
	    limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur > size)
		size = limit.rlim_cur;
	*high = (uint64_t)__libc_stack_end;
	*low = size < *high ? *high - size : 0;
}

/*
 * Of the others: what is below the thread's control block. Not by
 * pthread_getattr_np, which has a lock, and calls malloc while it holds it.
 */
static void thread_stack(uint64_t *low, uint64_t *high)
{
	uint64_t pointer = (uint64_t)__builtin_thread_pointer(), end;

	*high = pointer;
	if (!alloc_find_mapping(pointer - 1, low, &end))
		*low = *high = 0;
}

static void forget_cache(struct alloc_thread *t)
{
	unsigned i;

	for (i = 0; i < ALLOC_CACHE; i++)
		if (t->cache[i].ip)
			t->cache[i].ip = 0;
}

static void find_own_stack(struct alloc_thread *t, int32_t tid)
{
	uint64_t low, high;

	if (tid == syscall(SYS_getpid))
		main_stack(&low, &high);
	else
		thread_stack(&low, &high);
	if (low != t->low || high != t->high)
		forget_cache(t);
	t->low = low;
	t->high = high;
	t->foreign_low = t->foreign_high = 0;
}

static struct alloc_thread *make(void)
{
	int32_t tid = own_tid();
	struct alloc_thread *t = take_state(tid);

	if (!t)
		return NULL;
	find_own_stack(t, tid);
	t->rounds = 0;
	t->w.told = 0;
	alloc_meter_begin(t);
	alloc_self = t;
	if (have_key)
		pthread_setspecific(key, t);
	return t;
}

/* The main thread's stack ends behind the strings that it begins with. */
static void tell_thread(const struct alloc_thread *t)
{
	const char *last = (const char *)getauxval(AT_EXECFN);
	uint64_t high = t->high;

	if (last && (uint64_t)last - high < 8 << 20)
		high = (uint64_t)last + strlen(last) + 9;
	alloc_emit_thread((uint64_t)__builtin_thread_pointer(),
			  t->low & ~(uint64_t)(ALLOC_PAGE - 1),
			  (high + ALLOC_PAGE - 1) &
				  ~(uint64_t)(ALLOC_PAGE - 1));
}

static void tell_tls(void)
{
	uint64_t tp = (uint64_t)__builtin_thread_pointer();
	unsigned i;

	for (i = 0; i < tls_count; i++)
		alloc_emit_tls(tp - tls[i].off, tls[i].size, tls[i].base);
}

/* Once in an image: later it may run as another user. Forks inherit it. */
static void prepare(uint32_t generation)
{
	static uint32_t prepared;

	if (__atomic_exchange_n(&prepared, generation, __ATOMIC_RELAXED) !=
	    generation)
		alloc_emit_prepare();
}

struct alloc_thread *alloc_thread_slow(uint64_t sp)
{
	uint32_t generation = __atomic_load_n(moca_trace_generation,
					      __ATOMIC_RELAXED);
	uint32_t unloads = __atomic_load_n(&alloc_unloads, __ATOMIC_RELAXED);
	struct alloc_thread *t = alloc_self;
	int saved_errno = errno;

	if (!t)
		t = ended ? NULL : make();
	if (!t)
		goto out;
	if (t->cached != generation || t->unloads != unloads) {
		forget_cache(t);
		if (t->cached != generation)
			t->w.told = 0;
		t->unloads = unloads;
		t->cached = generation;
	}
	t->generation = generation;
	if (t->w.told != t->tid) {
		t->w.told = t->tid;
		prepare(generation);
		tell_thread(t);
		tell_tls();
		alloc_thin_tell();
	}
out:
	errno = saved_errno;
	return t;
}

/*
 * A thread ends. Other destructors may come after this one, and free; so the
 * state stays until the last round.
 */
static void thread_end(void *arg)
{
	struct alloc_thread *t = arg;

	if (t != alloc_self)
		return;
	if (++t->rounds < ROUNDS && !alloc_is_silent()) {
		alloc_count_flush_all(t);
		pthread_setspecific(key, t);
		return;
	}
	if (!alloc_is_silent()) {
		alloc_count_flush_all(t);
		alloc_meter_flush(t);
	}
	ended = 1;
	alloc_self = NULL;
	/* Pairs with take_state. */
	__atomic_store_n(&t->tid, 0, __ATOMIC_RELEASE);
}

/* The child has one thread; its counts and what it was told are wiped. */
static void fork_child(void)
{
	struct alloc_thread *t, *self = alloc_self;

	for (t = threads; t; t = t->next)
		if (t != self)
			t->tid = 0;
	if (!self)
		return;
	if (alloc_is_silent())
		return;
	self->tid = own_tid();
	self->generation--;	/* tell who it is; stacks are inherited */
}

static int note_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t tp = (uint64_t)__builtin_thread_pointer(), len = 0, at;
	uint64_t base = ~0ull;
	int i;

	at = (uint64_t)info->dlpi_tls_data;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];

		if (h->p_type == PT_TLS)
			len = h->p_memsz;
		if (h->p_type == PT_LOAD && h->p_vaddr < base)
			base = h->p_vaddr;
	}
	if (!len || !at || (at < tp) != MOCA_TLS_BELOW || base == ~0ull ||
	    tls_count == TLS_MODULES)
		return 0;
	tls[tls_count].off = tp - at;
	tls[tls_count].size = len;
	tls[tls_count].base =
		(info->dlpi_addr + base) & ~(uint64_t)(ALLOC_PAGE - 1);
	tls_count++;
	return 0;
}

void alloc_thread_init(void)
{
	have_key = !pthread_key_create(&key, thread_end);
	pthread_atfork(NULL, NULL, fork_child);
	dl_iterate_phdr(note_module, NULL);
	if (alloc_self && alloc_self->w.told) {	/* by an earlier constructor */
		pthread_setspecific(key, alloc_self);
		tell_tls();
	}
}

void alloc_thread_finish(void)
{
	uint64_t count = 0, bytes = 0;
	struct alloc_thread *t;

	for (t = __atomic_load_n(&threads, __ATOMIC_ACQUIRE); t; t = t->next) {
		alloc_count_flush_all(t);
		alloc_meter_flush(t);
		count += t->w.skipped.count;
		bytes += t->w.skipped.bytes;
		t->w.skipped.count = t->w.skipped.bytes = 0;
	}
	alloc_count_tell_all();
	alloc_sized_tell_all();
	if (count)
		alloc_emit_skipped(count, bytes);
}

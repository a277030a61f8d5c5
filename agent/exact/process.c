// SPDX-License-Identifier: LGPL-2.1-or-later
/* The begin in a new program image. */
#include <asm/prctl.h>
#include <asm/unistd.h>
#include <elf.h>
#include <linux/mman.h>

#include "agent/exact/chart.h"
#include "agent/exact/maps.h"
#include "agent/exact/translate.h"
#include "lib/code/self-relocate.h"

struct process moca_exact;

#define SPINS 100	/* a translation takes 30 us and more */

void moca_exact_took(uint64_t began, unsigned int times)
{
	/* Processes that fork made add, too. */
	__atomic_fetch_add(&moca_exact.shared->translating,
			   (moca_exact_cpu_ns() - began) * times,
			   __ATOMIC_RELAXED);
}

/* Others translate: it may take long, and they may want this CPU. */
static void wait_for_lock(void)
{
	uint64_t began = moca_exact_cpu_ns();

	do {
		for (int i = 0; i < SPINS && __atomic_load_n(&moca_exact.lock,
							     __ATOMIC_RELAXED); i++)
			__builtin_ia32_pause();
		if (__atomic_load_n(&moca_exact.lock, __ATOMIC_RELAXED))
			moca_exact_call(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
	} while (__atomic_exchange_n(&moca_exact.lock, 1, __ATOMIC_ACQUIRE));
	/* A part of what translating costs; the lock is ours. */
	if (moca_exact.shared)
		moca_exact_took(began, 1);
}

void moca_exact_lock(void)
{
	if (__atomic_exchange_n(&moca_exact.lock, 1, __ATOMIC_ACQUIRE))
		wait_for_lock();
}

void moca_exact_unlock(void)
{
	__atomic_store_n(&moca_exact.lock, 0, __ATOMIC_RELEASE);
}

/* Behind the caches of programs at low addresses, whose heap grows up to these. */
#define JUMPS_PLACE 0x78000000l

/* Jumps by register look here: in the low 2 GiB, so that no register is needed. */
static void make_jumps(void)
{
	size_t n = 1ul << JUMP_BITS;
	uint64_t *p;
	long ret;

	moca_exact_limits_more((int64_t)n * 8);
	ret = moca_exact_call(__NR_mmap, JUMPS_PLACE, (long)(n * 8),
			      PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT |
				      MAP_POPULATE, -1, 0);
	if (ret < 0 && ret > -4096)
		moca_exact_die("no memory below 2 GiB for a table",
			       (uint64_t)-ret);
	p = moca_exact.jumps = (uint64_t *)ret;
	moca_exact_own_add((uint64_t)ret, (uint64_t)ret + n * 8);
	__asm__ volatile("rep stosq"
			 : "+D"(p), "+c"(n)
			 : "a"((uint64_t)moca_exact_exit_jump)
			 : "memory");
}

/* What the collector has laid out is writable, but this image's code. */
static void protect(uint64_t image, int data)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)image;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(image + e->e_phoff);

	for (int i = 0; i < e->e_phnum; i++) {
		uint64_t start = p[i].p_vaddr & -4096ul;
		uint64_t size = p[i].p_vaddr + p[i].p_memsz - start;
		int code = p[i].p_flags & PF_X;

		if (p[i].p_type == PT_LOAD && !(p[i].p_flags & PF_W) &&
		    (data || code))
			moca_exact_call(__NR_mprotect, (long)(image + start),
					(long)((size + 4095) & -4096ul),
					PROT_READ | (code ? PROT_EXEC : 0), 0,
					0, 0);
	}
}

/* Entry.S calls it before any of this image's data is used. */
void moca_exact_relocate(void);
void moca_exact_relocate(void)
{
	moca_self_relocate();
}

struct context *moca_exact_begin(const struct moca_exact_setup *setup,
				 uint64_t stack);
struct context *moca_exact_begin(const struct moca_exact_setup *setup,
				 uint64_t stack)
{
	uint64_t began = moca_exact_cpu_ns();
	struct context *c;

	moca_exact.setup = *setup;
	if (setup->version != MOCA_EXACT_VERSION)
		moca_exact_die("collector and agent do not fit", setup->version);
	protect(setup->agent, 1);
	protect(setup->zydis, 0);
	moca_exact_call(__NR_madvise, (long)setup->arena,
			(long)MOCA_EXACT_ARENA_SIZE, MADV_DONTDUMP, 0, 0, 0);
	moca_exact.arena = setup->arena;
	moca_exact.shift = setup->shift;
	moca_exact.pid = setup->pid;
	moca_exact.shared = (struct moca_exact_shared *)(setup->arena +
							 MOCA_EXACT_SHARED);
	moca_exact_own_add(setup->arena, setup->arena + MOCA_EXACT_ARENA_SIZE);
	moca_exact_own_add(setup->agent, setup->agent_end);
	moca_exact_own_add(setup->zydis, setup->zydis_end);
	moca_exact_limits_begin();
	c = moca_exact_thread_new(0);
	if (!c)
		moca_exact_die("no slot for the first thread", 0);
	__asm__ volatile("wrgsbase %0"
			 : : "r"((uint64_t)c + CONTEXT_SIZE) : "memory");
	if (moca_exact_decode_init(setup->zydis))
		moca_exact_die("the decoder, libZydis, cannot be used", 0);
	make_jumps();
	c->flags = 0x202;
	c->gpr[RSP] = stack;
	__asm__("rdfsbase %0" : "=r"(c->fs));
	moca_exact_chart_begin();
	moca_exact_thread_first(c);
	moca_exact_signal_init(c);
	moca_exact_fold_init(c);
	moca_exact_took(began, 1);
	moca_exact_go(c, setup->entry);
	return c;
}

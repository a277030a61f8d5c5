// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Thread-local storage in a static program: a block for each thread, at %gs.
 * Nobody tells when a thread begins or ends. A new one comes with its creator's
 * %gs, but with a thread pointer of its own: so its first call finds that the
 * block is another's. A fork's child finds a block of zeros.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/alloc/static/static.h"
#include "lib/base/blockable.h"

/* At %gs, behind the storage; thunk.S knows owner. */
struct control {
	uint64_t self;		/* where it is, as of the ABI */
	uint64_t owner;		/* the program's thread pointer */
	int32_t tid;		/* 0: free */
	char pad[44];
};

#define AT(i) ((struct control *)(moca_static_blocks[i] + MOCA_STATIC_BLOCK - \
				  sizeof(struct control)))

char moca_static_blocks[MOCA_STATIC_THREADS][MOCA_STATIC_BLOCK]
	__attribute__((aligned(4096)));
static char unforked[4096] __attribute__((aligned(4096)));
static int used;

/* What the storage begins with. */
static uint64_t template, template_len, storage_len;

extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));
void moca_static_set_gs(uint64_t base) __attribute__((visibility("hidden")));

static void begin(struct control *c, uint64_t tp, int32_t tid)
{
	char *storage = (char *)c - storage_len;

	memset(storage, 0, storage_len);
	memcpy(storage, (const void *)template, template_len);
	c->self = (uint64_t)c;
	c->owner = tp;
	__atomic_store_n(&c->tid, tid, __ATOMIC_RELEASE);
	moca_static_set_gs((uint64_t)c);
}

static int is_block(uint64_t gs)
{
	return gs - (uint64_t)AT(0) < sizeof(moca_static_blocks);
}

/* The only thread of a process that has just been made. */
static void forked(uint64_t gs, uint64_t tp, int32_t tid)
{
	unforked[0] = 1;
	begin(is_block(gs) ? (struct control *)gs : AT(0), tp, tid);
	for (int i = 0; i < MOCA_STATIC_KEYS; i++)
		if (moca_static_forked[i])
			moca_static_forked[i]();
}

static int is_gone(int pid, int32_t tid)
{
	return moca_static_call(SYS_tgkill, pid, tid, 0, 0, 0, 0) == -ESRCH;
}

/* A block that no thread has any more, or that none ever had. */
static struct control *take(uint64_t tp, int32_t tid)
{
	int pid = (int)moca_static_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
	int n = __atomic_load_n(&used, __ATOMIC_RELAXED);

	for (int i = 0; i < n && i < MOCA_STATIC_THREADS; i++) {
		struct control *c = AT(i);
		int32_t old = __atomic_load_n(&c->tid, __ATOMIC_RELAXED);

		if (old && (old == tid || !is_gone(pid, old)))
			continue;
		if (!__atomic_compare_exchange_n(&c->tid, &old, tid, 0,
						 __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		if (old) {
			moca_static_set_gs((uint64_t)c);
			moca_static_end_thread();
		}
		return c;
	}
	n = __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
	if (n < MOCA_STATIC_THREADS)
		return AT(n);
	__atomic_store_n(&used, MOCA_STATIC_THREADS, __ATOMIC_RELAXED);
	return NULL;
}

int moca_static_thread(void)
{
	uint64_t tp = moca_static_thread_pointer(), gs = moca_static_gs();
	uint64_t all = moca_blockable(), signals;
	struct control *c = (struct control *)gs;
	int32_t tid;

	if (gs && !is_block(gs))
		return 0;		/* the program uses it itself */
	moca_static_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all,
			 (long)&signals, 8, 0, 0);
	tid = (int32_t)moca_static_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
	if (!unforked[0]) {
		forked(gs, tp, tid);
	} else if (is_block(gs) && c->tid == tid) {
		c->owner = tp;		/* it has got one, or another one */
	} else {
		c = take(tp, tid);
		if (c)
			begin(c, tp, tid);
	}
	moca_static_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&signals, 0, 8,
			 0, 0);
	return c != NULL;
}

int moca_static_threads_init(void)
{
	const Elf64_Phdr *p = (const void *)((const char *)&__ehdr_start +
					     __ehdr_start.e_phoff);

	for (int i = 0; i < __ehdr_start.e_phnum; i++) {
		if (p[i].p_type != PT_TLS)
			continue;
		template = (uint64_t)&__ehdr_start + p[i].p_vaddr;
		template_len = p[i].p_filesz;
		storage_len = (p[i].p_memsz + p[i].p_align - 1) & -p[i].p_align;
	}
	if (storage_len > MOCA_STATIC_BLOCK - sizeof(struct control))
		return -E2BIG;
	if (moca_static_gs())
		return -EBUSY;		/* the program's: it has begun */
	if (moca_static_call(SYS_madvise, (long)moca_static_blocks,
			     sizeof(moca_static_blocks), MADV_WIPEONFORK, 0, 0,
			     0) ||
	    moca_static_call(SYS_madvise, (long)unforked, sizeof(unforked),
			     MADV_WIPEONFORK, 0, 0, 0))
		return -EINVAL;
	unforked[0] = 1;
	used = 1;
	begin(AT(0), 0, (int32_t)moca_static_call(SYS_gettid, 0, 0, 0, 0, 0, 0));
	return 0;
}

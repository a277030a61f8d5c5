// SPDX-License-Identifier: LGPL-2.1-or-later
/* The program's system calls: those that concern us are seen, or done, here. */
#include <asm/prctl.h>
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <moca/types.h>

#include "agent/exact/maps.h"
#include "agent/exact/signal.h"

#define PAGE_UP(x) (((x) + 4095) & -4096ul)

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* One argument, by the order of system calls. */
static uint64_t arg(const struct context *c, int n)
{
	static const uint8_t regs[] = { RDI, RSI, RDX, 10, 8, 9 };

	return c->gpr[regs[n]];
}

/* It is made, if no signal came first. 0, or 1: it is to be begun again. */
static int make(struct context *c)
{
	if (!moca_exact_syscall(c))
		return 0;
	c->pc -= 2;
	return 1;
}

static int failed(const struct context *c)
{
	return c->gpr[RAX] > -4096ul;
}

/* --- memory ------------------------------------------------------------------- */

static void number(char *to, uint64_t v)
{
	char digits[20];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*to++ = digits[--n];
	*to = 0;
}

static const char *path_of(int fd, char *buf, size_t size)
{
	char link[40] = "/proc/self/fd/";
	long n;

	number(link + 14, (uint64_t)fd);
	n = moca_exact_call(__NR_readlink, (long)link, (long)buf,
			    (long)(size - 1), 0, 0, 0);
	buf[n > 0 ? n : 0] = 0;
	return buf;
}

static void mapped(struct context *c, uint64_t addr, uint64_t len,
		   uint64_t prot, uint64_t how, int fd, uint64_t offset)
{
	char path[1024];
	uint32_t flags = how & MAP_SHARED ? MOCA_MAP_SHARED : 0;
	const char *name = "";

	moca_exact_invalidate(addr, addr + len);
	if (!(how & MAP_ANONYMOUS)) {
		flags |= MOCA_MAP_FILE;
		name = path_of(fd, path, sizeof(path));
	}
	moca_exact_event(c, MOCA_CHANGE_MMAP, addr, len, offset, flags,
			 (uint32_t)prot & 7, name);
}

static void do_mmap(struct context *c)
{
	uint64_t a[6];

	for (int i = 0; i < 6; i++)
		a[i] = arg(c, i);
	if (make(c) || failed(c))
		return;
	c->gpr[RAX] = moca_exact_fold_mapped(c, c->gpr[RAX], PAGE_UP(a[1]), a);
	mapped(c, c->gpr[RAX], PAGE_UP(a[1]), a[2], a[3], (int)a[4],
	       a[3] & MAP_ANONYMOUS ? 0 : a[5]);
}

static void do_munmap(struct context *c)
{
	uint64_t addr = arg(c, 0), len = PAGE_UP(arg(c, 1));

	/* Told ahead: the room may be another thread's mapping right after. */
	if (!(addr & 4095) && len)
		moca_exact_event(c, MOCA_CHANGE_MUNMAP, addr, len, 0, 0, 0, "");
	if (make(c) || failed(c))
		return;
	moca_exact_invalidate(addr, addr + len);
}

static void do_mremap(struct context *c)
{
	uint64_t old = arg(c, 0), old_len = PAGE_UP(arg(c, 1));
	uint64_t len = PAGE_UP(arg(c, 2)), flags = arg(c, 3);

	if (make(c) || failed(c))
		return;
	moca_exact_invalidate(old, old + (old_len > len ? old_len : len));
	/* What was of no bytes is mapped a second time, and stays. */
	if (c->gpr[RAX] != old && !(flags & MREMAP_DONTUNMAP) && old_len)
		moca_exact_event(c, MOCA_CHANGE_MUNMAP, old, old_len, 0, 0, 0, "");
	else if (len < old_len)
		moca_exact_event(c, MOCA_CHANGE_MUNMAP, old + len, old_len - len,
				 0, 0, 0, "");
	if (c->gpr[RAX] == old && len <= old_len)
		return;
	moca_exact_invalidate(c->gpr[RAX], c->gpr[RAX] + len);
	moca_exact_fold_used(c, c->gpr[RAX], len);
	if (c->gpr[RAX] == old)
		moca_exact_event(c, MOCA_CHANGE_MMAP, old + old_len,
				 len - old_len, 0, 0, PROT_READ | PROT_WRITE, "");
	else
		moca_exact_event(c, MOCA_CHANGE_MMAP, c->gpr[RAX], len, 0,
				 MOCA_MAP_MOVED, PROT_READ | PROT_WRITE, "");
}

/* Code that could be changed meanwhile is translated anew. */
static void do_mprotect(struct context *c)
{
	uint64_t addr = arg(c, 0), len = PAGE_UP(arg(c, 1)), prot = arg(c, 2);

	if (make(c) || failed(c))
		return;
	moca_exact_invalidate(addr, addr + len);
	if (prot & (PROT_READ | PROT_WRITE))
		moca_exact_fold_used(c, addr, len);
}

static void do_brk(struct context *c)
{
	static uint64_t end;
	uint64_t now;

	if (make(c))
		return;
	now = PAGE_UP(c->gpr[RAX]);
	if (end && now > end) {
		moca_exact_fold_used(c, end, now - end);
		moca_exact_event(c, MOCA_CHANGE_MMAP, end, now - end, 0, 0,
				 PROT_READ | PROT_WRITE, "[heap]");
	} else if (end && now < end) {
		moca_exact_event(c, MOCA_CHANGE_MUNMAP, now, end - now, 0, 0, 0,
				 "");
	}
	end = now;
}

static void do_madvise(struct context *c)
{
	uint64_t addr = arg(c, 0), len = PAGE_UP(arg(c, 1)), how = arg(c, 2);

	if (make(c) || failed(c))
		return;
	if (how == MADV_DONTNEED || how == MADV_FREE || how == MADV_REMOVE) {
		moca_exact_invalidate(addr, addr + len);
		moca_exact_event(c, MOCA_CHANGE_DISCARD, addr, len, 0, 0, 0, "");
	}
}

static void do_shmat(struct context *c)
{
	/* Its length is not known here; the segment tells. */
	uint64_t info[16] = { 0 };
	long id = (long)arg(c, 0);

	if (make(c) || failed(c))
		return;
	/* struct shmid_ds: 48 bytes of permissions, then the size. */
	moca_exact_call(__NR_shmctl, id, 2 /* IPC_STAT */, (long)info, 0, 0, 0);
	moca_exact_invalidate(c->gpr[RAX], c->gpr[RAX] + PAGE_UP(info[6]));
	moca_exact_event(c, MOCA_CHANGE_MMAP, c->gpr[RAX], PAGE_UP(info[6]), 0,
			 MOCA_MAP_SHARED, PROT_READ | PROT_WRITE, "SysV");
}

/* --- the rest ------------------------------------------------------------------- */

static void do_arch_prctl(struct context *c)
{
	uint64_t what = arg(c, 0), addr = arg(c, 1), value;

	switch (what) {
	case ARCH_SET_GS:	/* %gs is ours */
		c->gs = addr;
		c->gpr[RAX] = addr < 1ull << 47 ? 0 : (uint64_t)-EPERM;
		return;
	case ARCH_GET_GS:
		value = c->gs;
		c->gpr[RAX] = (uint64_t)moca_exact_poke(addr, &value, 8);
		return;
	case ARCH_SET_FS:
		if (!make(c) && !failed(c))
			c->fs = addr;
		return;
	default:
		/* Shadow stacks would find that calls are not calls here. */
		if (what >= 0x5001 && what <= 0x5005) {
			c->gpr[RAX] = (uint64_t)-EINVAL;
			return;
		}
		make(c);
	}
}

static void do_prctl(struct context *c)
{
	uint64_t what = arg(c, 0), name = arg(c, 1);
	char text[16] = { 0 };

	if (what == 59 /* PR_SET_SYSCALL_USER_DISPATCH */) {
		c->gpr[RAX] = (uint64_t)-EINVAL;
		return;
	}
	if (make(c) || failed(c) || what != PR_SET_NAME)
		return;
	for (int i = 0; i < 15; i++)
		if (moca_exact_peek(text + i, name + (uint64_t)i, 1) ||
		    !text[i])
			break;
	text[15] = 0;
	moca_exact_event(c, MOCA_CHANGE_NAME, 0, 0, 0, 0, 0, text);
}

static int takes_memory(long nr)
{
	return nr == __NR_mmap || nr == __NR_mremap || nr == __NR_mprotect ||
	       nr == __NR_pkey_mprotect || nr == __NR_brk || nr == __NR_shmat;
}

void moca_exact_do_syscall(struct context *c)
{
	uint64_t pc = c->pc;
	long nr = (long)c->gpr[RAX];

	c->host = 0;
	if (c->pending) {	/* it came before, and goes first */
		c->pc -= 2;
		return;
	}
	c->nr = (uint64_t)nr;
	c->gpr[RCX] = pc;
	c->gpr[11] = c->flags;
	if (moca_exact_ours_syscall(c, nr))
		return;
	if (takes_memory(nr) && c->slot->kind != MOCA_TASK_VFORK)
		moca_exact_limits_anew();
	switch (nr) {
	case __NR_mmap:
		do_mmap(c);
		break;
	case __NR_munmap:
		do_munmap(c);
		break;
	case __NR_mremap:
		do_mremap(c);
		break;
	case __NR_mprotect:
	case __NR_pkey_mprotect:
		do_mprotect(c);
		break;
	case __NR_brk:
		do_brk(c);
		break;
	case __NR_madvise:
		do_madvise(c);
		break;
	case __NR_shmat:
		do_shmat(c);
		break;
	case __NR_arch_prctl:
		do_arch_prctl(c);
		break;
	case __NR_prctl:
		do_prctl(c);
		break;
	case __NR_rseq:
		/* The kernel would look for sections at the program's addresses. */
		c->gpr[RAX] = (uint64_t)-ENOSYS;
		break;
	case __NR_clone:
	case __NR_clone3:
	case __NR_fork:
	case __NR_vfork:
		moca_exact_thread_clone(c, nr);
		break;
	case __NR_execve:
	case __NR_execveat:
		if (c->slot->kind != MOCA_TASK_VFORK)
			moca_exact_limits_exec(1);
		if (!moca_exact_signal_syscall(c, nr))
			make(c);
		if (c->slot->kind != MOCA_TASK_VFORK)
			moca_exact_limits_exec(0);
		break;
	case __NR_exit:
	case __NR_exit_group:
		moca_exact_thread_exit(c, nr);
	default:
		if (!moca_exact_signal_syscall(c, nr))
			make(c);
	}
}

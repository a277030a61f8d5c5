// SPDX-License-Identifier: GPL-2.0-or-later
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/ptrace/regs.h"
#include "collect/ptrace/task.h"
#include "collect/ptrace/tracee.h"

#define SVC 0xd4000001u /* svc #0 */
/* x0 to x30, sp, pc, pstate. */
#define GENERAL_BYTES (34 * 8)
/* Of a 32-bit program: r0 to r15, cpsr, r0 of its call. */
#define WORDS_32BIT 18

static long get_set(pid_t tid, long type, void *p, size_t *len)
{
	struct iovec v = { p, *len };
	long ret = tracer_call(PTRACE_GETREGSET, tid, (void *)type, &v);

	*len = v.iov_len;
	return ret;
}

static long put_set(pid_t tid, long type, const void *p, size_t len)
{
	struct iovec v = { (void *)p, len };

	return tracer_call(PTRACE_SETREGSET, tid, (void *)type, &v);
}

/* x7 is 0 at the entry and 1 at the exit of a call, as the tracer sees it. */
static void find_x7(struct task *t, struct tracee_regs *r)
{
	struct __ptrace_syscall_info info = { .op = PTRACE_SYSCALL_INFO_NONE };

	if (!t)
		return;
	tracer_call(PTRACE_GET_SYSCALL_INFO, t->tid, sizeof(info), &info);
	/* A new image has all of them 0. */
	if (info.op == PTRACE_SYSCALL_INFO_EXIT && !info.exit.rval &&
	    (r->reg_nr == SYS_execve || r->reg_nr == SYS_execveat))
		r->x7 = 0;
	else if (info.op == PTRACE_SYSCALL_INFO_ENTRY ||
		 info.op == PTRACE_SYSCALL_INFO_EXIT)
		r->x7 = t->x7;
	t->x7 = r->x7;
}

static void widen(struct tracee_regs *r, const uint32_t words[WORDS_32BIT])
{
	memset(r, 0, sizeof(*r));
	for (int i = 0; i < 13; i++)
		r->x[i] = words[i];
	r->reg_sp = words[13];
	r->reg_ip = words[15];
	r->reg_nr = words[7];
	r->is_32bit = 1;
}

long regs_get(struct task *t, pid_t tid, struct tracee_regs *r)
{
	uint64_t general[GENERAL_BYTES / 8];
	size_t len = sizeof(general), len_nr = sizeof(int);
	int nr = -1;

	if (get_set(tid, NT_PRSTATUS, general, &len))
		return -1;
	if (len != sizeof(general)) {
		widen(r, (const uint32_t *)general);
	} else {
		memset(r, 0, sizeof(*r));
		memcpy(r, general, sizeof(general));
		if (get_set(tid, NT_ARM_SYSTEM_CALL, &nr, &len_nr))
			return -1;
		r->reg_nr = (uint64_t)(long)nr;
		find_x7(t, r);
	}
	r->reg_a0 = r->reg_ret = r->x0;
	return 0;
}

long regs_set(pid_t tid, const struct tracee_regs *r)
{
	struct tracee_regs now = *r;
	int nr = (int)r->reg_nr;

	if (r->is_32bit) {
		errno = EOPNOTSUPP;
		return -1;
	}
	now.x0 = r->reg_ret != r->x0 ? r->reg_ret : r->reg_a0;
	if (put_set(tid, NT_PRSTATUS, &now, GENERAL_BYTES))
		return -1;
	return put_set(tid, NT_ARM_SYSTEM_CALL, &nr, sizeof(nr));
}

uint64_t regs_thread_pointer(pid_t tid, const struct tracee_regs *r)
{
	uint64_t pointer[2] = { 0 }; /* newer kernels have a second */
	size_t len = sizeof(pointer);

	get_set(tid, NT_ARM_TLS, pointer, &len);
	return pointer[0];
}

void regs_rewind(struct tracee_regs *r, long nr)
{
	r->reg_ip -= REGS_CALL_BYTES;
	r->reg_call = nr;
	r->reg_ret = r->reg_a0;
}

void regs_undo_rewind(struct tracee_regs *r, long nr, long error)
{
	r->reg_ip += REGS_CALL_BYTES;
	r->reg_ret = -EINTR;
}

/*
 * The call that a task is in, with the first argument, which the kernel keeps
 * for a restart and no set of registers has. 0; 1: it runs; -errno: it is in
 * none.
 */
static int read_call(pid_t tid, long *nr, unsigned long long args[4])
{
	char path[64], text[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	if (!strncmp(text, "running", strlen("running")))
		return 1;
	return sscanf(text, "%ld %llx %llx %llx %llx", nr, args, args + 1,
		      args + 2, args + 3) == 5 &&
			       *nr >= 0
		       ? 0
		       : -ENODATA;
}

static int has_call_at(pid_t tid, uint64_t ip)
{
	uint32_t insn;

	return tracee_read(tid, ip, &insn, sizeof(insn)) == sizeof(insn) &&
	       insn == SVC;
}

void regs_find_call(pid_t tid, struct tracee_regs *r)
{
	int nr = (int)r->reg_call, was = (int)r->reg_nr;
	unsigned long long args[4];
	long there;

	if (r->is_32bit || (was >= 0 && was != nr) ||
	    !has_call_at(tid, r->reg_ip - REGS_CALL_BYTES) ||
	    (was < 0 && put_set(tid, NT_ARM_SYSTEM_CALL, &nr, sizeof(nr))))
		return;
	if (!read_call(tid, &there, args) && there == nr) {
		r->reg_a0 = args[0];
		r->reg_nr = (uint64_t)(long)nr;
	}
	if (was < 0)
		put_set(tid, NT_ARM_SYSTEM_CALL, &was, sizeof(was));
}

static int waits_without_time(long nr, uint64_t timeout)
{
	return nr == SYS_futex && !timeout;
}

int regs_may_stand(pid_t tid, const struct tracee_regs *r)
{
	return !r->is_32bit &&
	       (!has_call_at(tid, r->reg_ip) ||
		waits_without_time((long)r->reg_call, r->reg_a3));
}

int regs_may_interrupt(pid_t tid)
{
	unsigned long long args[4];
	long nr;
	int ret = read_call(tid, &nr, args);

	return ret > 0 || (!ret && waits_without_time(nr, args[3]));
}

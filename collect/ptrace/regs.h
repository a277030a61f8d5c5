/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of a tracee, by what they are for: the machines call them by
 * other names. What all have: reg_nr, the system call that it is in or comes
 * from, -1 for none; reg_a0 to reg_a5, its arguments; reg_ret, its result;
 * reg_call, the number that the next call is made by; reg_ip and reg_sp. Of the
 * stub (stub.h): reg_first and reg_count, what it begins with; reg_done, its
 * result.
 *
 * To set reg_nr to -1 at the entry of a call skips it; reg_ret is its result
 * then. Supervisor thread only.
 */
#ifndef MOCA_PTRACE_REGS_H
#define MOCA_PTRACE_REGS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>

#include "collect/ptrace/tracer-call.h"
#include "lib/base/arch.h"

struct task;

/* Numbers of 32-bit programs' calls that are the same on all machines. */
#define REGS_EXECVE_32BIT 11
#define REGS_CLONE_32BIT  120
#define REGS_VFORK_32BIT  190
#define REGS_CLONE3_32BIT 435

#if MOCA_IS_X86
#define tracee_regs user_regs_struct
#define reg_nr	    orig_rax
#define reg_ret	    rax
#define reg_call    rax
#define reg_a0	    rdi
#define reg_a1	    rsi
#define reg_a2	    rdx
#define reg_a3	    r10
#define reg_a4	    r8
#define reg_a5	    r9
#define reg_ip	    rip
#define reg_sp	    rsp
#define reg_first   r12
#define reg_count   r13
#define reg_done    rbx
/* Where clone(2) takes the place of the child's number. */
#define reg_child_tid r10
/* The first argument of a 32-bit program's call. */
#define reg_a0_32bit rbx

/* Bytes of the instruction that makes a call. */
#define REGS_CALL_BYTES 2
#define REGS_CALL_CODE                                                         \
	{                                                                      \
		0x0f, 0x05                                                     \
	} /* syscall */
#define REGS_CALL_ALIGN 1
/* Of 32-bit programs' calls. */
#define REGS_EXIT_GROUP_32BIT 252

/* The trap flag: a program that steps through itself has it set. */
#define REGS_TRAP_FLAG 0x100ull
#define REGS_CS_32BIT  0x23

static inline long regs_get(struct task *t, pid_t tid, struct tracee_regs *r)
{
	return tracer_call(PTRACE_GETREGS, tid, NULL, r);
}

static inline long regs_set(pid_t tid, const struct tracee_regs *r)
{
	return tracer_call(PTRACE_SETREGS, tid, NULL, (void *)r);
}

static inline int regs_are_32bit(const struct tracee_regs *r)
{
	return r->cs == REGS_CS_32BIT;
}

/* A trap of a signal that is blocked would take the program's handler away. */
static inline void regs_clear_trap(struct tracee_regs *r)
{
	r->eflags &= ~REGS_TRAP_FLAG;
}

static inline uint64_t regs_thread_pointer(pid_t tid,
					   const struct tracee_regs *r)
{
	return r->fs_base;
}

/* The CPU that the stub ended on. */
static inline unsigned int regs_stub_cpu(const struct tracee_regs *r)
{
	return r->r9 & 0xfff;
}

/* The call behind which it stands is the next again, by number nr. */
static inline void regs_rewind(struct tracee_regs *r, long nr)
{
	r->rip -= REGS_CALL_BYTES;
	r->rax = nr;
}

/*
 * It stands before a call that was rewound, nr by its name: behind it again,
 * which returned error. The kernel looks whether a signal has a handler.
 */
static inline void regs_undo_rewind(struct tracee_regs *r, long nr, long error)
{
	r->rip += REGS_CALL_BYTES;
	r->rax = error;
	r->orig_rax = nr;
}

/* At a stop behind a call that has returned: complete reg_nr and the arguments.
 */
static inline void regs_find_call(pid_t tid, struct tracee_regs *r)
{
}

/* The first argument of the call that it is in is to be v again. */
static inline void regs_restore_a0(struct tracee_regs *r, uint64_t v)
{
	r->rdi = v;
}

/*
 * Can calls of ours come in between at the stop with these registers? And may
 * it be interrupted for them?
 */
static inline int regs_may_stand(pid_t tid, const struct tracee_regs *r)
{
	return 1;
}

static inline int regs_may_interrupt(pid_t tid)
{
	return 1;
}
#else
/*
 * arm64 has one register for the first argument and the result. Which of reg_a0
 * and reg_ret is set is the one that was changed; as regs_get() gives them,
 * both are it.
 */
struct tracee_regs {
	union {
		uint64_t x[31];
		struct {
			uint64_t x0, reg_a1, reg_a2, reg_a3, reg_a4, reg_a5, x6,
				x7, reg_call, x9_18[10], reg_first, reg_count,
				reg_done;
		};
	};
	uint64_t reg_sp, reg_ip, pstate;
	uint64_t reg_a0, reg_ret;
	uint64_t reg_nr;
	int is_32bit;
};
#define reg_child_tid reg_a4
#define reg_a0_32bit  reg_a0

#define REGS_CALL_BYTES 4
#define REGS_CALL_CODE                                                         \
	{                                                                      \
		0x01, 0x00, 0x00, 0xd4                                         \
	} /* svc #0 */
#define REGS_CALL_ALIGN	      4
#define REGS_EXIT_GROUP_32BIT 248

/*
 * t: whose registers they are, or NULL. At the entry and the exit of a call,
 * where the kernel shows something else in x7, that is what t had at an earlier
 * stop.
 */
long regs_get(struct task *t, pid_t tid, struct tracee_regs *r);
long regs_set(pid_t tid, const struct tracee_regs *r);
uint64_t regs_thread_pointer(pid_t tid, const struct tracee_regs *r);
void regs_rewind(struct tracee_regs *r, long nr);
void regs_undo_rewind(struct tracee_regs *r, long nr, long error);
void regs_find_call(pid_t tid, struct tracee_regs *r);
/*
 * The kernel has put a call that was interrupted back already, and knows it by
 * the address alone: whoever leads the task elsewhere meanwhile makes one that
 * waits for a time begin anew, and one that a signal ends go on. So it is done
 * where the task is in no call, or in one that waits for a futex without a
 * time.
 */
int regs_may_stand(pid_t tid, const struct tracee_regs *r);
int regs_may_interrupt(pid_t tid);

static inline int regs_are_32bit(const struct tracee_regs *r)
{
	return r->is_32bit;
}

static inline void regs_clear_trap(struct tracee_regs *r)
{
}

/* The stub on arm64 does not tell its CPU: a number above any CPU's. */
static inline unsigned int regs_stub_cpu(const struct tracee_regs *r)
{
	return ~0u;
}

/* Its result has the register, or will: that stays. */
static inline void regs_restore_a0(struct tracee_regs *r, uint64_t v)
{
	r->reg_a0 = r->reg_ret = r->x0;
}
#endif

/*
 * The registers of a task that is about to make call nr, by its own instruction or
 * the stub's.
 */
static inline void regs_put_call(struct tracee_regs *r, long nr,
				 const uint64_t args[6])
{
#if !MOCA_IS_X86
	r->reg_ret = args[0];
#endif
	r->reg_call = nr;
	r->reg_a0 = args[0];
	r->reg_a1 = args[1];
	r->reg_a2 = args[2];
	r->reg_a3 = args[3];
	r->reg_a4 = args[4];
	r->reg_a5 = args[5];
}

#endif

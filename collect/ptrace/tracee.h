/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stopped task of the traced program: registers, memory, and system calls
 * carried out on its behalf. All by the supervisor thread alone.
 */
#ifndef MOCA_PTRACE_TRACEE_H
#define MOCA_PTRACE_TRACEE_H

#include <stddef.h>
#include <stdint.h>

#include "collect/ptrace/regs.h"
#include "collect/ptrace/stub.h"
#include "collect/ptrace/task.h"

/* 0 or -errno; -ESRCH when the task died. */
int tracee_get_regs(struct task *t, struct tracee_regs *regs);
int tracee_set_regs(struct task *t, const struct tracee_regs *regs);

/* Read len bytes at addr. The number read, or -errno. */
ssize_t tracee_read(pid_t tid, uint64_t addr, void *buf, size_t len);

/* A descriptor of our own for descriptor remote of process pid, or -errno. */
int tracee_fetch_fd(pid_t pid, int remote);
/* The same of task t's own descriptor, if it is a socket; -ENOTSOCK. */
int tracee_fetch_socket(const struct task *t, int remote);

/*
 * Begin and end a stretch of calls: all signals are blocked in between, and
 * the registers put back at the end. SIGSTOP cannot be blocked: the process
 * is stopped by it, but this task goes on until tracee_resume.
 */
struct tracee_calls {
	struct task *task;
	struct tracee_regs saved;
	uint64_t sigmask;
	int begun;
};
int tracee_begin(struct tracee_calls *c, struct task *t,
		 const struct tracee_regs *saved);
int tracee_end(struct tracee_calls *c);

/*
 * One call without the stub, through a `syscall` instruction at insn. Only
 * from a system call's exit stop. *ret gets the result. 0 or -errno.
 */
int tracee_raw_call(struct tracee_calls *c, uint64_t insn, long nr,
		    const uint64_t args[6], long *ret);

/* One call through the stub. The result, or -errno of the tracing itself
 * in *err (the result is then meaningless). */
long tracee_call(struct tracee_calls *c, int *err, long nr, uint64_t a,
		 uint64_t b, uint64_t d, uint64_t e, uint64_t f, uint64_t g);
/* Start the zapper: a task of ours, traced so that it ends when we do. The
 * same; *zapper is its pid. */
long tracee_clone(struct tracee_calls *c, int *err, uint64_t flags,
		  pid_t *zapper);

/*
 * Run n calls (≤ STUB_CALLS_MAX), already in stub->calls. The number carried
 * out, or -errno.
 */
int tracee_list(struct tracee_calls *c, unsigned int n);

/*
 * How often tasks were let go to their next stop so far, to run calls for us:
 * each is two switches (cost.h).
 */
unsigned long tracee_rounds(void);
/* How many calls of lists tasks ran for us so far. */
unsigned long tracee_calls_run(void);
/* Empty rounds, as many as round-cost.h needs for a price. 0 or -errno. */
int tracee_measure(struct tracee_calls *c);

/*
 * Run any number of calls from a list of our own, whatever each returns, and
 * put the results there. stub is the one that the task has mapped. 0 or -errno.
 */
int tracee_run(struct tracee_calls *c, struct stub_data *stub,
	       struct stub_call *calls, size_t n);

/* From within a call that is about to succeed, at an event's stop, to its
 * exit. 0 or -errno. */
int tracee_finish_call(struct task *t);

/* Stop a task that runs, soon: as PTRACE_INTERRUPT. */
long tracee_interrupt(struct task *t);

/* Let it go on, to where it stops again when it shall retrap; sig is a signal
 * to deliver. */
int tracee_resume(struct task *t, int request, int sig);

/*
 * A task of our own in the program has stopped: it shall go on. By a fault it
 * ends: the program has changed what it works on.
 */
void tracee_let_helper_go(pid_t helper, int status);

#endif

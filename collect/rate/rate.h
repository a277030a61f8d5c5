/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampling page faults and CPU time of processes, their threads and their
 * children. doc/design/rate.md says where the numbers are from, what they cost
 * and what is lost.
 */
#ifndef MOCA_RATE_RATE_H
#define MOCA_RATE_RATE_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/format/rate-writer.h"

#define RATE_HZ_DEFAULT 20u
#define RATE_HZ_MAX 1000u

/* One round. Times are ns of CLOCK_MONOTONIC. */
struct rate_tick {
	uint64_t ns;
	uint64_t wall_ns;	/* since the round before; 0: the first */
	uint32_t processes;	/* alive */
	uint32_t tasks;		/* threads alive, of these */
	/*
	 * CPU time of ended children so far that is in no sample: the CPUs that
	 * there are cannot have had it since the round before, ns.
	 */
	uint64_t unplaced_ns;
};

/*
 * Who takes what is counted. Numbers of tasks count from 0; each is announced
 * before its first sample, and again when its name changes. tid is MOCA_RATE_PROCESS of a whole process,
 * MOCA_RATE_REAPED of its children that were not seen to their end, else a
 * thread; a process that never had two threads has none of its own. Samples
 * are the difference to the one before; tasks that did nothing have none.
 */
struct rate_sink {
	void (*task)(void *arg, uint64_t ns, uint32_t task, pid_t pid,
		     uint32_t tid, const char *name);
	void (*sample)(void *arg, uint64_t ns, uint32_t task,
		       const struct moca_rate_counts *c);
	/* seen: its last counts were. */
	void (*end)(void *arg, uint64_t ns, uint32_t task, int seen);
	void (*tick)(void *arg, const struct rate_tick *t);
	void *arg;
};

struct rate_options {
	int children;		/* follow them */
	int threads;		/* tell them apart */
	/*
	 * How many threads are looked at in a round, at most: the others have
	 * their turn in the next ones. 0: all.
	 */
	unsigned int thread_limit;
	/* What the processes did before the first round counts, too. */
	int from_birth;
};

/*
 * A way to see the counts: one set of processes each. All but open are called
 * by one thread. Rounds are due at any time; the first sets what later ones
 * are compared with.
 */
struct rate_source {
	const char *name;	/* as it is written into the trace */
	/*
	 * 0; -EOPNOTSUPP (it cannot tell threads apart here), another -errno.
	 * sink is borrowed.
	 */
	int (*open)(void **state, const struct rate_options *opt,
		    const struct rate_sink *sink);
	/*
	 * 0; -ESRCH (no such process), -EACCES (there is one, but this user
	 * may not see it), -EINVAL (it is a thread), -ENOMEM, another -errno.
	 */
	int (*add)(void *state, pid_t pid);
	/*
	 * This one is not sampled, but waits for the process `child`, which
	 * was added: so what that did last is seen. 0 or -errno.
	 */
	int (*watch)(void *state, pid_t parent, pid_t child);
	/* How many processes are left, or -errno. */
	int (*round)(void *state, uint64_t ns);
	/* Has this one (that was added) ended? */
	int (*ended)(void *state, pid_t pid);
	void (*close)(void *state);
};

/* /proc and the CPU clocks of processes: any Linux, no rights. */
extern const struct rate_source rate_source_proc;

/*
 * moca.ko: what processes did in sum, told as the first one's; -EINVAL with
 * children or from_birth. Threads are not told apart. add: -EBUSY (it is
 * registered), -EPERM; round: -EBUSY, others have registered processes, which
 * are in the sums.
 */
extern const struct rate_source rate_source_kernel;
/*
 * How often it samples, and how many processes are registered. 0; -ENOENT (it
 * is not loaded), -EACCES, -EPROTO (another version), another -errno.
 */
int rate_kernel_state(uint32_t *hz, uint32_t *registered);

/* A sink that writes a trace's stream. */
struct rate_sink rate_sink_writer(struct moca_rate_writer *w);

struct rate_sampler {
	const struct rate_source *source;
	void *state;
	uint64_t period_ns;
	uint64_t end_ns;	/* 0 = no end */
	int control;		/* what ends it can be read here; -1: none */
	/* NULL, or: does it go on? Asked when control can be read. */
	int (*wanted)(void *arg);
	void (*begun)(void *arg);	/* NULL, or: the first round is done */
	void *arg;
	uint64_t rounds, missed;
};

/*
 * Rounds at multiples of the period until the end, until no process is left, or
 * until control, which has one more at once. Those for which it is too late are
 * left out and counted. 0 or -errno.
 */
int rate_sampler_run(struct rate_sampler *s);

/* --- beside a recording ------------------------------------------------- */

struct rate_beside;

/*
 * Fork a process that will sample into directory dir, which must be there. It
 * describes the events in it first. The caller never waits for it but for
 * rate_beside_finish. 0 or -errno.
 */
int rate_beside_start(struct rate_beside **out, const char *dir,
		      uint64_t period_ns);
/*
 * Sample pid and its children from now on. is_child: who waits for it waits for
 * nobody else, and what it was told by that is counted, too.
 */
void rate_beside_begin(struct rate_beside *b, pid_t pid, int is_child);

/* CPU time that the sampler has taken so far, ns; 0: not known. */
uint64_t rate_beside_cpu_ns(const struct rate_beside *b);
pid_t rate_beside_pid(const struct rate_beside *b);

struct rate_beside_result {
	uint64_t rounds, missed;
	uint64_t cpu_ns;	/* that the sampler itself took */
	int error;
};
/*
 * Nothing more is to be sampled. Does not wait; rate_beside_finish is still to be
 * called, by the same process.
 */
void rate_beside_stop(struct rate_beside *b);
/*
 * The program has ended: have the rest written. Waits for RATE_PATIENCE_MS at
 * most, and then kills it. 0; -ETIMEDOUT; -EPIPE (it was killed); or what went
 * wrong, -errno. Frees b.
 */
int rate_beside_finish(struct rate_beside *b, struct rate_beside_result *r);
#define RATE_PATIENCE_MS 2000

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording is told to do, of whatever way. */
#ifndef MOCA_RUN_RECORD_H
#define MOCA_RUN_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct moca_meter;
struct moca_quota;

/* Where what the reader of the trace should know goes: its metadata. */
struct moca_record_notes {
	void (*add)(void *arg, const char *text);	/* a note */
	/* A note of what was to be recorded and is not in the trace. */
	void (*lose)(void *arg, const char *text);
	void (*set)(void *arg, const char *key, uint64_t value);
	/* To the disk, as it is now: 0 or -errno. */
	int (*write)(void *arg);
	void *arg;
};

/*
 * What goes along with the recording and writes into the same directory. start
 * is called before the program exists (unless it is attached to); ready, which
 * may wait, before the program begins, with its pid; when finish is called, the
 * accesses are written.
 */
struct moca_record_companion {
	/* quota: what it writes is told there; NULL: there is no limit. */
	void (*start)(void *arg, const char *dir, struct moca_quota *quota);
	/* Once started: the session that takes the events which programs emit
	 * through libmocatrace, hexadecimal; NULL: none. */
	const char *(*session)(void *arg);
	void (*ready)(void *arg, pid_t pid);
	/* The trace has the size that it may have: write nothing more. NULL:
	 * it writes nothing. Any thread of the process that will finish. */
	void (*halt)(void *arg);
	void (*finish)(void *arg, const struct moca_record_notes *notes);
	/* The trace is whole and sealed: what it says; run_ns: how long all took so far.
	 * NULL: nothing. */
	void (*answer)(void *arg, const char *dir, uint64_t run_ns);
	/* What the program tells of its allocations; NULL: nothing. */
	struct moca_meter *(*meter)(void *arg);
	/* CPU time in ns that a companion process has used so far: which is 0
	 * for the sampler, 1 for the collector of events. 0 when it does not
	 * run. */
	uint64_t (*cpu_ns)(void *arg, int which);
	/* Its process, in the process that called start; 0: there is none. */
	pid_t (*pid)(void *arg, int which);
	void *arg;
};

struct moca_record_options {
	const char *dir;	/* of the trace; NULL = moca-CMD-DATE */
	uint64_t interval_ns;	/* the least; with shortest_ns, the longest
				   that they grow to by themselves */
	uint64_t shortest_ns;	/* intervals begin so short and grow; 0: not */
	double budget;		/* accepted slowdown, fraction; HUGE_VAL = any */
	uint64_t credit_ns;	/* beyond it, once */
	uint64_t heat_ns;	/* between two looks at accessed bits; 0: none */
	uint64_t max_size;	/* bytes of trace, 0 = no limit */
	int only_children;	/* leave the first program itself alone */
	const char **include;	/* names of programs to trace, if any */
	size_t include_count;
	const char **exclude;
	size_t exclude_count;
	int stack;		/* observe again the main threads' stacks */
	uint64_t rate_period_ns;	/* tell the faults of sweeps by this; 0 = no */
	int zap;		/* 0 = real faults only */
	unsigned int sample_level;	/* sweeps let go 2^-level of memory */
	int sample_auto;	/* or as little as fits, where all does not */
	uint32_t stack_bytes;	/* of each access' stack, for its callers; 0: none */
	int stop_on_error;	/* end the program when recording fails */
	int tracepoints;	/* take read or write from the error code */
	int quiet;
	const char *preload;	/* path of libmoca-alloc.so; NULL = no
				   allocations */
	const char *preload_config; /* fields of MOCA_ALLOC_ENV; NULL = none */
	pid_t attach;		/* 0 = start argv */
	int program_stdout;	/* descriptors for the program, -1 = inherit */
	int program_stderr;
	const char *rank;	/* in a job of many, as its launcher says; NULL:
				   in none */
	const char *ranks;	/* how many it has; NULL: not known */
	int ranks_chosen;	/* others are left out on purpose */
	int launched;	/* by a launcher, which kills a rank by its process group */
	const char *job;	/* its name; NULL: not known */
	char **argv;
	int no_environment;	/* it is not kept in the trace */
	const struct moca_record_companion *companion;	/* or NULL */
};

#endif

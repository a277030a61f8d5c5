/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page faults as perf samples: one ring per CPU, all tasks of the program.
 *
 * By default the software event, without faults inside system calls unless
 * perf_event_paranoid allows them; reads and writes are told apart by the
 * instruction. Root may ask for the page-fault tracepoints, whose error code
 * tells them in the kernel too: they cost 100 ms at the end, 0.5 ms a fork.
 */
#ifndef MOCA_PERF_SAMPLER_H
#define MOCA_PERF_SAMPLER_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/perf/unwind.h"

struct sampler;

enum sampler_source {
	SAMPLER_TRACEPOINT,	/* read/write, user and kernel mode */
	SAMPLER_SOFTWARE,	/* user and kernel mode */
	SAMPLER_USER_ONLY,	/* user mode */
};

struct sample {
	uint64_t addr, ip, time_ns;
	uint32_t pid, tid;
	uint16_t cpu;
	uint8_t type;		/* enum moca_access_type */
	uint8_t mode;		/* enum moca_access_mode */
	uint8_t at_source;	/* addr is where rsi points: a string's source */
	uint8_t at_target;	/* the same for rdi */
	struct user_stack stack;	/* where it was asked for; its copy until the
					   next sample is taken */
};

/*
 * Open the events on the given threads and all that they will create. With
 * on_exec they begin at the next exec, else with sampler_start(); tracepoints: if allowed.
 * stack_bytes: the top of the stack that is copied at each fault, a multiple of 8; 0: no
 * stacks. 0 or -errno; *what then says what was tried.
 */
int sampler_open(struct sampler **out, const pid_t *tids, size_t count,
		 int on_exec, int tracepoints, uint32_t stack_bytes,
		 const char **what);
void sampler_close(struct sampler *s);

enum sampler_source sampler_source(const struct sampler *s);
unsigned int sampler_cpus(const struct sampler *s);
/*
 * For poll(2), an entry for the ring of each CPU, from p on: readable when the ring is a
 * quarter full. How many; p has room for sampler_cpus().
 */
unsigned int sampler_polls(const struct sampler *s, struct pollfd *p);
/*
 * To be called after poll(2) has filled them in. A ring whose tasks are gone is
 * readable for ever; waits a millisecond for each such, so that polls in a row do not
 * take a CPU.
 */
void sampler_polled(const struct sampler *s, const struct pollfd *p);
size_t sampler_ring_bytes(const struct sampler *s);

/* Fix the end of what sampler_next returns to what is in the rings now. */
void sampler_snapshot(struct sampler *s);
/*
 * The next sample of a CPU up to the snapshot, not later than until. 1 and
 * *out; 0 at the end; 2: `*lost` samples were lost here.
 */
int sampler_next(struct sampler *s, unsigned int cpu, uint64_t until,
		 struct sample *out, uint64_t *lost);

/*
 * Samples that were lost and of which no ring tells: the kernel does so with the next
 * sample only, and there was none. To be asked when sampling has stopped and the rings
 * are empty. 0 before Linux 6.0, where it is not known.
 */
uint64_t sampler_untold(const struct sampler *s);

/* How many more samples fit into the fullest ring. */
uint64_t sampler_room(const struct sampler *s);
/* Begin, where no exec does it. Of all threads that came meanwhile, too. */
void sampler_start(struct sampler *s);
/* Stop sampling for good. */
void sampler_stop(struct sampler *s);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The collector thread: takes samples and messages in order of time, cuts
 * chunks, sweeps, and writes the trace.
 */
#ifndef MOCA_FAULT_COLLECTOR_H
#define MOCA_FAULT_COLLECTOR_H

#include "collect/fault/certify.h"
#include "collect/fault/memory.h"
#include "collect/perf/sampler.h"
#include "lib/base/stripe.h"
#include "lib/format/meta.h"
#include "lib/format/writer.h"

struct collector;
struct task_clock;

/* 0 or -errno. Takes over sampler and clock; meta and writer are borrowed. */
int collector_create(struct collector **out, struct recorder *rec,
		     struct sampler *sampler, struct moca_writer *writer,
		     struct moca_meta *meta, struct task_clock *clock);
void collector_destroy(struct collector *c);

/* Work until *finished is set and everything is written. */
void collector_run(struct collector *c, atomic_int *finished);

/* A process that was attached to: its tasks have been told, samples of it begin. */
void collector_attached(struct collector *c);
/* The process is about to be let go: what it does from then on is not recorded. */
void collector_detached(struct collector *c);

/* What the summary tells. Valid after collector_run. */
struct collector_totals {
	struct moca_certificate certificate;
	const struct blind_spots *blind;	/* the collector's */
	uint32_t tasks;
	uint64_t intervals;
	uint64_t filled;	/* of these, with accesses */
	uint64_t bytes;
	uint64_t repeated;	/* faults that sweeps caused */
	const char *shares;	/* text_samples; the collector's */
};
void collector_totals(const struct collector *c, struct collector_totals *t);

/*
 * After collector_run, when all but the last line is done: account for the end,
 * and say what recording cost, in the metadata and as part of a sentence.
 */
void collector_cost(struct collector *c, char *buf, size_t size);

/* What sweep.c uses of the collector. */
void collector_pump(struct collector *c);
uint64_t collector_room(const struct collector *c);
/* sweep.c: have zappers started where they will be needed. */
void sweep_prepare(struct recorder *rec, uint64_t now_ns);
/* sweep.c: have what forks froze thawed, where that is possible by now. */
void sweep_ask_thaw(struct recorder *rec, uint64_t now_ns);
/*
 * sweep.c: zap everything once, or a 2^-level of it (sample.h). Returns the number
 * of pages let go. *done: the level, as far as that could be; -1 where nothing was
 * let go, for want of zappers.
 */
uint64_t sweep_all(struct recorder *rec, struct collector *c,
		   unsigned int level, int *done);
/*
 * sweep.c: pages that a sweep of each level would let go, times the chance to come
 * back; distinct: those that have an entry, of what processes share only those of the
 * one that has most.
 */
struct sweep_expected {
	double pages[MOCA_STRIPE_RANK_MAX + 1];
	uint64_t distinct;
};
void sweep_expect(struct recorder *rec, struct sweep_expected *x);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The collector of page mode on native memory: samples and sweeps, to the trace.
 * Its thread, but for create.
 */
#ifndef MOCA_NATIVE_COLLECTOR_H
#define MOCA_NATIVE_COLLECTOR_H

#include <stdatomic.h>
#include <stddef.h>

#include "collect/perf/sampler.h"
#include "collect/run/recorder.h"

struct moca_meta;
struct moca_writer;
struct native_collector;

/* sampler is taken over, unless it fails. price_ns: of a page that is protected and
 * faults, with its sample. 0 or -errno. */
int native_collector_create(struct native_collector **out, struct recorder *rec,
			    struct sampler *sampler, struct moca_writer *writer,
			    struct moca_meta *meta, double price_ns);
void native_collector_run(struct native_collector *c, atomic_int *finished);
/* The last line, for the user. */
void native_collector_summary(struct native_collector *c);
void native_collector_destroy(struct native_collector *c);

#endif

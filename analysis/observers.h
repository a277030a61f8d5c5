/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses, from the thread that walks the trace and finds their objects to
 * others that look at them, each for itself: what any of them does takes about
 * as long as the walk. In batches; the walk waits when all are full.
 */
#ifndef MOCA_OBSERVERS_H
#define MOCA_OBSERVERS_H

#include <pthread.h>

#include "analysis/objects/objects.h"

#define MOCA_OBSERVERS_MAX 2
#define MOCA_OBSERVERS_BATCH 4096

struct moca_observers;

/*
 * Called in a thread of its own, with accesses in the walk's order, at most
 * MOCA_OBSERVERS_BATCH of them, which stay as they are until it returns.
 */
typedef void moca_observer_fn(void *arg, const struct moca_observed *x,
			      size_t count);

/* No threads yet. NULL: no memory. */
struct moca_observers *moca_observers_new(void);
/* Start one more, before the first access. 0 or -errno. */
int moca_observers_add(struct moca_observers *s, moca_observer_fn *take,
		       void *arg);
/* For struct moca_objects_options: observe, with s as its argument. */
void moca_observers_put(void *s, const struct moca_observed *x);
/* Wait until all have taken all, end the threads, free. s may be NULL. */
void moca_observers_end(struct moca_observers *s);

#endif

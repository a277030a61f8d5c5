/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What each byte of the translated code is, for the collector: struct
 * moca_exact_chart. A process that has none, as none was left, runs as well. All
 * under the lock, or before there are threads.
 */
#ifndef MOCA_EXACT_AGENT_CHART_H
#define MOCA_EXACT_AGENT_CHART_H

#include "agent/exact/cache.h"

void moca_exact_chart_begin(void);
/*
 * This process is about to fork: one for the child, which refers to this one's. Then
 * in the child; in the parent: was it made?
 */
void moca_exact_chart_fork(const struct cache *caches, int count);
void moca_exact_chart_child(void);
void moca_exact_chart_parent(int made);
/* There is another cache. */
void moca_exact_chart_cache(const struct cache *k);
/* Code will be written to [from, to) of it soon. */
void moca_exact_chart_touch(const struct cache *k, const uint8_t *from,
			    const uint8_t *to);
/* A region begins to be written: what was noted of another is void. */
void moca_exact_chart_new(void);
/* What [from, to) of it is: MOCA_EXACT_CODE_*. */
void moca_exact_chart_tell(const uint8_t *from, const uint8_t *to,
			   unsigned int what);
/* It is complete. */
void moca_exact_chart_put(const struct cache *k);
/* The caches are gone: what is there now is the program's. */
void moca_exact_chart_leave(void);

#endif

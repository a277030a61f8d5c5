/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The profiler of fault rates: /proc/mp3/status, a sampler, and a buffer that
 * programs map. Nothing of page tracing is needed for it.
 */
#ifndef MOCA_KMOD_RATE_H
#define MOCA_KMOD_RATE_H

/* At load and unload. 0 or -errno. */
int moca_rate_init(void);
void moca_rate_exit(void);

#endif

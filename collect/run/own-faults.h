/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The faults that sweeps cause, by task and time, told beside the samples of
 * page faults (facility moca_rate, event own): so that a reader can take them
 * off. Collector thread only. What cannot be written harms nothing else.
 */
#ifndef MOCA_RUN_OWN_FAULTS_H
#define MOCA_RUN_OWN_FAULTS_H

#include <stdint.h>
#include <sys/types.h>

struct own_faults;

/* Of one task, not told yet: of one period. Zero-initialise. */
struct own_count {
	uint64_t period;	/* its number */
	uint64_t minor;
};

/* 0 or -errno. dirfd is borrowed; root: whom the stream is told of. */
int own_faults_create(struct own_faults **out, int dirfd, uint64_t period_ns,
		      pid_t root);
/* One more. o may be NULL in all. */
void own_faults_add(struct own_faults *o, struct own_count *c, pid_t pid,
		    pid_t tid, uint64_t time_ns);
/* Tell what is not told. */
void own_faults_tell(struct own_faults *o, struct own_count *c, pid_t pid,
		     pid_t tid);
void own_faults_flush(struct own_faults *o);
/* 0, or the first error of all, -errno. */
int own_faults_close(struct own_faults *o);

#endif

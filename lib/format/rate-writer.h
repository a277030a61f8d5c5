/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writing what samplers count, as events of facility moca_rate: page faults
 * and CPU time of tasks. doc/format.md lists the events; doc/design/rate.md
 * says where the numbers are from.
 *
 * One writer per stream, used by one thread at a time. Times are ns of
 * CLOCK_MONOTONIC and must not go back; what is given is buffered until
 * moca_rate_writer_flush, or until there is much of it.
 */
#ifndef MOCA_FORMAT_RATE_WRITER_H
#define MOCA_FORMAT_RATE_WRITER_H

#include <stdint.h>

#define MOCA_RATE_FACILITY "moca_rate"
/*
 * Streams of rate samples in a page trace. The first has the page faults and CPU
 * time of tasks. The second has the page faults that the page tracer caused, so
 * that readers can subtract them.
 */
#define MOCA_RATE_STREAM 0u
#define MOCA_RATE_STREAM_OWN 1u
#define MOCA_RATE_STREAMS 2u
/*
 * The stream of heat follows them: its events say which pages were touched between
 * two looks at the accessed bits. Streams of the programs' events have the numbers
 * behind it.
 */
#define MOCA_HEAT_FACILITY "moca_heat"
#define MOCA_HEAT_STREAM 2u
#define MOCA_OWN_STREAMS 3u
#define MOCA_HEAT_WORDS_MAX 8u

/* tid of what is told of a whole process, with the threads that ended. */
#define MOCA_RATE_PROCESS 0u
/* tid of what its children did that ended before they were (last) sampled. */
#define MOCA_RATE_REAPED UINT32_MAX

/* Since the task was looked at before. */
struct moca_rate_counts {
	uint64_t minor, major;	/* page faults */
	uint64_t cpu_ns;	/* user and system time */
	uint64_t wall_ns;	/* how long ago that was */
};

struct moca_rate_writer;

/*
 * Write into stream `stream` of directory dirfd (borrowed; must stay open).
 * 0 or -errno.
 */
int moca_rate_writer_create(struct moca_rate_writer **out, int dirfd,
			    uint32_t stream);
/* That were written so far. */
uint64_t moca_rate_writer_bytes(const struct moca_rate_writer *w);
/* Flushes. 0 or the first error of all, -errno. */
int moca_rate_writer_close(struct moca_rate_writer *w);

/*
 * Describe the events; once per directory, while nobody else writes types.
 * 0 or -errno.
 */
int moca_rate_describe(int dirfd);

/* The thread that the stream is told of; first. 0 or -errno. */
int moca_rate_writer_start(struct moca_rate_writer *w, uint32_t pid,
			   const char *name, uint64_t ns);
int moca_rate_writer_end(struct moca_rate_writer *w, uint64_t ns);

void moca_rate_settings(struct moca_rate_writer *w, uint64_t ns,
			uint64_t period_ns, const char *source);
void moca_rate_task(struct moca_rate_writer *w, uint64_t ns, uint32_t task,
		    uint32_t pid, uint32_t tid, const char *name);
void moca_rate_sample(struct moca_rate_writer *w, uint64_t ns, uint32_t task,
		      const struct moca_rate_counts *c);
/* A round of samples ended, wall_ns after the one before. */
void moca_rate_tick(struct moca_rate_writer *w, uint64_t ns, uint64_t wall_ns,
		    uint32_t processes, uint32_t tasks);
/* exact: its last counts were seen. */
void moca_rate_end(struct moca_rate_writer *w, uint64_t ns, uint32_t task,
		   int exact);
/* Faults that page tracing itself caused in the period from begin_ns on. */
void moca_rate_own(struct moca_rate_writer *w, uint64_t ns, uint32_t pid,
		   uint32_t tid, uint64_t begin_ns, uint64_t minor);

/* As moca_rate_describe, of the events of heat. */
int moca_heat_describe(int dirfd);
/*
 * Of process pid, pages from addr on: bits has so many words (up to
 * MOCA_HEAT_WORDS_MAX) of those that were touched since since_ns, then as many of
 * those of them that were written.
 */
void moca_heat_pages(struct moca_rate_writer *w, uint64_t ns, uint64_t since_ns,
		     uint32_t pid, uint64_t addr, uint32_t words,
		     const uint64_t *bits);
/* A look ended, of which all pages were told. */
struct moca_heat_look {
	uint64_t since_ns, end_ns;
	uint64_t looked, touched;	/* pages */
	uint64_t held, lost;	/* tables whose bits were left, or are untold */
	int sweep;
};
void moca_heat_looked(struct moca_rate_writer *w, uint64_t ns,
		      const struct moca_heat_look *l);

/* To the file. 0 or the first error of all so far. */
int moca_rate_writer_flush(struct moca_rate_writer *w);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line on the terminal while a recording goes on. */
#ifndef MOCA_RUN_STATUS_H
#define MOCA_RUN_STATUS_H

#include <stdint.h>

struct status;

struct status_now {
	uint64_t elapsed_ns;
	uint64_t records;
	uint64_t rate;		/* records in the last second */
	double slowdown;
	uint64_t intervals;
	uint64_t lost;
};

/* Silent when quiet, or when stderr is no terminal. */
struct status *status_new(int quiet);
void status_free(struct status *s);
void status_show(struct status *s, const struct status_now *now);
/* Wipe the line, for what is printed next. */
void status_end(struct status *s);

#endif

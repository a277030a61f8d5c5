// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct status {
	int on;
	int shown;
};

struct status *status_new(int quiet)
{
	struct status *s = calloc(1, sizeof(*s));

	if (s)
		s->on = !quiet && isatty(STDERR_FILENO);
	return s;
}

void status_free(struct status *s)
{
	free(s);
}

void status_show(struct status *s, const struct status_now *n)
{
	if (!s->on)
		return;
	fprintf(stderr,
		"\r\033[Kmoca: %.0f s, %lu records, %lu faults/s, overhead "
		"%.1f %%, %lu intervals, %lu lost",
		n->elapsed_ns / 1e9, n->records, n->rate,
		(n->slowdown - 1) * 100, n->intervals, n->lost);
	fflush(stderr);
	s->shown = 1;
}

void status_end(struct status *s)
{
	if (s->shown)
		fprintf(stderr, "\r\033[K");
	s->shown = 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints a trace's counts: one line per row and per chunk. */
#include <inttypes.h>
#include <stdio.h>

#include <moca/reader.h>

int main(int argc, char **argv)
{
	const struct moca_counts *c;
	struct moca_cursor *cursor;
	struct moca_trace *t;
	int ret;

	if (argc != 2 || moca_trace_open(&t, argv[1]) ||
	    moca_cursor_open(&cursor, t, NULL))
		return 2;
	while ((ret = moca_cursor_counts(cursor, &c)) > 0) {
		printf("chunk %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %zu\n",
		       c->task, c->slice, c->begin_ns, c->end_ns, c->more,
		       c->count);
		for (size_t i = 0; i < c->count; i++)
			printf("row %u %" PRIu64 " %#" PRIx64 " %" PRIu64
			       " %" PRIu64 " %" PRIu64 " %u\n", c->task,
			       c->slice, c->rows[i].addr, c->rows[i].loads,
			       c->rows[i].stores, c->rows[i].first_ns,
			       c->rows[i].first_store);
	}
	moca_cursor_close(cursor);
	moca_trace_close(t);
	return ret ? 1 : 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A page on the loopback address, for who knows its token, and what is new of it by
 * server-sent events. By libmicrohttpd, which is loaded when it is asked for.
 * doc/design/report.md, "Live".
 */
#ifndef MOCA_CLI_REPORT_SERVE_H
#define MOCA_CLI_REPORT_SERVE_H

#include <stdint.h>

enum serve_phase { SERVE_RUNS, SERVE_ENDED };

/* What the page is told. Times are of CLOCK_MONOTONIC. */
struct serve_state {
	enum serve_phase phase;
	uint64_t page;		/* its number; 0: there is none yet */
	uint64_t began_ns;	/* the recording */
	uint64_t shows_ns;	/* until then, the page */
	uint64_t every_ns;	/* between two pages */
	uint64_t cpu_ns;	/* that the last one took */
	int failed;		/* the last try to make one */
	const char *file;	/* the page to serve, if there is one; stays the caller's */
	const char *kept;	/* where the final report is, or will be; as well */
};

struct serve;

/* Whether there may be one here, in words. */
const char *serve_available(void);
/* Any free port. 0, or -errno after a message. */
int serve_open(struct serve **out);
/* The page's address, with the token. */
const char *serve_url(const struct serve *s);
/* From now on it is so; all that watch are told. */
void serve_tell(struct serve *s, const struct serve_state *state);
/* Ends all connections. NULL: nothing. */
void serve_close(struct serve *s);

#endif

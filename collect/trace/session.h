/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A collector: one trace of events, from its start to its end. */
#ifndef MOCA_TRACE_SESSION_H
#define MOCA_TRACE_SESSION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TRACER_SUBBUF_DEFAULT (256u << 10)
#define TRACER_SUBBUFS_DEFAULT 4u
/* Beside a page trace each thread that allocates has a buffer: a small one. */
#define TRACER_SUBBUF_BESIDE (64u << 10)
#define TRACER_SUBBUFS_BESIDE 8u
#define TRACER_KEEP_DEFAULT (64ull << 20)

struct moca_quota;

struct tracer_options {
	const char *name;	/* "": a private one, called run-PID */
	const char *dir;	/* of the trace; NULL = one with a date */
	const char *filter;	/* "" = all */
	uint32_t mask;		/* of facilities */
	uint32_t mode;		/* enum moca_ring_mode */
	uint32_t timeout_ms;	/* of MOCA_RING_BLOCK */
	uint32_t subbuf_size;
	uint32_t subbufs;
	uint64_t keep_bytes;	/* flight: of buffers whose threads ended */
	int is_private;		/* only for who has the session's number: */
	uint64_t session;	/* 0: a random one */
	int beside;		/* into the page trace dir, which may not be
				   there yet; without metadata of its own */
	int quiet;
	struct moca_quota *quota;	/* of the whole trace; NULL: none */
	char **argv;		/* NULL, or the command it is for */
};

struct tracer_session;

/* Threads that had no buffer, each counted once: nearly. */
struct tracer_refused {
	uint64_t events;	/* that they dropped */
	uint64_t threads;	/* and of these: */
	uint64_t rights;	/* whose process runs as another user by now */
	uint64_t away;		/* who could not find the collector */
	int error;		/* why the first of the others was refused; 0:
				   it was not answered, or there is none */
};

/* What is known at the end. */
struct tracer_result {
	uint64_t events, lost, torn, corrupt, bytes;
	uint32_t streams, processes, spoiled;
	struct tracer_refused refused;	/* their events are in `lost` */
	int error;		/* 0, or why not all is on disk */
};

/*
 * Open all that a trace needs: registry, shared memory, directory, socket.
 * 0, or -errno after a message; nothing is left behind then. SIGBUS is
 * caught and the limit of descriptors raised; SIGPIPE and SIGXFSZ should be
 * ignored by the caller.
 */
int tracer_session_open(struct tracer_session **out,
			const struct tracer_options *opt);
/* Programs may join from now on. 0, or -errno after a message. */
int tracer_session_begin(struct tracer_session *s);
/* As programs find it in their environment, MOCA_TRACE_ENV. */
const char *tracer_session_id(const struct tracer_session *s);
/* The descriptor of the doorbell page (lib/ring/layout.h); s keeps it. */
int tracer_session_doorbell(const struct tracer_session *s);
const char *tracer_session_dir(const struct tracer_session *s);

/*
 * signals: a signalfd whose HUP, INT and TERM end the trace; with a child, see
 * moca-trace(1). control: it ends when there is something to read, or EOF.
 */
void tracer_session_set_signals(struct tracer_session *s, int signalfd);
void tracer_session_set_control(struct tracer_session *s, int fd);
/*
 * The trace ends when this child and all processes that joined have ended.
 * The child is not waited for when the trace is destroyed before.
 */
void tracer_session_set_child(struct tracer_session *s, pid_t pid);

/* As a sentence for users, without a full stop. 0: there is nothing to tell. */
int tracer_refused_text(const struct tracer_refused *r, char *buf,
			size_t size);

enum tracer_child {
	TRACER_CHILD_ENDED,	/* or there was none */
	TRACER_CHILD_RUNS,	/* the trace was ended before it */
	TRACER_CHILD_LEFT,	/* the user wants neither */
};
/* Serve until the end. *status: of the child that ended, as of wait(2). */
enum tracer_child tracer_session_run(struct tracer_session *s, int *status);
/* Finish the trace, give everything back, tell who waits for it. */
void tracer_session_close(struct tracer_session *s,
			  struct tracer_result *result);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of a collector share. Two threads: the server (connections,
 * processes, signals; the process's first thread) and the drain (buffers to
 * disk). doc/design/tracer.md tells who does what when.
 */
#ifndef MOCA_TRACE_TRACER_H
#define MOCA_TRACE_TRACER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/trace/catalog.h"
#include "collect/trace/emit.h"
#include "collect/trace/session.h"
#include "collect/trace/shm.h"
#include "collect/trace/slot.h"
#include "lib/format/event-writer.h"
#include "lib/format/meta.h"
#include "lib/ring/clock-ns.h"
#include "lib/ring/consumer.h"
#include "lib/ring/protocol.h"

struct tracer_session;

/* Something that epoll watches for the server. */
struct tracer_source {
	void (*ready)(struct tracer_session *s, struct tracer_source *src,
		      uint32_t events);
};

/* A process that joined. The server's; `streams` is under the lock. */
struct tracer_process {
	struct tracer_source source;	/* first */
	struct tracer_process *next;
	pid_t pid;			/* 0: not of our pid namespace */
	int pidfd;			/* -1: looked after by polling */
	uint64_t incarnation;		/* the latest to join */
	struct tracer_stream *streams;
};

/* One thread's buffer. */
struct tracer_stream {
	/* Set before the drain sees it. */
	uint32_t number;
	uint32_t pid, tid;
	uint64_t incarnation;
	char name[16];
	uint64_t start_ns;
	uint64_t lost_before;	/* events dropped before it had a buffer */
	int tid_known;		/* /proc/PID/task/TID was there */
	size_t size;		/* of the file */
	struct moca_ring_reader ring;

	/* Under the lock. */
	struct tracer_process *process;	/* NULL: gone */
	struct tracer_stream *sibling;
	int mapped;		/* its process had it, when that was last looked at */

	/* Between the threads. */
	atomic_int gone;	/* nobody writes any more */
	atomic_int status;	/* how the process ended, as of wait(2) */
	atomic_int wrote;	/* since the server last looked */

	/* The drain's. */
	struct tracer_stream *next;
	uint64_t end_ns;	/* flight: when its thread had ended */
	struct tracer_sink sink;
	uint64_t flushed_ns;	/* when all of it was read */
	uint64_t stuck_pos;
	uint64_t stuck_ns;
	int busy;		/* the last read stopped at a writer */
};

enum tracer_job_kind {
	TRACER_JOB_FLUSH,	/* all that is in the buffers to disk */
	TRACER_JOB_SETTLE,	/* the same, once no writer is inside */
	TRACER_JOB_SNAPSHOT,
	TRACER_JOB_FINISH,	/* the last one: the drain ends */
};

/* What the client that waits for a job is told. */
enum tracer_answer {
	TRACER_ANSWER_DONE,
	TRACER_ANSWER_TEXT,	/* the status */
	TRACER_ANSWER_JSON,
};

/* What the server wants the drain to do; it comes back when done. */
struct tracer_job {
	struct tracer_job *next;
	enum tracer_job_kind kind;
	enum tracer_answer answer;
	char *path;				/* of a snapshot */
	int dirfd;
	int error;
	uint64_t events, lost, torn;		/* in the snapshot */
	uint32_t streams;
};

/* Counters that anybody may read at any time. */
struct tracer_totals {
	_Atomic uint64_t events;
	_Atomic uint64_t lost;		/* dropped in buffers */
	_Atomic uint64_t torn;
	_Atomic uint64_t corrupt;	/* bytes */
	_Atomic uint64_t bytes;		/* on disk */
	_Atomic uint64_t memory;	/* of buffers that are there now */
	_Atomic uint32_t streams;	/* ever */
	_Atomic uint32_t live;		/* of threads that may still write */
	_Atomic uint32_t kept;		/* flight: of threads that ended */
	_Atomic uint32_t dropped;	/* flight: ended, and let go */
	_Atomic uint32_t spoiled;	/* memory taken away by the program */
	_Atomic uint32_t stuck;		/* slots stepped over */
	_Atomic uint64_t unread;	/* events that did not fit on disk */
	/* The server's. */
	_Atomic uint32_t refused;	/* threads that were given no buffer */
	_Atomic uint64_t lost_outside;	/* that requests told of; more is in
					   the doorbell page: refused.c */
	_Atomic uint32_t processes;	/* ever */
};

struct tracer_session {
	struct tracer_options opt;
	struct tracer_slot slot;
	struct tracer_wish wish;
	struct tracer_shm shm;
	struct tracer_catalog catalog;
	struct tracer_totals totals;
	struct moca_meta *meta;		/* NULL: beside a page trace */
	char *dir;			/* absolute */
	int dirfd;			/* -1: not there yet */
	uint64_t start_ns;
	uint32_t clock_kind;
	uint64_t end_ns;
	uint64_t start_time;		/* Unix time, ns */
	struct tracer_knot first_knot;
	uint64_t described_ns;		/* when metadata was last written */
	/* Two writers, each for files of its own: marker-types; marker-N. */
	struct moca_event_writer *types;
	struct moca_event_writer *writer;

	/* The server's. */
	int epoll;
	int listener;
	int fd_most;			/* descriptors are below */
	struct tracer_source on_connect, on_signal, on_done, on_control;
	struct tracer_connection *connections;
	unsigned int connection_count;
	int deaf;			/* those who connect wait */
	struct tracer_process *processes;
	uint32_t next_stream;
	int refused_error;		/* why the first was */
	uint8_t refused_seen[8192];	/* bits by hash of pid and tid */
	int signals;			/* signalfd, -1 = none */
	int control;			/* from moca record, -1 = none */
	struct tracer_job *finish;	/* &last, once it is posted */
	struct tracer_job last;
	int left;			/* by ^C, while the child runs */
	int finished;
	uint64_t looked_ns;		/* at threads and metadata */
	unsigned int snapshots;
	pid_t child;			/* 0: none, or it has ended */
	int has_child;			/* it ends with its child */
	int child_status;
	uint64_t interrupt_ns;		/* when ^C was last given */

	/* Under the lock. */
	pthread_mutex_t lock;
	struct tracer_stream *fresh;
	struct tracer_job *jobs;	/* for the drain, oldest first */
	struct tracer_job *done;	/* for the server */
	struct tracer_knot last_knot;

	/* The drain's. */
	pthread_t drain;
	int drain_runs;
	int done_fd;			/* eventfd: something is in done */
	struct tracer_clock clock;
	struct tracer_stream *streams;
	struct tracer_stream *kept;	/* flight: ended, oldest first */
	size_t kept_bytes;
	uint64_t ticked_ns;
	atomic_int disk_error;		/* the first one, -errno */
	int full;			/* the quota is: read, and drop */
};

/* server.c: watch fd; source must live on. 0 or -errno. */
int tracer_watch(struct tracer_session *s, int fd, struct tracer_source *src);
/* Run until the finishing job is done. */
void tracer_server_run(struct tracer_session *s);
/* Open NAME.sock. 0 or -errno. */
int tracer_server_listen(struct tracer_session *s);
void tracer_server_close(struct tracer_session *s);
/* Take connections, or leave them waiting until one of ours has ended. */
void tracer_server_hear(struct tracer_session *s, int yes);

/* connection.c */
struct tracer_connection;
void tracer_connection_accept(struct tracer_session *s);
/* At the end: what those who are still waiting have to say. */
void tracer_connection_hear_last(struct tracer_session *s);
/* Close those that said nothing for too long, or all. */
void tracer_connection_expire(struct tracer_session *s, int all);
/* Answer and close. fds: n to pass, or NULL. text may be NULL. */
void tracer_connection_reply(struct tracer_session *s,
			     struct tracer_connection *c, int error,
			     uint32_t value, const char *text, const int *fds,
			     int n);
/* The same: ids of events, n of them. */
void tracer_connection_reply_ids(struct tracer_session *s,
				 struct tracer_connection *c,
				 const uint32_t *ids, unsigned int n);
/* The answer comes with the job's end. */
void tracer_connection_await(struct tracer_session *s,
			     struct tracer_connection *c,
			     const struct tracer_job *job);
/* A connection that awaits this job, or NULL; several may await the last. */
struct tracer_connection *tracer_connection_of(struct tracer_session *s,
					       const struct tracer_job *job);
/* A pidfd of who connected, or negative. */
int tracer_peer_pidfd(struct tracer_connection *c, pid_t pid);

/* request.c: each answers, now or later. payload is len bytes. */
void tracer_request_join(struct tracer_session *s, struct tracer_connection *c,
			 pid_t pid, const void *payload, size_t len);
void tracer_request_event(struct tracer_session *s,
			  struct tracer_connection *c, const char *payload,
			  size_t len);
void tracer_request_lost(struct tracer_session *s, struct tracer_connection *c,
			 const void *payload, size_t len);
/* control.c */
void tracer_request_control(struct tracer_session *s,
			    struct tracer_connection *c, const char *payload,
			    size_t len);
/* The answer to a job of a control command; frees the job. */
void tracer_control_done(struct tracer_session *s, struct tracer_job *job);
/* The answer to all who wait for the end: it has come. */
void tracer_control_end(struct tracer_session *s,
			const struct tracer_result *result);

/* process.c */
/* The process of a JOIN. NULL: no memory. */
struct tracer_process *tracer_process_get(struct tracer_session *s, pid_t pid,
					  uint64_t incarnation,
					  struct tracer_connection *c);
/* End what its earlier programs (before exec) and threads left. */
void tracer_process_replace(struct tracer_session *s, struct tracer_process *p,
			    uint64_t incarnation, uint32_t tid);
/* Look for threads and processes that ended without a word. */
void tracer_process_poll(struct tracer_session *s);
void tracer_process_free_all(struct tracer_session *s);
int tracer_thread_exists(pid_t pid, uint32_t tid);
/*
 * Our number of the thread of pid that takes tid for its own, as it does in a PID
 * namespace: all else in the trace has ours. tid where it cannot be found.
 */
uint32_t tracer_thread_number(pid_t pid, uint32_t tid);

/* session.c */
/* Stop, and have the drain finish; once. */
void tracer_session_finish(struct tracer_session *s);
/* A process has ended: was it the last? */
void tracer_session_check_end(struct tracer_session *s);

/* stream.c: make one, not yet known to the drain; *fd is its file. */
int tracer_stream_create(struct tracer_session *s, struct tracer_stream **out,
			 const struct moca_msg_join *join, pid_t pid, int *fd);
/* Unmap, unlink, free. */
void tracer_stream_destroy(struct tracer_session *s, struct tracer_stream *st);

/* The calls of lib/ring/consumer.h, guarded: -EFAULT, the memory is gone. */
struct tracer_peek {
	uint64_t reserve, limit;
	uint32_t ended;
};
int tracer_ring_read(struct moca_ring_reader *r, enum moca_ring_read_how how,
		     struct moca_ring_batch *out);
int tracer_ring_release(struct moca_ring_reader *r);
int tracer_ring_take_lost(struct moca_ring_reader *r, uint64_t *lost);
int tracer_ring_peek(struct moca_ring_reader *r, struct tracer_peek *out);

/* What reading buffers gave. */
struct tracer_found {
	uint64_t events, lost, torn, corrupt;
};

/* drain.c */
int tracer_drain_start(struct tracer_session *s);
void tracer_drain_join(struct tracer_session *s);
/* Have the drain look at flags, fresh streams and jobs. Any thread. */
void tracer_drain_wake(struct tracer_session *s);
/* Take in what is new and what has ended. In the drain. */
void tracer_drain_look(struct tracer_session *s);
/* Say it once and write nothing more. */
void tracer_disk_failed(struct tracer_session *s, int err);
/* Hand a job over; NULL: no memory. */
struct tracer_job *tracer_job_new(enum tracer_job_kind kind);
void tracer_job_post(struct tracer_session *s, struct tracer_job *job);
/* Take it out of its process; it is not known to the server any more. */
void tracer_stream_leave(struct tracer_session *s, struct tracer_stream *st);
struct tracer_who tracer_stream_who(const struct tracer_stream *st);
/*
 * Read all that is in a buffer that nobody gives back: in flight mode, through
 * a reader of its own. Adds what it found to *events. 0; -EFAULT; or -errno of
 * the writer.
 */
int tracer_flight_copy(struct tracer_session *s, struct tracer_stream *st,
		       enum moca_ring_read_how how, struct tracer_sink *to,
		       struct tracer_found *found);
/* A thread has ended: keep its buffer, let older ones go. */
void tracer_flight_keep(struct tracer_session *s, struct tracer_stream *st);
/* In the drain, at the end: all to the trace directory. */
void tracer_flight_finish(struct tracer_session *s);
/* flight.c: in the drain. */
void tracer_snapshot(struct tracer_session *s, struct tracer_job *job);

/* directory.c */
/* Make or open an empty one; *path is absolute. 0 or -errno. */
int tracer_directory_try(const char *name, char **path, int *fd);
/* The same, wanted or BASE-DATE; 0, or -errno after a message. */
int tracer_directory_make(const char *wanted, const char *base, char **path,
			  int *fd);
/*
 * Lock it as long as we live, by which `moca trace recover` knows that we do.
 * 0; -EBUSY; -errno: its file system cannot.
 */
int tracer_directory_lock(int dirfd);
/* Be able to write into it; what moca record makes may not be there yet. */
int tracer_directory_open(struct tracer_session *s);

/* describe.c: the metadata. Each 0 or -errno. */
int tracer_describe_begin(struct tracer_session *s);
/* Beside a page trace: what `moca trace recover` needs, until the end. */
int tracer_describe_beside(struct tracer_session *s);
void tracer_describe_now(struct tracer_session *s);
int tracer_describe_end(struct tracer_session *s);
int tracer_describe_snapshot(struct tracer_session *s,
			     const struct tracer_job *job);
const char *tracer_mode_name(uint32_t mode);

/* refused.c: from what the collector knows, and what programs told. */
void tracer_refused_sum(const struct tracer_session *s,
			struct tracer_refused *out);

/* status.c: of this session, to be freed; NULL: no memory. */
char *tracer_status_text(struct tracer_session *s);
char *tracer_status_json(struct tracer_session *s);

#endif

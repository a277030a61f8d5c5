/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libmoca: reading trace directories.
 *
 * A trace is opened, then walked with cursors. A cursor holds one decoded
 * chunk, or one of each file of the task that has changes or events at that
 * time (17 at most), so memory is bounded whatever the trace's size.
 * Nothing is believed that a checksum or a length check does not cover: a
 * corrupt chunk is skipped, counted in moca_trace_damage, and harms only
 * itself. Objects are not thread-safe; different traces and different cursors
 * of one trace may be used by different threads.
 */
#ifndef MOCA_READER_H
#define MOCA_READER_H

#include <stddef.h>
#include <stdint.h>

#include <moca/machine.h>
#include <moca/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct moca_trace;
struct moca_cursor;

/* One task (thread) of the trace. Strings live as long as the trace. */
struct moca_task {
	uint32_t id;		/* number in the trace, from 0, by creation */
	uint32_t pid;		/* process (thread group) id */
	uint32_t tid;
	uint32_t parent;	/* task number, or MOCA_NO_TASK */
	uint64_t start_ns;	/* 0 = unknown */
	uint64_t end_ns;	/* 0 = unknown or still running */
	int32_t status;		/* as of wait(2); valid when end_ns != 0 and
				   flags have no MOCA_TASK_EVENTS */
	uint32_t flags;		/* MOCA_TASK_* */
	const char *name;	/* the last name seen */
	uint64_t chunks;	/* access chunks */
	uint64_t accesses;
	uint64_t reads;		/* of accesses: reads and instruction fetches */
	uint64_t writes;
	uint64_t lost;
	uint64_t events;	/* events that it emitted: struct moca_event */
	uint64_t events_lost;	/* that it could not store */
	uint64_t events_torn;	/* that it was writing when it died */
	uint64_t counts;	/* rows: struct moca_count */
	uint64_t loads;		/* of all these rows */
	uint64_t stores;
	/* What its accesses weigh: equal to the numbers above, if all weigh 1. */
	uint64_t weight;
	uint64_t read_weight;	/* of reads and instruction fetches */
	uint64_t write_weight;
	uint32_t top_weight;	/* the highest of a record */
};

/* One access chunk: an interval of a task, or a part of one. */
struct moca_chunk {
	uint32_t task;
	uint64_t number;	/* in the task, from 0 */
	uint64_t interval;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t lost;
	uint64_t reads;
	uint64_t writes;
	uint64_t bytes;		/* on disk */
	int more;		/* the interval goes on in the next chunk */
	uint64_t cpumask[16];	/* CPU c is bit c % 64 of word c / 64 */
	size_t count;
	const struct moca_access *accesses; /* count of them, by time */
	/* What the accesses weigh, as in struct moca_task. */
	uint64_t weight;
	uint64_t read_weight;
	uint64_t write_weight;
	uint32_t top_weight;	/* of the chunk, whatever the query left of it */
};

/* What a task counted in one slice of time, or a part of that. */
struct moca_counts {
	uint32_t task;
	uint64_t number;	/* of the chunk, in the task, from 0 */
	uint64_t slice;		/* number of the time slice, from 0 */
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t granularity;	/* bytes that a row is for: 64 to 4096 */
	uint64_t loads;		/* of the rows below */
	uint64_t stores;
	uint64_t bytes;		/* on disk */
	int more;		/* the slice goes on in the next chunk */
	size_t count;
	const struct moca_count *rows; /* count of them, by address */
};

/*
 * What a reader found wrong; all 0 for a sound trace. Headers, changes, types
 * and tails are checked on opening, accesses, counts and events when a cursor
 * unpacks them; each damaged place counts once, however many cursors pass it.
 */
struct moca_damage {
	uint64_t files;		/* unreadable or foreign; empty or missing, in a complete trace */
	uint64_t chunks;	/* whole chunks whose checksum or contents fail */
	uint64_t tail_bytes;	/* after the last whole chunk of a file */
};

/* Which part of the trace a cursor returns; zero means everything. */
struct moca_query {
	size_t size;		/* sizeof(struct moca_query) */
	uint64_t begin_ns;
	uint64_t end_ns;	/* exclusive; 0 = no limit */
	uint64_t addr_begin;
	uint64_t addr_end;	/* exclusive; 0 = no limit */
	uint32_t task;
	uint32_t one_task;	/* 1 = only the task above */
};

/*
 * Open the trace in directory path. 0; -ENOENT (no such directory or no
 * metadata in it), -EPROTO (of a newer format), -EBADMSG (metadata corrupt),
 * -EACCES, -ENOMEM. A trace that is being recorded is read as it was then.
 */
int moca_trace_open(struct moca_trace **out, const char *path);
void moca_trace_close(struct moca_trace *t);

/* A metadata value by key, or NULL; doc/format.md lists the keys. */
const char *moca_trace_meta(const struct moca_trace *t, const char *key);
/* The n-th (from 0) value of a repeated key, or NULL. */
const char *moca_trace_meta_nth(const struct moca_trace *t, const char *key,
				unsigned n);
/*
 * The i-th (from 0) line of the metadata: its key, and *value. NULL behind the last:
 * then *value is NULL. A key comes as often as it has values.
 */
const char *moca_trace_meta_line(const struct moca_trace *t, size_t i,
				 const char **value);

/* Whether the metadata is what the recorder wrote. */
enum moca_metadata {
	MOCA_METADATA_VERIFIED = 0,
	MOCA_METADATA_UNVERIFIED = 1,	/* of an older Moca: no checksum */
	MOCA_METADATA_DAMAGED = 2,	/* its checksum is wrong, or gone */
};
enum moca_metadata moca_trace_metadata(const struct moca_trace *t);

/* 0 when the recorder ended properly, 1 when it was cut off. */
int moca_trace_truncated(const struct moca_trace *t);
/* The certificate as last written by the recorder. */
void moca_trace_certificate(const struct moca_trace *t,
			    struct moca_certificate *out);

/* Tasks are sorted by id; an id may be missing when its file is. */
size_t moca_trace_task_count(const struct moca_trace *t);
const struct moca_task *moca_trace_task(const struct moca_trace *t, size_t i);
/*
 * The highest weight that a record may have, where sweeps took samples, or, if that
 * is higher, that one has: MOCA_WEIGHT_MAX and less. 1: nothing was sampled.
 */
unsigned moca_trace_top_weight(const struct moca_trace *t);
/* 1: there are records that do not weigh 1. */
int moca_trace_has_weights(const struct moca_trace *t);
/* What opening and all cursors found wrong so far. */
void moca_trace_damage(const struct moca_trace *t, struct moca_damage *out);

/*
 * The call stack of that number, which accesses tell. 0, or -ENOENT: the trace has
 * none of that number. Frames belong to the trace.
 */
int moca_trace_stack(const struct moca_trace *t, uint32_t number,
		     struct moca_stack *out);
/* The highest number that there is; 0: no stacks. */
uint32_t moca_trace_stack_count(const struct moca_trace *t);

/* Start a walk. query may be NULL. 0, -EINVAL, -ENOMEM. */
int moca_cursor_open(struct moca_cursor **out, struct moca_trace *t,
		     const struct moca_query *query);
void moca_cursor_close(struct moca_cursor *c);

/*
 * The next chunk, by task and within a task by time, with only the accesses
 * that the query asks for; reads, writes and weights are of these, lost is the chunk's.
 * A chunk that the query leaves empty is returned if the query is of time
 * only, as it may tell of loss. 1 and *out (valid until the next call), 0 at
 * the end, or -errno.
 */
int moca_cursor_chunk(struct moca_cursor *c, const struct moca_chunk **out);

/*
 * The next change, by task and within a task by time. A walk returns either
 * chunks or changes or events or counts (-EINVAL): use a cursor for each.
 * Changes without a length match any range of addresses. 1, 0 or -errno as
 * above.
 */
int moca_cursor_change(struct moca_cursor *c, const struct moca_change **out,
		       uint32_t *task);

/*
 * The next counts, by task and within a task by time, with only the rows whose
 * granules the query's addresses meet; loads and stores are theirs. A row has no
 * time: a slice that the query's time meets comes as a whole. One that the
 * query's addresses leave empty is not returned. A cursor that walks counts walks nothing else
 * (-EINVAL). 1 and *out (valid until the next call), 0 or -errno as above.
 */
int moca_cursor_counts(struct moca_cursor *c, const struct moca_counts **out);

/* How a field of an event is shown, and what it is made of. */
enum moca_field_kind {
	MOCA_FIELD_UNSIGNED = 1,
	MOCA_FIELD_SIGNED = 2,
	MOCA_FIELD_HEX = 3,	/* unsigned */
	MOCA_FIELD_FLOAT = 4,	/* IEEE 754 */
	MOCA_FIELD_ENUM = 5,	/* signed, with labels */
	MOCA_FIELD_STRING = 6,	/* bytes, not always UTF-8 */
};

enum moca_field_shape {
	MOCA_FIELD_SCALAR = 0,
	MOCA_FIELD_ARRAY = 1,		/* count elements */
	MOCA_FIELD_SEQUENCE = 2,	/* as many as each event says */
};

struct moca_field_label {
	int64_t value;
	const char *label;
};

struct moca_field {
	const char *name;
	uint8_t kind;		/* enum moca_field_kind, of an element */
	uint8_t shape;		/* enum moca_field_shape */
	uint8_t size;		/* bytes of an element: 1, 2, 4, 8 */
	uint32_t count;		/* of an array */
	size_t label_count;
	const struct moca_field_label *labels;
};

/* What MOCA_EVENT (moca/trace.h) declared. Lives as long as the trace. */
struct moca_event_type {
	uint32_t id;
	const char *facility;
	const char *name;
	size_t field_count;
	const struct moca_field *fields;
};

/* One event that a program emitted. */
struct moca_event {
	uint64_t time_ns;
	const struct moca_event_type *type;
	const uint8_t *payload;
	size_t len;
	/*
	 * Events of its stream that were dropped since the one before it. What
	 * was dropped after the last is only in moca_task.events_lost.
	 */
	uint64_t lost;
};

/* A field's contents in one event. */
struct moca_value {
	const struct moca_field *field;
	const uint8_t *data;	/* unaligned, little endian */
	size_t count;		/* of elements; of a string, its bytes, behind
				   which there is a NUL and before none */
};

/* The kinds of events, by id. The array belongs to the trace. */
const struct moca_event_type *const *
moca_trace_event_types(const struct moca_trace *t, size_t *count);

/*
 * The next event, by task and within a task by time. A cursor that walks
 * events walks nothing else (-EINVAL). Events have no address: only the
 * query's times and task count. *out is valid until the next call. 1, 0 or
 * -errno as above.
 */
int moca_cursor_event(struct moca_cursor *c, const struct moca_event **out,
		      uint32_t *task);

/* Field i of an event, whose payload the cursor has checked. 0 or -EINVAL. */
int moca_event_value(const struct moca_event *m, size_t i,
		      struct moca_value *out);
/*
 * Element i of a value; 0 if there is none. As an integer: sign-extended, of a
 * float its bits. As a float: what it is, of an integer its value.
 */
uint64_t moca_value_integer(const struct moca_value *v, size_t i);
double moca_value_float(const struct moca_value *v, size_t i);

/* One mapping of a process at some time. */
struct moca_mapping {
	uint32_t pid;
	uint64_t addr;
	uint64_t len;
	uint64_t begin_ns;
	uint64_t end_ns;	/* 0 = until the end */
	uint32_t prot;
	uint32_t flags;		/* MOCA_MAP_* */
	uint64_t offset;
	const char *name;
	uint32_t memory;	/* as these of struct moca_change */
	uint64_t dev;
	uint64_t ino;
};

/*
 * All mappings of all processes that ever were, by pid, begin_ns, addr. Built
 * on first use from the changes. The array belongs to the trace. 0 or -errno.
 */
int moca_trace_mappings(struct moca_trace *t, const struct moca_mapping **out,
			size_t *count);
/* The mapping of pid that held addr at that time, or NULL. */
const struct moca_mapping *moca_trace_find_mapping(struct moca_trace *t,
						   uint32_t pid, uint64_t addr,
						   uint64_t time_ns);

#ifdef __cplusplus
}
#endif
#endif

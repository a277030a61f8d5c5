/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a trace tells of itself: its metadata, tasks and kinds of events. */
#ifndef MOCA_ANALYSIS_TRACE_H
#define MOCA_ANALYSIS_TRACE_H

#include <moca/reader.h>

/* Keys of the metadata; doc/format.md explains them. */
#define META_SAMPLE_CORE "sample_core"	/* rank of stripes that are in each sample */
#define META_CREDIT "credit_ns"		/* intervals are short at first */
#define META_COMMAND "command"
#define META_ATTACHED_COMMAND "attached_command"	/* META_COMMAND is "-p PID" then */
#define META_SAMPLE "sample"
#define META_SWEEPS "sweeps"	/* "none": --no-zap */
#define META_UNCERTIFIED "certificate.reason"
#define META_SAMPLE_LEVELS "sample.levels"	/* of intervals */
#define META_HOST "host"
#define META_KERNEL "kernel"
#define META_CPUS "cpus"
#define META_NODES "nodes"
#define META_START_TIME "start_time"	/* Unix time, ns */
#define META_EXIT_STATUS "exit_status"	/* as of wait(2) */
#define META_ENDED_PROGRAM "ended_program"	/* by the recorder */
#define META_READ_WRITE "read_write_source"
#define META_PHYS "phys_source"
#define META_START "start_ns"		/* CLOCK_MONOTONIC */
#define META_END "end_ns"
#define META_FAILED "failed_ns"		/* the same clock */
#define META_FAILURE "failure"
#define META_PAGE_SIZE "page_size"
#define META_MAPPINGS_TOLD "mappings_told"
#define META_CHANGES_LOST "changes_lost"
#define META_COLLECTOR "collector"
#define META_INTERVAL "interval_ns"
#define META_BUDGET "budget"
#define META_SLOWDOWN "slowdown_estimate"
#define META_NOTE "note"
#define META_LOSS "loss"		/* those notes that tell of what is missing */
#define META_IMPORT "import.from"	/* recorded by another tool */
#define META_IMPORT_TIMES "import.times"	/* "none": its times mean nothing */
#define META_RANK "rank"
#define META_JOB "job"
#define META_MOUNTS "mounts"		/* another namespace than the recorder's */
#define META_MOUNTS_PID "mounts_pid"
#define META_TRACE_EVENTS "trace.events"	/* events written */

/* A number of the metadata, or dflt. */
uint64_t trace_meta_u64(const struct moca_trace *t, const char *key,
			uint64_t dflt);
/*
 * The first key whose value is to be a number and is none that is finite, as
 * nobody's recorder writes it; *value is what stands there. NULL: all are.
 */
const char *trace_bad_number(const struct moca_trace *t, const char **value);
/* log2 of the page size. */
unsigned trace_page_shift(const struct moca_trace *t);
/* The time that everything is shown relative to. */
uint64_t trace_origin(const struct moca_trace *t);
/* Why its recording failed, an errno; 0: it did not, or does not say so. */
int trace_failure(const struct moca_trace *t);
/* So long after it, as --from and --to say. */
uint64_t trace_after(const struct moca_trace *t, uint64_t ns);

/*
 * The folder that the program's files are below: MOCA_SYSROOT of the environment;
 * /proc/PID/root of one that had other mounts than its recorder, as in a container;
 * one that does not exist when that is gone. NULL: they are where they are named.
 */
#define TRACE_ROOT_MAX 64
const char *trace_root(const struct moca_trace *t, char buf[TRACE_ROOT_MAX]);

/* The index of a task by its id; SIZE_MAX when its file is missing. */
size_t trace_task_index(const struct moca_trace *t, uint32_t id);
/* The processes of tasks, by their ids, of which there are fewer than *count. NULL: no memory. */
uint32_t *trace_pids(const struct moca_trace *t, size_t *count);
/* The name of a process: of its first thread. */
const char *trace_process_name(const struct moca_trace *t, uint32_t pid);

/* "user", "kernel", "R" ...; of values from a file, so never out of range. */
char trace_type_letter(unsigned type);
char trace_mode_letter(unsigned mode);
/* "task-start": of enum moca_change_type, out of range likewise. */
const char *trace_change_name(uint32_t type);

/* "exit code 1" or "killed by signal 9 (Killed)", of a wait(2) status. */
void trace_status(char *buf, size_t size, int status);
/*
 * The same of the recorded program's end, which the metadata tells; also that the
 * recorder ended it. "" where it tells none.
 */
void trace_end_status(char *buf, size_t size, const struct moca_trace *t);

/* Was it made by `moca trace`: are there events only? */
int trace_events_only(const struct moca_trace *t);

/* Is it a look at which pages were touched? */
int trace_is_heat(const struct moca_event_type *type);
/* Is it a sample of Moca's: of page faults and CPU time, or such a look? */
int trace_is_rate(const struct moca_event_type *type);
/* Has the trace a type of events that is wanted? */
int trace_has_events(const struct moca_trace *t,
		     int (*wanted)(const struct moca_event_type *type));

/* Is it a sample of an access by a processor, which moca import wrote? */
int trace_is_memory(const struct moca_event_type *type);

/* Is it what libmoca-alloc tells, and no event of the program's own? */
int trace_is_allocation(const struct moca_event_type *type);

/*
 * A cursor per living thread takes descriptors: allow as many as may be, of
 * this process.
 */
void trace_raise_limit(void);

/* Was the recorder killed while --object took accesses out? */
int trace_half_filtered(const struct moca_trace *t);

/* Any damage at all? */
int trace_damaged(const struct moca_damage *d);

#endif

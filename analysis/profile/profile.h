/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a trace says about how each data structure is used: by whom, when, in
 * which order, and how far from where its pages would be. One walk of the
 * trace; doc/design/advice.md has the definitions.
 *
 * Threads are told apart by lanes: each node has `lanes / nodes` of them, and a
 * process' threads that live at one time are spread over all. What is said of
 * lanes is of threads as long as there are no more of them than lanes.
 */
#ifndef MOCA_PROFILE_H
#define MOCA_PROFILE_H

#include "analysis/intervals.h"
#include "analysis/objects/objects.h"
#include "analysis/profile/lines.h"
#include "analysis/topology.h"
#include "analysis/uses.h"

#define MOCA_PROFILE_WINDOWS 128	/* parts of the time, at most */
#define MOCA_PROFILE_PARTS 64		/* of an object */
#define MOCA_PROFILE_LANES 64
/* Pages of 4 KiB that TLBs reach: with less in an interval there are few misses. */
#define MOCA_TLB_REACH 3072u

/* Where pages could be. */
enum moca_policy {
	MOCA_POLICY_FIRST_TOUCH,	/* on the node of the first toucher */
	MOCA_POLICY_INTERLEAVE,		/* page n on node n modulo nodes */
	MOCA_POLICY_BIND,		/* an object on the node that uses it
					   most */
	MOCA_POLICY_PARALLEL_INIT,	/* each page on the node that uses it
					   most: first touched by its user */
	MOCA_POLICIES
};

/* How an object is used; any number of these. */
enum moca_pattern {
	MOCA_PATTERN_PRIVATE = 1,	/* pages of one thread each */
	MOCA_PATTERN_MIGRATORY = 2,	/* from a thread to the next, for good */
	MOCA_PATTERN_SHARED = 4,	/* pages used by threads in turn */
	MOCA_PATTERN_READ_MOSTLY = 8,
	MOCA_PATTERN_WRITE_ONCE = 16,	/* not written after its first time */
	MOCA_PATTERN_MASTER_WORKER = 32, /* touched first by one, used by all */
	MOCA_PATTERN_STREAMING = 64,	/* page after page */
	MOCA_PATTERN_LOCAL = 128,	/* here and there in a small part */
	MOCA_PATTERN_RANDOM = 256,	/* anywhere */
	MOCA_PATTERN_HALO = 512,	/* parts of threads that share borders */
	MOCA_PATTERN_HOT_SPOT = 1024,	/* a few pages, shared and written */
	MOCA_PATTERN_UNBALANCED = 2048,	/* threads' parts differ in size */
	MOCA_PATTERN_ABANDONED = 4096,	/* most pages not used any more */
	MOCA_PATTERN_HUGE = 8192,	/* large, dense and random: huge pages */
	MOCA_PATTERNS = 14		/* how many there are */
};
/* "private", ... of one bit; NULL when there is none of that number. */
const char *moca_pattern_name(unsigned bit);

/* An instruction that accesses an object often, and once when and who did. */
struct moca_profile_code {
	uint64_t ip, ns;
	uint32_t task;
	uint32_t votes;		/* 0: it is none */
};
#define MOCA_PROFILE_CODES 4	/* of each lane */

/*
 * An access is a page's record of an interval, as often as it weighs. Where intervals
 * differ in length (`weighed` in struct moca_profile), each counts here by the length of
 * its interval in proportion to the mean one, for shares to be of the time. What is told
 * by window, and what object->accesses has, is not weighed by length: so are all numbers
 * of accesses that users see.
 */
struct moca_profile_object {
	const struct moca_object *object;
	int data;		/* counted in the sums: the program's data */
	uint64_t pages;		/* with which all below was found */
	/*
	 * Where sweeps took samples, pages whose whole history was seen: those of
	 * stripes that each sweep let go, or all, if the object was swept whole.
	 * Of these are what is told of pages' histories below, in proportion to
	 * `pages`; 0: too few, and it is all 0. Else it is `pages`.
	 */
	uint64_t watched_pages, watched_accesses;
	double variance;	/* of accesses, as sweeps took samples */
	int sampled;		/* while pages are passed, as these of struct row */
	uint64_t swept;
	uint64_t accesses, reads, writes;
	uint64_t records;	/* 0 of counts */
	/*
	 * In how many intervals each page has records, and the same of watched
	 * ones alone; and how often a lane came back to one of these after
	 * another, beyond once.
	 */
	uint64_t visits, watched_visits, returns;
	/* Pages of one lane; of one lane after another; used in turn. */
	uint64_t private_pages, migratory_pages, shared_pages;
	uint64_t shared_accesses;	/* to those used in turn */
	uint64_t even_pages;	/* of those used in turn: by nearly all threads,
				   equally often */
	uint64_t late_writes;	/* after a page's first interval */
	uint64_t late_pages;	/* pages used after their first interval */
	uint64_t idle_pages;	/* last used in an interval that ended in the
				   first half of the trace, of objects that
				   live to its end, or nearly */
	uint64_t quiet_pages;	/* of all pages, those that have no record of
				   the second half, as idle ones */
	int idle_known;		/* enough was looked at for idle_pages to tell of
				   nearly all pages */
	uint64_t brief_pages;	/* first used in the first three quarters of the
				   trace, last in an interval that ended within a
				   sixteenth of it later, or a window behind */
	/*
	 * Pages that are used once in the profile's hot_ns or more often since their
	 * first use; once in its cold_ns or less often. hot_first, hot_last: the first
	 * and the last hot one of `pages`, by address.
	 */
	uint64_t hot_pages, hot_first, hot_last;
	uint64_t cold_pages, cold_accesses;
	/*
	 * Accesses from another node. On the recorded machine FIRST_TOUCH is how
	 * it was: where each page lay when it was accessed; what is not known is
	 * taken to be as what is.
	 */
	uint64_t remote[MOCA_POLICIES];
	uint64_t unknown;	/* accesses whose page's or CPU's node is not
				   known; 0 on a what-if machine */
	/*
	 * Pages that another object on the heap had before, which decided their
	 * node: accesses to them, and of these from another node than that one
	 * and, at least, wherever they were. The row they were of most, by id.
	 */
	uint64_t inherited_pages, inherited_accesses;
	uint64_t inherited_remote, inherited_best;
	uint64_t inherited_votes;
	uint32_t inherited_from;
	/* Where a thread went from one page of it to another. */
	uint64_t steps, steps_next, steps_near;
	unsigned patterns;	/* enum moca_pattern */
	unsigned runs;		/* of neighbouring pages with one main user */
	uint64_t border_pages;	/* shared pages next to where these meet */
	/* The instruction that touched most of its pages first. */
	uint64_t touch_ip, touch_ns;
	uint32_t touch_task;	/* MOCA_NO_TASK: unknown */
	uint64_t first[MOCA_PROFILE_LANES];	/* pages first touched */
	uint64_t use[MOCA_PROFILE_LANES];	/* accesses */
	uint64_t written[MOCA_PROFILE_LANES];	/* of these, writes */
	uint64_t homes[MOCA_TOPOLOGY_NODES];	/* pages, by first touch; as
					   recorded: where last seen */
	uint64_t served[MOCA_TOPOLOGY_NODES];	/* accesses to these */
	/* [part][lane], of all its objects by address; NULL: has no pages. */
	uint32_t *parts;
	uint8_t part_first[MOCA_PROFILE_PARTS];	/* lane, of most pages */
	/* [window]; NULL: too many objects for this. */
	uint32_t *reads_in, *writes_in;
	uint32_t *touches_in;	/* pages first touched */
	uint32_t *remote_in;	/* accesses, by first touch */
	/* [lane][MOCA_PROFILE_CODES]; NULL: it has too few pages. */
	struct moca_profile_code *code;
};

/* Where a task was when it accessed memory. */
struct moca_task_nodes {
	/* From CPUs of each node; in proportion, by the lengths of intervals. */
	uint64_t accesses[MOCA_TOPOLOGY_NODES];
	uint64_t moves;		/* times that it was on another than before */
	uint16_t last;		/* node + 1; 0: none yet */
};

struct moca_counts_table;
struct lengths;

struct moca_profile {
	struct moca_topology topology;
	struct moca_objects *objects;
	unsigned lanes;
	uint8_t node_of_lane[MOCA_PROFILE_LANES];
	uint64_t begin_ns;		/* of the first window */
	uint64_t window_ns;
	unsigned windows;
	uint64_t intervals;		/* of the trace */
	int sampled;		/* sweeps took samples: sums are estimates */
	unsigned top_weight;	/* then, the highest of a record; else 1 */
	uint64_t half_interval;	/* the last one that has accesses in the first
				   half: those before it ended there */
	/* Of each window's accesses, the last one; 0 where none are. */
	uint64_t last_interval[MOCA_PROFILE_WINDOWS];
	/*
	 * Of each window, the one that holds what is known of it: itself, or
	 * an earlier one where an interval began that goes on through it.
	 */
	uint8_t seen_in[MOCA_PROFILE_WINDOWS];
	uint64_t working_set[MOCA_PROFILE_WINDOWS];	/* pages */
	uint64_t lane_activity[MOCA_PROFILE_WINDOWS][MOCA_PROFILE_LANES];
	struct moca_profile_object *rows;	/* by accesses, most first */
	size_t count;
	uint64_t accesses;		/* to data, and of these remote */
	uint64_t unweighed;		/* accesses to data, however long intervals
					   are, as other commands count them */
	uint64_t other_accesses;	/* as these, to what is no data: code,
					   files, the kernel's, Moca's */
	uint64_t records;		/* of accesses to data; 0 of counts */
	int weighed;			/* intervals differ in length */
	uint64_t remote[MOCA_POLICIES];
	uint64_t unknown;		/* of accesses */
	uint64_t pages;			/* of data */
	uint64_t watched_pages;		/* of these, of rows with watched pages:
					   what hot and cold ones are of */
	uint64_t hot_pages, cold_pages, cold_accesses;	/* of data, as of rows */
	uint64_t hot_ns, cold_ns;	/* mean times between two uses of a page: at
					   most that of a hot one, at least that of a
					   cold one */
	uint64_t distinct;		/* pages, code as well, however many
					   objects were there */
	uint64_t data_pages, other_pages;	/* with data in them, and others; as
						   moca info counts pages */
	struct moca_interval_pages used;	/* without Moca's; not of counts */
	uint64_t served[MOCA_TOPOLOGY_NODES];
	double variance;		/* of accesses to data */
	uint64_t left_out;		/* accesses to pages beyond the limit */
	struct moca_lines lines;	/* that tasks take turns at, by samples */
	struct moca_uses stacks;	/* whose .ip is a call stack's number */
	unsigned threads;		/* most that lived at a time */
	int writes_known;	/* all of them: moca_sharing_writes_known */
	uint8_t *lane_of;		/* task number: its lane, if what_if */
	uint16_t *cpu_of;	/* likewise, the CPU that it is put on */
	/* While pages are passed. */
	const struct lengths *lengths;
	/* Of exact mode, or NULL: analysis/counts/profile.h says what is else. */
	struct moca_counts_table *counts;
	uint32_t tasks;
	struct moca_task_nodes *task_nodes;	/* by task number; NULL: a what-if
						   machine, or one node */
};

/*
 * topology may be NULL: the machine's own. 0, -ENOMEM, or as the reader says.
 * At most about 450 MB of memory beside the objects; what does not fit is
 * counted in left_out.
 */
int moca_profile_compute(struct moca_profile **out, struct moca_trace *t,
			 const struct moca_topology *topology);

/*
 * The same, of a walk that others look at as well: moca_profile_take is to be
 * told all accesses, by struct moca_observers; then _end makes the profile, for
 * which o, the walk's result, belongs to it. Where o is NULL, it gives up.
 * _end frees w in any case. 0; -ENOMEM; -ECANCELED without o.
 */
struct moca_profile_walk;
int moca_profile_begin(struct moca_profile_walk **out, struct moca_trace *t,
		       const struct moca_topology *topology);
/*
 * The same for moca_phases_compute() alone: windows, and of rows their accesses. It is
 * told of them by moca_profile_use(), in any order within a few windows. Of traces that
 * were not sampled; -ENOTSUP: this one was.
 */
int moca_profile_begin_phases(struct moca_profile_walk **out,
			      struct moca_trace *t);
void moca_profile_use(struct moca_profile_walk *w,
		      const struct moca_settled *x);
void moca_profile_take(void *w, const struct moca_observed *x, size_t count);
int moca_profile_end(struct moca_profile **out, struct moca_profile_walk *w,
		     struct moca_objects *o);
void moca_profile_free(struct moca_profile *p);

/* Has the lane a part in the object's use: 5 %, or half of the mean? */
static inline int moca_profile_uses(const struct moca_profile *p,
				    const struct moca_profile_object *o,
				    unsigned lane)
{
	return o->use[lane] && (20 * o->use[lane] >= o->accesses ||
				2 * p->lanes * o->use[lane] >= o->accesses);
}

/*
 * Pages that are looked at each time: fewer, of 256 KiB each 64, do not show that
 * nearly all of an object are, or are not, something.
 */
#define MOCA_PROFILE_WATCHED 2560u
static inline int moca_profile_watched(const struct moca_profile *p,
				       const struct moca_profile_object *o)
{
	return !p->sampled || o->watched_pages == o->pages ||
	       o->watched_pages >= MOCA_PROFILE_WATCHED;
}

/* Standard error of an object's share of all accesses, by what was sampled. */
double moca_profile_share_error(const struct moca_profile *p,
				const struct moca_profile_object *o);

/* The highest of an object of data. */
double moca_profile_most_error(const struct moca_profile *p);

/* Length of what was recorded. */
static inline double moca_profile_seconds(const struct moca_profile *p)
{
	return (double)p->windows * p->window_ns / 1e9;
}

static inline unsigned moca_profile_node(const struct moca_profile *p,
					 unsigned lane)
{
	return p->node_of_lane[lane];
}

#endif

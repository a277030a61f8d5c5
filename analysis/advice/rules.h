/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the rules share. */
#ifndef MOCA_ANALYSIS_ADVICE_RULES_H
#define MOCA_ANALYSIS_ADVICE_RULES_H

#include <math.h>

#include "analysis/advice/advice.h"
#include "analysis/advice/conditions.h"

/*
 * Smaller objects live in the caches of the cores that use them: 2 MiB of
 * second-level cache each, and it takes two cores.
 */
#define PAGES_MIN 1024u			/* 4 MiB */
/* A node's last-level cache, where the trace does not tell it. */
#define PAGES_OF_CACHE 8192u	/* 32 MiB */
#define INTERVALS_MIN MOCA_ADVICE_INTERVALS
/* So many say who uses a page only where each was used by the same in all of them. */
#define INTERVALS_FEW 5
/* Shorter runs say nothing of what memory is kept for. */
#define SECONDS_MIN 1
/* Of all accesses to data: less is not worth a change. */
#define GAIN_MIN 0.05
/* Remote share of an object below which its placement is as good as any. */
#define REMOTE_MIN 0.20

struct rules {
	struct moca_advice *a;
	struct moca_trace *trace;
	const struct moca_profile *p;
	int err;
	unsigned model;		/* model.c; 0: not looked yet */
	double cache;		/* pages of a node's; 0: likewise */
	int cpu_looked, lanes_told, windows_told;	/* cpu-time.c */
	double cpu_ns[MOCA_PROFILE_LANES];
	double cpu_more_ns[MOCA_PROFILE_LANES];
	double cpu_in[MOCA_PROFILE_WINDOWS];
	char name[80], in_code[80];
	const struct moca_profile_object **by_id;	/* advice_row */
	struct condition_miss miss[MOCA_FINDING_KINDS];
};

/*
 * A rule: looks at one object and adds what it finds. One rule per file; the
 * first one that finds something about an object's placement has it.
 */
typedef int (*rule_fn)(struct rules *r, const struct moca_profile_object *o);

#define X(rule) int rule(struct rules *r, const struct moca_profile_object *o);
ADVICE_PLACEMENT(X)
ADVICE_COUNTED(X)
ADVICE_OTHERS(X)
#undef X

/* Looks at all of the program, when its structures were looked at. */
typedef int (*rule_whole_fn)(struct rules *r);

#define X(rule) int rule(struct rules *r);
ADVICE_WHOLE(X)
#undef X

/* A new finding with remote shares filled in; NULL: no memory (r->err). */
struct moca_finding *finding_add(struct rules *r, enum moca_finding_kind kind,
				 const struct moca_profile_object *o,
				 double gain);
/* Text; what fails is told by r->err. */
__attribute__((format(printf, 3, 4)))
void finding_set(struct rules *r, char **to, const char *fmt, ...);
/* The same to the first free one of MOCA_FINDING_LINES. */
__attribute__((format(printf, 3, 4)))
void finding_line(struct rules *r, char **lines, const char *fmt, ...);
__attribute__((format(printf, 2, 3)))
void advice_note(struct rules *r, const char *fmt, ...);

static inline int are_few(const struct rules *r)
{
	return !r->p->counts && r->p->intervals < INTERVALS_MIN;
}
/* Of a trace with too few intervals: says so, and sets again. */
void note_resolution(struct rules *r);
/* The same of a recording that failed, as on a full disk. */
void note_failure(struct rules *r);

/* n of the object's accesses, as a share of all of these. */
static inline double of(uint64_t n, const struct moca_profile_object *o)
{
	return o->accesses ? (double)n / o->accesses : 0;
}
/* What was found with histories of the object's pages: not known without any. */
static inline double by_history(const struct rules *r,
				const struct moca_profile_object *o, double x)
{
	return r->p->sampled && !o->watched_pages ? NAN : x;
}
/*
 * Of pages whose histories are known: in how many intervals they were used, how
 * many records, and how many steps from another page to them they have, on average.
 */
double page_visits(const struct rules *r, const struct moca_profile_object *o);
double page_records(const struct rules *r, const struct moca_profile_object *o);
double page_steps(const struct rules *r, const struct moca_profile_object *o);
/* Pages have users of their own: not as many as who comes first by chance. */
int has_users(const struct rules *r, const struct moca_profile_object *o);
/* Its pages have none: threads come back to each after one another, as by chance. */
int has_mixed_users(const struct rules *r, const struct moca_profile_object *o);
/* With less than 1 % of all accesses nothing about it would gain anything. */
static inline int is_used(const struct rules *r,
			  const struct moca_profile_object *o)
{
	return 100 * o->accesses >= r->p->accesses;
}
/* A variable or section of a library of the system's, as libc's locks. */
int is_of_system(const struct moca_object *o);
/* The row of that id; NULL: there is none, or no memory (r->err). */
const struct moca_profile_object *advice_row(struct rules *r, uint32_t id);
/* Share of the object's accesses that is remote under a policy. */
double share_remote(const struct moca_profile_object *o, enum moca_policy p);
/* Node that use most; *share of the object's accesses by others than it. */
unsigned nodes_using(const struct moca_profile *p,
		     const struct moca_profile_object *o, double least);
/* The node that most of the object's pages are on, and which share. */
unsigned home_node(const struct moca_profile *p,
		   const struct moca_profile_object *o, double *share);
/*
 * Do users on two nodes write it? Where only some write and the others read,
 * the parts are handed over, as in a queue: no schedule deals them out.
 */
int all_users_write(const struct moca_profile *p,
		    const struct moca_profile_object *o);
/* "#3 (worker)" of a task; buf is returned. */
const char *task_text(const struct rules *r, uint32_t task, char *buf,
		      size_t len);
/* Where the object's pages are first touched; "" if not known. */
const char *touch_text(struct rules *r, struct moca_finding *f, char *buf,
		       size_t len);
/*
 * What a moca that starts the program is given behind "--": the trace's command, or
 * that of the process attached to, where a shell runs just that, as its words need
 * no quotes; else "COMMAND".
 */
const char *command_text(const struct rules *r);
/* Does a program of the trace use OpenMP: is a library of it mapped? */
int advice_openmp(struct rules *r);
/* Is what the finding is about written in C or C++? */
int advice_takes_c(struct rules *r, const struct moca_finding *f);
/*
 * Memory that the runtime of another language divides, as the JVM's heap: all of a
 * program's structures are in it.
 */
int is_of_runtime(const struct rules *r, const struct moca_object *o);
/* A comment, in the program's language. */
void try_note(struct rules *r, struct moca_finding *f, const char *text);
/*
 * How to have each thread read its own part from a file, in place of one thread.
 */
void try_parallel_read(struct rules *r, struct moca_finding *f);
/*
 * How to have each thread touch its own part first, in the language of the
 * program as far as it is known; where: " at FILE:LINE" of the loop, or "".
 */
void try_parallel_init(struct rules *r, struct moca_finding *f,
		       const char *name, const char *where);
/* The same of work whose parts move, of unequal parts, and of lines that threads
 * share; apart: each thread has bytes of its own there. */
void try_static_schedule(struct rules *r, struct moca_finding *f);
void try_equal_work(struct rules *r, struct moca_finding *f);
void try_small_chunks(struct rules *r, struct moca_finding *f);
void try_free(struct rules *r, struct moca_finding *f, const char *name);
void try_own_lines(struct rules *r, struct moca_finding *f, int apart);
/*
 * 1 if nearly all pages of the object had their first touch before another thread
 * used any of them. 0: its pages are passed on as they are filled, as the buffers
 * of a pipeline are, and the thread that fills a page must touch it first.
 */
int prepared_before(const struct moca_profile *p,
		    const struct moca_profile_object *o);
/*
 * 1 if one node goes on writing it and others read it, in turn: no place is near
 * both, and what the best place of a page seems to spare is chance.
 */
int passed_in_turn(const struct moca_profile *p,
		   const struct moca_profile_object *o);
/*
 * Pages that the last-level cache of a node holds, at least PAGES_MIN; *told: by the
 * trace.
 */
double advice_cache(struct rules *r, int *told);
/*
 * CPU time of each lane's threads, on a what-if machine; NULL: it was not sampled, or
 * not of nearly all threads, as those that live shortly. r->err: no memory.
 */
const double *advice_cpu_ns(struct rules *r);
/*
 * Likewise, what they may have had on top: of a thread that ended, the time after the
 * last sample of it is not known.
 */
const double *advice_cpu_more_ns(struct rules *r);
/* CPU time of all processes in each window; NULL: it was not sampled. */
const double *advice_cpu_in(struct rules *r);
/* 1: a function of that name works on locks, barriers or the like (NULL: 0). */
int advice_synchronizes(const char *function);
/*
 * Two threads write these bytes of a line (a bit each) in functions a and b, NULL:
 * not known. Is it one lock or barrier, or a mutex with its condition variable, which
 * who uses the one needs as well?
 */
int advice_is_one_lock(const char *a, const char *b, uint64_t bytes);
/* Who calls the code that accesses each finding's object, where stacks tell. */
void evidence_callers(struct rules *r);
/* A number of the metadata; 0: there is none. */
double advice_meta(const struct rules *r, const char *key);
/* Evidence that several rules give. */
void evidence_use(struct rules *r, struct moca_finding *f);
/* The object's name in text, cut if it is very long; valid until the next. */
const char *name_text(struct rules *r, const struct moca_profile_object *o);
/* The same in a line of code: "g[i]" of g[], "p" where no variable is known. */
const char *name_in_code(struct rules *r, const struct moca_profile_object *o);

#endif

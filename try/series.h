/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rounds of runs: in each, the program as it is and with each change once, one
 * after the other, in an order that rotates. So a change is compared with the
 * plain run of the same minute.
 */
#ifndef MOCA_TRY_SERIES_H
#define MOCA_TRY_SERIES_H

#include "try/run.h"
#include "try/stat.h"

#define TRY_ROUNDS_MAX TRY_PAIRS_MAX
#define TRY_CHANGES_MAX 32

enum try_measure { TRY_WALL, TRY_CPU, TRY_FAULTS, TRY_PEAK, TRY_MEASURES };

/* One way to run the program; the first is plain. */
struct try_arm {
	const char *name;	/* for messages */
	const char *setting;	/* as struct try_change has it; NULL: plain */
	/* Of each round. */
	double *values[TRY_MEASURES];
	int status;		/* of the first run that was not as plain ones, or
				   of the first */
	int other_status;	/* a run ended in another way than plain ones */
	enum try_difference differs[TRY_STREAMS];	/* the most, from the
				   first plain run's */
	int output_open;	/* a process stayed behind with its output */
};

struct try_series {
	const struct try_program *program;
	struct try_arm *arms;
	size_t arm_count;
	size_t rounds;		/* that are complete */
	int expected;		/* status of the first run, else it is the
				   last one; -1: any */
	int status;		/* of plain runs */
	struct try_stream output[TRY_STREAMS];	/* of the first plain run */
	struct try_tail said;	/* by that one */
	/* Where it is: a round from 1 (0: the warm-up), and an arm. */
	size_t round, arm;
	uint64_t left_ns;	/* what runs take from here on, as far as it is
				   known; 0: not yet */
	/* Called before each run; NULL: not. */
	void (*progress)(const struct try_series *s, size_t rounds);
};

/*
 * Make arms of plain and these settings. 0 or -ENOMEM; free it also then.
 */
int try_series_init(struct try_series *s, const struct try_program *p,
		    const char *const *settings, const char *const *names,
		    size_t count, size_t rounds);
/*
 * A run of each to warm up (two plain ones, which tell whether the output is the
 * same each time), and the rounds. 0; -ECANCELED: the program's stop_fd says so;
 * -EDOM: its status is not the expected one; -errno: a run could not be started,
 * and *what says what failed.
 */
int try_series_run(struct try_series *s, size_t rounds, const char **what);
void try_series_free(struct try_series *s);

/*
 * Whether an arm's output is another than that of plain runs, as far as these have
 * the same each time.
 */
int try_series_differs(const struct try_series *s, size_t i);

/* The gains of change i (an arm of the comparison) against the plain runs, a round each. */
struct try_ratio try_series_ratio(const struct try_series *s, size_t i,
				  enum try_measure m);
/* The median of the rounds. */
double try_series_median(const struct try_series *s, size_t i,
			 enum try_measure m);

#endif

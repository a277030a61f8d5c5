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

#define TRY_ROUNDS_MAX 1000
#define TRY_CHANGES_MAX 32

#define TRY_STDOUT 1u
#define TRY_STDERR 2u

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
	unsigned int other_output;	/* TRY_STDOUT, TRY_STDERR: a run's was another */
	int output_open;	/* a process stayed behind with its output */
};

struct try_series {
	const struct try_program *program;
	struct try_arm *arms;
	size_t arm_count;
	size_t rounds;		/* that are complete */
	int status;		/* of plain runs */
	struct try_output output;	/* of the first plain run */
	int output_varies;	/* plain runs differ from each other: not compared */
	int err_varies;
	/* Called before each run; NULL: not. */
	void (*progress)(void *arg, size_t round, size_t rounds,
			 const char *name);
	void *arg;
};

/*
 * Make arms of plain and these settings. 0 or -ENOMEM; free it also then.
 */
int try_series_init(struct try_series *s, const struct try_program *p,
		    const char *const *settings, const char *const *names,
		    size_t count, size_t rounds);
/*
 * A run of each to warm up (two plain ones, which tell whether the output is the
 * same each time), and the rounds. 0, or -errno: a run could not be started, and
 * *what says what failed.
 */
int try_series_run(struct try_series *s, size_t rounds, const char **what);
void try_series_free(struct try_series *s);

/* The gains of change i (an arm of the comparison) against the plain runs, a round each. */
struct try_ratio try_series_ratio(const struct try_series *s, size_t i,
				  enum try_measure m);
/* The median of the rounds. */
double try_series_median(const struct try_series *s, size_t i,
			 enum try_measure m);

#endif

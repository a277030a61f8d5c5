/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What moca try found, as text and as JSON. */
#ifndef MOCA_CLI_TRY_PRINT_H
#define MOCA_CLI_TRY_PRINT_H

#include <stdio.h>

#include "cli/try-plan.h"
#include "try/change.h"
#include "try/series.h"

/* What became of one change, or of all together. */
enum try_result {
	TRY_RESULT_NOT_TRIED,
	TRY_RESULT_DIFFERS,	/* the program did something else */
	TRY_RESULT_QUICKER,
	TRY_RESULT_CPU,		/* takes less CPU time, and no more time */
	TRY_RESULT_SLOWER,
	TRY_RESULT_SAME,
	TRY_RESULT_UNDECIDED,
	TRY_RESULTS
};
/* "quicker": stable, for programs. */
const char *try_result_name(enum try_result r);

enum try_result try_result_of(const struct try_series *s, size_t arm);

/* A change, or all together, and where its figures are; series: NULL if not tried. */
struct try_row {
	const struct try_change *change;
	const struct try_series *series;
	size_t arm;
	enum try_result result;
	size_t runs;		/* with the change, in all */
	int is_repeated;	/* it helped before, in other rounds */
	const struct try_placed *placed;	/* its plan, as runs followed it; NULL */
};

struct try_view {
	const struct try_program *program;
	size_t rounds;
	const struct try_series *series;	/* the first; NULL: nothing was run */
	const struct try_row *rows;
	size_t count;
	const struct try_row *together;	/* NULL: less than two helped */
	int recorded_status;		/* -1: not known */
};

/* What it changes, a few lines. */
void try_print_change(const struct try_change *c);
void try_print_program(const struct try_view *v);
void try_print(const struct try_view *v);
void try_json(FILE *f, const struct try_view *v);

#endif

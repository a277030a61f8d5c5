// SPDX-License-Identifier: GPL-2.0-or-later
#include "try/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "try/change.h"

int try_series_init(struct try_series *s, const struct try_program *p,
		    const char *const *settings, const char *const *names,
		    size_t count, size_t rounds)
{
	size_t i, k;

	*s = (struct try_series){ .program = p };
	s->arms = calloc(count + 1, sizeof(*s->arms));
	if (!s->arms)
		return -ENOMEM;
	s->arm_count = count + 1;
	for (i = 0; i <= count; i++) {
		s->arms[i].name = i ? names[i - 1] : "plain";
		s->arms[i].setting = i ? settings[i - 1] : NULL;
		for (k = 0; k < TRY_MEASURES; k++) {
			s->arms[i].values[k] = calloc(rounds ? rounds : 1,
						      sizeof(double));
			if (!s->arms[i].values[k])
				return -ENOMEM;
		}
	}
	return 0;
}

void try_series_free(struct try_series *s)
{
	size_t i, k;

	for (i = 0; i < s->arm_count; i++)
		for (k = 0; k < TRY_MEASURES; k++)
			free(s->arms[i].values[k]);
	free(s->arms);
	*s = (struct try_series){ 0 };
}

static int run_arm(struct try_series *s, size_t i, struct try_run *out,
		   const char **what)
{
	struct try_program p = *s->program;
	char **env = try_environment(p.env, s->arms[i].setting);
	int err;

	*what = "copy its environment";
	if (!env)
		return -ENOMEM;
	p.env = env;
	err = try_run(&p, out, what);
	try_environment_free(env);
	return err;
}

static void compare(struct try_series *s, struct try_arm *arm,
		    const struct try_run *r)
{
	const struct try_output *a = &s->output, *b = &r->output;

	if (r->status != s->status && !arm->other_status) {
		arm->other_status = 1;
		arm->status = r->status;
	}
	arm->output_open |= r->output_open;
	if (!s->output_varies && (a->bytes != b->bytes || a->hash != b->hash))
		arm->other_output |= TRY_STDOUT;
	if (!s->err_varies &&
	    (a->err_bytes != b->err_bytes || a->err_hash != b->err_hash))
		arm->other_output |= TRY_STDERR;
}

/* Plain runs before the rounds: what the others are compared with. */
static int begin(struct try_series *s, const char **what)
{
	struct try_run first, second;
	int err = run_arm(s, 0, &first, what);

	if (!err)
		err = run_arm(s, 0, &second, what);
	if (err)
		return err;
	s->status = first.status;
	s->output = first.output;
	s->output_varies = first.output.bytes != second.output.bytes ||
			   first.output.hash != second.output.hash;
	s->err_varies = first.output.err_bytes != second.output.err_bytes ||
			first.output.err_hash != second.output.err_hash;
	s->arms[0].status = first.status;
	compare(s, &s->arms[0], &second);
	return 0;
}

/*
 * What plain runs do differently later, after the first two were the same, is no
 * change's doing.
 */
static void look_at_plain(struct try_series *s)
{
	unsigned int varies = s->arms[0].other_output;
	int ends = s->arms[0].other_status;
	size_t i;

	s->output_varies |= (varies & TRY_STDOUT) != 0;
	s->err_varies |= (varies & TRY_STDERR) != 0;
	for (i = 0; i < s->arm_count; i++)
		s->arms[i].other_output &= ~varies;
	for (i = 1; ends && i < s->arm_count; i++)
		s->arms[i].other_status = 0;
}

static void tell(const struct try_series *s, size_t round, size_t rounds,
		 size_t i)
{
	if (s->progress)
		s->progress(s->arg, round, rounds, s->arms[i].name);
}

int try_series_run(struct try_series *s, size_t rounds, const char **what)
{
	struct try_run r;
	size_t i, k, round;
	int err;

	tell(s, 0, rounds, 0);
	err = begin(s, what);
	for (i = 1; !err && i < s->arm_count; i++) {
		tell(s, 0, rounds, i);
		err = run_arm(s, i, &r, what);
		if (!err)
			compare(s, &s->arms[i], &r);
	}
	for (round = 0; !err && round < rounds; round++) {
		for (k = 0; !err && k < s->arm_count; k++) {
			i = (k + round) % s->arm_count;
			tell(s, round + 1, rounds, i);
			err = run_arm(s, i, &r, what);
			if (err)
				break;
			compare(s, &s->arms[i], &r);
			s->arms[i].values[TRY_WALL][round] = r.wall_s;
			s->arms[i].values[TRY_CPU][round] = r.cpu_s;
			s->arms[i].values[TRY_FAULTS][round] = r.faults;
			s->arms[i].values[TRY_PEAK][round] = r.peak_bytes;
		}
		if (!err)
			s->rounds++;
	}
	look_at_plain(s);
	return err;
}

struct try_ratio try_series_ratio(const struct try_series *s, size_t i,
				  enum try_measure m)
{
	return try_ratio_of(s->arms[0].values[m], s->arms[i].values[m],
			    s->rounds);
}

double try_series_median(const struct try_series *s, size_t i,
			 enum try_measure m)
{
	double copy[TRY_ROUNDS_MAX];

	if (!s->rounds)
		return 0;
	memcpy(copy, s->arms[i].values[m], s->rounds * sizeof(*copy));
	return try_median(copy, s->rounds);
}

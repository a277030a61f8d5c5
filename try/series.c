// SPDX-License-Identifier: GPL-2.0-or-later
#include "try/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "try/change.h"

int try_series_init(struct try_series *s, const struct try_program *p,
		    const char *const *settings, const char *const *names,
		    size_t count, size_t rounds)
{
	size_t i, k;

	*s = (struct try_series){ .program = p, .expected = -1 };
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
	enum try_difference d;
	int i;

	if (r->status != s->status && !arm->other_status) {
		arm->other_status = 1;
		arm->status = r->status;
	}
	arm->output_open |= r->output_open;
	for (i = 0; i < TRY_STREAMS; i++) {
		d = try_stream_compare(&s->output[i], &r->output[i]);
		if (d > arm->differs[i])
			arm->differs[i] = d;
	}
}

static int run_next(struct try_series *s, size_t rounds, size_t round,
		    size_t arm, struct try_run *out, const char **what)
{
	s->round = round;
	s->arm = arm;
	if (s->progress)
		s->progress(s, rounds);
	return run_arm(s, arm, out, what);
}

/* Runs before the rounds: plain ones, which the others are compared with, and these. */
static int warm_up(struct try_series *s, size_t rounds, const char **what)
{
	struct try_run r;
	size_t i;
	int err = run_next(s, rounds, 0, 0, &r, what);

	if (err)
		return err;
	s->status = s->arms[0].status = r.status;
	memcpy(s->output, r.output, sizeof(s->output));
	s->said = r.said;
	if (s->expected >= 0 && r.status != s->expected)
		return -EDOM;
	for (i = 0; !err && i < s->arm_count; i++) {
		err = run_next(s, rounds, 0, i, &r, what);
		if (!err)
			compare(s, &s->arms[i], &r);
	}
	return err;
}

/* What plain runs do differently later, too, is no change's doing. */
static void look_at_plain(struct try_series *s)
{
	size_t i;

	for (i = 1; s->arms[0].other_status && i < s->arm_count; i++)
		s->arms[i].other_status = 0;
}

static int run_rounds(struct try_series *s, size_t rounds, const char **what)
{
	uint64_t begin = moca_now_ns();
	size_t i, k, done = 0, all = rounds * s->arm_count;
	struct try_run r;
	int err;

	while (s->rounds < rounds) {
		for (k = 0; k < s->arm_count; k++, done++) {
			i = (k + s->rounds) % s->arm_count;
			err = run_next(s, rounds, s->rounds + 1, i, &r, what);
			if (err)
				return err;
			compare(s, &s->arms[i], &r);
			s->arms[i].values[TRY_WALL][s->rounds] = r.wall_s;
			s->arms[i].values[TRY_CPU][s->rounds] = r.cpu_s;
			s->arms[i].values[TRY_FAULTS][s->rounds] = r.faults;
			s->arms[i].values[TRY_PEAK][s->rounds] = r.peak_bytes;
			s->left_ns = (moca_now_ns() - begin) / (done + 1) *
				     (all - done - 1);
		}
		s->rounds++;
	}
	return 0;
}

int try_series_run(struct try_series *s, size_t rounds, const char **what)
{
	int err = warm_up(s, rounds, what);

	if (!err)
		err = run_rounds(s, rounds, what);
	look_at_plain(s);
	return err;
}

int try_series_differs(const struct try_series *s, size_t i)
{
	int k, differs = 0;

	for (k = 0; k < TRY_STREAMS; k++)
		differs |= s->arms[i].differs[k] > s->arms[0].differs[k];
	return differs;
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

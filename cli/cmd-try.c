// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * moca try: runs the recorded program again, as it is and with what the findings
 * of its trace advise, and says what each change was worth.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/trace.h"
#include "cli/commands.h"
#include "cli/open.h"
#include "cli/try-keep.h"
#include "cli/try-plan.h"
#include "cli/try-print.h"
#include "lib/base/end.h"
#include "lib/base/err.h"
#include "lib/cmdline/nearest.h"
#include "lib/cmdline/options.h"
#include "lib/format/launch.h"
#include "lib/text/text.h"
#include "report/advice.h"

#define ROUNDS 5
#define LONGER 5	/* times as many: a wild run in five changes nothing then */

extern char **environ;

struct try {
	const char *path;	/* of the trace */
	const char *topology;
	const char *input;
	char *input_path;	/* of it, absolute */
	const char *fail_unless;
	uint64_t rounds;
	int all, list, json;
	double gain_min;	/* of --fail-unless; NAN: none */
	char **command;		/* behind --; NULL: the recorded one */
	char **wanted;		/* findings by name or number */
	int wanted_count;
	int recorded_status;
	struct try_changes changes;
	struct moca_launch launch;
	struct try_program program;
	struct try_row *rows;
	struct try_placed *placed;	/* one of each row; the last: together */
	struct try_change together;
	struct try_row together_row;
	/* In this order: all; what helped; what may help; all that helped. */
	struct try_series series, again, longer, second, second_longer;
	sigset_t mask;		/* before we took the signals */
	int stop_fd;		/* that tell us to stop; -1 */
	int stopped_by;		/* the signal; 0 */
};

static const char about[] =
	"Run the recorded program again, as it is and with each change that its trace's findings advise and that needs no source, in turn; say what each was worth, and all that helped together.\n"
	"FINDING is a finding's name or number, as moca summary has it. A command behind -- is run instead of the recorded one.";

/* --- what is to be tried ---------------------------------------------------- */

static int find_changes(struct try *x)
{
	struct advice_view v = { .path = x->path };
	const char *status;
	int err;

	v.trace = trace_open("try", x->path);
	if (!v.trace)
		return EXIT_USAGE;
	status = moca_trace_meta(v.trace, META_EXIT_STATUS);
	x->recorded_status = status ? atoi(status) : -1;
	err = advice_profile("try", x->path, v.trace, x->topology, &v.profile);
	if (!err) {
		err = advice_compute(&v, -1, 0);
		if (!err)
			err = try_changes_of(&x->changes, v.trace, v.advice,
					     v.profile,
					     x->all || x->wanted_count);
		if (err) {
			moca_error("try: cannot read the findings of '%s': %s",
				   x->path, strerror(-err));
			err = 1;
		}
	}
	if (!err)
		trace_warn_damage("try", v.trace, x->path);
	advice_free(&v);
	moca_profile_free(v.profile);
	moca_trace_close(v.trace);
	/* A program's peak memory begins with what its parent has. */
	malloc_trim(0);
	return err;
}

/* By its name or number, or that of a finding that it follows. */
static int is_change(const struct try_change *c, const char *name)
{
	char number[24];
	int kind;

	snprintf(number, sizeof(number), "%zu", c->number);
	for (kind = 0; kind < MOCA_FINDING_KINDS; kind++)
		if (c->kinds >> kind & 1 &&
		    !strcmp(name, moca_finding_id((enum moca_finding_kind)kind)))
			return 1;
	return !strcmp(name, c->id) || !strcmp(name, number);
}

static int is_wanted(const struct try *x, const struct try_change *c)
{
	int k;

	for (k = 0; k < x->wanted_count; k++)
		if (is_change(c, x->wanted[k]))
			return 1;
	return !x->wanted_count;
}

static int check_wanted(const struct try *x)
{
	struct moca_nearest n;
	int k, found;
	size_t i;

	for (k = 0; k < x->wanted_count; k++) {
		moca_nearest_begin(&n, x->wanted[k]);
		for (i = 0, found = 0; i < x->changes.count; i++) {
			moca_nearest_look(&n, x->changes.items[i].id);
			found |= is_change(&x->changes.items[i], x->wanted[k]);
		}
		if (found)
			continue;
		if (n.best[0])
			moca_error("try: '%s' has no finding '%s': did you mean '%s'?",
				   x->path, x->wanted[k], n.best);
		else
			moca_error("try: '%s' has no finding '%s': 'moca try --all --list %s' lists what can be tried",
				   x->path, x->wanted[k], x->path);
		return EXIT_USAGE;
	}
	return 0;
}

/* --- the program ------------------------------------------------------------ */

/*
 * A trace of somebody else's could make us run anything. Nobody else can exchange
 * the file in a directory that is ours, and that only we may write to.
 */
static int is_ours(int dirfd)
{
	struct stat dir, st;

	return !fstat(dirfd, &dir) && dir.st_uid == geteuid() &&
	       !(dir.st_mode & (S_IWGRP | S_IWOTH)) &&
	       !fstatat(dirfd, MOCA_LAUNCH_NAME, &st, AT_SYMLINK_NOFOLLOW) &&
	       st.st_uid == geteuid();
}

static int read_launch(struct try *x)
{
	int fd = open(x->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (fd < 0) {
		moca_error("try: cannot read '%s': %s", x->path,
			   strerror(errno));
		return EXIT_USAGE;
	}
	err = moca_launch_read(&x->launch, fd);
	if (!err && !is_ours(fd)) {
		moca_launch_free(&x->launch);
		err = -EACCES;
	}
	close(fd);
	if (!err || x->command)
		return 0;
	if (err == -ENOENT)
		moca_error("try: '%s' does not say how its program was started (it was attached to, or recorded by an older Moca): give the command behind --",
			   x->path);
	else if (err == -EACCES)
		moca_error("try: '%s' is of another user, or others may write to it: its command is not run; give one behind --",
			   x->path);
	else
		moca_error("try: cannot read how the program of '%s' was started: %s; 'moca check %s' says more, or give the command behind --",
			   x->path, err == -EBADMSG ? "its file launch is damaged" :
			   strerror(-err), x->path);
	return EXIT_USAGE;
}

static int settle_input(struct try *x)
{
	const struct moca_launch *l = &x->launch;

	if (x->input) {
		x->input_path = realpath(x->input, NULL);
		if (!x->input_path) {
			moca_error("try: cannot read the standard input '%s': %s",
				   x->input, strerror(errno));
			return EXIT_USAGE;
		}
		x->program.input = x->input_path;
	} else if (!l->argv || (l->input == MOCA_LAUNCH_OTHER && x->command)) {
		x->program.input = "/dev/null";
	} else if (l->input == MOCA_LAUNCH_OTHER &&
		   strcmp(l->input_name, "a terminal")) {
		moca_error("try: the program's standard input was %s, which cannot be read again: give a file with --input (or --input /dev/null)",
			   l->input_name);
		return EXIT_USAGE;
	} else if (l->input == MOCA_LAUNCH_OTHER) {
		x->program.input = "/dev/null";
	} else if (l->input == MOCA_LAUNCH_FILE) {
		x->program.input = l->input_name;
		x->program.input_offset = l->input_offset;
	}
	return 0;
}

/* A launcher of ranks tells each of them what it is, and how to meet the others. */
static int is_launchers(const char *variable)
{
	static const char *const prefixes[] = { "OMPI_", "PMIX_", "PMI_",
						"PRTE_", "MPI_LOCAL",
						"HYDI_", "HYDRA_" };
	size_t i;

	for (i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(variable, prefixes[i], strlen(prefixes[i])))
			return 1;
	return 0;
}

/* Of a rank the launcher is gone: neither can it run alone, nor start another. */
static int leave_job(struct try *x)
{
	size_t i, k = 0, n = 0;

	for (i = 0; x->launch.env && x->launch.env[i]; i++)
		n += is_launchers(x->launch.env[i]);
	if (!n)
		return 0;
	if (!x->command) {
		moca_error("try: '%s' is of one rank of a job, which does not run without the others: give the whole command behind --, as in: moca try %s -- mpirun -n 4 ./program",
			   x->path, x->path);
		return EXIT_USAGE;
	}
	for (i = 0; x->launch.env[i]; i++)
		if (!is_launchers(x->launch.env[i]))
			x->launch.env[k++] = x->launch.env[i];
	x->launch.env[k] = NULL;
	return 0;
}

static int settle_program(struct try *x)
{
	int err = read_launch(x);

	/* The program begins with it ignored, if we did; but we wait for it. */
	x->program.ignores_children = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
	if (!err)
		err = leave_job(x);
	if (err)
		return err;
	if (x->launch.env_left_out && !x->command)
		moca_warn("try: the environment of the recording was not kept: this one's is taken");
	x->program.stop_fd = -1;
	x->program.argv = x->command ? x->command : x->launch.argv;
	x->program.env = x->launch.argv && !x->launch.env_left_out ?
				 x->launch.env : environ;
	x->program.dir = x->launch.dir;
	return settle_input(x);
}

/* --- the runs --------------------------------------------------------------- */

/* The run that goes on is ended, and what it started; not who left it before that. */
static int take_signals(struct try *x)
{
	const int all[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction now;
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		/* What nohup and `&` have us ignore, we ignore. */
		if (!sigaction(all[i], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaddset(&set, all[i]);
	x->stop_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (x->stop_fd < 0) {
		moca_error("try: cannot wait for signals: %s", strerror(errno));
		return 1;
	}
	sigprocmask(SIG_BLOCK, &set, &x->mask);
	x->program.stop_fd = x->stop_fd;
	x->program.mask = &x->mask;
	return 0;
}

static void say_stopped(struct try *x, const struct try_series *s,
			size_t rounds)
{
	struct signalfd_siginfo info = { .ssi_signo = SIGTERM };
	char where[64] = "the warm-up";

	if (read(x->stop_fd, &info, sizeof(info)) != sizeof(info))
		info.ssi_signo = SIGTERM;
	x->stopped_by = (int)info.ssi_signo;
	if (s->round)
		snprintf(where, sizeof(where), "round %zu of %zu", s->round,
			 rounds);
	moca_error("try: stopped by a signal (%s) in %s, in a run of '%s': the program was ended, and nothing that was measured is kept",
		   strsignal(x->stopped_by), where, s->arms[s->arm].name);
}

static void say_status(char *buf, size_t size, int status)
{
	if (WIFSIGNALED(status))
		snprintf(buf, size, "by a signal (%s)",
			 strsignal(WTERMSIG(status)));
	else
		snprintf(buf, size, "with exit code %d", WEXITSTATUS(status));
}

static void say_other_end(const struct try *x, const struct try_series *s)
{
	char then[80], now[80], line[TRY_TAIL + 1];
	const char *said = try_tail_line(&s->said, line);

	say_status(then, sizeof(then), s->expected);
	say_status(now, sizeof(now), s->status);
	moca_error("try: '%s' ended %s when it was recorded, and ends %s now%s%s%s: it does not do the same again. Its output goes to a pipe, its standard input is %s, and files that it made may be there: see why, or give a command behind -- that can be repeated",
		   x->program.argv[0], then, now, *said ? " ('" : "", said,
		   *said ? "')" : "",
		   x->program.input ? x->program.input : "closed");
}

/* Somebody ended it: of itself it may end in another way. */
static int was_stopped(int status)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT,
				       SIGKILL };
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (status >= 0 && WIFSIGNALED(status) &&
		    WTERMSIG(status) == signals[i])
			return 1;
	return 0;
}

static void say_not_run(const struct try *x, const char *what, int err)
{
	const char *name = what == try_step_directory ? x->program.dir :
			   what == try_step_input ? x->program.input : NULL;

	moca_error("try: cannot run '%s': cannot %s%s%s%s: %s%s",
		   x->program.argv[0], what, name ? " '" : "",
		   name ? name : "", name ? "'" : "", strerror(-err),
		   what == try_step_input ? "; --input gives another one" : "");
}

static void show_progress(const struct try_series *s, size_t rounds)
{
	char left[TEXT_MAX];

	if (s->round)
		fprintf(stderr, "\r\033[Kmoca: round %zu of %zu: %s", s->round,
			rounds, s->arms[s->arm].name);
	else
		fprintf(stderr, "\r\033[Kmoca: warm-up: %s",
			s->arms[s->arm].name);
	if (s->left_ns)
		fprintf(stderr, ", %s left",
			text_duration(left, s->left_ns));
}

static int run(struct try *x, struct try_series *s, size_t rounds,
	       const char *const *settings, const char *const *ids, size_t count)
{
	const char *what = "get memory for the results";
	int err = try_series_init(s, &x->program, settings, ids, count, rounds);

	if (isatty(STDERR_FILENO))
		s->progress = show_progress;
	if (!x->command && s == &x->series &&
	    !was_stopped(x->recorded_status))
		s->expected = x->recorded_status;
	if (!err)
		err = try_series_run(s, rounds, &what);
	if (s->progress)
		fputs("\r\033[K", stderr);
	if (err == -ECANCELED)
		say_stopped(x, s, rounds);
	else if (err == -EDOM)
		say_other_end(x, s);
	else if (err)
		say_not_run(x, what, err);
	return err ? 1 : 0;
}

static int is_tried(const struct try *x, size_t i)
{
	return !x->changes.items[i].why_not &&
	       is_wanted(x, &x->changes.items[i]);
}

/* What the program gets in its environment, in *setting; NULL: it is not tried. */
static int prepare(struct try *x, size_t i, const char **setting)
{
	struct try_change *c = &x->changes.items[i];
	int err;

	*setting = c->setting;
	if (!c->plan_text)
		return 0;
	err = try_placed_make(&x->placed[i], c, &x->program, &c->why_not);
	*setting = x->placed[i].setting;
	return err;
}

/* A plan that matched nothing was not tried. */
static int look_at_plan(struct try *x, size_t i)
{
	struct try_row *r = &x->rows[i];
	uint64_t blocks, bytes;
	char text[1024];

	if (!x->changes.items[i].plan_text)
		return 0;
	try_placed_matched(&x->placed[i], &blocks, &bytes);
	r->placed = &x->placed[i];
	if (blocks)
		return 0;
	if (!try_placed_complaint(&x->placed[i], text, sizeof(text)))
		snprintf(text, sizeof(text), "the plan matched nothing");
	x->changes.items[i].why_not = strdup(text);
	r->series = NULL;
	r->result = TRY_RESULT_NOT_TRIED;
	return x->changes.items[i].why_not ? 0 : -ENOMEM;
}

static int run_all(struct try *x)
{
	const char *settings[TRY_CHANGES_MAX], *ids[TRY_CHANGES_MAX], *setting;
	size_t i, n = 0;
	int err;

	for (i = 0; i < x->changes.count; i++) {
		if (is_wanted(x, &x->changes.items[i]))
			x->rows[i].change = &x->changes.items[i];
		if (!is_tried(x, i))
			continue;
		if (n == TRY_CHANGES_MAX) {
			x->changes.items[i].why_not =
				strdup("there are too many changes; name it");
			continue;
		}
		err = prepare(x, i, &setting);
		if (err)
			return err;
		if (!setting)
			continue;
		settings[n] = setting;
		ids[n++] = x->changes.items[i].id;
		x->rows[i].arm = n;
	}
	if (!n)
		return 0;
	err = run(x, &x->series, x->rounds, settings, ids, n);
	for (i = 0; !err && i < x->changes.count; i++)
		if (x->rows[i].arm) {
			x->rows[i].series = &x->series;
			/* And one to warm up. */
			x->rows[i].runs = x->series.rounds + 1;
			x->rows[i].result = try_result_of(&x->series,
							  x->rows[i].arm);
			if (look_at_plan(x, i)) {
				moca_error("try: out of memory");
				err = 1;
			}
		}
	return err;
}

static int has_helped(const struct try_row *r)
{
	return r->result == TRY_RESULT_QUICKER || r->result == TRY_RESULT_CPU;
}

/* Not decided, and more than half of the pairs are quicker. */
static int may_help(const struct try_row *r)
{
	struct try_ratio wall, cpu;

	if (!r->series || r->result != TRY_RESULT_UNDECIDED)
		return 0;
	wall = try_series_ratio(r->series, r->arm, TRY_WALL);
	cpu = try_series_ratio(r->series, r->arm, TRY_CPU);
	return try_ratio_promises(&wall) || try_ratio_promises(&cpu);
}

/* These changes once more, in a series of its own: what is told is of that one. */
static int repeat(struct try *x, struct try_series *s, size_t rounds,
		  int (*is_meant)(const struct try_row *r))
{
	const char *settings[TRY_CHANGES_MAX], *ids[TRY_CHANGES_MAX];
	struct try_row *rows[TRY_CHANGES_MAX], *r;
	size_t i, n = 0;
	int err;

	for (i = 0; i < x->changes.count && n < TRY_CHANGES_MAX; i++) {
		r = &x->rows[i];
		if (!is_meant(r))
			continue;
		rows[n] = r;
		settings[n] = r->series->arms[r->arm].setting;
		ids[n++] = r->change->id;
	}
	if (!n)
		return 0;
	err = run(x, s, rounds, settings, ids, n);
	for (i = 0; !err && i < n; i++) {
		r = rows[i];
		r->runs += s->rounds + 1;
		r->is_repeated |= has_helped(r);
		r->series = s;
		r->arm = i + 1;
		r->result = try_result_of(s, r->arm);
	}
	return err;
}

static size_t more_rounds(const struct try *x)
{
	size_t n = LONGER * x->rounds;

	return n > TRY_ROUNDS_MAX ? TRY_ROUNDS_MAX : n;
}

/*
 * What helped has to help again, in as many new rounds: of a dozen changes one may
 * seem to by chance. What may help, a few wild runs hide: it has more new rounds.
 * What is told then is of these rounds, which nobody chose.
 */
static int confirm(struct try *x)
{
	int err = repeat(x, &x->again, x->rounds, has_helped);

	return err ? err : repeat(x, &x->longer, more_rounds(x), may_help);
}

/* "old between new", in old's place. 0 or -ENOMEM. */
static int append(char **old, const char *between, const char *new)
{
	char *more;

	if (asprintf(&more, "%s%s%s", *old ? *old : "", *old ? between : "",
		     new) < 0)
		more = NULL;
	free(*old);
	*old = more;
	return more ? 0 : -ENOMEM;
}

/* All that helped as one change; how many these are, or -ENOMEM. */
static int join_changes(struct try *x)
{
	struct try_change *t = &x->together;
	size_t i;
	int n = 0;

	*t = (struct try_change){ .id = "together", .predicted = NAN };
	for (i = 0; i < x->changes.count; i++) {
		const struct try_change *c = &x->changes.items[i];

		if (!has_helped(&x->rows[i]))
			continue;
		n++;
		t->kinds |= c->kinds;
		if (append(&t->title, ", ", c->id) ||
		    (c->setting && append(&t->setting, " ", c->setting)) ||
		    try_plan_merge(&t->plan, &c->plan))
			return -ENOMEM;
	}
	if (t->plan.count)
		t->plan_text = try_plan_text(&t->plan);
	return t->plan.count && !t->plan_text ? -ENOMEM : n;
}

/* All that helped, in rounds of its own. */
static int run_joined(struct try *x, const char *setting, struct try_series *s,
		      size_t rounds)
{
	struct try_row *r = &x->together_row;
	int err = run(x, s, rounds, &setting, &x->together.id, 1);

	if (err)
		return err;
	r->series = s;
	r->arm = 1;
	r->result = try_result_of(s, 1);
	r->runs += s->rounds + 1;
	return 0;
}

/* Where two or more changes helped: all of them at once. */
static int run_together(struct try *x)
{
	struct try_placed *placed = &x->placed[x->changes.count];
	struct try_change *t = &x->together;
	const char *setting;
	int n = join_changes(x), err = 0;
	char *joined;

	if (n < 2 && n >= 0)
		return 0;
	if (n > 0 && t->plan_text)
		err = try_placed_make(placed, t, &x->program, &t->why_not);
	if (err)
		return err;
	x->together_row = (struct try_row){
		.change = t, .placed = t->plan_text ? placed : NULL,
	};
	setting = t->plan_text && n > 0 ? placed->setting : t->setting;
	if (n > 0)
		err = run_joined(x, setting, &x->second, x->rounds);
	if (!err && may_help(&x->together_row))
		err = run_joined(x, setting, &x->second_longer,
				 more_rounds(x));
	if (!err && n > 0 && t->setting) {
		/* As one would type it: of a variable that is set twice the
		   last counts. */
		joined = try_setting_joined(x->program.env, t->setting);
		free(t->setting);
		t->setting = joined;
		n = joined ? n : -ENOMEM;
	}
	if (n < 0) {
		moca_error("try: out of memory");
		return 1;
	}
	return err;
}

/* Exit code 1: no change is worth as much as --fail-unless wants. */
static int judge(const struct try *x)
{
	double best = 0, gain;
	size_t i;

	if (isnan(x->gain_min))
		return 0;
	for (i = 0; x->rows && i <= x->changes.count; i++) {
		const struct try_row *r = i < x->changes.count ?
					  &x->rows[i] : &x->together_row;

		if (!r->series || r->result != TRY_RESULT_QUICKER)
			continue;
		gain = 1 - try_series_ratio(r->series, r->arm, TRY_WALL).mean;
		best = gain > best ? gain : best;
	}
	if (best > x->gain_min)
		return 0;
	moca_say("FAILED %s: the best change spares %.1f %% of the time",
		 x->fail_unless, 100 * best);
	return 1;
}

static void list(const struct try *x)
{
	size_t i;

	for (i = 0; i < x->changes.count; i++) {
		const struct try_change *c = &x->changes.items[i];

		if (!is_wanted(x, c))
			continue;
		printf("%zu. %s%s", c->number, c->id, *c->title ? ": " : "");
		text_name(stdout, c->title, 0);
		putchar('\n');
		if (c->why_not) {
			fputs("   cannot be tried: ", stdout);
			text_name(stdout, c->why_not, 0);
			putchar('\n');
		} else {
			try_print_change(c);
		}
	}
}

static int try_all(struct try *x)
{
	struct try_view v = { .program = &x->program, .rounds = x->rounds,
			      .recorded_status = x->recorded_status };
	size_t i;
	int err;

	x->rows = calloc(x->changes.count, sizeof(*x->rows));
	x->placed = calloc(x->changes.count + 1, sizeof(*x->placed));
	for (i = 0; x->placed && i <= x->changes.count; i++)
		x->placed[i].setup.fd = -1;
	if (!x->rows || !x->placed) {
		moca_error("try: out of memory");
		return 1;
	}
	err = settle_program(x);
	if (!err)
		err = take_signals(x);
	if (err)
		return err;
	v.rows = x->rows;
	v.count = x->changes.count;
	if (!x->json)
		try_print_program(&v);
	err = run_all(x);
	if (!err)
		err = confirm(x);
	if (!err)
		err = run_together(x);
	if (err)
		return err;
	v.series = x->series.rounds ? &x->series : NULL;
	v.together = x->together_row.series ? &x->together_row : NULL;
	try_keep(&v, x->path, x->command);
	if (x->json)
		try_json(stdout, &v);
	else
		try_print(&v);
	return judge(x);
}

static int nothing_to_try(const struct try *x)
{
	size_t i;

	for (i = 0; i < x->changes.count; i++)
		if (is_tried(x, i))
			return 0;
	if (x->json)
		return 0;
	for (i = 0; x->wanted_count && i < x->changes.count; i++)
		if (is_wanted(x, &x->changes.items[i]))
			moca_say("'%s' cannot be tried: %s",
				 x->changes.items[i].id,
				 x->changes.items[i].why_not);
	if (x->wanted_count)
		return 1;
	moca_say("no finding of '%s' can be tried without the program's source; 'moca try --all %s' tries what helps many programs",
		 x->path, x->path);
	return 1;
}

/* --- the command line ------------------------------------------------------- */

/* ">5%", "5%" */
static int parse_condition(struct try *x)
{
	const char *s = x->fail_unless;

	x->gain_min = NAN;
	if (!s)
		return 0;
	if (!moca_parse_percent(s + (*s == '>'), &x->gain_min) &&
	    x->gain_min >= 0 && x->gain_min < 1)
		return 0;
	moca_error("try: '--fail-unless %s' is not a share of the time that a change shall spare: '>5%%' for instance",
		   s);
	return EXIT_USAGE;
}

/* What stands behind --, before the options are parsed. */
static int split(struct try *x, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		;
	if (i == argc)
		return argc;
	x->command = argv + i + 1;
	argv[i] = NULL;
	return i;
}

static void try_free(struct try *x)
{
	size_t i;

	for (i = 0; x->placed && i <= x->changes.count; i++)
		try_placed_free(&x->placed[i]);
	free(x->placed);
	try_series_free(&x->series);
	try_series_free(&x->again);
	try_series_free(&x->longer);
	try_series_free(&x->second);
	try_series_free(&x->second_longer);
	if (x->stop_fd >= 0) {
		close(x->stop_fd);
		sigprocmask(SIG_SETMASK, &x->mask, NULL);
	}
	try_changes_free(&x->changes);
	if (x->launch.meta)
		moca_launch_free(&x->launch);
	free(x->input_path);
	free(x->together.title);
	free(x->together.setting);
	free(x->together.plan_text);
	free(x->together.why_not);
	try_plan_free(&x->together.plan);
	free(x->rows);
}

int cmd_try(int argc, char **argv)
{
	struct try x = { .rounds = ROUNDS, .stop_fd = -1 };
	const struct option_spec specs[] = {
		OPT_UINT('n', "rounds", &x.rounds, "N", "runs of each, in turn, after a warm-up (5)"),
		OPT_FLAG(0, "all", &x.all, "try also what helps many programs, without a finding"),
		OPT_FLAG(0, "list", &x.list, "list what can be tried, and run nothing"),
		OPT_STRING(0, "input", &x.input, "FILE", "the program's standard input"),
		OPT_STRING(0, "topology", &x.topology, "MACHINE", "findings as if on this machine, as moca summary has it"),
		OPT_STRING(0, "fail-unless", &x.fail_unless, "GAIN", "exit code 1 unless a change spares more of the time: '>5%'"),
		OPT_FLAG(0, "json", &x.json, "print JSON for programs"),
		OPT_END
	};
	int first, ret;

	argc = split(&x, argc, argv);
	first = moca_options_parse_mixed(specs, argc, argv,
					 "moca try [OPTIONS] DIR [FINDING...] [-- COMMAND ARGUMENTS]",
					 about);
	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	if (parse_condition(&x))
		return EXIT_USAGE;
	if (x.rounds < TRY_PAIRS_MIN || x.rounds > TRY_ROUNDS_MAX) {
		moca_error("try: '-n %lu' is not a number of rounds from %d to %d",
			   (unsigned long)x.rounds, TRY_PAIRS_MIN, TRY_ROUNDS_MAX);
		return EXIT_USAGE;
	}
	if (x.list && x.json) {
		moca_error("try: --list and --json do not go together: --json runs the program");
		return EXIT_USAGE;
	}
	if (x.command && !x.command[0]) {
		moca_error("try: there is no command behind --");
		return EXIT_USAGE;
	}
	x.path = trace_operand(first < argc ? first + 1 : argc, argv, first);
	if (!x.path)
		return EXIT_USAGE;
	x.wanted = argv + first + 1;
	x.wanted_count = argc - first - 1;
	ret = find_changes(&x);
	if (!ret)
		ret = check_wanted(&x);
	if (!ret) {
		if (x.list && x.changes.count)
			list(&x);
		else if (!nothing_to_try(&x))
			ret = try_all(&x);
		else
			ret = judge(&x);
	}
	try_free(&x);
	return x.stopped_by ? moca_end_by(x.stopped_by) : ret;
}

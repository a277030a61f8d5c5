// SPDX-License-Identifier: GPL-2.0-or-later
/* moca place: a program with a plan for its memory, and nothing recorded. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/place-agent.h"
#include "collect/run/loads.h"
#include "collect/run/target.h"
#include "lib/base/end.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"
#include "place/setup.h"

static const char usage[] = "moca place --plan FILE [OPTIONS] [--] COMMAND [ARGUMENTS]";
static const char about[] =
	"Run COMMAND with a plan for its memory: huge pages, padding, nodes and prefaulting of what named sites allocate, and of named variables. Nothing is recorded. At the end, what of the plan did not match is said; the exit code is COMMAND's.";

/* --- the program ------------------------------------------------------------ */

/* Signals that are the program's; we wait for its end. */
static const int passed_on[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
static volatile sig_atomic_t child;

static void pass_on(int sig)
{
	if (child > 0)
		kill(child, sig);
}

/* What the terminal sends, the program gets itself. */
static void take_signals(void)
{
	struct sigaction pass = { .sa_handler = pass_on, .sa_flags = SA_RESTART };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, now;
	size_t i;

	sigaction(SIGINT, &ignore, NULL);
	sigaction(SIGQUIT, &ignore, NULL);
	for (i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
		if (!sigaction(passed_on[i], NULL, &now) &&
		    now.sa_handler != SIG_IGN)
			sigaction(passed_on[i], &pass, NULL);
}

static void begin_program(char **argv, int report,
			  const sigset_t *mask)
{
	int err;

	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	err = errno;
	if (write(report, &err, sizeof(err)) < 0)
		_exit(EXIT_RECORD);
	_exit(err == ENOENT ? 127 : 126);
}

/* The program's status as of wait(2), or -errno. */
static int run_program(char **argv)
{
	int report[2], error = 0, status;
	sigset_t all, mask;
	pid_t pid;
	/* Ignored, no child would be there to be waited for. */
	void (*ignored)(int) = signal(SIGCHLD, SIG_DFL);

	if (pipe2(report, O_CLOEXEC))
		return -errno;
	/* None gets lost between fork and the handlers. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	pid = fork();
	if (!pid) {
		signal(SIGCHLD, ignored);
		begin_program(argv, report[1], &mask);
	}
	close(report[1]);
	if (pid < 0) {
		error = errno;
		close(report[0]);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		return -error;
	}
	child = pid;
	take_signals();
	sigprocmask(SIG_SETMASK, &mask, NULL);
	/* Closed by exec; else it says why not. */
	while (read(report[0], &error, sizeof(error)) < 0 && errno == EINTR)
		;
	close(report[0]);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	child = 0;
	if (!error)
		return status;
	moca_error("place: cannot execute '%s': %s", argv[0], strerror(error));
	return status;
}

/* --- what came of it --------------------------------------------------------- */

static void tell(const struct place_setup *s, FILE *report, const char *path)
{
	char text[1024];
	size_t i;
	int failed;

	for (i = 0; place_complaint(s, i, text, sizeof(text)); i++) {
		if (report)
			fprintf(report, "%s\n", text);
		else
			moca_say("place: %s", text);
	}
	if (!report)
		return;
	place_report(report, s);
	failed = ferror(report);
	if (fclose(report) || failed)
		moca_error("place: cannot write the report '%s': %s", path,
			   strerror(errno));
}

/* 0, or an exit code after a message. */
static int prepare(struct place_setup *s, const struct place_plan *plan,
		   const char *program)
{
	const char *refusal = loads_refusal(program);
	int err;

	if (refusal) {
		moca_error("place: '%s' would not load libmoca-place.so: %s; run it without a plan",
			   program, refusal);
		return EXIT_RECORD;
	}
	err = place_setup_make(s, plan, program);
	if (err == -E2BIG)
		moca_error("place: the plan is of more than %d files, or pieces of code: name lines in place of functions, or fewer",
			   MOCA_PLACE_MAX);
	else if (err)
		moca_error("place: cannot prepare the plan for '%s': %s", program,
			   strerror(-err));
	return err ? EXIT_RECORD : 0;
}

static int read_plan(struct place_plan *plan, const char *path)
{
	struct place_problem p = { 0 };
	int err = place_plan_read(plan, path, &p);

	if (err == -EINVAL && p.line)
		moca_error("place: %s:%u: %s", path, p.line, p.text);
	else if (err == -EINVAL)
		moca_error("place: %s: %s", path, p.text);
	else if (err)
		moca_error("place: cannot read the plan '%s': %s", path,
			   strerror(-err));
	return err ? EXIT_RECORD : 0;
}

static int place(const struct place_plan *plan, const char *report_path,
		 char **argv)
{
	char program[PATH_MAX];
	struct place_setup s = { .fd = -1 };
	FILE *report = NULL;
	struct stat st;
	int ret = target_find(argv[0], program, sizeof(program)), status;

	if (ret) {
		moca_error("place: cannot execute '%s': %s", argv[0],
			   ret == -ENOENT && !strchr(argv[0], '/') ?
				   "there is no such program in PATH" :
				   strerror(-ret));
		return ret == -ENOENT ? 127 : 126;
	}
	if (!stat(program, &st) && S_ISDIR(st.st_mode)) {
		moca_error("place: cannot execute '%s': it is a directory",
			   argv[0]);
		return 126;
	}
	ret = prepare(&s, plan, program);
	if (!ret && report_path) {
		report = fopen(report_path, "we");
		if (!report) {
			moca_error("place: cannot write the report '%s': %s",
				   report_path, strerror(errno));
			ret = EXIT_RECORD;
		}
	}
	if (!ret)
		ret = place_agent_environment(s.fd);
	if (!ret) {
		status = run_program(argv);
		if (status < 0) {
			moca_error("place: cannot start '%s': %s", argv[0],
				   strerror(-status));
			ret = EXIT_RECORD;
		} else {
			tell(&s, report, report_path);
			report = NULL;
			ret = WIFSIGNALED(status) ?
				      moca_end_by(WTERMSIG(status)) :
				      WEXITSTATUS(status);
		}
	}
	if (report)
		fclose(report);
	place_setup_free(&s);
	return ret;
}

int cmd_place(int argc, char **argv)
{
	const char *path = NULL, *report = NULL;
	const struct option_spec specs[] = {
		OPT_STRING('p', "plan", &path, "FILE", "the plan (moca-place(1) says what it may have)"),
		OPT_STRING(0, "report", &report, "FILE", "write there what was done, in place of messages of what was not"),
		OPT_END
	};
	struct place_plan plan = { 0 };
	int first = moca_options_parse(specs, argc, argv, usage, about), ret;

	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_RECORD;
	if (!path) {
		moca_error("place: there is no plan: give --plan FILE");
		return EXIT_RECORD;
	}
	if (first >= argc) {
		moca_error("place: there is no command to run: moca place --plan %s -- PROGRAM",
			   path);
		return EXIT_RECORD;
	}
	ret = read_plan(&plan, path);
	if (!ret)
		ret = place(&plan, report, argv + first);
	place_plan_free(&plan);
	return ret;
}

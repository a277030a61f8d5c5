// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/record-live.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"

#define ARGS_MORE 32
#define LOOK_MS 20
#define PATIENCE_NS 5000000000ull
#define SAME_SIGNAL_NS 1000000000ull
#define WITNESS_MS 50
#define WITNESS_LOOKS 10

/* --- signals ---------------------------------------------------------------- */

static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
static struct sigaction was[3];	/* of these: what the program is to inherit */
static volatile sig_atomic_t got_signal, which_signal;

/* Whoever signals again does not wait for a reader that never reads. */
static void on_signal(int sig)
{
	const struct sigaction again = { .sa_handler = on_signal };

	if (!got_signal)
		which_signal = sig;
	else
		sigaction(sig, &again, NULL);
	got_signal = got_signal + 1;
}

void record_live_signals(void)
{
	/* A terminal that is slow to read gets all of what is written to it. */
	const struct sigaction sa = { .sa_handler = on_signal,
				      .sa_flags = SA_RESTART };

	for (int i = 0; i < 3; i++) {
		sigaction(ends[i], NULL, &was[i]);
		if (was[i].sa_handler != SIG_IGN)
			sigaction(ends[i], &sa, NULL);
	}
}

int record_live_signalled(void)
{
	return got_signal;
}

void record_live_as_found(void)
{
	for (int i = 0; i < 3; i++)
		sigaction(ends[i], &was[i], NULL);
}

/* --- the witness ------------------------------------------------------------ */

/*
 * ^C is for all processes of the terminal's group, and a program that got it ends by
 * itself; `kill` may be for us alone. A process of our group that blocks signals tells
 * which it was: of it a signal to the group is pending.
 */
static void start_witness(struct record_live *r)
{
	pid_t parent = getpid();
	sigset_t all, before;

	/* None is taken before it blocks them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r->witness = fork();
	if (r->witness < 0)
		r->witness = 0;
	if (r->witness || getpid() == parent) {
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		return;
	}
	for (int i = 0; i < 3; i++)
		signal(ends[i], SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close_range(0, ~0u, 0);
	while (getppid() == parent)
		pause();
	_exit(0);
}

static int is_pending(pid_t pid, int sig)
{
	unsigned long long set = 0;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "ShdPnd: %llx", &set) == 1)
			break;
	if (f)
		fclose(f);
	return set >> (sig - 1) & 1;
}

/* Whether the signal that we got went to the program as well. */
static int is_of_group(const struct record_live *r)
{
	int i;

	/* Some, as timeout(1), send it to us first, and to the group behind that. */
	for (i = 0; which_signal && r->witness && i < WITNESS_LOOKS; i++) {
		if (is_pending(r->witness, which_signal))
			return 1;
		poll(NULL, 0, WITNESS_MS);
	}
	return 0;
}

static void end_witness(struct record_live *r)
{
	if (!r->witness)
		return;
	kill(r->witness, SIGKILL);
	while (waitpid(r->witness, NULL, 0) < 0 && errno == EINTR)
		;
	r->witness = 0;
}

/* --- the recorder ----------------------------------------------------------- */

/* What the recorder is to be told; the strings are static, r's or argv's. */
static char **args_of(const struct record_live *r, char **argv, int argc)
{
	static char pid[24], size[24], interval[40];
	char **list = calloc((size_t)argc + ARGS_MORE, sizeof(*list));
	size_t n = 0;

	if (!list)
		return NULL;
#define ADD(s) (list[n++] = (char *)(uintptr_t)(s))
	ADD("moca");
	ADD("record");
	ADD("-q");
	ADD("--no-summary");
	ADD("--no-ranks");
	ADD("-o");
	ADD(r->trace);
	ADD("--sample");
	ADD(r->sample ? r->sample : r->interval_ns ? "1" : "auto");
	snprintf(size, sizeof(size), "%llu", (unsigned long long)r->max_size);
	ADD("--max-size");
	ADD(size);
	if (r->interval_ns) {
		snprintf(interval, sizeof(interval), "%lluus",
			 (unsigned long long)r->interval_ns / 1000);
		ADD("--interval");
		ADD(interval);
	}
	if (r->budget) {
		ADD("--budget");
		ADD(r->budget);
	}
	if (r->stacks)
		ADD("--stacks");
	if (r->pid) {
		snprintf(pid, sizeof(pid), "%llu", (unsigned long long)r->pid);
		ADD("-p");
		ADD(pid);
		return list;
	}
	if (r->out) {
		ADD("--program-stdout");
		ADD(r->out);
	}
	if (r->err) {
		ADD("--program-stderr");
		ADD(r->err);
	}
	ADD("--");
#undef ADD
	memcpy(list + n, argv, (size_t)argc * sizeof(*argv));
	return list;
}

void record_live_become(const char *command, char **args, int if_we_die,
			pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, if_we_die);
	/* Who died before that is not told of. */
	if (getppid() != parent)
		_exit(EXIT_RECORD);
	record_live_as_found();
	execv("/proc/self/exe", args);
	moca_error("%s: cannot start 'moca %s': %s", command, args[1],
		   strerror(errno));
	_exit(EXIT_RECORD);
}

/* As it is told to end. Attached to: it is left. */
static int end_of(const struct record_live *r)
{
	return r->pid ? SIGINT : SIGTERM;
}

int record_live_start(struct record_live *r, char **argv, int argc,
		      void (*prepare)(void *), void *arg)
{
	char **args = args_of(r, argv, argc);
	pid_t us = getpid();

	if (!args) {
		moca_error("%s: out of memory", r->command);
		return -ENOMEM;
	}
	fflush(NULL);
	if (!r->pid)
		start_witness(r);
	r->recorder = fork();
	if (!r->recorder) {
		if (prepare)
			prepare(arg);
		record_live_become(r->command, args, end_of(r), us);
	}
	free(args);
	if (r->recorder < 0) {
		moca_error("%s: cannot start the recorder: %s", r->command,
			   strerror(errno));
		r->recorder = 0;
		end_witness(r);
		return -EAGAIN;
	}
	return 0;
}

int record_live_has_ended(struct record_live *r)
{
	pid_t pid = r->recorder ? waitpid(r->recorder, &r->status, WNOHANG) : 0;

	/* ECHILD: SIGCHLD is ignored. */
	if (pid == r->recorder || (pid < 0 && errno == ECHILD))
		r->recorder = 0;
	return !r->recorder;
}

static void tell(const struct record_live *r)
{
	kill(r->recorder, end_of(r));
}

static void say_waits(const struct record_live *r, int by_itself)
{
	if (r->pid)
		moca_warn("%s: waiting for the recorder of %s, which was told to leave it",
			  r->command, r->what);
	else if (by_itself)
		moca_warn("%s: waiting for %s, which got signal %d (%s) as well; another ^C tells it to end by SIGTERM",
			  r->command, r->what, (int)which_signal,
			  strsignal(which_signal));
	else
		moca_warn("%s: waiting for %s, which was told to end by SIGTERM; moca %s killed by SIGKILL leaves it to itself",
			  r->command, r->what, r->command);
}

static void wait_for_end(struct record_live *r)
{
	uint64_t began = moca_now_ns(), told = began;
	int by_itself = is_of_group(r), seen, said = 0;

	if (!by_itself)
		tell(r);
	seen = got_signal;
	while (!record_live_has_ended(r)) {
		/* One ^C may come twice. */
		if (moca_now_ns() < began + SAME_SIGNAL_NS) {
			seen = got_signal;
		} else if (got_signal != seen) {
			seen = got_signal;
			by_itself = said = 0;
			told = moca_now_ns();
			tell(r);
		}
		if (!said && moca_now_ns() >= told + PATIENCE_NS) {
			say_waits(r, by_itself);
			said = 1;
		}
		poll(NULL, 0, LOOK_MS);
	}
}

void record_live_end(struct record_live *r)
{
	if (!record_live_has_ended(r)) {
		r->was_told = 1;
		wait_for_end(r);
	}
	end_witness(r);
}

/* By us, or by the signal that we got: it may have ended before we looked. */
static int was_told(const struct record_live *r)
{
	int told = r->was_told;

	for (int i = 0; got_signal && i < 3; i++)
		told |= WTERMSIG(r->status) == ends[i];
	return told;
}

int record_live_exit_code(const struct record_live *r)
{
	if (WIFSIGNALED(r->status) && !was_told(r)) {
		moca_error("%s: the recorder was ended by signal %d",
			   r->command, WTERMSIG(r->status));
		return EXIT_RECORD;
	}
	/* The program's end is none of ours, but that it could not be recorded. */
	return WIFEXITED(r->status) && WEXITSTATUS(r->status) >= EXIT_RECORD &&
	       WEXITSTATUS(r->status) <= 127 ? WEXITSTATUS(r->status) : 0;
}

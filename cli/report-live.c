// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * moca view --live: another `moca`, record, writes a trace, one more, report, makes
 * the page of it again and again, and this one serves it. So the page is the one of
 * the other commands, and no trace of any kind can bring the server down.
 */
#include "cli/report-live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/record-live.h"
#include "cli/report-live-folder.h"
#include "cli/report-serve.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"

#define SHARE 10	/* pages take one of so many parts of a CPU's time */
#define NICE 5
#define LOOK_MS 50
#define SAME_SIGNAL_NS 1000000000ull

struct live {
	const struct live_options *opt;
	struct record_live recorder;
	char tmp[4096];		/* a folder of ours; "": none */
	int tmp_fd;
	char *page, *open, *messages;	/* in it */
	int held_fd;		/* the user's folder for the trace; -1: none */
	int made_held;		/* by us */
	char *trace, *final;
	pid_t maker;		/* of a page; 0: none is made */
	int makes_final;
	uint64_t maker_began_ns;
	uint64_t next_ns;	/* when the next page is due */
	int has_final, is_over, has_told;
	struct serve *serve;
	struct serve_state state;
};

static void wait_for(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* --- folders ---------------------------------------------------------------- */

static char *below(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

/* As moca record calls its own. */
static char *make_trace_folder(const struct live *l, const char *program)
{
	const char *base = strrchr(program, '/');
	char when[64], *dir = NULL;
	time_t now = time(NULL);
	struct tm tm;
	int i, n;

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	for (i = 0; i < 100; i++) {
		n = i ? asprintf(&dir, "moca-%s-%s.%d",
				 base ? base + 1 : program, when, i) :
			asprintf(&dir, "moca-%s-%s",
				 base ? base + 1 : program, when);
		if (n < 0)
			return NULL;
		if (!mkdir(dir, 0700))
			return dir;
		if (errno != EEXIST)
			break;
		free(dir);
		dir = NULL;
	}
	moca_error("view: cannot create a directory for the trace, '%s': %s; choose another with --trace",
		   dir ? dir : "moca-...", strerror(errno));
	free(dir);
	return NULL;
}

/* What is in the trace's folder is to be of this run: 0, or -errno after a message. */
static int check_empty(const char *dir)
{
	struct dirent *e;
	DIR *d = opendir(dir);
	int n = 0;

	/* The recorder makes it, or says why it cannot. */
	if (!d)
		return 0;
	while ((e = readdir(d)))
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(d);
	if (!n)
		return 0;
	moca_error("view: the directory %s for the trace is not empty; choose another with --trace, or remove it first ('moca view %s' shows a trace that is there)",
		   dir, dir);
	return -ENOTEMPTY;
}

/*
 * The user's folder for the trace is ours until we end: a second page would show this
 * one's recording. What cannot be opened, or locked, is left to the recorder. 0, or
 * -errno after a message.
 */
static int hold_trace(struct live *l)
{
	const char *dir = l->opt->trace;

	l->made_held = !mkdir(dir, 0700);
	l->held_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->held_fd >= 0 && flock(l->held_fd, LOCK_EX | LOCK_NB) &&
	    errno == EWOULDBLOCK) {
		moca_error("view: another moca view --live records into the directory %s; choose another with --trace",
			   dir);
		return -EBUSY;
	}
	return check_empty(dir);
}

static void leave_trace(struct live *l)
{
	/* Of a recording that did not begin. */
	if (l->made_held)
		rmdir(l->opt->trace);
	if (l->held_fd >= 0)
		close(l->held_fd);
}

static int make_folders(struct live *l, const char *program)
{
	int err = live_folder_make(l->tmp, sizeof(l->tmp), &l->tmp_fd);

	if (err)
		return err;
	l->page = below(l->tmp, "report.html");
	l->open = below(l->tmp, "open.html");
	l->messages = below(l->tmp, "messages");
	l->trace = l->opt->trace ? strdup(l->opt->trace) :
				   make_trace_folder(l, program);
	if (!l->trace)
		return -EIO;
	l->final = l->opt->out ? strdup(l->opt->out) :
				 below(l->trace, "report.html");
	return l->page && l->open && l->messages && l->final ? 0 : -ENOMEM;
}

static void remove_folders(struct live *l)
{
	if (!l->tmp[0])
		return;
	live_folder_remove(l->tmp, l->tmp_fd);
	/* Of a recording that did not begin. */
	if (l->trace && !l->opt->trace)
		rmdir(l->trace);
}

/* --- the recorder ----------------------------------------------------------- */

static int start_recorder(struct live *l, char **argv, int argc)
{
	l->state.began_ns = moca_now_ns();
	return record_live_start(&l->recorder, argv, argc, NULL, NULL);
}

/* --- pages ------------------------------------------------------------------ */

static void become_maker(const struct live *l, const char *out, pid_t parent)
{
	const struct live_options *o = l->opt;
	char *args[12] = { "moca", "report", "-q", "-o", (char *)(uintptr_t)out };
	int n = 5, fd = open(l->messages,
			     O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (o->topology) {
		args[n++] = "--topology";
		args[n++] = (char *)(uintptr_t)o->topology;
	}
	if (o->no_source)
		args[n++] = "--no-source";
	args[n++] = "--";
	args[n] = l->trace;
	/* ^C is for us and the program. */
	setpgid(0, 0);
	if (setpriority(PRIO_PROCESS, 0, NICE))
		moca_warn("view: cannot make pages with less priority: %s",
			  strerror(errno));
	if (fd >= 0)
		dup2(fd, STDERR_FILENO);
	record_live_become("view", args, SIGTERM, parent);
}

static int start_page(struct live *l, int is_final)
{
	pid_t us = getpid();

	l->makes_final = is_final;
	l->maker_began_ns = moca_now_ns();
	l->maker = fork();
	if (!l->maker)
		become_maker(l, is_final ? l->final : l->page, us);
	if (l->maker < 0) {
		moca_error("view: cannot start what makes the page: %s",
			   strerror(errno));
		l->maker = 0;
		return -EAGAIN;
	}
	return 0;
}

static void print_messages(const struct live *l)
{
	FILE *f = fopen(l->messages, "re");
	char buf[4096];
	size_t n;

	while (f && (n = fread(buf, 1, sizeof(buf), f)) > 0)
		fwrite(buf, 1, n, stderr);
	if (f)
		fclose(f);
}

static uint64_t time_of(const struct rusage *r)
{
	return ((uint64_t)r->ru_utime.tv_sec + (uint64_t)r->ru_stime.tv_sec) *
		       1000000000u +
	       ((uint64_t)r->ru_utime.tv_usec +
		(uint64_t)r->ru_stime.tv_usec) * 1000u;
}

/* The maker has ended: is there a page, and when is the next one due? */
static void take_page(struct live *l, int status, const struct rusage *used)
{
	struct serve_state *s = &l->state;
	/* 1: what is damaged was left out. */
	int is_made = WIFEXITED(status) && WEXITSTATUS(status) <= 1 &&
		      !access(l->makes_final ? l->final : l->page, R_OK);

	l->maker = 0;
	s->cpu_ns = time_of(used);
	s->every_ns = SHARE * s->cpu_ns > l->opt->delay_ns ?
			      SHARE * s->cpu_ns : l->opt->delay_ns;
	l->next_ns = l->maker_began_ns + s->every_ns;
	s->failed = !is_made;
	if (is_made) {
		s->page++;
		s->shows_ns = l->maker_began_ns;
		s->file = l->makes_final ? l->final : l->page;
	}
	if (l->makes_final) {
		l->is_over = 1;
		l->has_final = is_made;
		s->phase = SERVE_ENDED;
		print_messages(l);
	}
	serve_tell(l->serve, s);
}

static int has_trace(const struct live *l)
{
	char *path = below(l->trace, "metadata");
	int ret = path && !access(path, R_OK);

	free(path);
	return ret;
}

/* One look at what has ended and what is due. */
static int step(struct live *l)
{
	struct rusage used = { 0 };
	int ended = record_live_has_ended(&l->recorder), status = 0;
	pid_t pid;

	if (l->maker) {
		pid = wait4(l->maker, &status, WNOHANG, &used);
		if (pid == l->maker || (pid < 0 && errno == ECHILD))
			take_page(l, status, &used);
		return 0;
	}
	if (l->is_over || (!ended && moca_now_ns() < l->next_ns))
		return 0;
	if (has_trace(l))
		return start_page(l, ended);
	l->is_over = ended;
	return 0;
}

/* --- the browser ------------------------------------------------------------ */

/*
 * By a file that only we may read: on a command line, all users see the token. Nobody
 * waits for a browser, whose messages are none of ours.
 */
static void become_browser(const struct live *l)
{
	int null;

	setsid();
	record_live_as_found();
	null = open("/dev/null", O_RDWR);
	for (int i = 0; null >= 0 && i < 3; i++)
		dup2(null, i);
	execlp("xdg-open", "xdg-open", l->open, (char *)NULL);
	_exit(127);
}

/* By a child that ends at once: init waits for its children. */
static void open_browser(const struct live *l)
{
	int fd = open(l->open, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	pid_t pid;

	if (fd < 0)
		return;
	dprintf(fd, "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=%s\">\n",
		serve_url(l->serve));
	close(fd);
	fflush(NULL);
	pid = fork();
	if (pid > 0)
		wait_for(pid);
	if (pid)
		return;
	if (!fork())
		become_browser(l);
	_exit(0);
}

/* --- all of it -------------------------------------------------------------- */

static int watch(struct live *l)
{
	int err = 0;

	while (!record_live_signalled() && !err) {
		err = step(l);
		if (l->is_over && !l->has_final)
			break;
		if (l->is_over && !l->has_told) {
			moca_say("the recording of %s has ended; the report is %s (^C ends the server)",
				 l->recorder.what, l->final);
			l->has_told = 1;
		}
		if (!err)
			poll(NULL, 0, LOOK_MS);
	}
	return err;
}

/* The final page, unless there is one; another signal ends that, too. */
static void finish_page(struct live *l)
{
	/* One ^C may come twice: to the terminal's processes, and by who started us. */
	uint64_t began = moca_now_ns();
	int seen = record_live_signalled();

	if (l->maker && !l->makes_final) {
		kill(l->maker, SIGTERM);
		wait_for(l->maker);
		l->maker = 0;
	}
	while (!l->is_over && !step(l)) {
		if (moca_now_ns() < began + SAME_SIGNAL_NS)
			seen = record_live_signalled();
		if (record_live_signalled() != seen && l->maker)
			kill(l->maker, SIGTERM);
		poll(NULL, 0, LOOK_MS);
	}
	if (l->has_final && !l->has_told)
		moca_say("the report is %s", l->final);
	if (!l->has_final && has_trace(l))
		moca_warn("view: the report was not made; 'moca report %s' makes it",
			  l->trace);
}

static int exit_code(const struct live *l)
{
	int code = record_live_exit_code(&l->recorder);

	return code ? code : !l->has_final;
}

static void free_all(struct live *l)
{
	remove_folders(l);
	free(l->page);
	free(l->open);
	free(l->messages);
	free(l->trace);
	free(l->final);
}

int report_live(const struct live_options *o, int argc, char **argv)
{
	char what[64];
	struct live l = { .opt = o, .held_fd = -1, .recorder = {
		.command = "view", .what = o->pid ? what : argv[0],
		.sample = o->sample, .budget = o->budget, .pid = o->pid,
		.interval_ns = o->interval_ns, .max_size = o->max_size,
		.stacks = o->stacks,
	} };
	int err;

	if (o->trace && hold_trace(&l)) {
		leave_trace(&l);
		return EXIT_RECORD;
	}
	err = serve_open(&l.serve);
	if (err) {
		leave_trace(&l);
		return 1;
	}
	snprintf(what, sizeof(what), "process %llu", (unsigned long long)o->pid);
	record_live_signals();
	err = make_folders(&l, o->pid ? "pid" : argv[0]);
	l.recorder.trace = l.trace;
	if (!err)
		err = start_recorder(&l, argv, argc);
	if (!err) {
		l.state.kept = l.final;
		l.state.every_ns = o->delay_ns;
		serve_tell(l.serve, &l.state);
		moca_say("the live page: %s", serve_url(l.serve));
		open_browser(&l);
		err = watch(&l);
		record_live_end(&l.recorder);
		finish_page(&l);
		err = err ? 1 : exit_code(&l);
	}
	serve_close(l.serve);
	free_all(&l);
	leave_trace(&l);
	return err < 0 ? 1 : err;
}

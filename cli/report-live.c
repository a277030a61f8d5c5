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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/report-live-folder.h"
#include "cli/report-serve.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"

#define SHARE 10	/* pages take one of so many parts of a CPU's time */
#define NICE 5
#define ARGS_MORE 32
#define LOOK_MS 50
#define PATIENCE_MS 5000
#define SAME_SIGNAL_NS 1000000000ull
#define WITNESS_LOOKS 10

struct live {
	const struct live_options *opt;
	const char *what;	/* the program, or the process */
	char tmp[4096];		/* a folder of ours; "": none */
	int tmp_fd;
	char *page, *open, *messages;	/* in it */
	char *trace, *final;
	pid_t recorder;		/* 0: it has ended */
	int status;		/* how */
	int was_told;		/* to end, by us or by who told us */
	pid_t witness;		/* 0: none */
	pid_t maker;		/* of a page; 0: none is made */
	int makes_final;
	uint64_t maker_began_ns;
	uint64_t next_ns;	/* when the next page is due */
	int has_final, is_over, has_told;
	struct serve *serve;
	struct serve_state state;
};

static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
static struct sigaction was[3];	/* of these: what the program is to inherit */
static volatile sig_atomic_t got_signal, which_signal;

static void on_signal(int sig)
{
	if (!got_signal)
		which_signal = sig;
	got_signal = got_signal + 1;
}

/* --- the witness ------------------------------------------------------------- */

/*
 * ^C is for all processes of the terminal's group, and a program that got it ends by
 * itself; `kill` may be for us alone. A process of our group that blocks signals tells
 * which it was: of it a signal to the group is pending.
 */
static void start_witness(struct live *l)
{
	pid_t parent = getpid();
	sigset_t all, before;

	/* None is taken before it blocks them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	l->witness = fork();
	if (l->witness < 0)
		l->witness = 0;
	if (l->witness || getpid() == parent) {
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
static int is_of_group(const struct live *l)
{
	int i;

	/* Some, as timeout(1), send it to us first, and to the group behind that. */
	for (i = 0; which_signal && l->witness && i < WITNESS_LOOKS; i++) {
		if (is_pending(l->witness, which_signal))
			return 1;
		poll(NULL, 0, LOOK_MS);
	}
	return 0;
}

static void wait_for(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void end_witness(struct live *l)
{
	if (!l->witness)
		return;
	kill(l->witness, SIGKILL);
	wait_for(l->witness);
	l->witness = 0;
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

/* What the recorder is to be told; the strings are static, l's or argv's. */
static char **recorder_args(const struct live *l, char **argv, int argc)
{
	static char pid[24], size[24], interval[40];
	const struct live_options *o = l->opt;
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
	ADD(l->trace);
	ADD("--sample");
	ADD(o->sample ? o->sample : o->interval_ns ? "1" : "auto");
	snprintf(size, sizeof(size), "%llu", (unsigned long long)o->max_size);
	ADD("--max-size");
	ADD(size);
	if (o->interval_ns) {
		snprintf(interval, sizeof(interval), "%lluus",
			 (unsigned long long)o->interval_ns / 1000);
		ADD("--interval");
		ADD(interval);
	}
	if (o->budget) {
		ADD("--budget");
		ADD(o->budget);
	}
	if (o->stacks)
		ADD("--stacks");
	if (o->pid) {
		snprintf(pid, sizeof(pid), "%llu", (unsigned long long)o->pid);
		ADD("-p");
		ADD(pid);
		return list;
	}
	ADD("--");
	memcpy(list + n, argv, (size_t)argc * sizeof(*argv));
	return list;
}

/* This moca with other arguments; signals are as we found them. */
static void become(char **args, int if_we_die, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, if_we_die);
	/* Who died before that is not told of. */
	if (getppid() != parent)
		_exit(EXIT_RECORD);
	for (int i = 0; i < 3; i++)
		sigaction(ends[i], &was[i], NULL);
	execv("/proc/self/exe", args);
	moca_error("view: cannot start 'moca %s': %s", args[1],
		   strerror(errno));
	_exit(EXIT_RECORD);
}

static int start_recorder(struct live *l, char **argv, int argc)
{
	char **args = recorder_args(l, argv, argc);
	pid_t us = getpid();

	if (!args) {
		moca_error("view: out of memory");
		return -ENOMEM;
	}
	fflush(NULL);
	l->state.began_ns = moca_now_ns();
	l->recorder = fork();
	if (!l->recorder)
		become(args, l->opt->pid ? SIGINT : SIGTERM, us);
	free(args);
	if (l->recorder < 0) {
		moca_error("view: cannot start the recorder: %s",
			   strerror(errno));
		l->recorder = 0;
		return -EAGAIN;
	}
	return 0;
}

static int has_ended(struct live *l)
{
	pid_t pid = l->recorder ? waitpid(l->recorder, &l->status, WNOHANG) : 0;

	/* ECHILD: SIGCHLD is ignored. */
	if (pid == l->recorder || (pid < 0 && errno == ECHILD))
		l->recorder = 0;
	return !l->recorder;
}

/* It is told to end. Attached to: it is left. */
static void tell_recorder(struct live *l)
{
	kill(l->recorder, l->opt->pid ? SIGINT : SIGTERM);
}

/*
 * Started: the program that got our signal as well ends by itself, as below moca
 * record; it may have to tidy up. It is told by SIGTERM where it did not get it, and
 * by the next signal.
 */
static void end_recorder(struct live *l)
{
	uint64_t began = moca_now_ns();
	int by_itself, seen, ms;

	if (has_ended(l))
		return;
	l->was_told = 1;
	by_itself = is_of_group(l);
	if (!by_itself)
		tell_recorder(l);
	seen = got_signal;
	for (ms = 0; !has_ended(l); ms += LOOK_MS) {
		/* One ^C may come twice. */
		if (moca_now_ns() < began + SAME_SIGNAL_NS) {
			seen = got_signal;
		} else if (got_signal != seen) {
			seen = got_signal;
			by_itself = 0;
			ms = 0;
			tell_recorder(l);
		}
		if (ms == PATIENCE_MS && by_itself)
			moca_warn("view: waiting for %s, which got signal %d (%s) as well; another ^C tells it to end by SIGTERM",
				  l->what, (int)which_signal,
				  strsignal(which_signal));
		else if (ms == PATIENCE_MS)
			moca_warn("view: waiting for %s, which was told to end by SIGTERM; moca view killed by SIGKILL leaves it to itself",
				  l->what);
		poll(NULL, 0, LOOK_MS);
	}
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
	become(args, SIGTERM, parent);
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
	int ended = has_ended(l), status = 0;
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
	for (int i = 0; i < 3; i++)
		sigaction(ends[i], &was[i], NULL);
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

	while (!got_signal && !err) {
		err = step(l);
		if (l->is_over && !l->has_final)
			break;
		if (l->is_over && !l->has_told) {
			moca_say("the recording of %s has ended; the report is %s (^C ends the server)",
				 l->what, l->final);
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
	int seen = got_signal;

	if (l->maker && !l->makes_final) {
		kill(l->maker, SIGTERM);
		wait_for(l->maker);
		l->maker = 0;
	}
	while (!l->is_over && !step(l)) {
		if (moca_now_ns() < began + SAME_SIGNAL_NS)
			seen = got_signal;
		if (got_signal != seen && l->maker)
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
	if (!l->was_told && WIFSIGNALED(l->status)) {
		moca_error("view: the recorder was ended by signal %d",
			   WTERMSIG(l->status));
		return EXIT_RECORD;
	}
	/* The program's end is none of ours, but that it could not be recorded. */
	if (WIFEXITED(l->status) && WEXITSTATUS(l->status) >= EXIT_RECORD &&
	    WEXITSTATUS(l->status) <= 127)
		return WEXITSTATUS(l->status);
	return !l->has_final;
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
	const struct sigaction sa = { .sa_handler = on_signal };
	char what[64] = "";
	struct live l = { .opt = o, .what = what };
	int err;

	if (o->trace && check_empty(o->trace))
		return EXIT_RECORD;
	err = serve_open(&l.serve);
	if (err)
		return 1;
	if (o->pid)
		snprintf(what, sizeof(what), "process %llu",
			 (unsigned long long)o->pid);
	else
		l.what = argv[0];
	for (int i = 0; i < 3; i++) {
		sigaction(ends[i], NULL, &was[i]);
		if (was[i].sa_handler != SIG_IGN)
			sigaction(ends[i], &sa, NULL);
	}
	err = make_folders(&l, o->pid ? "pid" : argv[0]);
	if (!err && !o->pid)
		start_witness(&l);
	if (!err)
		err = start_recorder(&l, argv, argc);
	if (!err) {
		l.state.kept = l.final;
		l.state.every_ns = o->delay_ns;
		serve_tell(l.serve, &l.state);
		moca_say("the live page: %s", serve_url(l.serve));
		open_browser(&l);
		err = watch(&l);
		end_recorder(&l);
		finish_page(&l);
		err = err ? 1 : exit_code(&l);
	}
	end_witness(&l);
	serve_close(l.serve);
	free_all(&l);
	return err < 0 ? 1 : err;
}

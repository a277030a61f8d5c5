// SPDX-License-Identifier: GPL-2.0-or-later
/* moca rate: page faults and CPU use over time, of any program. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analysis/trace.h"
#include "cli/commands.h"
#include "cli/rate.h"
#include "collect/machine/machine.h"
#include "lib/base/clock.h"
#include "lib/base/end.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"
#include "lib/format/meta.h"
#include "lib/format/seal.h"
#include "lib/ring/clock.h"

#define PIDS_MAX 4096u

static const char usage[] = "moca rate [OPTIONS] [-p PID[,PID...] | [--] CMD [ARGS]]";
static const char about[] =
	"Sample page faults, minor and major, and the CPU time of a program, of its threads and of the processes it starts. No root, no kernel module, no change to the program. 'man moca-rate' says what is counted and what is lost.";

struct wanted {
	const char *pids, *csv, *dir, *via;
	uint64_t hz, duration_ns;
	int per_task, no_children, quiet, cases;
	char **argv;
};

struct run {
	const struct wanted *w;
	struct rate_view view;
	struct rate_sampler sampler;
	struct rate_sink trace_sink;
	struct moca_rate_writer *writer;
	struct moca_meta *meta;
	int dirfd;
	struct machine_job machine;
	int signals;		/* signalfd */
	sigset_t mask;		/* as we were started */
	pid_t child;		/* 0: none */
	int gate;		/* the child waits here */
	int report;		/* and says here why it could not exec */
	pid_t *pids;
	size_t pid_count;
};

/* --- what shall be sampled ----------------------------------------------- */

static int parse_pids(struct run *r)
{
	const char *s = r->w->pids;
	unsigned long v;
	char *end;

	r->pids = calloc(PIDS_MAX, sizeof(*r->pids));
	if (!r->pids)
		return -ENOMEM;
	for (;; s = end + 1) {
		errno = 0;
		v = strtoul(s, &end, 10);
		if (*s < '0' || *s > '9' || errno || !v || v > INT32_MAX ||
		    (*end && *end != ',')) {
			moca_error("rate: '-p %s': give numbers of processes, "
				   "as 12 or 12,34", r->w->pids);
			return -EINVAL;
		}
		if (r->pid_count == PIDS_MAX) {
			moca_error("rate: -p takes at most %u processes",
				   PIDS_MAX);
			return -EINVAL;
		}
		r->pids[r->pid_count++] = (pid_t)v;
		if (!*end)
			return 0;
	}
}

static int add_pid(struct run *r, pid_t pid)
{
	int err = r->sampler.source->add(r->sampler.state, pid);

	if (err == -ESRCH)
		moca_error("rate: there is no process %d", pid);
	else if (err == -EACCES)
		moca_error("rate: process %d is another user's, and /proc is "
			   "mounted so that you do not see it (hidepid): be "
			   "that user, or root", pid);
	else if (err == -EBUSY)
		moca_error("rate: process %d is registered in /proc/mp3/status "
			   "by somebody: wait until it is taken back, or use "
			   "--via proc", pid);
	else if (err == -EPERM)
		moca_error("rate: the module does not let you register process "
			   "%d: it is another user's, or has more rights than "
			   "you; be that user, or root", pid);
	else if (err == -EINVAL)
		moca_error("rate: %d is a thread, not a process: give the "
			   "number of its process (--per-task tells threads "
			   "apart)", pid);
	else if (err)
		moca_error("rate: cannot sample process %d: %s", pid,
			   strerror(-err));
	return err;
}

/* Can the module do what is asked for? 0, or a reason has been said. */
static int check_kernel(const struct wanted *w)
{
	uint32_t hz, registered;
	int err;

	if (!w->no_children || w->per_task) {
		moca_error("rate: --via kernel: the module counts the "
			   "processes that it is given, in sum: give "
			   "--no-children, and not --per-task");
		return -EINVAL;
	}
	err = rate_kernel_state(&hz, &registered);
	if (err == -ENOENT)
		moca_error("rate: --via kernel: moca.ko is not loaded: load "
			   "it (modprobe moca), or use --via proc");
	else if (err)
		moca_error("rate: --via kernel: cannot read /dev/mp3: %s%s",
			   strerror(-err), err == -EPROTO ?
			   ": moca.ko is of another version" : "");
	else if (hz != w->hz)
		moca_error("rate: --via kernel: the module samples at %u Hz, "
			   "not at %lu: give -F %u, or have root write %lu into "
			   "/sys/module/moca/parameters/rate_hz", hz, w->hz, hz,
			   w->hz);
	else if (registered)
		moca_error("rate: --via kernel: %u processes are registered "
			   "in /proc/mp3/status already, and would be in the "
			   "sums: wait until they are taken back, or use --via "
			   "proc", registered);
	else
		return 0;
	return -EINVAL;
}

/* NULL: it was said why. */
static const struct rate_source *choose_source(const struct wanted *w)
{
	uint32_t hz, registered;

	if (!w->via || !strcmp(w->via, "auto"))
		return w->no_children && !w->per_task &&
		       !rate_kernel_state(&hz, &registered) && hz == w->hz &&
		       !registered ? &rate_source_kernel : &rate_source_proc;
	if (!strcmp(w->via, "proc"))
		return &rate_source_proc;
	if (strcmp(w->via, "kernel")) {
		moca_error("rate: --via %s: give proc, kernel or auto", w->via);
		return NULL;
	}
	return check_kernel(w) ? NULL : &rate_source_kernel;
}

static int check(struct wanted *w, int operands)
{
	if (!w->hz || w->hz > RATE_HZ_MAX) {
		moca_error("rate: -F %lu: the rate must be from 1 to %u Hz",
			   w->hz, RATE_HZ_MAX);
		return -EINVAL;
	}
	if (w->cases && (w->pids || operands || w->csv || w->duration_ns ||
			 w->via)) {
		moca_error("rate: --cases runs programs of its own: it goes "
			   "with -o DIR and -F HZ alone");
		return -EINVAL;
	}
	if (!w->cases && !w->pids == !operands) {
		moca_error(w->pids ? "rate: give either a command or -p PID, not both" :
				     "rate: what shall be sampled? Give a command (moca rate -- CMD ARGS) or -p PID");
		return -EINVAL;
	}
	return 0;
}

/* --- the command --------------------------------------------------------- */

static void take_signals(struct run *r)
{
	const int all[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction now;
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		/* What nohup and `&` have us ignore, we ignore. */
		if (all[i] == SIGCHLD || (!sigaction(all[i], NULL, &now) &&
					  now.sa_handler != SIG_IGN))
			sigaddset(&set, all[i]);
	sigprocmask(SIG_BLOCK, &set, &r->mask);
	r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void child_main(struct run *r, int gate, int report)
{
	char byte;
	int err;

	sigprocmask(SIG_SETMASK, &r->mask, NULL);
	/* Closed without a byte: it shall not run. */
	if (read(gate, &byte, 1) != 1)
		_exit(EXIT_RECORD);
	execvp(r->w->argv[0], r->w->argv);
	err = errno;
	if (write(report, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(err == ENOENT ? 127 : 126);
}

/* The program is there, and waits. */
static int start_child(struct run *r)
{
	int gate[2], report[2];

	if (pipe2(gate, O_CLOEXEC) || pipe2(report, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	r->child = fork();
	if (r->child < 0)
		return -errno;
	if (!r->child) {
		close(gate[1]);
		close(report[0]);
		child_main(r, gate[0], report[1]);
	}
	close(gate[0]);
	close(report[1]);
	r->gate = gate[1];
	r->report = report[0];
	return 0;
}

/* What it does from now on counts. */
static void let_child_go(void *arg)
{
	struct run *r = arg;

	if (r->gate >= 0 && write(r->gate, "", 1) == 1)
		close(r->gate);
	r->gate = -1;
}

static int goes_on(void *arg)
{
	struct run *r = arg;
	struct signalfd_siginfo info;

	while (read(r->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		if (!r->child)
			return 0;
		/* The terminal has told the program already. */
		if (info.ssi_signo != SIGINT && info.ssi_signo != SIGQUIT)
			kill(r->child, (int)info.ssi_signo);
	}
	return !r->child ||
	       !r->sampler.source->ended(r->sampler.state, r->child);
}

/* End as the program did. */
static int child_code(struct run *r)
{
	struct signalfd_siginfo info;
	struct pollfd p = { r->signals, POLLIN, 0 };
	int status, err;

	while (waitpid(r->child, &status, WNOHANG) != r->child) {
		poll(&p, 1, 1000);
		if (read(r->signals, &info, sizeof(info)) == sizeof(info) &&
		    (info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP))
			kill(r->child, (int)info.ssi_signo);
	}
	if (read(r->report, &err, sizeof(err)) == sizeof(err))
		moca_error("rate: cannot execute %s: %s", r->w->argv[0],
			   strerror(err));
	return WIFSIGNALED(status) ? moca_end_by(WTERMSIG(status)) :
				     WEXITSTATUS(status);
}

/* --- where it goes ------------------------------------------------------- */

static void describe(struct run *r, uint64_t now)
{
	struct utsname un;
	char line[8192] = "";
	size_t n = 0;
	char **a;

	for (a = r->w->argv; !r->w->pids && *a && n < sizeof(line); a++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s",
				      a == r->w->argv ? "" : " ", *a);
	if (r->w->pids)
		snprintf(line, sizeof(line), "-p %s", r->w->pids);
	uname(&un);
	moca_meta_set(r->meta, "version", "%s", MOCA_VERSION);
	moca_meta_set(r->meta, META_COMMAND, "%s", line);
	moca_meta_set(r->meta, META_COLLECTOR, "rate");
	moca_meta_set(r->meta, META_PAGE_SIZE, "%ld", sysconf(_SC_PAGESIZE));
	moca_meta_set(r->meta, META_START_TIME, "%llu",
		      (unsigned long long)moca_clock_ns(CLOCK_REALTIME));
	moca_meta_set(r->meta, META_START, "%lu", now);
	moca_meta_set(r->meta, META_HOST, "%s", un.nodename);
	moca_meta_set(r->meta, META_KERNEL, "%s", un.release);
	moca_meta_set(r->meta, META_CPUS, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	moca_meta_set(r->meta, "nodes", "%u", machine_nodes());
	moca_meta_set(r->meta, "state", "recording");
}

static int open_trace(struct run *r, pid_t pid)
{
	const char *dir = r->w->dir;
	uint64_t now = moca_now_ns();
	int err;

	r->dirfd = -1;
	if (mkdir(dir, 0700)) {
		err = -errno;
		moca_error("rate: cannot create the directory %s for the "
			   "trace: %s; choose another with -o", dir,
			   strerror(-err));
		return err;
	}
	r->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r->meta = moca_meta_new();
	err = r->dirfd < 0 ? -errno : r->meta ? 0 : -ENOMEM;
	if (!err) {
		machine_begin(&r->machine, r->dirfd, pid, now);
		describe(r, now);
		err = moca_meta_write(r->meta, r->dirfd);
	}
	if (!err)
		err = moca_rate_describe(r->dirfd);
	if (!err)
		err = moca_rate_writer_create(&r->writer, r->dirfd,
					      MOCA_RATE_STREAM);
	if (!err)
		err = moca_rate_writer_start(r->writer, (uint32_t)pid,
					     r->child ? r->w->argv[0] : "",
					     now);
	if (err) {
		moca_error("rate: cannot write the trace in %s: %s", dir,
			   strerror(-err));
		return err;
	}
	moca_rate_settings(r->writer, now, r->sampler.period_ns,
			   r->sampler.source->name);
	r->trace_sink = rate_sink_writer(r->writer);
	r->view.trace = &r->trace_sink;
	return 0;
}

static int close_trace(struct run *r, int failed, int code)
{
	uint64_t now = moca_now_ns();
	int err, ret;

	if (!r->writer)
		return failed;
	if (machine_wait(&r->machine))
		moca_meta_add_loss(r->meta, "the machine was not recorded");
	err = moca_rate_writer_end(r->writer, now);
	ret = moca_rate_writer_close(r->writer);
	moca_meta_set(r->meta, META_END, "%lu", now);
	if (r->child)
		moca_meta_set(r->meta, META_EXIT_STATUS, "%d", code << 8);
	err = err ?: ret;
	moca_meta_set(r->meta, "state", err || failed ? "failed" : "complete");
	ret = moca_seal_write(r->meta, r->dirfd);
	err = err ?: ret;
	if (err)
		moca_error("rate: cannot write the trace in %s: %s", r->w->dir,
			   strerror(-err));
	else if (!r->w->quiet)
		moca_say("next: moca report %s", r->w->dir);
	moca_meta_free(r->meta);
	close(r->dirfd);
	return err ?: failed;
}

static int open_csv(struct run *r)
{
	const char *path = r->w->csv;

	if (!path)
		return 0;
	r->view.csv = strcmp(path, "-") ? fopen(path, "we") : stdout;
	if (r->view.csv)
		return 0;
	moca_error("rate: cannot write '%s': %s", path, strerror(errno));
	return -EIO;
}

static int close_csv(struct run *r, int failed)
{
	FILE *f = r->view.csv;
	int bad;

	if (!f || f == stdout)
		return failed;
	bad = ferror(f);
	errno = 0;
	if (!fclose(f) && !bad)
		return failed;
	moca_error("rate: cannot write '%s': %s", r->w->csv,
		   errno ? strerror(errno) : "an earlier write failed");
	return -EIO;
}

/* --- all together -------------------------------------------------------- */

static int sample(struct run *r)
{
	struct rate_sampler *s = &r->sampler;
	int err;

	s->control = r->signals;
	s->wanted = goes_on;
	s->begun = let_child_go;
	s->arg = r;
	if (r->w->duration_ns)
		s->end_ns = moca_now_ns() + r->w->duration_ns;
	err = rate_sampler_run(s);
	if (!err)
		err = r->view.error;
	if (err == -EBUSY)
		moca_error("rate: somebody has registered more processes in "
			   "/proc/mp3/status, which are in the sums from now "
			   "on: sampling ends; use --via proc");
	else if (err)
		moca_error("rate: cannot sample: %s", strerror(-err));
	rate_view_finish(&r->view);
	if (s->missed && !r->w->quiet)
		moca_say("%lu of %lu samples were left out: the machine was "
			 "too busy for %lu Hz. What they would have shown is in "
			 "the next ones", s->missed, s->missed + s->rounds,
			 r->w->hz);
	return err;
}

static int open_source(struct run *r)
{
	const struct rate_options opt = {
		.children = !r->w->no_children,
		.threads = r->w->per_task || r->w->dir,
	};
	const struct rate_sink sink = rate_view_sink(&r->view);
	int err = r->sampler.source->open(&r->sampler.state, &opt, &sink);
	size_t i;

	if (err == -EOPNOTSUPP)
		moca_error("rate: this kernel does not tell threads apart "
			   "(CONFIG_SCHED_INFO): neither --per-task nor -o");
	else if (err)
		moca_error("rate: cannot sample: %s", strerror(-err));
	if (err)
		return err;
	if (r->child)
		return add_pid(r, r->child);
	for (i = 0; !err && i < r->pid_count; i++)
		err = add_pid(r, r->pids[i]);
	return err;
}

static int run(struct run *r)
{
	struct rlimit lim;
	int err, code = 0;

	/* The program's standard output is its own. */
	r->view.live = r->w->quiet ? NULL : r->child ||
		       (r->w->csv && !strcmp(r->w->csv, "-")) ? stderr : stdout;
	r->view.is_tty = r->view.live && isatty(fileno(r->view.live));
	r->view.per_task = r->w->per_task;
	if (!getrlimit(RLIMIT_NOFILE, &lim)) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
	err = open_source(r);
	if (!err)
		err = open_csv(r);
	if (!err && r->w->dir)
		err = open_trace(r, r->child ? r->child : r->pids[0]);
	if (!err)
		err = sample(r);
	if (r->gate >= 0)
		close(r->gate);
	if (r->sampler.state)
		r->sampler.source->close(r->sampler.state);
	if (r->child && r->view.ticks) {
		/* A program that goes on after --duration is waited for. */
		code = child_code(r);
	} else if (r->child) {
		kill(r->child, SIGKILL);
		waitpid(r->child, NULL, 0);
	}
	err = close_trace(r, err, code);
	err = close_csv(r, err);
	return code ? code : err ? EXIT_RECORD : 0;
}

int cmd_rate(int argc, char **argv)
{
	struct wanted w = { .hz = RATE_HZ_DEFAULT };
	struct run r = { .w = &w, .gate = -1, .dirfd = -1 };
	const struct option_spec specs[] = {
		OPT_STRING('p', "pid", &w.pids, "PID[,PID...]", "sample running processes; ^C ends"),
		OPT_UINT('F', "frequency", &w.hz, "HZ", "samples per second, 1 to 1000 (default: 20)"),
		OPT_DURATION(0, "duration", &w.duration_ns, "end after this time, as 10s"),
		OPT_FLAG(0, "per-task", &w.per_task, "tell processes and threads apart"),
		OPT_STRING(0, "via", &w.via, "proc|kernel|auto", "who counts: /proc, or moca.ko, which counts in sum and goes with --no-children (default: auto)"),
		OPT_FLAG(0, "no-children", &w.no_children, "leave out the processes that these have started, or start"),
		OPT_STRING(0, "csv", &w.csv, "FILE", "write every sample to FILE (-: standard output)"),
		OPT_STRING('o', "output", &w.dir, "DIR", "write a trace, for moca report and all others; of --cases: plots and data"),
		OPT_FLAG(0, "cases", &w.cases, "run two case studies (locality, multiprogramming) and draw their plots"),
		OPT_FLAG('q', "quiet", &w.quiet, "show nothing"),
		OPT_END
	};
	int first = moca_options_parse(specs, argc, argv, usage, about), ret;

	if (first == -ECANCELED)
		return 0;
	if (first < 0 || check(&w, argc - first))
		return EXIT_USAGE;
	if (w.cases) {
		const struct rate_cases cases = {
			.dir = w.dir ? w.dir : "moca-cases", .hz = w.hz,
		};

		return rate_cases_run(&cases);
	}
	w.argv = argv + first;
	r.sampler = (struct rate_sampler){ .source = choose_source(&w),
					   .period_ns = 1000000000ull / w.hz,
					   .control = -1 };
	if (!r.sampler.source)
		return EXIT_USAGE;
	if (w.pids && parse_pids(&r)) {
		free(r.pids);
		return EXIT_USAGE;
	}
	take_signals(&r);
	if (!w.pids && start_child(&r)) {
		moca_error("rate: cannot start a process for %s: %s",
			   w.argv[0], strerror(errno));
		return EXIT_RECORD;
	}
	ret = run(&r);
	rate_view_free(&r.view);
	free(r.pids);
	return ret;
}

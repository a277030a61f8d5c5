// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/run/attach-check.h"
#include "collect/run/failure.h"
#include "collect/run/jit.h"
#include "collect/run/launch.h"
#include "collect/run/own-faults.h"
#include "collect/run/queue.h"
#include "collect/run/target.h"
#include "collect/run/waiting.h"
#include "collect/run/way.h"
#include "lib/base/bytes.h"
#include "lib/base/err.h"
#include "lib/base/plural.h"
#include "lib/base/shell.h"
#include "lib/format/launch.h"
#include "lib/format/meta.h"
#include "lib/format/quota.h"
#include "lib/format/rate-writer.h"
#include "lib/format/seal.h"
#include "lib/format/writer.h"

#define EXIT_OURS 125

/* What the tracing thread and the collector agree on at the start. */
struct start {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int launched;		/* the child is there (or error is set) */
	int go;			/* 1 let it run, -1 give up */
	int error;
	int gate;
	int exec_report;
};

static struct recorder rec;
static struct start start = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.cond = PTHREAD_COND_INITIALIZER,
};
static atomic_int finished;
static atomic_int early_signal;

void record_stop(struct recorder *r)
{
	atomic_store(&r->stop_recording, 1);
	pthread_kill(r->supervisor, SIGURG);
}

static void wake(int sig)
{
	/* Only to make waitpid return. */
}

/* One may come before there is a program: then it waits here. */
static void pass_signal(void)
{
	int sig;

	if (rec.root <= 0)
		return;
	/* Once, by the handler or by supervisor_main. */
	sig = atomic_exchange(&early_signal, 0);
	if (!sig || rec.root_done)
		return;
	kill(rec.root, sig);
	if (sig == SIGTERM)
		waiting_begin(WAITING_TERM, rec.root);
}

static void forward(int sig)
{
	int saved = errno;

	if (rec.attach) {
		record_stop(&rec);
	} else {
		atomic_store(&early_signal, sig);
		pass_signal();
	}
	errno = saved;
}

static void set_signals(void)
{
	const int ignored[] = { SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU,
				SIGPIPE, SIGXFSZ };
	const int passed[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
	struct sigaction sa = { .sa_handler = wake };
	sigset_t all;

	sigaction(SIGURG, &sa, NULL);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	sa.sa_handler = forward;
	for (size_t i = 0; i < sizeof(passed) / sizeof(*passed); i++)
		if (!launch_ignores(&rec, passed[i]))
			sigaction(passed[i], &sa, NULL);
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
}

static void announce_launch(int error)
{
	pthread_mutex_lock(&start.lock);
	start.launched = 1;
	start.error = error;
	pthread_cond_broadcast(&start.cond);
	while (!start.go)
		pthread_cond_wait(&start.cond, &start.lock);
	pthread_mutex_unlock(&start.lock);
}

/* ptrace belongs to a thread: this one starts the program and traces it. */
static void *supervisor_main(void *arg)
{
	pid_t pid = rec.attach ? rec.opt->attach :
				 launch_child(&rec, &start.gate,
					      &start.exec_report);

	rec.root = pid;
	if (!rec.attach)
		pass_signal();
	announce_launch(pid < 0 ? pid : 0);
	if (start.go > 0 && rec.way->begin)
		start.error = rec.way->begin(&rec, pid);
	if (!rec.attach && (start.go < 0 || start.error)) {
		if (pid > 0) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, __WALL);
		}
	} else if (start.go > 0) {
		if (!rec.attach)
			launch_go(start.gate);
		rec.way->supervise(&rec);
	}
	waiting_end(WAITING_TERM);
	waiting_begin(WAITING_FINISH, 0);
	atomic_store(&finished, 1);
	queue_wake(rec.queue);
	return NULL;
}

static int wait_launched(void)
{
	pthread_mutex_lock(&start.lock);
	while (!start.launched)
		pthread_cond_wait(&start.cond, &start.lock);
	pthread_mutex_unlock(&start.lock);
	return start.error;
}

static void let_go(int go)
{
	pthread_mutex_lock(&start.lock);
	start.go = go;
	pthread_cond_broadcast(&start.cond);
	pthread_mutex_unlock(&start.lock);
}

static int is_empty(const char *name)
{
	DIR *d = opendir(name);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	if (d)
		closedir(d);
	return !n;
}

static int make_dir(const char *name)
{
	char buf[4096], when[64];
	time_t now = time(NULL);
	struct tm tm;
	const char *base;

	if (!name) {
		base = rec.attach ? "pid" : strrchr(rec.opt->argv[0], '/');
		base = rec.attach ? base :
		       base	  ? base + 1 : rec.opt->argv[0];
		localtime_r(&now, &tm);
		strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
		snprintf(buf, sizeof(buf), "moca-%s-%s", base, when);
		for (int i = 1; mkdir(buf, 0700); i++) {
			if (errno != EEXIST || i > 100)
				break;
			snprintf(buf, sizeof(buf), "moca-%s-%s.%d", base, when,
				 i);
		}
		name = buf;
		rec.made_dir = 1;
	} else if (!mkdir(name, 0700)) {
		rec.made_dir = 1;
	} else if (errno != EEXIST) {
		moca_error("cannot create the directory %s for the trace: %s; "
			   "choose another with -o", name, strerror(errno));
		return -errno;
	}
	rec.dir = strdup(name);
	if (!rec.dir) {
		moca_error("out of memory");
		return -ENOMEM;
	}
	rec.dirfd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (rec.dirfd < 0 || faccessat(rec.dirfd, ".", W_OK, 0)) {
		moca_error("cannot write into the directory %s for the trace: "
			   "%s; choose another with -o", name, strerror(errno));
		return -errno;
	}
	if (!is_empty(name)) {
		moca_error("the directory %s for the trace is not empty; "
			   "choose another with -o, or remove it first", name);
		return -ENOTEMPTY;
	}
	return 0;
}

static int has_capability(int cap)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];

	return !syscall(SYS_capget, &h, d) &&
	       (d[0].effective & (1u << cap));
}

/* Names of files mean others there: readers of the trace look in its root. */
static void describe_mounts(struct moca_meta *m, pid_t pid)
{
	char path[64], ours[64], its[64];
	ssize_t n = readlink("/proc/self/ns/mnt", ours, sizeof(ours) - 1), k;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	k = readlink(path, its, sizeof(its) - 1);
	if (n <= 0 || k <= 0)
		return;
	ours[n] = its[k] = 0;
	if (!strcmp(ours, its))
		return;
	moca_meta_set(m, "mounts", "%s", its);
	moca_meta_set(m, "mounts_pid", "%d", pid);
}

/* The command line of the process attached to: words that a shell would not take as
 * they are between quotes. Left out: it cannot be read, or is too long to be whole. */
static void describe_attached(struct moca_meta *m, pid_t pid)
{
	char words[4096], line[4 * sizeof(words)] = "", quoted[4 * sizeof(words)], path[64];
	const char *word;
	size_t n, at = 0, len = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (!f)
		return;
	n = fread(words, 1, sizeof(words), f);
	fclose(f);
	if (!n || n == sizeof(words))
		return;
	words[n] = 0;
	/* Who writes a shorter title over its arguments leaves bytes of 0 behind it. */
	while (n > 1 && !words[n - 1] && !words[n - 2])
		n--;
	for (; at < n; at += strlen(words + at) + 1) {
		word = words + at;
		if (!*word)
			word = "''";
		else if (!moca_shell_is_plain(word) || strchr(word, ' '))
			word = moca_shell_word(quoted, sizeof(quoted), word);
		if (!word || len + strlen(word) + 2 > sizeof(line))
			return;
		len += (size_t)snprintf(line + len, sizeof(line) - len, "%s%s",
					at ? " " : "", word);
	}
	moca_meta_set(m, "attached_command", "%s", line);
}

static void describe(struct moca_meta *m)
{
	const struct moca_record_options *o = rec.opt;
	struct utsname un;
	char line[8192] = "";
	size_t n = 0;

	for (char **a = o->argv; !rec.attach && *a && n < sizeof(line); a++)
		n += snprintf(line + n, sizeof(line) - n, "%s%s",
			      a == o->argv ? "" : " ", *a);
	if (rec.attach)
		snprintf(line, sizeof(line), "-p %d", o->attach);
	uname(&un);
	moca_meta_set(m, "version", "%s", MOCA_VERSION);
	moca_meta_set(m, "command", "%s", line);
	if (!rec.attach && !rec.launch_error)
		moca_meta_set(m, "launch", "1");
	moca_meta_set(m, "collector", "%s", rec.way->collector);
	moca_meta_set(m, "page_size", "%lu", (unsigned long)PAGE_SIZE);
	/* When start_ns was: together they pair this host's two clocks. */
	moca_meta_set(m, "start_time", "%lu",
		      moca_clock_ns(CLOCK_REALTIME) -
			      (moca_now_ns() - rec.start_ns));
	moca_meta_set(m, "start_ns", "%lu", rec.start_ns);
	moca_meta_set(m, "host", "%s", un.nodename);
	moca_meta_set(m, "kernel", "%s", un.release);
	if (o->rank)
		moca_meta_set(m, "rank", "%s", o->rank);
	if (o->ranks)
		moca_meta_set(m, "ranks", "%s", o->ranks);
	if (o->ranks_chosen)
		moca_meta_set(m, "ranks_chosen", "1");
	if (o->job)
		moca_meta_set(m, "job", "%s", o->job);
	if (rec.attach) {
		describe_mounts(m, rec.opt->attach);
		describe_attached(m, rec.opt->attach);
	}
	moca_meta_set(m, "cpus", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	moca_meta_set(m, "nodes", "%u", machine_nodes());
	moca_meta_set(m, "state", "recording");
}

/* The program was not even begun: says why. 1; 0: it was. */
static int explain_exec(void)
{
	struct exec_failure why;

	if (rec.attach ||
	    read(start.exec_report, &why, sizeof(why)) != sizeof(why))
		return 0;
	if (why.what)
		moca_error("cannot %s: %s; see moca doctor", why.what,
			   strerror(why.error));
	else
		moca_error("cannot execute %s: %s", rec.opt->argv[0],
			   strerror(why.error));
	return 1;
}

static void start_companion(void)
{
	const struct moca_record_companion *c = rec.opt->companion;

	const char *session;

	if (!c)
		return;
	c->start(c->arg, rec.dir, rec.quota);
	/* As the engine: launch_engine(). */
	for (int i = 0; rec.opt->launched && c->pid && i < 2; i++)
		if (c->pid(c->arg, i) > 0)
			setpgid(c->pid(c->arg, i), c->pid(c->arg, i));
	session = c->session ? c->session(c->arg) : NULL;
	if (session)
		rec.session = strtoull(session, NULL, 16);
}

static void add_note(void *arg, const char *text)
{
	moca_meta_add(arg, "note", text);
}

static void add_loss(void *arg, const char *text)
{
	moca_meta_add_loss(arg, text);
}

static void set_number(void *arg, const char *key, uint64_t value)
{
	moca_meta_set(arg, key, "%lu", value);
}

static int write_notes(void *arg)
{
	return moca_meta_write(arg, rec.dirfd);
}

static void finish_machine(struct moca_meta *meta)
{
	int err = machine_wait(&rec.machine);
	char text[160];

	if (!err)
		return;
	snprintf(text, sizeof(text), "the machine was not recorded: %s; which "
		 "node a CPU is on is not known", strerror(-err));
	moca_meta_add_loss(meta, text);
}

static atomic_int no_names;

static void leave_names(int sig)
{
	atomic_store(&no_names, 1);
}

/*
 * All processes have written their last name, or are let go: from now on a signal is
 * for the recorder.
 */
static void write_jit(struct moca_meta *meta, struct moca_writer *writer)
{
	struct sigaction sa = { .sa_handler = leave_names,
				.sa_flags = SA_RESTART };
	struct sigaction old[2];
	char text[160];
	int err;

	/* Of a disk that is full there is enough to be told. */
	if (atomic_load(&rec.failed))
		return;
	sigaction(SIGINT, &sa, &old[0]);
	sigaction(SIGTERM, &sa, &old[1]);
	err = jit_write(rec.jit, writer, meta, rec.quota, &no_names);
	sigaction(SIGINT, &old[0], NULL);
	sigaction(SIGTERM, &old[1], NULL);
	jit_free(rec.jit);
	if (!err)
		return;
	snprintf(text, sizeof(text), "the names of compiled code could not be "
		 "kept: %s; that code has none", strerror(-err));
	moca_meta_add_loss(meta, text);
}

/* Such a program may have done something else than it does. */
static void tell_rights(struct moca_meta *meta)
{
	unsigned int n = atomic_load(&rec.rightless);
	char text[200];

	if (!n)
		return;
	snprintf(text, sizeof(text), "%u program%s ran without the rights of %s "
		 "file%s (set-user-ID, set-group-ID or capabilities), which "
		 "the kernel does not give below a tracer: record as root",
		 n, PLURAL(n), n == 1 ? "its" : "their", PLURAL(n));
	moca_warn("%s", text);
	moca_meta_add(meta, "note", text);
}

/* Only moca try needs it. */
static void tell_launch(struct moca_meta *meta)
{
	char text[160];

	if (!rec.launch_error)
		return;
	snprintf(text, sizeof(text), "how the program was started could not be "
		 "kept: %s; give 'moca try' the command behind --",
		 strerror(-rec.launch_error));
	moca_meta_add(meta, "note", text);
}

static void say_loss(struct moca_meta *meta, const char *text)
{
	moca_warn("%s", text);
	moca_meta_add_loss(meta, text);
}

/* Without them, what else the trace tells may contradict itself. */
static void tell_lost(struct moca_meta *meta)
{
	uint64_t n = queue_lost(rec.queue), missed = queue_missed(rec.queue);
	char text[200];

	if (n) {
		snprintf(text, sizeof(text), "%lu change%s of tasks and mappings "
			 "%s lost: there was no memory for %s", n, PLURAL(n),
			 n == 1 ? "was" : "were", n == 1 ? "it" : "them");
		say_loss(meta, text);
	}
	if (missed) {
		snprintf(text, sizeof(text), "%lu change%s of mappings %s lost: "
			 "the recorder did not keep up, or a signal handler "
			 "came while another was told", missed, PLURAL(missed),
			 missed == 1 ? "was" : "were");
		say_loss(meta, text);
	}
	n = moca_add_sat(n, missed);
	if (n)
		moca_meta_set(meta, "changes_lost", "%lu", n);
}

static void finish_companion(struct moca_meta *meta)
{
	const struct moca_record_companion *c = rec.opt->companion;
	const struct moca_record_notes notes = { add_note, add_loss,
						    set_number,
						    write_notes, meta };
	int err = own_faults_close(rec.own_faults);

	if (err)
		moca_meta_add_loss(meta, "the page faults that Moca caused "
			      "could not be written: rates show all faults as "
			      "the program's");
	if (c)
		c->finish(c->arg, &notes);
}

static void remove_begun(void)
{
	struct dirent *e;
	DIR *d = opendir(rec.dir);

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    unlinkat(dirfd(d), e->d_name, 0))
			moca_warn("cannot remove %s/%s: %s", rec.dir, e->d_name,
				  strerror(errno));
	if (d)
		closedir(d);
	/* The user's own stays, as empty as it was. */
	if (rec.made_dir)
		rmdir(rec.dir);
}

/* Nothing was recorded: what was begun of a trace goes. */
static void discard(struct moca_meta *meta)
{
	/* They write into it. */
	finish_companion(meta);
	finish_machine(meta);
	remove_begun();
}

/* What to do about it, behind the reason. */
static const char *advice(int err)
{
	return err == -EMFILE ? "; raise the limit of open files (ulimit -n)" :
				"";
}

static void tell_not_started(int err)
{
	moca_error("cannot start %s to be recorded: %s%s; see moca doctor",
		   rec.opt->argv ? rec.opt->argv[0] : "", strerror(-err),
		   advice(err));
}

/* Own faults are events of the sampler's types, which it describes. */
static int has_sampler(void)
{
	const struct moca_record_companion *c = rec.opt->companion;

	return c && c->pid && c->pid(c->arg, 0);
}

/* What a trace that lacks the end has to say is no answer: how to get one. */
static void tell_again(int err)
{
	if (rec.opt->quiet)
		return;
	if (err == ENOSPC || err == EDQUOT || err == EFBIG)
		moca_say("to record all of it: give it more room (%s), or let it end in time (--max-size)",
			 err == EFBIG ? "ulimit -f" :
					"-o names the directory");
	moca_say("next: moca summary %s (what it did until the recording failed)",
		 rec.dir);
}

/* In the engine: everything between the directory and the exit code. */
static int engine(struct moca_meta *meta, struct moca_writer *writer)
{
	int err, code, sig, failed;

	err = pthread_create(&rec.supervisor, NULL, supervisor_main, NULL);
	if (err) {
		moca_error("cannot start the tracing thread: %s",
			   strerror(err));
		return EXIT_OURS;
	}
	err = wait_launched();
	if (err) {
		tell_not_started(err);
		let_go(-1);
		pthread_join(rec.supervisor, NULL);
		discard(meta);
		return EXIT_OURS;
	}
	code = rec.way->prepare(&rec, meta, writer);
	err = code ? 0 : moca_meta_write(meta, rec.dirfd);
	if (err)
		moca_error("cannot begin the trace in %s: %s%s", rec.dir,
			   strerror(-err), advice(err));
	if (err || code) {
		let_go(-1);
		pthread_join(rec.supervisor, NULL);
		discard(meta);
		return EXIT_OURS;
	}
	if (rec.opt->companion)
		rec.opt->companion->ready(rec.opt->companion->arg, rec.root);
	if (rec.opt->rate_period_ns && has_sampler() &&
	    own_faults_create(&rec.own_faults, rec.dirfd,
			      rec.opt->rate_period_ns, rec.root))
		moca_meta_add_loss(meta, "the page faults that Moca causes "
			      "are not told apart: no memory, or no file");
	moca_debug("%.1f ms: the program begins",
		   (moca_now_ns() - rec.start_ns) / 1e6);
	failure_reserve(&rec);
	let_go(1);
	rec.way->collect(&rec, &finished);
	pthread_join(rec.supervisor, NULL);
	moca_debug("%.1f ms: all is written",
		   (moca_now_ns() - rec.start_ns) / 1e6);
	if (start.error) {
		if (rec.attach)
			attach_refused(rec.opt->attach, start.error);
		else
			tell_not_started(start.error);
		discard(meta);
		return EXIT_OURS;
	}
	/* First the cause; of a trace of nothing there is nothing to ask. */
	failed = explain_exec();
	finish_companion(meta);
	finish_machine(meta);
	write_jit(meta, writer);
	tell_rights(meta);
	tell_launch(meta);
	tell_lost(meta);
	rec.way->summary(&rec);
	if (!rec.opt->quiet && !failed)
		moca_say("next: moca info %s", rec.dir);
	code = failure_exit_code(&rec, &sig);
	failure_tell_end(&rec, meta);
	failure_use_reserve(&rec);
	err = moca_seal_write(meta, rec.dirfd);
	if (err) {
		code = failure_of_end(&rec, err, code);
		failed = 1;
	}
	if (atomic_load(&rec.failed))
		tell_again(atomic_load(&rec.failed));
	else if (!failed && rec.opt->companion && rec.opt->companion->answer)
		rec.opt->companion->answer(rec.opt->companion->arg, rec.dir,
					   moca_now_ns() - rec.start_ns);
	launch_tell_end(&rec, code, sig);
	return code;
}

/*
 * Here SIGXFSZ has the action that the program inherits: a limit of the size of
 * files (ulimit -f) would end this process.
 */
static int write_launch(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction was;
	int err;

	sigaction(SIGXFSZ, &ignore, &was);
	err = moca_launch_write(rec.dirfd, rec.opt->argv,
				rec.opt->no_environment ? NULL : environ);
	sigaction(SIGXFSZ, &was, NULL);
	return err;
}

int record_run(const struct moca_record_options *opt,
	       const struct record_way *way)
{
	struct moca_writer *writer = NULL;
	struct moca_meta *meta;
	struct rlimit lim;
	int err;

	rec.opt = opt;
	rec.way = way;
	rec.filters = -1;
	rec.attach = opt->attach != 0;
	rec.front = -1;
	rec.reserve = -1;
	rec.start_ns = moca_now_ns();
	rec.launch_ns = rec.start_ns - moca_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	rec.privileged = has_capability(CAP_SYS_ADMIN);
	rec.sees_all = has_capability(CAP_SYS_PTRACE);
	pthread_mutex_init(&rec.space_lock, NULL);
	if (!rec.attach && target_check(opt->argv[0], way->traced != NULL, &err))
		return err;
	if (rec.attach &&
	    attach_check(opt->attach, way->traced != NULL, rec.sees_all))
		return EXIT_OURS;
	if (make_dir(opt->dir))
		return EXIT_OURS;
	machine_begin(&rec.machine, rec.dirfd, opt->attach, rec.start_ns);
	/* Before a companion adds to the environment. */
	if (!rec.attach)
		rec.launch_error = write_launch();
	if (opt->max_size)
		rec.quota = moca_quota_new(opt->max_size);
	if (opt->max_size && !rec.quota) {
		moca_error("cannot keep --max-size: %s", strerror(errno));
		machine_wait(&rec.machine);
		remove_begun();
		return EXIT_OURS;
	}
	/* Before a companion has its own types of events. */
	err = opt->heat_ns ? moca_heat_describe(rec.dirfd) : 0;
	if (err) {
		moca_error("cannot begin the trace in %s: %s%s", rec.dir,
			   strerror(-err), advice(err));
		machine_wait(&rec.machine);
		remove_begun();
		return EXIT_OURS;
	}
	start_companion();
	/* The memfd's number in the program: high, but cheap to have. */
	rec.fd_number = 1000;
	if (!getrlimit(RLIMIT_NOFILE, &lim) && lim.rlim_cur <= 1000)
		rec.fd_number = lim.rlim_cur - 1;
	err = launch_engine(&rec);
	if (err) {
		moca_error("cannot start the recording process: %s%s",
			   strerror(-err), advice(err));
		meta = moca_meta_new();
		if (meta)
			discard(meta);
		return EXIT_OURS;
	}
	set_signals();
	rec.jit = jit_new(rec.attach);
	rec.queue = rec.jit ? queue_new(rec.jit) : NULL;
	meta = moca_meta_new();
	err = rec.queue && meta ? moca_writer_create(&writer, rec.dirfd) :
				  -ENOMEM;
	if (err) {
		moca_error("cannot begin the trace in %s: %s%s", rec.dir,
			   strerror(-err), advice(err));
		if (meta)
			discard(meta);
		launch_tell_end(&rec, EXIT_OURS, 0);
		_exit(EXIT_OURS);
	}
	describe(meta);
	err = engine(meta, writer);
	launch_tell_end(&rec, err, 0);
	fflush(NULL);
	_exit(err);
}

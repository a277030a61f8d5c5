// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The command line of the original MOCA, for its users' scripts: a recording
 * that is then written as Moca-taskX files.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/trace.h"
#include "cli/commands.h"
#include "cli/open.h"
#include "export/classic.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"
#include "lib/cmdline/words.h"

struct classic {
	/* Options. */
	const char *cmd;
	const char *args;
	const char *file;
	const char *log;
	const char *dir;
	const char *moca_dir;
	const char *log_interval;
	uint64_t interval_ms;
	uint64_t priority;
	uint64_t hash_bits;
	uint64_t chunk_size;
	uint64_t chunks;
	int no_false_faults;
	int ugly;
	int ugly_too;
	int no_recompile;
	int debug;
	int pin;
	/* Made from them. */
	char out[PATH_MAX];
	char err[PATH_MAX];
	char log_path[PATH_MAX];
	char tmp[PATH_MAX];	/* the directory that holds the trace */
	char trace[PATH_MAX + 8];
	struct words argv;
	int log_fd;
};

/* A name with a slash is where it says, any other is in the directory. */
static int place(char path[PATH_MAX], const char *dir, const char *name,
		 const char *suffix)
{
	int n;

	if (strchr(name, '/') || !strcmp(dir, "."))
		n = snprintf(path, PATH_MAX, "%s%s", name, suffix);
	else
		n = snprintf(path, PATH_MAX, "%s/%s%s", dir, name, suffix);
	if (n >= PATH_MAX) {
		moca_error("the file name '%s%s' is too long", name, suffix);
		return -ENAMETOOLONG;
	}
	return 0;
}

static int make_directories(const char *path)
{
	char part[PATH_MAX];
	size_t i;

	for (i = 0; path[i]; i++) {
		part[i] = path[i];
		if (i + 1 == sizeof(part))
			return -ENAMETOOLONG;
		if (!i || (path[i + 1] && path[i + 1] != '/'))
			continue;
		part[i + 1] = 0;
		if (mkdir(part, 0777) && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static int make_paths(struct classic *c)
{
	char base[NAME_MAX + 8], *slash;
	const char *file = c->file;
	size_t len;
	int err;

	slash = strrchr(c->argv.items[0], '/');
	snprintf(base, sizeof(base), "Moca-%.200s",
		 slash ? slash + 1 : c->argv.items[0]);
	if (file) {
		/* "-f run.log" means run.log and run.err. */
		len = strlen(file);
		if (len > 4 && !strcmp(file + len - 4, ".log"))
			len -= 4;
		file = strndup(file, len);
	} else {
		file = strdup(base);
	}
	if (!file)
		return -ENOMEM;
	err = place(c->out, c->dir, file, ".log");
	if (!err)
		err = place(c->err, c->dir, file, ".err");
	if (!err)
		err = place(c->log_path, c->dir, c->log, "");
	if (!err)
		err = place(c->tmp, c->dir, ".moca-XXXXXX", "");
	free((char *)file);
	return err;
}

static int open_all(struct classic *c)
{
	int err = make_directories(c->dir);

	if (err) {
		moca_error("cannot make the directory '%s': %s", c->dir,
			   strerror(-err));
		return err;
	}
	c->log_fd = open(c->log_path,
			 O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC,
			 0666);
	if (c->log_fd < 0) {
		err = -errno;
		moca_error("cannot write Moca's log '%s': %s", c->log_path,
			   strerror(errno));
		return err;
	}
	if (!mkdtemp(c->tmp)) {
		err = -errno;
		moca_error("cannot make a directory for the trace in '%s': %s (-D chooses another place)",
			   c->dir, strerror(errno));
		close(c->log_fd);
		return err;
	}
	snprintf(c->trace, sizeof(c->trace), "%s/trace", c->tmp);
	return 0;
}

static void explain_unused(const struct classic *c)
{
	if (c->hash_bits)
		dprintf(c->log_fd, "-b %" PRIu64 ": no effect: it sized a hash table of the old kernel module; tables now grow as needed\n",
			c->hash_bits);
	if (c->chunk_size)
		dprintf(c->log_fd, "-S %" PRIu64 ": no effect: a chunk now holds as many addresses as its interval has\n",
			c->chunk_size);
	if (c->chunks)
		dprintf(c->log_fd, "-C %" PRIu64 ": no effect: chunks go to the disk at once, none is dropped for want of room\n",
			c->chunks);
	if (c->log_interval)
		dprintf(c->log_fd, "-L %s: no effect: there is no logging daemon whose interval could be set\n",
			c->log_interval);
	if (c->moca_dir)
		dprintf(c->log_fd, "-d %s: no effect: there is no module to find\n",
			c->moca_dir);
	if (c->no_recompile)
		dprintf(c->log_fd, "-n: no effect: there is no module to compile\n");
	if (c->ugly || c->ugly_too)
		dprintf(c->log_fd, "-%c: no effect: false page faults are made without touching swap entries, so the hack is neither needed nor dangerous\n",
			c->ugly ? 'u' : 'H');
	if (c->debug)
		dprintf(c->log_fd, "-G: no effect: it was a switch of the old script\n");
	if (c->pin)
		dprintf(c->log_fd, "-P: no effect: data structures are not looked up with Pin; mappings are in the trace\n");
	if (c->no_false_faults)
		dprintf(c->log_fd, "-F: no false page faults: only the first touch of each page is seen\n");
}

/* The program's priority, for the child of record's fork. */
static int program_priority;

static void lower_priority(void)
{
	struct sched_param p = { .sched_priority = program_priority };

	if (program_priority < 1)
		sched_setscheduler(0, SCHED_OTHER,
				   &(struct sched_param){ 0 });
	else
		sched_setscheduler(0, SCHED_FIFO, &p);
}

/* As schedtool -F did: the collector at prio, the program just below. */
static void set_priority(const struct classic *c)
{
	struct sched_param p = { .sched_priority = c->priority };

	if (!c->priority)
		return;
	program_priority = c->priority - 1;
	if (pthread_atfork(NULL, NULL, lower_priority) ||
	    sched_setscheduler(0, SCHED_FIFO, &p)) {
		dprintf(c->log_fd, "-p %" PRIu64 ": not done: %s; it needs root, or a limit on real-time priorities (ulimit -r) of at least that\n",
			c->priority, strerror(errno));
		return;
	}
	dprintf(c->log_fd, "-p %" PRIu64 ": the recorder runs with real-time (FIFO) priority %d, the program with %d\n",
		c->priority, (int)c->priority, program_priority);
}

static int add_words(struct words *w, const char *const *items)
{
	int err = 0;

	for (; *items && !err; items++)
		err = moca_words_add(w, *items);
	return err;
}

static int record(struct classic *c)
{
	char interval[32];
	const char *const head[] = {
		"record", "--no-ranks", "-o", c->trace, "--interval", interval, "--budget",
		"none", "-q", "--program-stdout", c->out, "--program-stderr",
		c->err, c->no_false_faults ? "--no-zap" : "--", NULL
	};
	struct words w = { 0 };
	int err;

	snprintf(interval, sizeof(interval), "%" PRIu64 "ms", c->interval_ms);
	err = add_words(&w, head);
	if (!err && c->no_false_faults)
		err = moca_words_add(&w, "--");
	if (!err)
		err = add_words(&w, (const char *const *)c->argv.items);
	if (err) {
		moca_error("out of memory");
		return EXIT_RECORD;
	}
	return cmd_record(w.count, w.items);
}

static int is_own_failure(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) >= EXIT_RECORD &&
	       WEXITSTATUS(status) <= EXIT_RECORD + 2;
}

static volatile sig_atomic_t recorder;

/* What was sent to moca alone is meant for the recorder. */
static void forward(int sig)
{
	if (recorder > 0)
		kill(recorder, sig);
}

static const int kept[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
#define KEPT (sizeof(kept) / sizeof(kept[0]))

/*
 * The program, which a ^C reaches too, decides what a signal does: we have to
 * convert in any case.
 */
static void take_signals(struct sigaction old[KEPT])
{
	struct sigaction sa = { .sa_flags = SA_RESTART };
	size_t i;

	for (i = 0; i < KEPT; i++) {
		sa.sa_handler = i < 2 ? SIG_IGN : forward;
		sigaction(kept[i], &sa, &old[i]);
	}
}

static void restore_signals(const struct sigaction old[KEPT])
{
	size_t i;

	for (i = 0; i < KEPT; i++)
		sigaction(kept[i], &old[i], NULL);
}

/* Run record in a child: it ends with the signal that ended the program. */
static int run(struct classic *c, int *status)
{
	struct sigaction old[KEPT];
	pid_t pid;
	int ret;

	fflush(NULL);
	take_signals(old);
	pid = fork();
	if (pid < 0) {
		moca_error("cannot start the recorder: %s", strerror(errno));
		restore_signals(old);
		return -1;
	}
	if (!pid) {
		restore_signals(old);
		dup2(c->log_fd, STDOUT_FILENO);
		dup2(c->log_fd, STDERR_FILENO);
		set_priority(c);
		ret = record(c);
		fflush(NULL);
		_exit(ret);
	}
	recorder = pid;
	do
		ret = waitpid(pid, status, 0);
	while (ret < 0 && errno == EINTR);
	recorder = 0;
	restore_signals(old);
	return ret < 0 ? -1 : 0;
}

/* Files of an earlier, longer run would pass for tasks of this one. */
static void remove_older(struct classic *c, size_t from)
{
	char name[32], path[PATH_MAX];

	for (;; from++) {
		snprintf(name, sizeof(name), "Moca-task%zu", from);
		if (place(path, c->dir, name, "") || unlink(path))
			return;
		dprintf(c->log_fd, "%s: of an earlier recording, removed\n",
			path);
	}
}

static int convert(struct classic *c)
{
	struct classic_options o = { 0 };
	struct moca_trace *t;
	size_t n;
	int fd, err;

	t = trace_open("moca -c", c->trace);
	if (!t)
		return -EINVAL;
	o.origin_ns = trace_origin(t);
	o.page_size = 1u << trace_page_shift(t);
	o.cpus = trace_meta_u64(t, META_CPUS, sysconf(_SC_NPROCESSORS_CONF));
	fd = open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = fd < 0 ? -errno : moca_classic_export(t, fd, &o);
	if (fd >= 0)
		close(fd);
	n = moca_trace_task_count(t);
	if (err) {
		moca_error("cannot write the files '%s/Moca-task*': %s (the trace is kept in '%s': 'moca info' reads it)",
			   c->dir, strerror(-err), c->trace);
	} else {
		remove_older(c, n);
		moca_say("traces: %s/Moca-task0 to %zu; the program's output: %s, %s; moca's: %s",
			 c->dir, n ? n - 1 : 0, c->out, c->err, c->log_path);
	}
	moca_trace_close(t);
	return err;
}

static void remove_trace(const struct classic *c)
{
	DIR *dir = opendir(c->trace);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(c->trace);
	rmdir(c->tmp);
}

static int finish(int status)
{
	struct rlimit none = { 0, 0 };

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	/* The shell must see the program's signal, but no second core. */
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	fflush(NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static int in_range(const char *what, uint64_t v, uint64_t min, uint64_t max)
{
	if (v >= min && v <= max)
		return 1;
	moca_error("option '%s' takes %" PRIu64 " to %" PRIu64 ", not %" PRIu64,
		   what, min, max, v);
	return 0;
}

static int check_ranges(const struct classic *c)
{
	return in_range("-w", c->interval_ms, 1, 3600000) &&
	       (!c->priority || in_range("-p", c->priority, 1, 99)) &&
	       (!c->hash_bits || in_range("-b", c->hash_bits, 1, 30)) &&
	       (!c->chunk_size ||
		in_range("-S", c->chunk_size, 1, 1u << 30)) &&
	       (!c->chunks || in_range("-C", c->chunks, 1, 1000000));
}

static int parse(struct classic *c, int argc, char **argv)
{
	const struct option_spec specs[] = {
		OPT_STRING('c', NULL, &c->cmd, "CMD", "the program to record"),
		OPT_STRING('a', NULL, &c->args, "ARGS", "its arguments, split at blanks; quotes work as in a shell"),
		OPT_STRING('f', NULL, &c->file, "FILE", "the program's output goes to FILE.log and FILE.err (default Moca-CMD)"),
		OPT_STRING('l', NULL, &c->log, "FILE", "moca's messages go to FILE (default Moca-output.log)"),
		OPT_STRING('D', NULL, &c->dir, "DIR", "write all files into DIR (default: here)"),
		OPT_UINT('w', NULL, &c->interval_ms, "MS", "the interval between false page faults (default 40)"),
		OPT_UINT('p', NULL, &c->priority, "PRIO", "real-time priority of the recorder; the program gets PRIO-1 (default: none)"),
		OPT_FLAG('F', NULL, &c->no_false_faults, "make no false page faults: see only first touches"),
		OPT_UINT('b', NULL, &c->hash_bits, "BITS", "accepted, without effect, as are the following"),
		OPT_UINT('S', NULL, &c->chunk_size, "SIZE", "addresses in a chunk"),
		OPT_UINT('C', NULL, &c->chunks, "N", "chunks kept in memory"),
		OPT_STRING('L', NULL, &c->log_interval, "SEC", "interval of the logging daemon"),
		OPT_STRING('d', NULL, &c->moca_dir, "DIR", "where the module's source was"),
		OPT_FLAG('n', NULL, &c->no_recompile, "do not compile the module"),
		OPT_FLAG('u', NULL, &c->ugly, "the ugly false page fault hack"),
		OPT_FLAG('H', NULL, &c->ugly_too, "the same"),
		OPT_FLAG('G', NULL, &c->debug, "a switch of the old script"),
		OPT_FLAG('P', NULL, &c->pin, "find data structures with Pin"),
		OPT_END
	};
	int first;

	first = moca_options_parse_mixed(specs, argc, argv,
		"moca -c CMD [-a ARGS] [OPTIONS]",
		"Record a program as the original MOCA did. Writes Moca-taskX, one text file for each task. 'moca record' is the newer way.");
	if (first < 0)
		return first;
	if (first < argc) {
		moca_error("'%s' is too much: give the program's arguments with -a \"...\"",
			   argv[first]);
		return -EINVAL;
	}
	if (!c->cmd) {
		moca_error("which program? moca -c CMD -a \"ARGS\"");
		return -EINVAL;
	}
	if (!check_ranges(c))
		return -EINVAL;
	first = moca_words_split(&c->argv, c->cmd);
	if (!first && c->args)
		first = moca_words_split(&c->argv, c->args);
	if (first || !c->argv.count)
		moca_error("-c or -a: %s", first == -ENOMEM ? "out of memory" :
			   first ? "a quote is not closed" :
				   "the program's name is empty");
	return first || !c->argv.count ? -EINVAL : 0;
}

int cmd_classic(int argc, char **argv)
{
	struct classic c = { .log = "Moca-output.log", .dir = ".",
			     .interval_ms = 40 };
	int ret, status = 0;

	argv[0] = (char *)"moca";
	ret = parse(&c, argc, argv);
	if (ret) {
		moca_words_free(&c.argv);
		return ret == -ECANCELED ? 0 : EXIT_USAGE;
	}
	if (make_paths(&c) || open_all(&c)) {
		moca_words_free(&c.argv);
		return EXIT_RECORD;
	}
	explain_unused(&c);
	if (run(&c, &status)) {
		status = EXIT_RECORD << 8;
	} else if (is_own_failure(status) && access(c.trace, F_OK)) {
		moca_error("recording '%s' failed: '%s' says why",
			   c.argv.items[0], c.log_path);
	} else if (convert(&c)) {
		moca_words_free(&c.argv);
		close(c.log_fd);
		return EXIT_RECORD;
	}
	remove_trace(&c);
	moca_words_free(&c.argv);
	close(c.log_fd);
	return finish(status);
}

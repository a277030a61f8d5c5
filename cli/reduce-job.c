// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/reduce-job.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/trace.h"
#include "cli/commands.h"
#include "cli/open.h"
#include "cli/reduce-seen.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "report/advice.h"
#include "report/job.h"

#define RANK "rank-"
#define TASK "task-"
#define NO_RANK UINT32_MAX
#define PROCESSES 256u

/* A trace of a rank, or a profile. */
struct item {
	char *path;
	uint32_t rank;		/* as its folder's name says; or NO_RANK */
	int profile;
};

struct work {
	const struct reduce_options *options;
	struct item *items;
	size_t count, room;
	/* Of all processes: the item that is next. */
	_Atomic size_t *next;
	/* [process]: the item that it is at. */
	size_t *at;
};

/* --- which ranks there are ---------------------------------------------- */

/* "rank-17", as moca record names them; or NO_RANK. */
static uint32_t rank_of_name(const char *name)
{
	char again[32];
	unsigned long v;

	if (strncmp(name, RANK, strlen(RANK)))
		return NO_RANK;
	v = strtoul(name + strlen(RANK), NULL, 10);
	if (v > MOCA_JOB_RANK_MAX)
		return NO_RANK;
	snprintf(again, sizeof(again), RANK "%lu", v);
	return strcmp(again, name) ? NO_RANK : (uint32_t)v;
}

static uint32_t rank_of_path(const char *path)
{
	size_t len = strlen(path), from;
	char name[32] = "";

	while (len && path[len - 1] == '/')
		len--;
	for (from = len; from && path[from - 1] != '/'; from--)
		;
	if (len - from < sizeof(name))
		memcpy(name, path + from, len - from);
	return rank_of_name(name);
}

static int has_metadata(const char *path)
{
	struct stat st;
	char *file;
	int has;

	if (asprintf(&file, "%s/metadata", path) < 0)
		return 0;
	has = !stat(file, &st);
	free(file);
	return has;
}

int reduce_is_job(const char *path)
{
	struct dirent *e;
	int is = 0;
	DIR *d;

	if (moca_job_is(path))
		return 1;
	if (has_metadata(path))
		return 0;
	d = opendir(path);
	while (d && !is && (e = readdir(d)))
		is = rank_of_name(e->d_name) != NO_RANK;
	if (d)
		closedir(d);
	return is;
}

char *reduce_task_of(const char *path)
{
	unsigned long v, least = ULONG_MAX;
	char *task, *found = NULL;
	struct dirent *e;
	char *end;
	DIR *d = has_metadata(path) ? NULL : opendir(path);

	while (d && (e = readdir(d))) {
		if (strncmp(e->d_name, TASK, strlen(TASK)))
			continue;
		v = strtoul(e->d_name + strlen(TASK), &end, 10);
		if (!isdigit((unsigned char)e->d_name[strlen(TASK)]) || *end ||
		    v >= least ||
		    asprintf(&task, "%s/%s", path, e->d_name) < 0)
			continue;
		if (has_metadata(task) || reduce_is_job(task)) {
			free(found);
			found = task;
			least = v;
		} else {
			free(task);
		}
	}
	if (d)
		closedir(d);
	return found;
}

/* path becomes the list's. */
static int add_item(struct work *w, char *path, uint32_t rank, int profile)
{
	struct item *x = path ? moca_vec_add(w->items, w->count, w->room) : NULL;

	if (!x) {
		free(path);
		moca_error("%s: out of memory", w->options->command);
		return EXIT_USAGE;
	}
	*x = (struct item){ path, rank, profile };
	return 0;
}

static int add_folder(struct work *w, const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	uint32_t rank;
	char *trace;
	int ret = 0;

	if (!d) {
		moca_error("%s: cannot read the folder '%s': %s (give one that 'mpirun moca record -o' wrote)",
			   w->options->command, path, strerror(errno));
		return EXIT_USAGE;
	}
	while (!ret && (errno = 0, e = readdir(d))) {
		rank = rank_of_name(e->d_name);
		if (rank == NO_RANK)
			continue;
		if (asprintf(&trace, "%s/%s", path, e->d_name) < 0)
			trace = NULL;
		ret = add_item(w, trace, rank, 0);
	}
	if (!ret && errno) {
		moca_error("%s: cannot read all of the folder '%s': %s",
			   w->options->command, path, strerror(errno));
		ret = EXIT_USAGE;
	}
	closedir(d);
	return ret;
}

static int add_operand(struct work *w, const char *path)
{
	char *task;

	if (moca_job_is(path))
		return add_item(w, strdup(path), NO_RANK, 1);
	if (has_metadata(path))
		return add_item(w, strdup(path), rank_of_path(path), 0);
	if (reduce_is_job(path))
		return add_folder(w, path);
	task = reduce_task_of(path);
	if (task) {
		moca_error("%s: '%s' is of an array of Slurm jobs: give one of its tasks, as %s",
			   w->options->command, path, task);
		free(task);
		return EXIT_USAGE;
	}
	moca_error("%s: '%s' is no folder with traces of ranks (rank-0 and so on), no trace and no profile of 'moca reduce': give what 'mpirun moca record -o DIR' wrote",
		   w->options->command, path);
	return EXIT_USAGE;
}

/* --- one of them -------------------------------------------------------- */

int reduce_merge(struct moca_job *to, const struct moca_job *from,
		 const struct reduce_options *o, const char *path)
{
	uint32_t rank;
	int err = moca_job_merge(to, from, &rank);

	if (err == -EEXIST)
		moca_error("%s: rank %u is there twice, the second time in '%s': give each rank of one job once",
			   o->command, rank, path);
	else if (err == -EXDEV)
		moca_error("%s: '%s' has %s, ranks before it have %s: record all ranks of a job in the same way",
			   o->command, path,
			   from->counts ? "counts of exact mode" : "records of pages",
			   to->counts ? "counts of exact mode" : "records of pages");
	else if (err)
		moca_error("%s: out of memory at '%s'", o->command, path);
	return err ? EXIT_USAGE : 0;
}

int reduce_read_file(struct moca_job *j, const struct reduce_options *o,
		     FILE *f, const char *path)
{
	size_t line;
	int err = moca_job_read(j, f, &line);

	if (!err)
		return 0;
	if (err == -EPROTO)
		moca_error("%s: '%s' was written by a newer moca than this one (%s): update moca, or write it anew by 'moca reduce'",
			   o->command, path, MOCA_VERSION);
	else if (err == -ENODATA)
		moca_error("%s: the profile '%s' is cut off: its last line, 'end', is missing; write it anew by 'moca reduce'",
			   o->command, path);
	else if (err == -EBADMSG && line)
		moca_error("%s: '%s' is a damaged profile (line %zu): write it anew by 'moca reduce'",
			   o->command, path, line);
	else
		moca_error("%s: cannot read the profile '%s': %s; write it anew by 'moca reduce'",
			   o->command, path, err == -EBADMSG ?
				   "its checksum is wrong, or it is no text, or larger than 64 MiB" :
				   strerror(-err));
	return EXIT_USAGE;
}

static int read_profile(struct moca_job *j, const struct reduce_options *o,
			const char *path)
{
	FILE *f = fopen(path, "re");
	int ret;

	if (!f) {
		moca_error("%s: cannot read the profile '%s': %s", o->command,
			   path, strerror(errno));
		return EXIT_USAGE;
	}
	ret = reduce_read_file(j, o, f, path);
	fclose(f);
	return ret;
}

/* The rank that the trace itself tells, which the folder's name must agree with. */
static int rank_of(const struct reduce_options *o, const struct item *x,
		   const struct moca_trace *t, uint32_t *rank)
{
	uint64_t told = trace_meta_u64(t, META_RANK, NO_RANK);

	*rank = x->rank;
	if (x->rank == NO_RANK && told <= MOCA_JOB_RANK_MAX)
		*rank = (uint32_t)told;
	if (*rank == NO_RANK) {
		moca_error("%s: '%s' is a trace of no rank of a job: neither its metadata nor its name (rank-N) says which one",
			   o->command, x->path);
		return EXIT_USAGE;
	}
	if (told == NO_RANK || told == *rank)
		return 0;
	moca_error("%s: '%s' is by its metadata the trace of rank %s: name its folder rank-N after it",
		   o->command, x->path, moca_trace_meta(t, META_RANK));
	return EXIT_USAGE;
}

static int take_trace(struct moca_job *j, const struct reduce_options *o,
		      const struct item *x)
{
	struct moca_trace *t = trace_open(o->command, x->path);
	struct moca_profile *p = NULL;
	char machine[256];
	uint32_t rank;
	int ret, err;

	if (!t && x->rank == NO_RANK)
		return EXIT_USAGE;
	if (!t)
		return moca_job_take_unreadable(j, x->rank) ? EXIT_USAGE : 0;
	ret = rank_of(o, x, t, &rank);
	if (!ret)
		ret = advice_profile(o->command, x->path, t, o->topology, &p);
	if (!ret) {
		advice_topology(p, machine, sizeof(machine));
		err = moca_job_take(j, rank, t, p, machine);
		if (err)
			moca_error("%s: cannot read the trace '%s': %s",
				   o->command, x->path, strerror(-err));
		ret = err ? EXIT_USAGE : 0;
	} else if (ret == 1) {
		/* Why was said; the job has other ranks. */
		ret = moca_job_take_unreadable(j, rank) ? EXIT_USAGE : 0;
	}
	moca_profile_free(p);
	moca_trace_close(t);
	return ret;
}

/* --- all of them, by processes ------------------------------------------ */

/* Items until none is left: memory is that of one rank, and of what is merged. */
static int work_on(struct work *w, struct moca_job *sum, size_t process)
{
	struct moca_job one;
	int ret = 0;
	size_t i;

	while (!ret) {
		i = atomic_fetch_add(w->next, 1);
		if (i >= w->count)
			break;
		w->at[process] = i;
		moca_job_init(&one);
		ret = w->items[i].profile ?
			      read_profile(&one, w->options, w->items[i].path) :
			      take_trace(&one, w->options, &w->items[i]);
		if (!ret)
			ret = reduce_merge(sum, &one, w->options, w->items[i].path);
		moca_job_free(&one);
	}
	/* One error is enough. */
	if (ret)
		atomic_store(w->next, w->count);
	return ret;
}

static void run_child(struct work *w, size_t process, FILE *f)
{
	struct moca_job sum;
	int ret, err;

	moca_job_init(&sum);
	ret = work_on(w, &sum, process);
	if (!ret) {
		err = moca_job_write(f, &sum);
		if (fflush(f) || ferror(f) || err) {
			moca_error("%s: cannot pass on what ranks have: %s",
				   w->options->command,
				   err ? strerror(-err) : strerror(errno));
			ret = EXIT_USAGE;
		}
	}
	_exit(ret);
}

/*
 * Waits for a process and merges the profile that it wrote, of the ranks that it
 * read, into *out. 0 or an exit code.
 */
static int collect(struct work *w, struct moca_job *out, size_t process,
		   pid_t pid, FILE *f)
{
	struct moca_job part;
	int status, ret;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR) {
			moca_error("%s: cannot wait for the process that read '%s': %s",
				   w->options->command,
				   w->items[w->at[process]].path, strerror(errno));
			return EXIT_USAGE;
		}
	if (WIFSIGNALED(status)) {
		moca_error("%s: the process that read '%s' was killed by signal %d (%s); --jobs 1 takes less memory at once",
			   w->options->command, w->items[w->at[process]].path,
			   WTERMSIG(status), strsignal(WTERMSIG(status)));
		return EXIT_USAGE;
	}
	if (WEXITSTATUS(status))
		return WEXITSTATUS(status);
	rewind(f);
	moca_job_init(&part);
	ret = reduce_read_file(&part, w->options, f,
			       "what another process read");
	if (!ret)
		ret = reduce_merge(out, &part, w->options,
				   w->items[w->at[process]].path);
	moca_job_free(&part);
	return ret;
}

/* A file in memory for what a process has to say. */
static FILE *answer_file(void)
{
	int fd = memfd_create("moca-reduce", MFD_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w+");

	if (!f && fd >= 0)
		close(fd);
	return f;
}

static int run_all(struct work *w, struct moca_job *out, size_t processes)
{
	pid_t *pids = calloc(processes, sizeof(*pids));
	FILE **files = calloc(processes, sizeof(*files));
	size_t i, begun = 0;
	int ret = pids && files ? 0 : EXIT_USAGE, one;

	/* Ignored, no child would be there to be waited for. */
	signal(SIGCHLD, SIG_DFL);
	for (i = 0; i < processes && !ret; i++) {
		files[i] = answer_file();
		fflush(NULL);
		pids[i] = files[i] ? fork() : -1;
		if (!pids[i])
			run_child(w, i, files[i]);
		if (pids[i] > 0) {
			begun++;
			continue;
		}
		/* Those that run take what is left. */
		if (files[i])
			fclose(files[i]);
		files[i] = NULL;
		if (!begun) {
			moca_error("%s: cannot start a process to read ranks: %s",
				   w->options->command, strerror(errno));
			ret = EXIT_USAGE;
		}
		break;
	}
	for (i = 0; i < begun; i++) {
		one = collect(w, out, i, pids[i], files[i]);
		ret = ret ? ret : one;
		fclose(files[i]);
	}
	free(pids);
	free(files);
	return ret;
}

static size_t processes_of(const struct work *w)
{
	uint64_t n = w->options->processes;
	cpu_set_t set;

	if (!n)
		n = sched_getaffinity(0, sizeof(set), &set) ? 1 :
			    (uint64_t)CPU_COUNT(&set);
	if (n > PROCESSES)
		n = PROCESSES;
	return n > w->count ? w->count : (size_t)n;
}

static int by_place(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* What there is, and, before its share is read, what that is. 0 or an exit code. */
static int see(const struct work *w)
{
	const struct reduce_options *o = w->options;
	struct reduce_seen *s = o->seen;

	for (size_t i = 0; i < w->count; i++) {
		if (reduce_seen_add(s, w->items[i].path, w->items[i].profile)) {
			moca_error("%s: out of memory", o->command);
			return EXIT_USAGE;
		}
		if (i % o->parts == o->part)
			s->items[i].sum = reduce_seen_sum(&s->items[i]);
	}
	return 0;
}

/* Of all items, those that this process of many is to read. */
static void keep_share(struct work *w)
{
	const struct reduce_options *o = w->options;
	size_t n = 0;

	for (size_t i = 0; i < w->count; i++)
		if (!o->parts || i % o->parts == o->part)
			w->items[n++] = w->items[i];
		else
			free(w->items[i].path);
	w->count = n;
}

int reduce_load(struct moca_job *out, const struct reduce_options *o,
		char *const *paths, size_t count)
{
	struct work w = { .options = o };
	size_t i, processes, size;
	void *shared = MAP_FAILED;
	int ret = 0;

	moca_job_init(out);
	for (i = 0; i < count && !ret; i++)
		ret = add_operand(&w, paths[i]);
	if (ret)
		goto out;
	qsort(w.items, w.count, sizeof(*w.items), by_place);
	if (o->parts && o->seen)
		ret = see(&w);
	if (ret)
		goto out;
	keep_share(&w);
	processes = processes_of(&w);
	size = (processes + 1) * sizeof(size_t);
	shared = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		moca_error("%s: out of memory", o->command);
		ret = EXIT_USAGE;
		goto out;
	}
	w.next = shared;
	w.at = (size_t *)shared + 1;
	ret = processes > 1 ? run_all(&w, out, processes) :
			      work_on(&w, out, 0);
out:
	if (shared != MAP_FAILED)
		munmap(shared, size);
	for (i = 0; i < w.count; i++)
		free(w.items[i].path);
	free(w.items);
	return ret;
}

/* --- what is shown of it ------------------------------------------------ */

int reduce_show(const struct reduce_options *o, const struct reduce_shown *s)
{
	char *const paths[] = { (char *)s->path };
	struct moca_job_view view = { 0 };
	struct moca_job job;
	int ret = reduce_load(&job, o, paths, 1);

	if (!ret && moca_job_look(&view, &job)) {
		moca_error("%s: out of memory", o->command);
		ret = EXIT_USAGE;
	}
	if (!ret) {
		if (s->json)
			job_json(stdout, &view, s->path);
		else if (s->print == REDUCE_FIRST)
			job_first_print(&view);
		else if (s->print == REDUCE_INFO)
			job_info_print(&view, s->path, s->all);
		else
			job_summary_print(&view, s->path, s->all);
		ret = job_warn(o->command, &view, 0);
	}
	moca_job_view_free(&view);
	moca_job_free(&job);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counting by /proc. What did not run has not faulted and has not forked: so a
 * process at rest costs one reading of its CPU clock, a thread one of schedstat.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/rate/rate.h"
#include "collect/rate/stat.h"
#include "lib/base/vec.h"

/* How often a process that runs is looked at for children: a file a thread. */
#define CHILDREN_NS 100000000ull
#define BUCKETS 1024u
#define NO_TASK UINT32_MAX

struct thread {
	pid_t tid;
	uint32_t task;
	int stat, run;		/* descriptors; -1: opened when needed */
	struct moca_rate_counts at;
	uint64_t looked_ns;	/* when it was looked at; 0: never */
	uint64_t faults;	/* that its process had when its own were read */
	int ran;		/* since children were looked for */
	int present;
};

struct process {
	struct process *next, *hash_next;
	pid_t pid, parent;
	uint32_t task, reaped_task;
	int stat;
	clockid_t clock;
	struct moca_rate_counts at;
	struct rate_stat last;
	char name[STAT_NAME];	/* as told */
	struct thread *threads;
	size_t count, room;
	size_t turn;		/* whose of the threads it is */
	size_t unlooked;	/* so many may have done something since */
	int told_threads;	/* it once had two */
	int fresh;		/* not yet sampled */
	int from_birth;		/* all it did is new */
	int born_with_threads;	/* the threads there now are not new */
	int ran;		/* since children were looked for */
	int zombie, gone;
	pid_t watched_for;	/* it only waits for this one; 0: no */
	uint64_t children_ns;	/* when these were looked for, */
	pid_t children_pid;	/* and the youngest pid of all then */
	/* What it waited for: as it was, what we know of it, what we told. */
	struct moca_rate_counts reaped, known, told;
};

struct state {
	struct rate_options opt;
	struct rate_sink sink;
	struct process *first, **last;
	struct process *table[BUCKETS];
	uint32_t next_task;
	uint64_t tick_ns;	/* of a clock tick */
	uint64_t last_ns;
	uint64_t cpus;		/* that are on line */
	uint64_t room_ns;	/* CPU time that this round can still have */
	uint64_t late_ns;	/* what did not fit, and may in the next one */
	uint64_t unplaced_ns;	/* what is older than that */
	unsigned int looks;	/* at threads, left in this round */
	int loadavg;		/* /proc/loadavg; -1 */
	pid_t youngest;		/* the pid that was given last; 0: not known */
};

static struct process *find(struct state *s, pid_t pid)
{
	struct process *p = s->table[(uint32_t)pid % BUCKETS];

	while (p && p->pid != pid)
		p = p->hash_next;
	return p;
}

/*
 * A kernel without CONFIG_SCHED_INFO has no such file, or says 0 0 0. The time
 * of a program that has just begun is 0 as well, but not how often it ran.
 */
static int has_schedstat(void)
{
	int fd = rate_open(getpid(), 0, "schedstat");
	char buf[128] = "";
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	return n > 0 && strpbrk(buf, "123456789");
}

static int proc_open(void **out, const struct rate_options *opt,
		     const struct rate_sink *sink)
{
	struct state *s;

	if (opt->threads && !has_schedstat())
		return -EOPNOTSUPP;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->opt = *opt;
	s->sink = *sink;
	s->last = &s->first;
	s->cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	s->tick_ns = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);
	s->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	*out = s;
	return 0;
}

static int read_clock(clockid_t clock, uint64_t *ns)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		return -errno;
	*ns = (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
	return 0;
}

/* A process is there: take it in. NULL with errno: it is not, or memory. */
static struct process *take(struct state *s, pid_t pid, int from_birth)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = pid;
	p->task = p->reaped_task = NO_TASK;
	p->from_birth = from_birth;
	p->born_with_threads = !from_birth;
	p->fresh = 1;
	p->stat = rate_open(pid, 0, "stat");
	if (p->stat < 0) {
		errno = -p->stat;
		goto err_free;
	}
	/* Threads have no such clock, but /proc shows them by their number. */
	if (clock_getcpuclockid(pid, &p->clock)) {
		errno = rate_stat_read(&p->last, p->stat) ? ESRCH : EINVAL;
		goto err_close;
	}
	p->hash_next = s->table[(uint32_t)pid % BUCKETS];
	s->table[(uint32_t)pid % BUCKETS] = p;
	*s->last = p;
	s->last = &p->next;
	return p;
err_close:
	close(p->stat);
err_free:
	free(p);
	return NULL;
}

static int proc_add(void *state, pid_t pid)
{
	struct state *s = state;
	struct process *p = find(s, pid);

	if (!p)
		p = take(s, pid, s->opt.from_birth);
	if (p)
		return 0;
	if (errno != ENOENT && errno != ESRCH)
		return -errno;
	/* /proc may be mounted so that those of others are hidden. */
	if (!kill(pid, 0) || errno == EPERM)
		return -EACCES;
	return -ESRCH;
}

static int proc_watch(void *state, pid_t parent, pid_t child)
{
	struct state *s = state;
	struct process *p = take(s, parent, 0);

	if (!p)
		return -errno;
	p->watched_for = child;
	return 0;
}

static int proc_ended(void *state, pid_t pid)
{
	const struct process *p = find(state, pid);

	return !p || p->zombie || p->gone;
}

/* Tell what is new since then, if anything is, and take note of it. */
static void tell(struct state *s, uint64_t ns, uint64_t then, uint32_t task,
		 struct moca_rate_counts *at, const struct moca_rate_counts *now)
{
	struct moca_rate_counts d = {
		.wall_ns = then && ns > then ? ns - then : 0,
		.minor = now->minor > at->minor ? now->minor - at->minor : 0,
		.major = now->major > at->major ? now->major - at->major : 0,
		.cpu_ns = now->cpu_ns > at->cpu_ns ?
				  now->cpu_ns - at->cpu_ns : 0,
	};

	at->minor += d.minor;
	at->major += d.major;
	at->cpu_ns += d.cpu_ns;
	if (d.minor | d.major | d.cpu_ns)
		s->sink.sample(s->sink.arg, ns, task, &d);
}

/* --- threads ------------------------------------------------------------- */

static void close_thread(struct thread *t)
{
	if (t->stat >= 0)
		close(t->stat);
	if (t->run >= 0)
		close(t->run);
}

static void end_thread(struct state *s, struct process *p, size_t i,
		       uint64_t ns)
{
	/* What it did last is in its process' count alone. */
	s->sink.end(s->sink.arg, ns, p->threads[i].task, 0);
	close_thread(&p->threads[i]);
	p->threads[i] = p->threads[--p->count];
}

/* By its descriptor, or, when there are too many of these, without one. */
static int read_stat_of(struct process *p, struct thread *t,
			struct rate_stat *st)
{
	int err, fd;

	if (t->stat >= 0)
		return rate_stat_read(st, t->stat);
	fd = rate_open(p->pid, t->tid, "stat");
	if (fd < 0)
		return fd;
	err = rate_stat_read(st, fd);
	close(fd);
	return err;
}

static int read_run_of(struct process *p, struct thread *t, uint64_t *ns)
{
	int err, fd;

	if (t->run >= 0)
		return rate_run_read(ns, t->run);
	fd = rate_open(p->pid, t->tid, "schedstat");
	if (fd < 0)
		return fd;
	err = rate_run_read(ns, fd);
	close(fd);
	return err;
}

static struct moca_rate_counts least(const struct moca_rate_counts *a,
				     const struct moca_rate_counts *b)
{
	return (struct moca_rate_counts){
		.minor = a->minor < b->minor ? a->minor : b->minor,
		.major = a->major < b->major ? a->major : b->major,
		.cpu_ns = a->cpu_ns < b->cpu_ns ? a->cpu_ns : b->cpu_ns,
	};
}

/* 0; -errno: it is gone. */
static int sample_thread(struct state *s, struct process *p, struct thread *t,
			 uint64_t ns)
{
	int first = t->task == NO_TASK;
	uint64_t then = t->looked_ns ? t->looked_ns : s->last_ns;
	struct moca_rate_counts now = t->at;
	struct rate_stat st;
	int err = read_run_of(p, t, &now.cpu_ns);

	if (err)
		return err;
	t->looked_ns = ns;
	if (!first && now.cpu_ns == t->at.cpu_ns)
		return 0;
	if (!first && t->faults == p->last.minor + p->last.major) {
		t->ran = 1;
		tell(s, ns, then, t->task, &t->at, &now);
		return 0;
	}
	err = read_stat_of(p, t, &st);
	if (err)
		return err;
	t->ran = 1;
	t->faults = p->last.minor + p->last.major;
	now.minor = st.minor;
	now.major = st.major;
	if (t->task == NO_TASK) {
		t->task = s->next_task++;
		s->sink.task(s->sink.arg, ns, t->task, p->pid,
			     (uint32_t)t->tid, st.name);
		if (p->born_with_threads)
			t->at = now;
		else if (t->tid == p->pid)
			/*
			 * The leader was all of the process, but for threads in
			 * between.
			 */
			t->at = least(&p->at, &now);
	}
	tell(s, ns, then, t->task, &t->at, &now);
	return 0;
}

static struct thread *add_thread(struct process *p, pid_t tid)
{
	struct thread *t = moca_vec_add(p->threads, p->count, p->room);

	if (!t)
		return NULL;
	*t = (struct thread){ .tid = tid, .task = NO_TASK };
	t->stat = rate_open(p->pid, tid, "stat");
	t->run = rate_open(p->pid, tid, "schedstat");
	return t;
}

static int compare_threads(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Compare what we have with what is there. */
static int list_threads(struct state *s, struct process *p, uint64_t ns)
{
	int fd = rate_open(p->pid, 0, "task");
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct thread key, *t;
	struct dirent *e;
	size_t old = p->count, i;
	int err = 0;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return fd < 0 ? fd : -ENOMEM;
	}
	if (old)
		qsort(p->threads, old, sizeof(*p->threads), compare_threads);
	for (i = 0; i < old; i++)
		p->threads[i].present = 0;
	while (!err && (e = readdir(d))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		key.tid = atoi(e->d_name);
		t = old ? bsearch(&key, p->threads, old, sizeof(*t),
				  compare_threads) : NULL;
		if (!t)
			t = add_thread(p, key.tid);
		if (t)
			t->present = 1;
		else
			err = -ENOMEM;
	}
	closedir(d);
	for (i = p->count; i-- > 0;)
		if (!p->threads[i].present && p->threads[i].task != NO_TASK)
			end_thread(s, p, i, ns);
	return err;
}

static void look_at_thread(struct state *s, struct process *p, size_t i,
			   uint64_t ns)
{
	struct thread *t = &p->threads[i];

	if (!sample_thread(s, p, t, ns))
		return;
	if (t->task != NO_TASK) {
		end_thread(s, p, i, ns);
		return;
	}
	close_thread(t);
	*t = p->threads[--p->count];
}

static int sample_threads(struct state *s, struct process *p, uint64_t ns)
{
	int err = 0, changed = p->last.threads != p->count;
	size_t i;

	if (!p->told_threads && p->last.threads < 2)
		return 0;
	p->told_threads = 1;
	if (changed)
		err = list_threads(s, p, ns);
	if (err == -ENOMEM)
		return err;
	/* New ones at once: they compare with what their process was. */
	for (i = p->count; changed && i-- > 0;)
		if (p->threads[i].task == NO_TASK)
			look_at_thread(s, p, i, ns);
	p->born_with_threads = 0;
	for (; p->unlooked && p->count && s->looks; p->unlooked--, s->looks--) {
		if (!p->turn || p->turn > p->count)
			p->turn = p->count;
		look_at_thread(s, p, --p->turn, ns);
	}
	return 0;
}

/* --- children ------------------------------------------------------------ */

static int add_children_of(struct state *s, struct process *p, pid_t tid,
			   int from_birth)
{
	int fd = rate_open(p->pid, tid, "children");
	char buf[4096];
	size_t have = 0;
	ssize_t n;
	char *at, *end;
	pid_t pid;

	/*
	 * The task may be gone, or the kernel be without the file
	 * (CONFIG_PROC_CHILDREN).
	 */
	if (fd < 0)
		return 0;
	while ((n = read(fd, buf + have, sizeof(buf) - 1 - have)) > 0) {
		have += (size_t)n;
		buf[have] = 0;
		/* Each number is ended by a blank: the last may go on. */
		for (at = buf; (pid = (pid_t)strtol(at, &end, 10)) > 0 &&
		     *end == ' '; at = end + 1)
			if (!find(s, pid) && !take(s, pid, from_birth) &&
			    errno == ENOMEM) {
				close(fd);
				return -ENOMEM;
			}
		have -= (size_t)(at - buf);
		memmove(buf, at, have);
	}
	close(fd);
	return 0;
}

static int look_for_children(struct state *s, struct process *p, uint64_t ns)
{
	/*
	 * Children that there are when the process is taken in may be as old as it
	 * is.
	 */
	int from_birth = p->children_ns || p->from_birth, err = 0;
	size_t i;

	if (!s->opt.children || !p->ran || p->zombie ||
	    (p->children_ns && ns - p->children_ns < CHILDREN_NS))
		return 0;
	/* Nobody has made any since then. */
	if (p->children_ns && s->youngest &&
	    p->children_pid == s->youngest) {
		p->ran = 0;
		return 0;
	}
	if (!p->count)
		err = add_children_of(s, p, p->pid, from_birth);
	for (i = 0; !err && i < p->count; i++) {
		if (!p->threads[i].ran && p->children_ns)
			continue;
		p->threads[i].ran = 0;
		err = add_children_of(s, p, p->threads[i].tid, from_birth);
	}
	p->children_ns = ns;
	p->children_pid = s->youngest;
	p->ran = 0;
	return err;
}

/* --- processes ----------------------------------------------------------- */

static void end_process(struct state *s, struct process *p, uint64_t ns)
{
	struct process *parent = find(s, p->parent);

	while (p->count)
		end_thread(s, p, p->count - 1, ns);
	if (p->task != NO_TASK)
		s->sink.end(s->sink.arg, ns, p->task, p->zombie);
	if (p->reaped_task != NO_TASK)
		s->sink.end(s->sink.arg, ns, p->reaped_task, 0);
	p->gone = 1;
	/* One that ended in the same round had it in what it waited for. */
	while (parent && parent->gone)
		parent = find(s, parent->parent);
	if (!parent)
		return;
	/* The parent's count of what it waited for will have had this. */
	if (parent->watched_for)
		strcpy(parent->name, p->name);
	parent->known.minor += p->at.minor + p->known.minor + p->told.minor;
	parent->known.major += p->at.major + p->known.major + p->told.major;
	parent->known.cpu_ns += p->at.cpu_ns + p->known.cpu_ns +
				p->told.cpu_ns;
}

static void set_reaped(struct state *s, struct process *p)
{
	p->reaped.minor = p->last.reaped_minor;
	p->reaped.major = p->last.reaped_major;
	p->reaped.cpu_ns = p->last.reaped_ticks * s->tick_ns;
}

static void begin_process(struct state *s, struct process *p, uint64_t ns,
			  const struct moca_rate_counts *now)
{
	p->fresh = 0;
	p->task = s->next_task++;
	if (p->from_birth)
		return;
	p->at = *now;
	set_reaped(s, p);
	p->known = p->reaped;
}

/* Of one that only waits for another: what it was told then. */
static int sample_watched(struct state *s, struct process *p)
{
	if (rate_stat_read(&p->last, p->stat))
		return 1;
	set_reaped(s, p);
	if (p->fresh)
		p->known = p->reaped;
	p->fresh = 0;
	return 1;
}

/* 0; 1: it did nothing; -errno. A process that is gone is marked so. */
static int sample_process(struct state *s, struct process *p, uint64_t ns)
{
	struct moca_rate_counts now = { 0 };
	uint64_t used;
	int err;

	if (p->watched_for)
		return sample_watched(s, p);
	err = read_clock(p->clock, &now.cpu_ns);
	if (!err && !p->fresh && now.cpu_ns == p->at.cpu_ns) {
		/* Those that had no turn yet. */
		if (p->unlooked && p->told_threads && !p->zombie)
			sample_threads(s, p, ns);
		return 1;
	}
	/* Back: another process has its number. */
	if (!err && now.cpu_ns < p->at.cpu_ns)
		err = -ESRCH;
	if (!err)
		err = rate_stat_read(&p->last, p->stat);
	if (err) {
		end_process(s, p, ns);
		return 1;
	}
	now.minor = p->last.minor;
	now.major = p->last.major;
	p->parent = p->last.ppid;
	p->zombie = p->last.state == 'Z' && p->last.threads <= 1;
	if (p->fresh)
		begin_process(s, p, ns, &now);
	/* By an exec, for one. */
	if (strcmp(p->name, p->last.name)) {
		strcpy(p->name, p->last.name);
		s->sink.task(s->sink.arg, ns, p->task, p->pid,
			     MOCA_RATE_PROCESS, p->name);
	}
	p->unlooked = p->last.threads;
	/* Threads first: they compare with what the process was before. */
	if (s->opt.threads && !p->zombie)
		err = sample_threads(s, p, ns);
	used = now.cpu_ns > p->at.cpu_ns ? now.cpu_ns - p->at.cpu_ns : 0;
	s->room_ns -= used < s->room_ns ? used : s->room_ns;
	tell(s, ns, s->last_ns, p->task, &p->at, &now);
	set_reaped(s, p);
	return err;
}

/*
 * A parent is told of a child's whole life at once: an adopted orphan's may be
 * hours, and ticks may be counted late. So a round has no more of it than the
 * CPUs that there are had left. What a child may have done since children were
 * last looked for comes in the next rounds; what is older is in none.
 */
static uint64_t place(struct state *s, struct process *p, uint64_t cpu_ns)
{
	uint64_t due = cpu_ns - p->told.cpu_ns, late;

	if (!s->last_ns || due <= s->room_ns) {
		s->room_ns -= s->last_ns ? due : 0;
		return cpu_ns;
	}
	late = due - s->room_ns;
	cpu_ns -= late;
	if (late > s->cpus * CHILDREN_NS) {
		s->unplaced_ns += late - s->cpus * CHILDREN_NS;
		p->known.cpu_ns += late - s->cpus * CHILDREN_NS;
		late = s->cpus * CHILDREN_NS;
	}
	s->late_ns += late;
	s->room_ns = 0;
	return cpu_ns;
}

/* What it waited for, and we have not told in another way. */
static void tell_reaped(struct state *s, struct process *p, uint64_t ns)
{
	struct moca_rate_counts now = {
		.minor = p->reaped.minor > p->known.minor ?
				 p->reaped.minor - p->known.minor : 0,
		.major = p->reaped.major > p->known.major ?
				 p->reaped.major - p->known.major : 0,
		/* In clock ticks: what is below two may be rounding. */
		.cpu_ns = p->reaped.cpu_ns > p->known.cpu_ns + 2 * s->tick_ns ?
				  p->reaped.cpu_ns - p->known.cpu_ns : 0,
	};

	if (now.cpu_ns > p->told.cpu_ns)
		now.cpu_ns = place(s, p, now.cpu_ns);
	if (now.minor <= p->told.minor && now.major <= p->told.major &&
	    now.cpu_ns <= p->told.cpu_ns)
		return;
	if (p->reaped_task == NO_TASK) {
		p->reaped_task = s->next_task++;
		s->sink.task(s->sink.arg, ns, p->reaped_task,
			     p->watched_for ? p->watched_for : p->pid,
			     MOCA_RATE_REAPED,
			     p->watched_for ? p->name : p->last.name);
	}
	tell(s, ns, s->last_ns, p->reaped_task, &p->told, &now);
}

static void forget(struct state *s, struct process *p)
{
	struct process **h = &s->table[(uint32_t)p->pid % BUCKETS];

	while (*h != p)
		h = &(*h)->hash_next;
	*h = p->hash_next;
	for (size_t i = 0; i < p->count; i++)
		close_thread(&p->threads[i]);
	close(p->stat);
	free(p->threads);
	free(p);
}

/* The last number of "0.00 0.01 0.05 1/234 5678". */
static pid_t read_youngest(const struct state *s)
{
	char buf[128], *p;
	ssize_t n = pread(s->loadavg, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return 0;
	buf[n] = 0;
	p = strrchr(buf, ' ');
	return p ? atoi(p) : 0;
}

static int proc_round(void *state, uint64_t ns)
{
	struct state *s = state;
	struct process *p, **at;
	struct rate_tick tick = { .ns = ns };
	int err = 0;

	s->looks = s->opt.thread_limit ? s->opt.thread_limit : UINT_MAX;
	s->room_ns = s->last_ns ? s->cpus * (ns - s->last_ns) : 0;
	s->late_ns = 0;
	s->youngest = s->opt.children ? read_youngest(s) : 0;
	/*
	 * Parents come before their children: a child that is in its parent's
	 * count is found to be gone, so that it is known before we tell more.
	 */
	for (p = s->first; p && err >= 0; p = p->next) {
		err = sample_process(s, p, ns);
		p->ran |= !err;
		if (err >= 0 && !p->gone)
			err = look_for_children(s, p, ns);
	}
	for (p = s->first; p; p = p->next)
		if (!p->gone && !p->fresh)
			tell_reaped(s, p, ns);
	for (at = &s->first; (p = *at);) {
		if (p->watched_for) {
			at = &p->next;
			continue;
		}
		if (!p->gone) {
			tick.processes += !p->zombie;
			tick.tasks += p->zombie ? 0 : p->last.threads;
			at = &p->next;
			continue;
		}
		*at = p->next;
		forget(s, p);
	}
	s->last = at;
	tick.wall_ns = s->last_ns ? ns - s->last_ns : 0;
	tick.unplaced_ns = s->unplaced_ns + s->late_ns;
	s->last_ns = ns;
	if (err < 0)
		return err;
	s->sink.tick(s->sink.arg, &tick);
	return (int)tick.processes;
}

static void proc_close(void *state)
{
	struct state *s = state;
	struct process *p;

	while ((p = s->first)) {
		s->first = p->next;
		forget(s, p);
	}
	if (s->loadavg >= 0)
		close(s->loadavg);
	free(s);
}

const struct rate_source rate_source_proc = {
	.name = "proc",
	.open = proc_open,
	.add = proc_add,
	.round = proc_round,
	.watch = proc_watch,
	.ended = proc_ended,
	.close = proc_close,
};

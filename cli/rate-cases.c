// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * moca rate --cases: the course's two case studies of page faults, with workers
 * of our own: what memory size and locality do, and what many programs at a time
 * do. What is said of them is computed from what was measured.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/rate.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "lib/ring/clock.h"
#include "lib/text/svg.h"

#define WORKERS_MAX 11
#define ITERATIONS 20u
#define PAGES_PER_MB 256u
/* Each access computes so long, that a run takes seconds as the course's does. */
#define COMPUTE_LOCALITY "1us"
#define COMPUTE_MANY "5us"

struct worker {
	unsigned int mb;
	char kind;
	unsigned int accesses;
};

/* One sample of one worker. */
struct point {
	uint64_t ns, wall_ns;
	unsigned int worker;
	struct moca_rate_counts c;
};

struct trial {
	const struct worker *workers;
	unsigned int count;
	const char *compute;
	pid_t pids[WORKERS_MAX];
	uint32_t task[WORKERS_MAX];
	struct point *points;
	size_t n, room, told;	/* told: of these the times are known */
	uint64_t begin_ns, end_ns;
	uint64_t done_ns[WORKERS_MAX];	/* after begin */
	struct moca_rate_counts sums[WORKERS_MAX], total;
	double idle;		/* CPUs, on average; less than 0: not known */
	int error;
};

/* Where the text goes: to the user and to a file. */
struct story {
	FILE *file;
	const struct rate_cases *o;
};

static void __attribute__((format(printf, 2, 3)))
say(const struct story *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	va_start(ap, fmt);
	vfprintf(s->file, fmt, ap);
	va_end(ap);
	fflush(stdout);
}

/* --- running ------------------------------------------------------------- */

static int worker_of(const struct trial *t, uint32_t task)
{
	for (unsigned int i = 0; i < t->count; i++)
		if (t->task[i] == task)
			return (int)i;
	return -1;
}

static void on_task(void *arg, uint64_t ns, uint32_t task, pid_t pid,
		    uint32_t tid, const char *name)
{
	struct trial *t = arg;

	for (unsigned int i = 0; i < t->count; i++)
		if (t->pids[i] == pid && tid == MOCA_RATE_PROCESS)
			t->task[i] = task;
}

static void on_sample(void *arg, uint64_t ns, uint32_t task,
		      const struct moca_rate_counts *c)
{
	struct trial *t = arg;
	int i = worker_of(t, task);

	if (i < 0)
		return;
	if (moca_vec_fit(t->points, t->room, t->n + 1)) {
		t->error = -ENOMEM;
		return;
	}
	t->points[t->n++] = (struct point){ .ns = ns, .worker = (unsigned)i,
					    .c = *c };
	t->sums[i].minor += c->minor;
	t->sums[i].major += c->major;
	t->sums[i].cpu_ns += c->cpu_ns;
	t->total.minor += c->minor;
	t->total.major += c->major;
	t->total.cpu_ns += c->cpu_ns;
	t->done_ns[i] = ns - t->begin_ns;
}

static void on_end(void *arg, uint64_t ns, uint32_t task, int seen)
{
}

static void on_tick(void *arg, const struct rate_tick *tick)
{
	struct trial *t = arg;

	if (!t->begin_ns)
		t->begin_ns = tick->ns;
	t->end_ns = tick->ns;
	for (; t->told < t->n; t->told++)
		t->points[t->told].wall_ns = tick->wall_ns;
}

/* It waits, and becomes a worker. */
static pid_t start_worker(const struct trial *t, const struct worker *w,
			  unsigned int seed, const int gate[2])
{
	char mb[16], accesses[16], text[16], kind[2] = { w->kind, 0 };
	char *argv[] = { (char *)"moca", (char *)"work", (char *)"-q",
			 (char *)"--seed", text, (char *)"--compute",
			 (char *)t->compute, mb, kind, accesses, NULL };
	pid_t pid;
	char byte;

	snprintf(mb, sizeof(mb), "%u", w->mb);
	snprintf(accesses, sizeof(accesses), "%u", w->accesses);
	snprintf(text, sizeof(text), "%u", seed);
	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	close(gate[1]);
	/* End of file: all begin at once. */
	if (read(gate[0], &byte, 1) < 0)
		_exit(EXIT_RECORD);
	execv("/proc/self/exe", argv);
	_exit(EXIT_RECORD);
}

static void let_go(void *arg)
{
	int *gate = arg;

	close(*gate);
	*gate = -1;
}

static int wait_all(struct trial *t)
{
	int status, err = 0;

	for (unsigned int i = 0; i < t->count; i++)
		if (t->pids[i] > 0 && waitpid(t->pids[i], &status, 0) > 0 &&
		    status)
			err = -ECHILD;
	return err;
}

/* Seconds that all CPUs together were idle so far; less than 0: not known. */
static double idle_seconds(void)
{
	FILE *f = fopen("/proc/uptime", "re");
	double up, idle = -1;

	if (f && fscanf(f, "%lf %lf", &up, &idle) != 2)
		idle = -1;
	if (f)
		fclose(f);
	return idle;
}

static int run_trial(struct trial *t, uint64_t hz)
{
	const struct rate_options opt = { .children = 0, .threads = 0 };
	const struct rate_sink sink = { .task = on_task, .sample = on_sample,
					.end = on_end, .tick = on_tick,
					.arg = t };
	struct rate_sampler s = { .source = &rate_source_proc,
				  .period_ns = 1000000000ull / hz,
				  .control = -1, .begun = let_go };
	int gate[2], err, ret;
	double idle, ns;
	unsigned int i;

	memset(t->task, 0xff, sizeof(t->task));
	if (pipe2(gate, O_CLOEXEC))
		return -errno;
	s.arg = &gate[1];
	err = s.source->open(&s.state, &opt, &sink);
	for (i = 0; !err && i < t->count; i++) {
		t->pids[i] = start_worker(t, &t->workers[i], i + 1, gate);
		err = t->pids[i] < 0 ? -errno :
				       s.source->add(s.state, t->pids[i]);
	}
	/* Zombies are not counted as processes: all samples are whole then. */
	idle = idle_seconds();
	if (!err)
		err = rate_sampler_run(&s);
	ns = (double)(t->end_ns - t->begin_ns);
	t->idle = idle >= 0 && ns > 0 ? (idle_seconds() - idle) / ns * 1e9 : -1;
	if (gate[1] >= 0)
		close(gate[1]);
	close(gate[0]);
	ret = wait_all(t);
	if (s.state)
		s.source->close(s.state);
	return err ? err : t->error ? t->error : ret;
}

/* --- what is written ----------------------------------------------------- */

static void path_of(char *buf, size_t size, const struct story *s,
		    const char *name)
{
	snprintf(buf, size, "%s/%s", s->o->dir, name);
}

static int write_csv(const struct story *s, const char *name,
		     const struct trial *t)
{
	char path[4096];
	FILE *f;
	size_t i;
	int bad;

	path_of(path, sizeof(path), s, name);
	f = fopen(path, "we");
	if (!f)
		return -errno;
	fprintf(f, "time_ns,interval_ns,worker,mb,kind,accesses,minor,major,cpu_ns\n");
	for (i = 0; i < t->n; i++) {
		const struct point *p = &t->points[i];
		const struct worker *w = &t->workers[p->worker];

		fprintf(f, "%" PRIu64 ",%" PRIu64 ",%u,%u,%c,%u,%" PRIu64
			",%" PRIu64 ",%" PRIu64 "\n", p->ns - t->begin_ns,
			p->wall_ns, p->worker + 1, w->mb, w->kind, w->accesses,
			p->c.minor, p->c.major, p->c.cpu_ns);
	}
	bad = ferror(f);
	return fclose(f) || bad ? -EIO : 0;
}

/* Faults so far: of one worker, or (count) of all. */
static int accumulate(const struct trial *t, unsigned int worker,
		      struct svg_series *out)
{
	double *x = calloc(2 * (t->n + 1), sizeof(*x)), *y = x + t->n + 1;
	double sum = 0;
	size_t i, n = 1;

	if (!x)
		return -ENOMEM;
	for (i = 0; i < t->n; i++) {
		if (worker < t->count && t->points[i].worker != worker)
			continue;
		sum += (double)(t->points[i].c.minor + t->points[i].c.major);
		x[n] = (double)(t->points[i].ns - t->begin_ns) / 1e9;
		y[n++] = sum;
	}
	out->x = x;
	out->y = y;
	out->n = n;
	return 0;
}

static int plot_faults(const struct story *s, const char *name,
		       const struct trial *t)
{
	struct svg_series series[WORKERS_MAX + 1] = { 0 };
	char labels[WORKERS_MAX][64], path[4096], subtitle[160];
	struct svg_plot p = {
		.title = "Page faults so far", .subtitle = subtitle,
		.x_label = "time (s)", .y_label = "minor and major faults",
		.series = series, .count = t->count + 1,
	};
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i <= t->count; i++) {
		series[i].label = i < t->count ? labels[i] : "all";
		if (i < t->count)
			snprintf(labels[i], sizeof(labels[i]),
				 "%u: %u MB, %c, %u accesses", i + 1,
				 t->workers[i].mb, t->workers[i].kind,
				 t->workers[i].accesses);
		err = accumulate(t, i, &series[i]);
	}
	snprintf(subtitle, sizeof(subtitle),
		 "%u workers, %u iterations, %s of computing per access, %" PRIu64 " samples/s, %ld CPUs",
		 t->count, ITERATIONS, t->compute, s->o->hz,
		 sysconf(_SC_NPROCESSORS_ONLN));
	path_of(path, sizeof(path), s, name);
	if (!err)
		err = svg_write(path, &p);
	for (i = 0; i <= t->count; i++)
		free((double *)series[i].x);
	return err;
}

/* --- what is seen -------------------------------------------------------- */

/* Distinct pages that n accesses anywhere touch, on average. */
static double expected_pages(const struct worker *w)
{
	double pages = (double)w->mb * PAGES_PER_MB;
	double n = (double)w->accesses * ITERATIONS;

	return pages * -expm1(n * log1p(-1 / pages));
}

static void tell_workers(const struct story *s, const struct trial *t)
{
	unsigned int i;

	for (i = 0; i < t->count; i++)
		say(s, "  worker %u (%u MB, %s, %u accesses per iteration): %" PRIu64
		    " minor and %" PRIu64 " major faults, %.2f s of CPU time, done after %.2f s\n",
		    i + 1, t->workers[i].mb,
		    t->workers[i].kind == 'R' ? "random" : "local",
		    t->workers[i].accesses, t->sums[i].minor, t->sums[i].major,
		    (double)t->sums[i].cpu_ns / 1e9,
		    (double)t->done_ns[i] / 1e9);
}

static void tell_majors(const struct story *s, uint64_t major, uint64_t minor,
			uint64_t need_mb)
{
	if (!major)
		say(s, "No major fault: %" PRIu64 " MB fit into this machine's memory, so no page had to be read again. There is no thrashing; every fault is the first touch of a page.\n",
		    need_mb);
	else if (major * 20 < minor)
		say(s, "%" PRIu64 " major faults, %.2f %% of all: some pages came from a disk (as a program's own code does when it first runs), which is no thrashing.\n",
		    major, 100. * (double)major / (double)(major + minor));
	else
		say(s, "%" PRIu64 " major faults, %.1f %% of all: pages were pushed out and read again. The workers together want more memory than they get: this is thrashing.\n",
		    major, 100. * (double)major / (double)(major + minor));
}

/* How far a random worker's faults are from what chance says. */
static void tell_chance(const struct story *s, const struct trial *t)
{
	for (unsigned int i = 0; i < t->count; i++) {
		double e;

		if (t->workers[i].kind != 'R')
			continue;
		e = expected_pages(&t->workers[i]);
		say(s, "Random accesses of worker %u touch %.0f of %u pages on average; it had %" PRIu64 " faults (%+.1f %%).\n",
		    i + 1, e, t->workers[i].mb * PAGES_PER_MB,
		    t->sums[i].minor + t->sums[i].major,
		    100. * ((double)(t->sums[i].minor + t->sums[i].major) / e -
			    1));
	}
}

static void compare(const struct story *s, const struct trial *a,
		    const struct trial *b)
{
	uint64_t x = a->sums[1].minor + a->sums[1].major;
	uint64_t y = b->sums[1].minor + b->sums[1].major;
	double share = x ? (double)y / (double)x : 1;

	say(s, "\nThe second worker, local in place of random, had %" PRIu64
	    " faults in place of %" PRIu64 " (%.0f %%) and was done after %.2f s in place of %.2f s.\n",
	    y, x, 100 * share, (double)b->done_ns[1] / 1e9,
	    (double)a->done_ns[1] / 1e9);
	if (share < 0.8)
		say(s, "Its accesses stay near each other, so most of them meet a page that it has touched before: locality saves faults, and less memory is in use at a time.\n");
	else
		say(s, "That is hardly fewer: with so little memory for so many accesses, local ones reach nearly all pages, too.\n");
	say(s, "Implication: what counts is how many distinct pages are in use at a time; work in blocks (%.1f MB in place of %.1f MB here).\n",
	    (double)y / PAGES_PER_MB, (double)x / PAGES_PER_MB);
}

/* --- the cases ----------------------------------------------------------- */

static uint64_t available_mb(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	uint64_t kb = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %" SCNu64, &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb / 1024;
}

static int trial(const struct story *s, struct trial *t, const char *name)
{
	char file[64];
	int err = run_trial(t, s->o->hz);

	if (!err) {
		snprintf(file, sizeof(file), "%s.csv", name);
		err = write_csv(s, file, t);
	}
	if (!err)
		tell_workers(s, t);
	return err;
}

static int locality(const struct story *s, unsigned int mb)
{
	const struct worker random[] = { { mb, 'R', 50000 }, { mb, 'R', 10000 } };
	const struct worker local[] = { { mb, 'R', 50000 }, { mb, 'L', 10000 } };
	struct trial a = { .workers = random, .count = 2,
			   .compute = COMPUTE_LOCALITY };
	struct trial b = { .workers = local, .count = 2,
			   .compute = COMPUTE_LOCALITY };
	int err;

	say(s, "Case 1: memory size and locality (case1-random.svg, case1-local.svg)\n");
	err = trial(s, &a, "case1-random");
	if (!err)
		err = plot_faults(s, "case1-random.svg", &a);
	if (!err)
		say(s, "with a local second worker:\n");
	if (!err)
		err = trial(s, &b, "case1-local");
	if (!err)
		err = plot_faults(s, "case1-local.svg", &b);
	if (!err) {
		say(s, "\n");
		tell_chance(s, &a);
		tell_majors(s, a.total.major + b.total.major,
			    a.total.minor + b.total.minor, 2ull * mb);
		compare(s, &a, &b);
	}
	free(a.points);
	free(b.points);
	return err;
}

struct many {
	double n[3], cpus[3], seconds[3], idle[3];
	uint64_t major, minor;
};

static int plot_many(const struct story *s, const struct many *m,
		     unsigned int mb)
{
	const struct svg_series use = { "total CPU use", m->n, m->cpus, 3, 1 };
	const struct svg_series time = { "time until all are done", m->n,
					 m->seconds, 3, 1 };
	char subtitle[160], path[4096];
	struct svg_plot p = {
		.title = "CPU use by degree of multiprogramming",
		.subtitle = subtitle, .x_label = "workers at a time",
		.y_label = "CPUs in use", .series = &use, .count = 1,
	};
	int err;

	snprintf(subtitle, sizeof(subtitle),
		 "each %u MB, random, 10000 accesses x %u, %s per access, %" PRIu64 " samples/s, %ld CPUs",
		 mb, ITERATIONS, COMPUTE_MANY, s->o->hz,
		 sysconf(_SC_NPROCESSORS_ONLN));
	path_of(path, sizeof(path), s, "case2-cpu.svg");
	err = svg_write(path, &p);
	p.title = "Completion time by degree of multiprogramming";
	p.y_label = "seconds";
	p.series = &time;
	path_of(path, sizeof(path), s, "case2-time.svg");
	return err ? err : svg_write(path, &p);
}

static void tell_many(const struct story *s, const struct many *m,
		      unsigned int mb)
{
	double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
	double most = m->cpus[2] > m->cpus[1] ? m->cpus[2] : m->cpus[1];

	say(s, "\nOne worker used %.2f CPUs, %.0f used %.2f, %.0f used %.2f of %.0f.\n",
	    m->cpus[0], m->n[1], m->cpus[1], m->n[2], m->cpus[2], cpus);
	if (most > 0.85 * cpus)
		say(s, "The machine is full: more workers take turns, so that their completion time grows as their number does (%.1f times from %.0f to %.0f, where %.1f would be proportional).\n",
		    m->seconds[2] / m->seconds[1], m->n[1], m->n[2],
		    m->n[2] / m->n[1]);
	else
		say(s, "The workers never had all CPUs (at most %.0f %% of them)",
		    100 * most / cpus);
	if (most <= 0.85 * cpus && m->idle[2] >= 0)
		say(s, ", and %.2f CPUs were idle: %s.\n", m->idle[2],
		    m->idle[2] < 0.1 * cpus ?
			    "other programs took the rest" :
			    "the workers wait, or may not use them all");
	else if (most <= 0.85 * cpus)
		say(s, ".\n");
	if (m->cpus[2] < 0.9 * m->cpus[1])
		say(s, "CPU use falls with more workers%s.\n", m->major ?
		    ": they wait for pages" : ", though no worker waits for a page: other programs disturb");
	tell_majors(s, m->major, m->minor, (uint64_t)m->n[2] * mb);
	say(s, "Implication: add programs until the CPUs are full, and no more; the memory of all together must fit.\n");
}

static int multiprogramming(const struct story *s, unsigned int mb)
{
	static const unsigned int degrees[] = { 1, 5, 11 };
	struct worker workers[WORKERS_MAX];
	struct many m = { .major = 0 };
	struct trial t;
	char name[32];
	int err = 0;
	unsigned int i;

	say(s, "\nCase 2: multiprogramming (case2-cpu.svg, case2-time.svg)\n");
	for (i = 0; i < WORKERS_MAX; i++)
		workers[i] = (struct worker){ mb, 'R', 10000 };
	for (i = 0; !err && i < 3; i++) {
		t = (struct trial){ .workers = workers, .count = degrees[i],
				    .compute = COMPUTE_MANY };
		snprintf(name, sizeof(name), "case2-%u", degrees[i]);
		say(s, "%u at a time:\n", degrees[i]);
		err = trial(s, &t, name);
		m.n[i] = degrees[i];
		m.seconds[i] = (double)(t.end_ns - t.begin_ns) / 1e9;
		m.cpus[i] = m.seconds[i] > 0 ?
				    (double)t.total.cpu_ns / 1e9 / m.seconds[i] : 0;
		m.idle[i] = t.idle;
		m.major += t.total.major;
		m.minor += t.total.minor;
		free(t.points);
	}
	if (err)
		return err;
	tell_many(s, &m, mb);
	return plot_many(s, &m, mb);
}

static unsigned int at_most(unsigned int wanted, uint64_t mb)
{
	return mb < wanted ? (unsigned int)(mb ? mb : 1) : wanted;
}

int rate_cases_run(const struct rate_cases *o)
{
	struct story s = { .o = o };
	uint64_t mb = available_mb();
	/* Half of what is there is for the workers. */
	unsigned int large = at_most(1024, mb / 4);
	unsigned int small = at_most(200, mb / 2 / WORKERS_MAX);
	char path[4096];
	int err, bad;

	if (mkdir(o->dir, 0777) && errno != EEXIST) {
		moca_error("rate: cannot create the directory %s: %s", o->dir,
			   strerror(errno));
		return EXIT_RECORD;
	}
	path_of(path, sizeof(path), &s, "cases.txt");
	s.file = fopen(path, "we");
	if (!s.file) {
		moca_error("rate: cannot write %s: %s", path, strerror(errno));
		return EXIT_RECORD;
	}
	say(&s, "%" PRIu64 " MB of memory are available: case 1 with %u MB per worker (1024 wanted), case 2 with %u MB (200 wanted).\n\n",
	    mb, large, small);
	err = locality(&s, large);
	if (!err)
		err = multiprogramming(&s, small);
	bad = ferror(s.file);
	if ((fclose(s.file) || bad) && !err)
		err = -EIO;
	if (err)
		moca_error("rate: the case studies in %s ended early: %s",
			   o->dir, err == -ECHILD ? "a worker failed" :
						    strerror(-err));
	else
		moca_say("plots, data and this text are in %s", o->dir);
	return err ? EXIT_RECORD : 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions come and go, in order and out of it, under programs that are at
 * work: what the programs have stays right, and of a session that is gone no
 * false fault is left. usage: lifecycle SEED KILLS NAME...
 */
#include <poll.h>
#include <sched.h>
#include <time.h>

#include "busy.h"

#define MS 1000000ull
#define KILLS_HOOKS 4

static unsigned int seed;
static int kill_times;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static const struct moca_setup small = {
	.flags = MOCA_SETUP_MANUAL, .chunk_bytes = 16 << 10, .ring_chunks = 4,
};

/* A session that keeps the hooks in: taking them out takes a second. */
static void keep_hooks(struct session *s)
{
	session_open(s, &small);
	session_do(s, MOCA_IOC_START, "START");
}

/* ---- the collector is killed ---- */

static void collect(struct busy *b)
{
	const struct moca_setup setup = { .interval_ns = 2 * MS };
	struct session s;

	session_open(&s, &setup);
	if (session_register(&s, b->pid))
		_exit(1);
	session_do(&s, MOCA_IOC_START, "START");
	for (;;) {
		struct pollfd p = { .fd = s.fd, .events = POLLIN };

		poll(&p, 1, 10);
		session_drain(&s, NULL, NULL);
	}
}

/* In how many times a child had some. */
static long kill_some(struct busy *b, int times, const char *name)
{
	long left = 0, late = 0, late_times = 0, died = 0;

	for (int i = 0; i < times; i++) {
		pid_t pid = fork();
		int status;

		if (!pid)
			collect(b);
		usleep(rand_r(&seed) % 60000);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		died += WIFEXITED(status);
		busy_hold(b);
		left += b->faults;
		late += b->late;
		late_times += b->late > 0;
		busy_release(b);
	}
	check(!died, name, "%ld of %d collectors ended by themselves", died,
	      times);
	check(!left, "no false fault is left", "%ld in %d times", left, times);
	printf("left in children that were being made: %ld, in %ld of %d "
	       "times\n", late, late_times, times);
	return late_times;
}

static void kills(void)
{
	struct busy *b = busy_start(1);
	struct session keep;
	long late;

	late = kill_some(b, KILLS_HOOKS, "killed, hooks come and go");
	keep_hooks(&keep);
	late += kill_some(b, kill_times, "killed");
	session_close(&keep);
	/* A child that was being copied at that very moment may have some: the
	 * kernel repairs them when they are touched. */
	check(late <= (KILLS_HOOKS + kill_times) / 8, "none in a child",
	      "in %ld of %d times", late, KILLS_HOOKS + kill_times);
	check(busy_end(b), "killed: data", "wrong");
}

/* ---- two sessions ---- */

struct count {
	uint32_t pid;
	long mine, other;
};

static void count_pid(void *arg, const struct moca_chunk_head *h,
		      const struct moca_rec *rec)
{
	const struct moca_rec_access *a = (const void *)rec;
	struct count *c = arg;

	if (rec->type != MOCA_REC_ACCESS)
		return;
	if (a->pid == c->pid)
		c->mine++;
	else
		c->other++;
}

static void two(void)
{
	const struct moca_setup setup = { .flags = MOCA_SETUP_MANUAL };
	struct busy *b[2] = { busy_start(0), busy_start(0) };
	struct count c[2] = { { b[0]->pid, 0, 0 }, { b[1]->pid, 0, 0 } };
	struct session s[2];

	for (int i = 0; i < 2; i++) {
		session_open(&s[i], &setup);
		if (session_register(&s[i], b[i]->pid))
			die("REGISTER");
		session_do(&s[i], MOCA_IOC_START, "START");
	}
	check(session_register(&s[0], b[1]->pid) == -EBUSY,
	      "two: a program of the other's", "is not EBUSY");
	check(session_register(&s[0], b[0]->pid) == -EEXIST,
	      "two: a program of one's own", "is not EEXIST");
	check(session_unregister(&s[0], b[1]->pid) == -ENOENT,
	      "two: take the other's away", "is not ENOENT");
	/* Each has been through its pages since the last tick. */
	for (int i = 0; i < 20; i++)
		for (int k = 0; k < 2; k++) {
			long from = b[k]->loops;

			usleep(5000);
			while (b[k]->loops < from + 2)
				usleep(1000);
			session_do(&s[k], MOCA_IOC_TICK, "TICK");
			session_drain(&s[k], count_pid, &c[k]);
		}
	for (int k = 0; k < 2; k++)
		check(c[k].mine > 10 * BUSY_PAGES && !c[k].other,
		      "two: each sees its own", "%ld, and %ld of others",
		      c[k].mine, c[k].other);
	session_close(&s[1]);
	check(!session_register(&s[0], b[1]->pid), "two: taken over",
	      "%s", strerror(errno));
	check(!session_unregister(&s[0], b[1]->pid), "two: given back",
	      "%s", strerror(errno));
	busy_hold(b[1]);
	check(!b[1]->faults, "two: none is left of what was given back",
	      "%ld", b[1]->faults);
	session_close(&s[0]);
	for (int k = 0; k < 2; k++)
		check(busy_end(b[k]), "two: data", "wrong");
}

/* ---- all calls in random order, from several threads ---- */

#define PROGRAMS 3
#define HANDS 3

static struct {
	struct session s;
	struct busy *b[PROGRAMS];
	volatile int stop;
} any;

static void *hand(void *arg)
{
	unsigned int mine = seed + (uintptr_t)arg;
	const struct session *s = &any.s;

	while (!any.stop) {
		struct moca_pace pace = { .size = sizeof(pace) };
		struct busy *b = any.b[rand_r(&mine) % PROGRAMS];

		switch (rand_r(&mine) % 8) {
		case 0:
			ioctl(s->fd, MOCA_IOC_START);
			break;
		case 1:
			ioctl(s->fd, MOCA_IOC_STOP);
			break;
		case 2:
		case 3:
			session_register(&any.s, b->pid);
			break;
		case 4:
			session_unregister(&any.s, b->pid);
			break;
		case 5:
			ioctl(s->fd, MOCA_IOC_TICK);
			break;
		case 6:
			pace.interval_ns = (1 + rand_r(&mine) % 5) * MS;
			ioctl(s->fd, MOCA_IOC_PACE, &pace);
			break;
		case 7:
			usleep(rand_r(&mine) % 3000);
		}
	}
	return NULL;
}

static void any_order(void)
{
	const struct moca_setup setup = { .interval_ns = 2 * MS };
	struct session keep;
	pthread_t t[HANDS];
	long left = 0;
	size_t n = 0;
	double end;

	keep_hooks(&keep);
	for (int i = 0; i < PROGRAMS; i++)
		any.b[i] = busy_start(i);
	session_open(&any.s, &setup);
	end = now() + 3;
	for (uintptr_t i = 0; i < HANDS; i++)
		pthread_create(&t[i], NULL, hand, (void *)i);
	/* On a busy host, as long as it takes. */
	while (now() < end || n <= 1000) {
		n += session_drain(&any.s, NULL, NULL);
		usleep(2000);
	}
	any.stop = 1;
	for (int i = 0; i < HANDS; i++)
		pthread_join(t[i], NULL);
	session_close(&any.s);
	check(n > 1000, "any order: records", "%zu", n);
	for (int i = 0; i < PROGRAMS; i++) {
		busy_hold(any.b[i]);
		left += any.b[i]->faults;
		busy_release(any.b[i]);
		check(busy_end(any.b[i]), "any order: data", "wrong");
	}
	check(!left, "any order: no false fault is left", "%ld", left);
	session_close(&keep);
}

/* ---- processes end while others are swept ---- */

static void ends(void)
{
	const struct moca_setup setup = { .interval_ns = 1 * MS };
	struct busy *b[4];
	struct session s, keep;
	long left = 0, late = 0;

	keep_hooks(&keep);
	session_open(&s, &setup);
	for (int i = 0; i < 4; i++) {
		b[i] = busy_start(1);
		if (session_register(&s, b[i]->pid))
			die("REGISTER");
	}
	for (int r = 0; r < 5; r++) {
		session_do(&s, MOCA_IOC_START, "START");
		for (int i = 0; i < 10; i++) {
			usleep(5000);
			session_drain(&s, NULL, NULL);
		}
		/* Not closed: nothing else takes false faults away. */
		session_do(&s, MOCA_IOC_STOP, "STOP");
		for (int i = 0; i < 4; i++)
			b[i]->hold = 1;
		for (int i = 0; i < 4; i++) {
			busy_hold(b[i]);
			left += b[i]->faults;
			late += b[i]->late > 0;
		}
		for (int i = 0; i < 4; i++)
			busy_release(b[i]);
	}
	check(!left, "ends: no false fault after STOP", "%ld", left);
	check(late <= 2, "ends: none in a child", "in %ld of 20", late);
	session_close(&s);
	for (int i = 0; i < 4; i++)
		check(busy_end(b[i]), "ends: data", "wrong");
	session_close(&keep);
}

/* ---- a swarm ends while it is swept; behind it in the list one lives on ---- */

#define SWARM 60

struct swarm {
	volatile int ready, go;
	volatile long faults;
};

static void swarm(struct swarm *w)
{
	while (!w->ready)
		usleep(500);
	for (int i = 0; i <= SWARM; i++) {
		if (fork())
			continue;
		while (!w->go)
			usleep(2000);
		if (i < SWARM) {
			usleep(i * 400);
			_exit(0);
		}
		while (w->go < 2)
			usleep(500);
		w->faults = busy_retouch();
		_exit(0);
	}
	w->ready = 2;
	while (wait(NULL) > 0)
		;
	_exit(0);
}

static void swarms(void)
{
	struct swarm *w = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct session s, keep;
	long left = 0;

	keep_hooks(&keep);
	busy_probe = busy_map(PROBE_PAGES);
	for (int i = 0; i < 6; i++) {
		pid_t pid;

		memset(w, 0, sizeof(*w));
		pid = fork();
		if (!pid)
			swarm(w);
		session_open(&s, &small);
		if (session_register(&s, pid))
			die("REGISTER");
		session_do(&s, MOCA_IOC_START, "START");
		w->ready = 1;
		while (w->ready < 2)
			usleep(1000);
		usleep(30000);
		w->go = 1;
		session_do(&s, MOCA_IOC_STOP, "STOP");
		w->go = 2;
		waitpid(pid, NULL, 0);
		left += w->faults != 0;
		session_close(&s);
	}
	session_close(&keep);
	check(!left, "swarm: no false fault after STOP", "some in %ld of 6",
	      left);
}

/* ---- nobody drains ---- */

#define MANY 3000

static struct { unsigned char *at; long n; int held; } region;

static void in_region(void *arg, const struct moca_chunk_head *h,
		      const struct moca_rec *rec)
{
	const struct moca_rec_access *a = (const void *)rec;
	const struct moca_rec_gap *g = (const void *)rec;

	if (rec->type == MOCA_REC_ACCESS &&
	    a->addr - (uintptr_t)region.at < MANY * PAGE)
		region.n++;
	if (rec->type == MOCA_REC_GAP && g->reason == MOCA_GAP_HELD)
		region.held++;
}

static void touch_some(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		((volatile unsigned char *)region.at)[i * PAGE] = 1;
}

static void overflow(void)
{
	struct moca_totals t;
	struct session s;

	session_open(&s, &small);
	region.at = mmap(NULL, MANY * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(region.at, MANY * PAGE, MADV_NOHUGEPAGE);
	if (session_register(&s, getpid()))
		die("REGISTER");
	session_do(&s, MOCA_IOC_START, "START");
	/* The mapping is told, and what runs here has been touched. */
	for (int i = 0; i < 2; i++) {
		touch_some(0, 1);
		session_do(&s, MOCA_IOC_TICK, "TICK");
		session_drain(&s, in_region, NULL);
	}
	region.n = 0;
	touch_some(1, MANY);
	for (int i = 0; i < 3; i++)
		session_do(&s, MOCA_IOC_TICK, "TICK");
	t = session_totals(&s);
	check(t.held >= 2, "overflow: held", "%llu intervals", t.held);
	check(t.lost > MANY / 4, "overflow: lost", "%llu", t.lost);
	touch_some(1, MANY);	/* no false faults: this loses nothing */
	check(session_totals(&s).lost - t.lost < 200, "overflow: no injection",
	      "%llu more lost", session_totals(&s).lost - t.lost);
	session_drain(&s, in_region, NULL);
	check(region.n > 300 && region.n < MANY, "overflow: some are there",
	      "%ld", region.n);
	check(region.n + (long)t.lost >= MANY - 1 &&
	      region.n + (long)t.lost < MANY + 300, "overflow: the rest is "
	      "counted", "%ld records, %llu lost of %d", region.n, t.lost,
	      MANY);
	/* The next chunks tell what was lost before them; and sweeps find what
	 * was touched without false faults. */
	for (int i = 0; i < 3; i++) {
		touch_some(0, 1);
		session_do(&s, MOCA_IOC_TICK, "TICK");
		sched_yield();
		session_drain(&s, in_region, NULL);
	}
	t = session_totals(&s);
	check(region.n + (long)t.lost >= 2 * (MANY - 1) &&
	      region.n + (long)t.lost < 2 * MANY + 300, "overflow: what was "
	      "swept is counted, too", "%ld records, %llu lost of 2 * %d",
	      region.n, t.lost, MANY);
	check(s.lost <= t.lost && s.lost + 100 > t.lost, "overflow: chunks say "
	      "what was lost", "%lu of %llu", (unsigned long)s.lost, t.lost);
	region.n = 0;
	touch_some(0, 200);
	session_do(&s, MOCA_IOC_TICK, "TICK");
	session_drain(&s, in_region, NULL);
	check(region.n == 200, "overflow: all are seen when there is room "
	      "again", "%ld of 200", region.n);
	session_close(&s);
	munmap(region.at, MANY * PAGE);
}

/* ---- a child that has not run when the session is gone ---- */

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

/* On one CPU with a child that cannot run before it waits. */
static void unborn_parent(volatile int *stage, volatile long *faults)
{
	const struct sched_param p = { .sched_priority = 1 };
	pid_t pid;

	on_cpu(1);
	busy_probe = busy_map(PROBE_PAGES);
	if (sched_setscheduler(0, SCHED_FIFO, &p))
		_exit(1);
	*stage = 1;
	while (*stage < 2)
		usleep(100);
	pid = fork();
	if (!pid) {
		*faults = busy_retouch();
		*stage = 9;
		_exit(0);
	}
	*stage = 3;
	while (*stage == 3)
		;
	waitpid(pid, NULL, 0);
	_exit(0);
}

static void unborn(void)
{
	const struct moca_setup setup = { .interval_ns = 5 * MS };
	struct { volatile int stage; volatile long faults; } *sh;
	long left = 0, ran = 0;
	struct session keep;

	sh = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	keep_hooks(&keep);
	on_cpu(0);
	for (int i = 0; i < 6; i++) {
		struct session s;
		pid_t pid;

		sh->stage = 0;
		sh->faults = -1;
		pid = fork();
		if (!pid)
			unborn_parent(&sh->stage, &sh->faults);
		while (!sh->stage)
			usleep(500);
		session_open(&s, &setup);
		if (session_register(&s, pid))
			die("REGISTER");
		session_do(&s, MOCA_IOC_START, "START");
		sh->stage = 2;
		while (sh->stage != 3)
			usleep(100);
		session_close(&s);
		ran += sh->stage != 3;
		sh->stage = 4;
		waitpid(pid, NULL, 0);
		left += sh->faults;
	}
	session_close(&keep);
	check(!ran, "unborn: it had not run", "%ld had", ran);
	check(!left, "unborn: no false fault in it", "%ld", left);
}

/* ---- who holds a session ---- */

static int is_free(struct session *other, pid_t pid)
{
	int err = session_register(other, pid);

	if (!err)
		session_unregister(other, pid);
	else if (err != -EBUSY)
		die("REGISTER");
	return !err;
}

static void holders(void)
{
	size_t drained = 0;
	const struct moca_setup setup = { .interval_ns = 5 * MS,
					  .chunk_bytes = 16 << 10,
					  .ring_chunks = 4 };
	struct busy *b = busy_start(0);
	struct session s, other;
	int go[2], copy, status;
	char c;
	pid_t pid;

	keep_hooks(&other);
	/* Another process. */
	session_open(&s, &setup);
	if (session_register(&s, b->pid) || pipe(go))
		die("holder");
	session_do(&s, MOCA_IOC_START, "START");
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &c, 1) < 0)
			_exit(1);
		_exit(ioctl(s.fd, MOCA_IOC_TICK) != 0);
	}
	session_close(&s);
	usleep(20000);
	check(!is_free(&other, b->pid), "holders: another process",
	      "the session is gone");
	close(go[0]);
	close(go[1]);
	waitpid(pid, &status, 0);
	check(!status, "holders: it can use it", "status 0x%x", status);
	check(is_free(&other, b->pid), "holders: nobody", "it is still there");
	/* A second descriptor. */
	session_open(&s, &setup);
	if (session_register(&s, b->pid))
		die("REGISTER");
	copy = dup(s.fd);
	session_close(&s);
	check(!is_free(&other, b->pid), "holders: dup", "the session is gone");
	close(copy);
	check(is_free(&other, b->pid), "holders: dup closed",
	      "it is still there");
	/* A mapping alone. */
	session_open(&s, &setup);
	if (session_register(&s, b->pid))
		die("REGISTER");
	session_do(&s, MOCA_IOC_START, "START");
	close(s.fd);
	for (int i = 0; i < 24000 && !drained; i++) {
		usleep(5000);
		drained = session_drain(&s, NULL, NULL);
	}
	check(!is_free(&other, b->pid) && drained,
	      "holders: a mapping", "the session is gone");
	s.fd = -1;
	session_close(&s);
	check(is_free(&other, b->pid), "holders: unmapped",
	      "it is still there");
	busy_hold(b);
	check(!b->faults, "holders: none is left", "%ld", b->faults);
	check(busy_end(b), "holders: data", "wrong");
	session_close(&other);
}

/* ---- limits ---- */

static void set_parameter(const char *name, int value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/moca/parameters/%s", name);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%d", value) < 0 || fclose(f))
		die(path);
}

static int opened(int most, int error, struct session *s)
{
	const struct moca_setup setup = { .interval_ns = 100 * MS,
					  .chunk_bytes = 16 << 10,
					  .ring_chunks = 4 };
	int n = 0, err = 0;

	for (; n < most; n++) {
		err = session_try(&s[n], &setup);
		if (err)
			break;
		if (n % 8 == 0)
			session_do(&s[n], MOCA_IOC_START, "START");
	}
	if (err != error)
		printf("not ok sessions: number %d: %s\n", n, strerror(-err));
	if (err)
		close(s[n].fd);
	return n;
}

static void limits(void)
{
	const struct moca_setup large = { .flags = MOCA_SETUP_MANUAL,
					  .chunk_bytes = 1 << 20,
					  .ring_chunks = 4096 };
	const struct moca_setup usual = { .flags = MOCA_SETUP_MANUAL };
	static struct session s[201];
	int n = opened(201, -EUSERS, s), err;

	check(n == 16, "limits: sessions", "%d instead of 16", n);
	session_close(&s[--n]);
	check(!session_try(&s[n], &usual), "limits: one went, one comes",
	      "%s", strerror(errno));
	n++;
	while (n)
		session_close(&s[--n]);
	set_parameter("max_sessions", 200);
	n = opened(201, -EUSERS, s);
	check(n == 200, "limits: more sessions", "%d instead of 200", n);
	while (n)
		session_close(&s[--n]);
	set_parameter("max_sessions", 16);
	err = session_try(&s[0], &large);
	check(err == -ENOSPC, "limits: memory", "%s", strerror(-err));
	close(s[0].fd);
	set_parameter("max_mb", 1);
	err = session_try(&s[0], &usual);
	check(err == -ENOSPC, "limits: less memory", "%s", strerror(-err));
	close(s[0].fd);
	set_parameter("max_mb", 512);
	err = session_try(&s[0], &usual);
	check(!err, "limits: as before", "%s", strerror(-err));
	session_close(&s[0]);
}

/* ---- without a set-up ---- */

#define TRACING "/sys/kernel/tracing/"

static int put_tracing(const char *file, const char *text)
{
	char path[128];
	int fd, err;

	snprintf(path, sizeof(path), TRACING "%s", file);
	fd = open(path, O_WRONLY | O_TRUNC);
	err = fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return err;
}

/* Times that this process waited for other CPUs since the last time. */
static int waits(void)
{
	FILE *f = fopen(TRACING "trace", "r");
	char line[512];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += line[0] != '#' && strstr(line, "synchronize_rcu") != NULL;
	if (f)
		fclose(f);
	put_tracing("trace", "");
	return n;
}

/* A descriptor that nobody set up is closed at once: nobody can know of it. */
static void unready(void)
{
	char pid[16];
	struct session s;
	int n;

	snprintf(pid, sizeof(pid), "%d", getpid());
	if (put_tracing("set_ftrace_filter", "synchronize_rcu") ||
	    put_tracing("set_ftrace_pid", pid) ||
	    put_tracing("current_tracer", "function")) {
		printf("skip unready: no tracer of functions: %s\n",
		       strerror(errno));
		return;
	}
	waits();
	for (int i = 0; i < 50; i++) {
		int fd = open("/dev/moca", O_RDWR);

		if (fd < 0 || close(fd))
			die("/dev/moca");
	}
	n = waits();
	check(!n, "unready: closed at once", "%d waits in 50 times", n);
	session_open(&s, &small);
	session_close(&s);
	n = waits();
	check(n, "unready: a session waits", "it does not");
	put_tracing("current_tracer", "nop");
	put_tracing("set_ftrace_pid", "");
	put_tracing("set_ftrace_filter", "");
}

/* ---- the pace ---- */

static void pace(void)
{
	const struct moca_setup setup = { .interval_ns = 1000000 * MS };
	struct moca_pace p = { .size = sizeof(p), .interval_ns = 2 * MS };
	struct session s;
	uint64_t first;

	session_open(&s, &setup);
	session_do(&s, MOCA_IOC_START, "START");
	usleep(50000);
	first = session_totals(&s).interval;
	check(!first, "pace: slow", "interval %lu", (unsigned long)first);
	if (ioctl(s.fd, MOCA_IOC_PACE, &p))
		die("PACE");
	for (int i = 0; i < 400 && session_totals(&s).interval < 10; i++)
		usleep(5000);
	check(session_totals(&s).interval >= 10, "pace: faster, at once",
	      "interval %llu", session_totals(&s).interval);
	session_close(&s);
}

static const struct { const char *name; void (*fn)(void); } tests[] = {
	{ "kills", kills }, { "two", two }, { "any", any_order },
	{ "ends", ends }, { "swarms", swarms }, { "overflow", overflow }, { "unborn", unborn },
	{ "holders", holders }, { "limits", limits }, { "pace", pace },
	{ "unready", unready },
};
#define TESTS (sizeof(tests) / sizeof(*tests))

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 4)
		return 2;
	seed = atoi(argv[1]) ?: time(NULL);
	kill_times = atoi(argv[2]);
	printf("seed %u\n", seed);
	for (int k = 3; k < argc; k++) {
		double began = now();
		size_t i = 0;

		while (i < TESTS && strcmp(argv[k], tests[i].name))
			i++;
		if (i == TESTS) {
			check(0, argv[k], "no such test");
			continue;
		}
		tests[i].fn();
		printf("%s: %.1f s\n", tests[i].name, now() - began);
	}
	return failures != 0;
}

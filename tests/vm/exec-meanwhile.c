// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process executes another program while REGISTER sweeps its memory: exec does
 * not wait for the sweep. The sweep is stopped in its midst by a real-time task on
 * its CPU, this one: if exec ends while it stands still, nothing made it wait.
 */
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "session.h"

#define TABLES 8192ul		/* a page in each: sweeps pause between tables */
#define STEP (2ul << 20)
#define ALL_KB (TABLES * PAGE / 1024)
#define TRIES 20
#define PATIENCE 20		/* seconds */

enum end { GOOD, MISSED, WAITED, BROKEN };

static volatile int *returned;	/* shared: what REGISTER returned, plus 1 */
static char self[256];

static void go_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* What it executes says so on `done` and waits to be killed. */
static int executed(int done)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(done, "x", 1) != 1)
		return 1;
	for (;;)
		pause();
}

/* It fills memory, says so, and executes when it is told. */
static pid_t big_process(int go, int done)
{
	pid_t pid = fork();
	char number[16], c;
	char *p;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	go_to_cpu(0);
	p = mmap(NULL, TABLES * STEP, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED || madvise(p, TABLES * STEP, MADV_NOHUGEPAGE))
		_exit(1);
	for (size_t i = 0; i < TABLES; i++)
		p[i * STEP] = 1;
	if (write(done, "r", 1) != 1 || read(go, &c, 1) != 1)
		_exit(1);
	snprintf(number, sizeof(number), "%d", done);
	execl(self, self, "executed", number, NULL);
	_exit(1);
}

static pid_t registrar(struct session *s, pid_t target)
{
	const struct sched_param usual = { 0 };
	pid_t pid;

	*returned = 0;
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sched_setscheduler(0, SCHED_OTHER, &usual))
		_exit(1);
	*returned = 1 + session_register(s, target);
	_exit(0);
}

/* kB of it that were accessed since they were swept. */
static unsigned long referenced(pid_t pid)
{
	unsigned long kb = 0;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	f = fopen(path, "r");
	if (!f)
		die(path);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Referenced: %lu", &kb) == 1)
			break;
	fclose(f);
	return kb;
}

/* CPU time so far, in ns. */
static long long ran(pid_t pid)
{
	long long ns = -1;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%lld", &ns) != 1)
		die(path);
	fclose(f);
	return ns;
}

/* While r sweeps: exec, and whether it ended while r stood still. */
static enum end execute(pid_t r, int go, int done)
{
	long long before = ran(r);
	double until = now() + PATIENCE;
	char c = 0;

	if (write(go, "", 1) != 1)
		die("a pipe");
	/* No sleep: r must not have the CPU. */
	while (read(done, &c, 1) != 1 && ran(r) == before)
		if (now() > until)
			return WAITED;
	return ran(r) == before && c == 'x' ? GOOD : MISSED;
}

static enum end try_once(struct session *s)
{
	const struct timespec nap = { .tv_nsec = 200000 };
	int go[2], done[2];
	enum end end = MISSED;
	unsigned long kb;
	pid_t target, r;
	char c;

	if (pipe(go) || pipe(done))
		die("pipe");
	target = big_process(go[0], done[1]);
	if (read(done[0], &c, 1) != 1)
		die("a big process");
	if (fcntl(done[0], F_SETFL, O_NONBLOCK))
		die("fcntl");
	r = registrar(s, target);
	while (!*returned) {
		nanosleep(&nap, NULL);
		kb = referenced(target);
		if (kb < ALL_KB / 8 || kb > ALL_KB * 7 / 8 || *returned)
			continue;
		end = execute(r, go[1], done[0]);
		break;
	}
	waitpid(r, NULL, 0);
	if (*returned != 1)
		end = BROKEN;
	/* What it executed is followed. */
	if (end == GOOD && session_totals(s).processes != 1)
		end = BROKEN;
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(done[i]);
	}
	return end;
}

int main(int argc, char **argv)
{
	const struct moca_setup setup = { .flags = MOCA_SETUP_MANUAL };
	const struct sched_param fifo = { .sched_priority = 10 };
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	enum end end = MISSED;
	struct session s;
	int tries;
	FILE *f;

	if (argc > 2 && !strcmp(argv[1], "executed"))
		return executed(atoi(argv[2]));
	setvbuf(stdout, NULL, _IOLBF, 0);
	self[n > 0 ? n : 0] = 0;
	if (access("/proc/self/schedstat", R_OK)) {
		printf("skip exec meanwhile: this kernel does not count CPU time\n");
		return 0;
	}
	/* Real-time tasks leave nothing to others. */
	f = fopen("/proc/sys/kernel/sched_rt_runtime_us", "w");
	if (!f || fprintf(f, "-1") < 0 || fclose(f))
		die("sched_rt_runtime_us");
	returned = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (returned == MAP_FAILED)
		die("mmap");
	go_to_cpu(1);
	if (sched_setscheduler(0, SCHED_FIFO, &fifo))
		die("SCHED_FIFO");
	session_open(&s, &setup);
	session_do(&s, MOCA_IOC_START, "START");
	for (tries = 0; tries < TRIES && end == MISSED; tries++)
		end = try_once(&s);
	session_close(&s);
	printf("%d tries\n", tries);
	check(end != BROKEN, "exec amid REGISTER is followed",
	      "REGISTER returned %d", *returned - 1);
	check(end == GOOD, "exec does not wait for REGISTER's sweep",
	      end == WAITED ? "it did, for %d s" : "no try of %d showed it",
	      end == WAITED ? PATIENCE : tries);
	return failures != 0;
}

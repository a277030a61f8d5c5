// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes and threads as they come: usage: life CASE [ARGUMENT]
 *
 * Each case emits numbered events (seq.h) and checks what it can itself; it
 * prints what tests/trace/run expects to find in the trace: lines "pid WRITER
 * COUNT", for the process's own pid.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seq.h"

#define EVENTS 1000

MOCA_EVENT(test, touch, (pointer, addr));
MOCA_EVENT(test, touched, (pointer, addr));
MOCA_EVENT(test, much, (sequence, bytes, u8));

static void emit_from(uint32_t writer, uint64_t from, uint64_t to)
{
	while (from < to)
		seq_emit(writer, from++);
}

static void expect(uint32_t writer, unsigned count)
{
	printf("%d %u %u\n", getpid(), writer, count);
	fflush(stdout);
}

static int reap(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid &&
	       WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : 1;
}

/* Each generation by another way to fork; the child has a chain of its own. */
static int case_fork(const char *arg)
{
	pid_t pid;
	int i, bad = 0;

	emit_from(0, 0, EVENTS);
	for (i = 1; i <= 3; i++) {
		pid = i == 1 ? fork() : i == 2 ? _Fork() :
		      (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (!pid) {
			emit_from(i, 0, EVENTS);
			expect(i, EVENTS);
			_exit(0);
		}
		bad |= reap(pid);
		emit_from(0, EVENTS * i, EVENTS * (i + 1));
	}
	expect(0, EVENTS * 4);
	return bad;
}

static int case_vfork(const char *arg)
{
	pid_t pid;
	volatile int i;

	emit_from(0, 0, EVENTS);
	for (i = 0; i < 20; i++) {
		pid = vfork();
		if (!pid) {
			emit_from(1, i * 10, i * 10 + 10);
			_exit(0);
		}
		if (reap(pid))
			return 1;
	}
	emit_from(0, EVENTS, 2 * EVENTS);
	expect(0, 2 * EVENTS);
	expect(1, 200);
	return 0;
}

/* Only a vfork's child emits before its parent does. */
static int case_vfork_first(const char *arg)
{
	pid_t pid = vfork();

	if (!pid) {
		emit_from(1, 0, 1);	/* finds no buffer; harms nobody */
		_exit(0);
	}
	if (reap(pid))
		return 1;
	emit_from(0, 0, EVENTS);
	expect(0, EVENTS);
	return 0;
}

static int case_exec(const char *arg)
{
	emit_from(arg ? 1 : 0, 0, EVENTS);
	expect(arg ? 1 : 0, EVENTS);
	if (!arg)
		execl("/proc/self/exe", "life", "exec", "again", NULL);
	return !arg;
}

static pthread_key_t key;

static void last_words(void *arg)
{
	emit_from(1, 10, 15);
}

static void *short_thread(void *arg)
{
	pthread_setspecific(key, arg);
	emit_from(1, 0, 10);
	if ((long)arg % 2)
		pthread_exit(NULL);
	return NULL;
}

static int case_threads(const char *arg)
{
	long i, n = arg ? atol(arg) : 300;
	pthread_t *t = calloc(n, sizeof(*t));
	int batch = arg ? n : 10, j;

	pthread_key_create(&key, last_words);
	emit_from(0, 0, 10);
	for (i = 0; i < n; i += batch) {
		for (j = 0; j < batch; j++)
			if (pthread_create(&t[i + j], NULL, short_thread,
					   (void *)(i + j + 1)))
				return 1;
		for (j = 0; j < batch; j++)
			pthread_join(t[i + j], NULL);
	}
	expect(0, 10);
	expect(1, n * 15);
	return 0;
}

/* Libraries with events of their own come and go, at the same addresses. */
static int case_dlopen(const char *arg)
{
	void (*call)(uint64_t from, uint64_t to);
	char path[4096];
	void *lib;
	int i;

	for (i = 0; i < 60; i++) {
		snprintf(path, sizeof(path), "%s-%d.so", arg, i % 2);
		lib = dlopen(path, RTLD_NOW);
		if (!lib) {
			fprintf(stderr, "life: %s\n", dlerror());
			return 1;
		}
		*(void **)&call = dlsym(lib, "plugin_emit");
		call(i / 2 * 10, i / 2 * 10 + 10);
		dlclose(lib);
	}
	emit_from(0, 0, 10);
	expect(0, 10);
	expect(10, 300);
	expect(11, 300);
	return 0;
}

static sigjmp_buf back;
static volatile uint64_t jumped;

static void jump(int sig)
{
	seq_emit(1, jumped++);
	siglongjmp(back, 1);
}

/*
 * Handlers that do not return, out of wherever they interrupted. A record may
 * be left half-written each time, and the writer's number used twice.
 */
static int case_longjmp(const char *arg)
{
	struct itimerval t = { { 0, 300 }, { 0, 300 } };
	static volatile uint64_t n;
	struct sigaction sa = { .sa_handler = jump };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	while (jumped < 2000) {
		if (sigsetjmp(back, 1))
			n++;
		while (jumped < 2000) {
			seq_emit(0, n);
			n++;
		}
	}
	memset(&t, 0, sizeof(t));
	setitimer(ITIMER_REAL, &t, NULL);
	expect(1, jumped);
	return 0;
}

static pid_t children[2000];
static volatile int forks;

static void fork_in_handler(int sig)
{
	pid_t pid = fork();

	if (!pid) {
		emit_from(2, 0, 5);
		return;		/* and goes on in the record interrupted */
	}
	children[forks++] = pid;
}

static int case_fork_handler(const char *arg)
{
	struct itimerval t = { { 0, 500 }, { 0, 500 } };
	struct sigaction sa = { .sa_handler = fork_in_handler,
				.sa_flags = SA_RESTART };
	pid_t me = getpid();
	uint64_t n = 0;
	int i, bad = 0;

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	while (forks < 200 && getpid() == me)
		seq_emit(0, n++);
	if (getpid() != me)
		_exit(0);
	memset(&t, 0, sizeof(t));
	setitimer(ITIMER_REAL, &t, NULL);
	for (i = 0; i < forks; i++)
		bad |= reap(children[i]);
	expect(0, n);
	return bad;
}

static volatile int is_child, forked, died;

static void alarm_us(long us)
{
	struct itimerval t = { { 0, 0 }, { 0, us } };

	setitimer(ITIMER_REAL, &t, NULL);
}

static void fork_and_return(int sig)
{
	pid_t pid = fork();

	if (!pid) {
		is_child = 1;
		return;
	}
	if (reap(pid))
		died++;
	else
		forked++;
	alarm_us(150 + forked);
}

/* The child returns into whatever was interrupted, and emits nothing before. */
static int case_fork_return(const char *arg)
{
	struct sigaction sa = { .sa_handler = fork_and_return,
				.sa_flags = SA_RESTART };
	uint64_t n = 0;

	sigaction(SIGALRM, &sa, NULL);
	alarm_us(200);
	while (forked + died < 500 && !is_child)
		seq_emit(0, n++);
	if (is_child)
		_exit(0);
	return died;
}

static volatile int armed, left;

static void jump_once(int sig)
{
	if (!armed)
		return;
	armed = 0;
	siglongjmp(back, 1);
}

/* Records are left open in one trace; the next one must not suffer. */
static int case_stale(const char *arg)
{
	static volatile uint64_t n;

	signal(SIGALRM, jump_once);
	while (left < 300) {
		if (sigsetjmp(back, 1)) {
			left++;
			n++;
			continue;
		}
		armed = 1;
		alarm_us(700);
		while (armed) {
			seq_emit(2, n);
			n++;
		}
	}
	puts("left");
	fflush(stdout);
	getchar();
	emit_from(0, 0, EVENTS);
	puts("emitted");
	fflush(stdout);
	getchar();
	return 0;
}

static volatile int inside;

static void work_long(int sig)
{
	time_t end = time(NULL) + 10;
	uint64_t n = 0;

	if (inside++)
		return;
	while (time(NULL) < end) {
		seq_emit(1, n++);
		if (n % 200 == 0)
			usleep(50);
	}
}

/* A handler that works for long, in the middle of a record. */
static int case_long_handler(const char *arg)
{
	struct itimerval t = { { 0, 20000 }, { 0, 20000 } };
	static uint8_t much[30000];

	signal(SIGPROF, work_long);
	setitimer(ITIMER_PROF, &t, NULL);
	while (!inside)
		moca_trace_test_much(much, sizeof(much));
	emit_from(2, 0, 10);
	return 0;
}

static void emit_one(int sig)
{
	seq_emit(1, 0);
}

/* ltt_switch while handlers see traces go; until stdin ends. */
static int case_switch(const char *arg)
{
	struct itimerval t = { { 0, 500 }, { 0, 500 } };
	struct sigaction sa = { .sa_handler = emit_one,
				.sa_flags = SA_RESTART };
	int active, filter, i;
	void *buffer;

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	for (;;) {
		buffer = NULL;
		if (ltt_update(&buffer, &active, &filter) || !buffer)
			continue;
		for (i = 0; !ltt_switch(buffer); i++)
			;
	}
	return 0;
}

static int case_errno(const char *arg)
{
	int i;

	for (i = 0; i < EVENTS; i++) {
		errno = 12345 + i;
		seq_emit(0, i);
		if (errno != 12345 + i)
			return 1;
	}
	expect(0, EVENTS);
	return 0;
}

/* Each first touch lies between two events, for a page trace to show. */
static int case_touch(const char *arg)
{
	size_t i, pages = 64;
	char *p = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (i = 0; i < pages; i++) {
		moca_trace_test_touch(p + i * 4096);
		*(volatile char *)(p + i * 4096) = 1;
		moca_trace_test_touched(p + i * 4096);
	}
	return 0;
}

/* The 2006 design's calls. */
static int case_ltt(const char *arg)
{
	void *buffer = NULL, *again = NULL, *none = &buffer;
	int active = -1, filter = -1;

	if (ltt_update(&buffer, &active, &filter) || !buffer)
		return 1;
	if (active != 1 || filter != -1)
		return 2;
	if (ltt_update(&again, &active, &filter) || again)
		return 3;	/* all are mapped */
	emit_from(0, 0, 10);
	if (ltt_update(&buffer, &active, &filter) || active != 1)
		return 4;
	if (ltt_switch(buffer))
		return 5;
	emit_from(0, 10, 20);
	if (!ltt_switch(none) || !ltt_update(&none, &active, &filter))
		return 6;	/* not a buffer of ours */
	expect(0, 20);
	return 0;
}

static int *volatile nowhere;

/* Dies with events in its buffers. */
static int case_die(const char *arg)
{
	int sig = atoi(arg);

	emit_from(0, 0, EVENTS);
	expect(0, EVENTS);
	if (sig == SIGSEGV)
		*nowhere = 0;
	raise(sig);
	return 1;
}

/* An allocation that does not end, in a cgroup or under RLIMIT_AS: abort. */
static int case_memory(const char *arg)
{
	volatile char *p;

	emit_from(0, 0, EVENTS);
	expect(0, EVENTS);
	for (;;) {
		p = malloc(1 << 20);
		if (!p)
			abort();
		memset((char *)p, 1, 1 << 20);
	}
}

/* Cuts its own buffers' files short. */
static int case_truncate(const char *arg)
{
	char line[512], path[512];
	FILE *f = fopen("/proc/self/maps", "r");

	emit_from(0, 0, 10);
	f = freopen("/proc/self/maps", "r", f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %*s %*s %*s %*s %511s", path) == 1 &&
		    strstr(path, "/stream-") && truncate(path, 100))
			return 1;
	fclose(f);
	sleep(2);
	return 0;
}

static void *emit_ten(void *arg)
{
	emit_from(1, 0, 10);
	return NULL;
}

/* Threads one after the other; none has a buffer from an earlier one. */
static int ten_threads(void)
{
	pthread_t t;
	int i;

	for (i = 0; i < 10; i++)
		if (pthread_create(&t, NULL, emit_ten, NULL) ||
		    pthread_join(t, NULL))
			return 1;
	return 0;
}

/*
 * A server's worker: it forks, drops its rights, and then starts threads. One
 * that is killed at once has told of what it lost as well.
 */
static int case_rights(const char *arg)
{
	pid_t pid;
	int status;

	emit_from(0, 0, EVENTS);
	pid = fork();
	if (!pid) {
		if (setgid(65534) || setuid(65534) || ten_threads())
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
		return 1;
	expect(0, EVENTS);
	return 0;
}

/* A worker that changes its root directory; its threads cannot find Moca. */
static int case_away(const char *arg)
{
	pid_t pid;

	emit_from(0, 0, EVENTS);
	pid = fork();
	if (!pid)
		_exit(chroot("/proc/self/fdinfo") || chdir("/") ||
		      ten_threads());
	if (reap(pid))
		return 1;
	expect(0, EVENTS);
	return 0;
}

/*
 * The collector sleeps while threads want buffers, until after our end: someone
 * else wakes it. With "first", it does before our first event.
 */
static int case_asleep(const char *arg)
{
	pid_t collector = getppid();
	int pipes[2];
	char c;

	if (!arg)
		emit_from(0, 0, EVENTS);
	if (pipe(pipes))
		return 1;
	if (!fork()) {
		close(pipes[1]);
		setsid();
		while (read(pipes[0], &c, 1) > 0)
			;
		kill(collector, SIGCONT);
		_exit(0);
	}
	kill(collector, SIGSTOP);
	if (ten_threads())
		return 2;
	expect(0, arg ? 0 : EVENTS);
	expect(1, 100);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(const char *arg);
} cases[] = {
	{ "fork", case_fork },
	{ "vfork", case_vfork },
	{ "vfork-first", case_vfork_first },
	{ "exec", case_exec },
	{ "threads", case_threads },
	{ "dlopen", case_dlopen },
	{ "longjmp", case_longjmp },
	{ "fork-handler", case_fork_handler },
	{ "fork-return", case_fork_return },
	{ "stale", case_stale },
	{ "long-handler", case_long_handler },
	{ "switch", case_switch },
	{ "errno", case_errno },
	{ "ltt", case_ltt },
	{ "touch", case_touch },
	{ "die", case_die },
	{ "memory", case_memory },
	{ "truncate", case_truncate },
	{ "rights", case_rights },
	{ "away", case_away },
	{ "asleep", case_asleep },
};

int main(int argc, char **argv)
{
	size_t i;
	int ret;

	for (i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(argv[1], cases[i].name))
			continue;
		ret = cases[i].run(argc > 2 ? argv[2] : NULL);
		if (ret)
			fprintf(stderr, "life: %s: check %d failed\n", argv[1],
				ret);
		return ret;
	}
	fprintf(stderr, "usage: life CASE [ARGUMENT]\n");
	return 2;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals of every origin, while memory is written. */
#include "case.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t count;
static volatile char *alt;
static size_t alt_size;
static char *heap;

static void handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };

	CHECK(sigaction(sig, &sa, NULL) == 0);
}

static void on_timer(int sig)
{
	volatile char here;

	here = 1;
	CHECK(&here >= alt && &here < alt + alt_size);
	heap[(count % 512) * PAGE] += here; /* faults inside a handler */
	count++;
}

static void itimer(void)
{
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } };
	struct itimerval never = { 0 };
	stack_t ss = { 0 };
	char *p = map_pages(512);
	uint64_t rounds = 0;

	heap = map_pages(512);
	alt_size = 64 * PAGE;
	alt = ss.ss_sp = map_pages(64);
	ss.ss_size = alt_size;
	CHECK(sigaltstack(&ss, NULL) == 0);
	handle(SIGALRM, on_timer, SA_ONSTACK | SA_RESTART);
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
	while (count < 100)
		fill(p, 512, rounds++);
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
	CHECK(filled(p, 512, rounds - 1));
	for (int i = 0; i < 100; i++)
		CHECK(heap[i * PAGE] >= 1);
	puts("a hundred ticks on the alternate stack");
}

static void on_prof(int sig)
{
	count++;
}

/* CPU-time timers tick in the kernel's time of the program alone. */
static void prof_timer(void)
{
	struct itimerval every = { { 0, 4000 }, { 0, 4000 } };
	char *p = map_pages(64);
	uint64_t i;

	handle(SIGPROF, on_prof, SA_RESTART);
	CHECK(setitimer(ITIMER_PROF, &every, NULL) == 0);
	for (i = 0; count < 20; i++)
		fill(p, 64, i);
	CHECK(filled(p, 64, i - 1));
	puts("profiling timer");
}

static void on_alarm(int sig)
{
	CHECK(write(1, "alarm\n", 6) == 6);
}

static void alarms(void)
{
	char c;
	int fd[2];

	CHECK(pipe(fd) == 0);
	handle(SIGALRM, on_alarm, 0);
	alarm(1);
	CHECK(read(fd[0], &c, 1) < 0 && errno == EINTR);
	alarm(100);
	CHECK(alarm(0) > 90);
}

/*
 * System calls of a program that handles no signal never return EINTR: a
 * stopped tracee's would.
 */
static void no_eintr(void)
{
	struct timespec ts = { 0, 300000000 };
	char *p = map_pages(256);
	struct timespec left;

	fill(p, 256, 1);
	CHECK(nanosleep(&ts, &left) == 0);
	CHECK(usleep(200000) == 0);
	CHECK(filled(p, 256, 1));
	puts("slept through");
}

static char *barrier;
static size_t barrier_pages;
static volatile unsigned char *dirty;

static void on_barrier(int sig, siginfo_t *si, void *uc)
{
	size_t page = ((char *)si->si_addr - barrier) / PAGE;

	if (si->si_code != SEGV_ACCERR || page >= barrier_pages)
		_exit(3);
	dirty[page]++;
	if (mprotect(barrier + page * PAGE, PAGE, RW))
		_exit(4);
}

static void *write_some(void *arg)
{
	uintptr_t from = (uintptr_t)arg;

	for (size_t i = from; i < barrier_pages; i += 3)
		barrier[i * PAGE + 5]++;
	return NULL;
}

/* A garbage collector's way to learn which pages are written. */
static void write_barrier(void)
{
	struct sigaction sa = { .sa_sigaction = on_barrier,
				.sa_flags = SA_SIGINFO };
	uint64_t total = 0, again = 0;

	barrier_pages = 300;
	barrier = map_pages(barrier_pages);
	dirty = map_pages(1);
	CHECK(sigaction(SIGSEGV, &sa, NULL) == 0);
	for (int round = 0; round < 20; round++) {
		pthread_t t;

		CHECK(mprotect(barrier, barrier_pages * PAGE, PROT_READ) == 0);
		CHECK(pthread_create(&t, NULL, write_some, (void *)1) == 0);
		write_some((void *)(uintptr_t)0);
		CHECK(pthread_join(t, NULL) == 0);
	}
	for (size_t i = 0; i < barrier_pages; i++) {
		total += dirty[i];
		again += barrier[i * PAGE + 5];
	}
	printf("%lu dirty pages, %lu writes\n", total, again);
}

static void on_child(int sig)
{
	count++;
}

static void sigchld(void)
{
	sigset_t set, old;
	int reaped = 0;

	handle(SIGCHLD, on_child, SA_RESTART);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &old);
	for (int i = 0; i < 10; i++) {
		int pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			pause_ms(i * 5);
			_exit(i);
		}
	}
	while (reaped < 10) {
		int status, pid;

		sigsuspend(&old);
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			CHECK(WIFEXITED(status));
			reaped++;
		}
	}
	CHECK(waitpid(-1, NULL, 0) < 0 && errno == ECHILD);
	CHECK(count >= 1 && count <= 10);
	puts("ten children");
}

static void on_cont(int sig)
{
	count++;
}

static void job_control(void)
{
	int status, pid, go[2];
	siginfo_t si;
	char c = 0;

	CHECK(pipe(go) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		char *p = map_pages(64);

		setpgid(0, 0);
		handle(SIGCONT, on_cont, 0);
		fill(p, 64, 1);
		raise(SIGTSTP);
		CHECK(count == 1 && filled(p, 64, 1));
		/* The next stop would make the kernel forget the "continued". */
		CHECK(read(go[0], &c, 1) == 1);
		raise(SIGSTOP);
		CHECK(count == 2 && filled(p, 64, 1));
		for (;;)
			pause_ms(1000);
	}
	CHECK(waitpid(pid, &status, WUNTRACED) == pid);
	CHECK(WIFSTOPPED(status));
	printf("stopped by %d\n", WSTOPSIG(status));
	pause_ms(60); /* a stopped process stays stopped */
	CHECK(waitpid(pid, &status, WNOHANG | WUNTRACED) == 0);
	CHECK(kill(pid, SIGCONT) == 0);
	CHECK(waitpid(pid, &status, WUNTRACED | WCONTINUED) == pid);
	CHECK(WIFCONTINUED(status));
	puts("continued");
	CHECK(write(go[1], &c, 1) == 1);
	CHECK(waitpid(pid, &status, WUNTRACED | WCONTINUED) == pid);
	CHECK(WIFSTOPPED(status));
	printf("stopped by %d\n", WSTOPSIG(status));
	CHECK(kill(pid, SIGCONT) == 0);
	CHECK(waitid(P_PID, pid, &si, WCONTINUED) == 0);
	printf("code %d\n", si.si_code);
	CHECK(kill(pid, SIGTERM) == 0);
	CHECK(waitid(P_PID, pid, &si, WEXITED) == 0);
	printf("code %d, signal %d\n", si.si_code, si.si_status);
}

static void *send_signals(void *arg)
{
	for (int i = 0; i < 2000; i++)
		pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}

/* Thousands of signals into a thread that maps and unmaps. */
static void storm(void)
{
	pthread_t t, self = pthread_self();

	handle(SIGUSR1, on_cont, 0);
	CHECK(pthread_create(&t, NULL, send_signals, &self) == 0);
	for (int i = 0; i < 3000; i++) {
		char *p = map_pages(4);

		fill(p, 4, i);
		CHECK(filled(p, 4, i));
		CHECK(munmap(p, 4 * PAGE) == 0);
	}
	CHECK(pthread_join(t, NULL) == 0);
	CHECK(count >= 1);
	puts("stormed");
}

static void on_queue(int sig, siginfo_t *si, void *uc)
{
	printf("%d from %s: %d\n", sig == SIGRTMIN ? 0 : 1,
	       si->si_code == SI_QUEUE ? "sigqueue" : "elsewhere",
	       si->si_value.sival_int);
}

static void queued(void)
{
	struct sigaction sa = { .sa_sigaction = on_queue,
				.sa_flags = SA_SIGINFO };
	union sigval v;
	sigset_t set;

	CHECK(sigaction(SIGRTMIN, &sa, NULL) == 0);
	CHECK(sigaction(SIGRTMIN + 1, &sa, NULL) == 0);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGRTMIN + 1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (v.sival_int = 0; v.sival_int < 5; v.sival_int++) {
		CHECK(sigqueue(getpid(), SIGRTMIN + v.sival_int % 2, v) == 0);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void by_sigpipe(void)
{
	int fd[2];

	CHECK(pipe(fd) == 0);
	close(fd[0]);
	puts("into a closed pipe");
	fflush(stdout);
	CHECK(write(fd[1], "x", 1) == 1);
}

static void by_abort(void)
{
	puts("aborting");
	fflush(stdout);
	abort();
}

static void by_segv(void)
{
	char *volatile nowhere = (char *)16;

	puts("into the void");
	fflush(stdout);
	*nowhere = 1;
}

static void by_kill(void)
{
	puts("killing itself");
	fflush(stdout);
	kill(getpid(), SIGKILL);
	pause_ms(10000);
}

static void by_exit(void)
{
	puts("exit 42");
	fflush(stdout);
	_exit(42);
}

/* The main thread dies of a signal that another thread causes. */
static void *die(void *arg)
{
	raise(SIGTERM);
	return NULL;
}

static void by_thread(void)
{
	pthread_t t;

	puts("a thread ends all");
	fflush(stdout);
	CHECK(pthread_create(&t, NULL, die, NULL) == 0);
	pause_ms(10000);
}

static const struct test_case cases[] = {
	{ "itimer", itimer },
	{ "prof-timer", prof_timer },
	{ "alarm", alarms },
	{ "no-eintr", no_eintr },
	{ "write-barrier", write_barrier },
	{ "sigchld", sigchld },
	{ "job-control", job_control },
	{ "storm", storm },
	{ "queued", queued },
	{ "by-sigpipe", by_sigpipe },
	{ "by-abort", by_abort },
	{ "by-segv", by_segv },
	{ "by-kill", by_kill },
	{ "by-exit", by_exit },
	{ "by-thread", by_thread },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}

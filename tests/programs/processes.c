/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fork, vfork, clone, posix_spawn and exec; descriptors; isolation. */
#include "case.h"

#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

extern char **environ;

static char bss[64 * PAGE];
static int data[4 * PAGE / sizeof(int)] = { 7 };

struct memories {
	char *heap, *map, *big;
};

static void memories_init(struct memories *m, uint64_t seed)
{
	m->heap = malloc(64 * PAGE + 100000); /* by brk or mmap */
	m->map = map_pages(64);
	m->big = map_pages(4096);
	fill(m->heap, 16, seed);
	fill(m->map, 64, seed + 1);
	fill(m->big, 4096, seed + 2);
	fill(bss, 64, seed + 3);
	data[100] = seed;
}

static void memories_write(struct memories *m, uint64_t seed)
{
	fill(m->heap, 16, seed);
	fill(m->map, 64, seed + 1);
	fill(m->big, 512, seed + 2);
	fill(bss, 64, seed + 3);
	data[100] = seed;
}

static void memories_check(const struct memories *m, uint64_t seed)
{
	CHECK(filled(m->heap, 16, seed));
	CHECK(filled(m->map, 64, seed + 1));
	CHECK(filled(m->big, 512, seed + 2));
	CHECK(filled(bss, 64, seed + 3));
	CHECK(data[100] == (int)seed);
	CHECK(data[0] == 7);
}

/* Both sides write the same pages for a while; neither sees the other. */
static void both_sides(struct memories *m, uint64_t seed)
{
	int pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		memories_check(m, seed);
		for (int i = 0; i < 10; i++) {
			memories_write(m, 5000 + i);
			pause_ms(3);
			memories_check(m, 5000 + i);
		}
		_exit(0);
	}
	for (int i = 0; i < 10; i++) {
		memories_write(m, 9000 + i);
		pause_ms(2);
		memories_check(m, 9000 + i);
	}
	wait_ok(pid);
	memories_check(m, 9009);
	for (size_t i = 512; i < 4096; i++) /* untouched since the fork */
		CHECK(*(uint64_t *)(m->big + i * PAGE + 8 * (i % 512)) ==
		      (seed + 2) * 1000003 + i);
}

static void isolation(void)
{
	struct memories m;

	for (int i = 0; i < 5; i++) {
		memories_init(&m, i);
		both_sides(&m, i);
		munmap(m.big, 4096 * PAGE);
		munmap(m.map, 64 * PAGE);
		free(m.heap);
	}
}

static volatile int stop_writers;
static volatile uint64_t *written;

static void *writer(void *arg)
{
	uintptr_t n = (uintptr_t)arg;

	while (!stop_writers)
		for (int i = 0; i < 64; i++)
			written[(n * 64 + i) * PAGE / 8]++;
	return NULL;
}

/* While the fork copies, threads of the parent go on writing. */
static void isolation_threads(void)
{
	struct memories m;
	pthread_t t[2];

	written = map_pages(128);
	for (uintptr_t i = 0; i < 2; i++)
		CHECK(pthread_create(&t[i], NULL, writer, (void *)i) == 0);
	for (int i = 0; i < 5; i++) {
		int pid;

		memories_init(&m, i);
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) { /* in the child nobody counts any more */
			uint64_t before[128];

			for (int k = 0; k < 128; k++)
				before[k] = written[k * PAGE / 8];
			pause_ms(20);
			for (int k = 0; k < 128; k++)
				CHECK(before[k] == written[k * PAGE / 8]);
			for (int k = 0; k < 2; k++) { /* a sweep is a snapshot */
				uint64_t low = before[k * 64 + 63];
				uint64_t high = before[k * 64];

				CHECK(high == low || high == low + 1);
			}
			memories_check(&m, i);
			_exit(0);
		}
		memories_write(&m, 700 + i);
		wait_ok(pid);
		memories_check(&m, 700 + i);
	}
	stop_writers = 1;
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	for (int k = 0; k < 2; k++)
		for (int i = 1; i < 64; i++)
			CHECK(written[(k * 64 + i) * PAGE / 8] ==
			      written[k * 64 * PAGE / 8]);
}

static void nest(struct memories *m, int depth, uint64_t seed)
{
	int pid;

	if (depth == 4)
		return;
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		memories_check(m, seed);
		memories_write(m, seed + 10);
		nest(m, depth + 1, seed + 10);
		memories_check(m, seed + 10);
		printf("depth %d\n", depth + 1);
		fflush(stdout);
		_exit(0);
	}
	wait_ok(pid);
	memories_check(m, seed);
}

static void nested(void)
{
	struct memories m;

	memories_init(&m, 50);
	nest(&m, 0, 50);
}

/* A child that outlives its parent, and keeps the parent's memory. */
static void orphan(void)
{
	struct memories m;
	int fd[2], pid, middle;
	char c = 0;

	memories_init(&m, 60);
	CHECK(pipe(fd) == 0);
	middle = fork();
	CHECK(middle >= 0);
	if (!middle) {
		pid = fork();
		CHECK(pid >= 0);
		if (pid)
			_exit(0);
		pause_ms(100);
		memories_check(&m, 60);
		memories_write(&m, 61);
		memories_check(&m, 61);
		CHECK(write(fd[1], "!", 1) == 1);
		_exit(0);
	}
	wait_ok(middle);
	CHECK(read(fd[0], &c, 1) == 1);
	memories_check(&m, 60);
	printf("%c\n", c);
}

/* Forks that end at once, as a shell makes them. */
static void fork_storm(void)
{
	char *p = map_pages(256);

	fill(p, 256, 1);
	for (int i = 0; i < 60; i++) {
		int pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			_exit(!filled(p, 256, 1));
		if (i % 3 == 0)
			fill(p, 256, 1);
		wait_ok(pid);
	}
}

/* A parent that exits while its children still run keeps exit code 0. */
static void last_child_writes(void)
{
	if (fork() == 0) {
		pause_ms(150);
		CHECK(write(1, "late\n", 5) == 5);
		_exit(0);
	}
}

static void use_vfork(void)
{
	volatile int *shared = map_pages(1);

	for (int i = 0; i < 20; i++) {
		int pid = vfork();

		CHECK(pid >= 0);
		if (!pid) { /* borrows our memory until it execs */
			shared[0]++;
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		wait_ok(pid);
		CHECK(shared[0] == i + 1);
	}
	printf("%d\n", shared[0]);
}

static void spawned(void)
{
	char *argv[] = { "sh", "-c", "echo from $0; exit 0", "the child",
			 NULL };
	posix_spawn_file_actions_t fa;
	int pid;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	for (int i = 0; i < 10; i++) {
		CHECK(posix_spawnp(&pid, "sh", &fa, NULL, argv, environ) == 0);
		wait_ok(pid);
	}
	argv[0] = "/nonexistent";
	CHECK(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == ENOENT);
}

static int clone_main(void *arg)
{
	fill(arg, 16, 77);
	return 5;
}

/* Memory shared without being a thread. */
static void clone_vm(void)
{
	char *p = map_pages(16), *stack = map_pages(64);
	int status, pid;

	pid = clone(clone_main, stack + 64 * PAGE, CLONE_VM | SIGCHLD, p);
	CHECK(pid > 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
	CHECK(filled(p, 16, 77));
	/* No signal at its end: only __WCLONE waits for it. */
	fill(p, 16, 1);
	pid = clone(clone_main, stack + 64 * PAGE, CLONE_VM, p);
	CHECK(pid > 0);
	CHECK(waitpid(pid, &status, __WCLONE) == pid);
	CHECK(filled(p, 16, 77));
}

/* Twenty programs, one after the other, in one process. */
/* Works for a while in memory of its own, so that it is swept. */
static void work_a_while(int seed)
{
	char *p = map_pages(64);

	for (int i = 0; i < 8; i++) {
		fill(p, 64, seed + i);
		pause_ms(20);
		CHECK(filled(p, 64, seed + i));
	}
}

static void nested_namespace(void);

/* pid 1 of a namespace: reaps until nobody is left, orphans too. */
static void init_main(int inner)
{
	int reaped = 0, pid;

	CHECK(getpid() == 1);
	for (int i = 0; i < 2; i++) {
		pid = fork();
		CHECK(pid >= 0);
		if (pid)
			continue;
		if (!fork())	/* an orphan soon */
			work_a_while(i);
		work_a_while(i + 10);
		_exit(0);
	}
	if (inner && !fork()) {
		nested_namespace();
		_exit(0);
	}
	work_a_while(20);
	while (waitpid(-1, NULL, inner ? 0 : __WALL) > 0)
		reaped++;
	CHECK(errno == ECHILD);
	CHECK(waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD);
	/* Each of two, its orphan, and the one with the inner namespace. */
	printf("pid 1 reaped %d\n", reaped);
	fflush(stdout);
	_exit(reaped != 4 + inner);
}

/* One more namespace in this one. */
static void nested_namespace(void)
{
	int pid;

	CHECK(unshare(CLONE_NEWPID) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		init_main(0);
	wait_ok(pid);
}

static void pid_namespace(void)
{
	int pid, flags = CLONE_NEWPID | (geteuid() ? CLONE_NEWUSER : 0);

	if (unshare(flags))
		UNSUPPORTED("a PID namespace");
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		init_main(1);
	work_a_while(30);	/* its own children would be in there, too */
	wait_ok(pid);
}

#ifndef CLONE_UNTRACED
#define CLONE_UNTRACED 0x00800000
#endif

/* clone(2) of a fork; *after is the flags' register behind it. */
static long raw_clone(unsigned long flags, unsigned long *after)
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = 0, r8 __asm__("r8") = 0;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret), "+D"(flags)
			 : "a"(SYS_clone), "S"(0), "d"(0), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	*after = flags;
	return ret;
#else
	*after = flags;	/* there the result has the register */
	return syscall(SYS_clone, flags, 0, 0, 0, 0);
#endif
}

/* A child that wants no tracer has memory calls, and the flags, all the same. */
static void clone_untraced(void)
{
	unsigned long flags = CLONE_UNTRACED | SIGCHLD, after;
	char *p = map_pages(8);
	long pid;

	fill(p, 8, 40);
	pid = raw_clone(flags, &after);
	CHECK(pid >= 0 && after == flags);
	if (!pid) {
		char *q = mmap(NULL, 8 * PAGE, RW, ANON, -1, 0);

		if (q == MAP_FAILED || !filled(p, 8, 40))
			_exit(1);
		fill(q, 8, 41);
		_exit(!filled(q, 8, 41) || munmap(q, 8 * PAGE) != 0);
	}
	wait_ok(pid);
	/* One that is refused. */
	flags |= CLONE_SIGHAND;
	CHECK(raw_clone(flags, &after) == -EINVAL && after == flags);
}

/* What a leak checker at its work was told. */
static struct told {
	long wait, bad_usage, regs, odd, huge;
	size_t length;
	int status, times;
} told;

/* As LeakSanitizer: it looks at its parent, in whose memory it is. */
static int look_at_parent(void *arg)
{
	static char regs[1 << 20];
	struct iovec odd = { regs, 13 }, huge = { regs, 100001 },
		     all = { regs, sizeof(regs) };
	struct rusage usage;
	pid_t pid = getppid();

	memset(&usage, 0xff, sizeof(usage));
	/* Touched by the program itself: its tracer writes the rest. */
	*(volatile char *)regs = 1;
	*(volatile int *)&told.times = -1;
	if (ptrace(PTRACE_ATTACH, pid, 0, 0))
		return 77;
	told.wait = wait4(pid, &told.status, __WALL, &usage) == pid;
	told.times = usage.ru_utime.tv_sec >= 0 && usage.ru_minflt >= 0 &&
		     usage.ru_nivcsw >= 0;
	told.odd = ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &odd) ? errno : 0;
	told.huge = ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &huge) ? errno :
									0;
	told.regs = ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &all);
	told.length = all.iov_len;
	ptrace(PTRACE_DETACH, pid, 0, 0);
	if (ptrace(PTRACE_ATTACH, pid, 0, 0))
		return 1;
	told.bad_usage = wait4(pid, NULL, __WALL, (void *)8) < 0 ? errno : 0;
	ptrace(PTRACE_DETACH, pid, 0, 0);
	return 0;
}

static void debugger(void)
{
	char *stack = map_pages(64);
	int pid, status;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	pid = clone(look_at_parent, stack + 64 * PAGE, CLONE_VM | CLONE_FS |
		    CLONE_FILES | CLONE_UNTRACED | SIGCHLD, NULL);
	CHECK(pid > 0);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		UNSUPPORTED("ptrace");
	CHECK(WEXITSTATUS(status) == 0);
	printf("wait %ld %x times %d bad %ld odd %ld huge %ld regs %ld %zu\n",
	       told.wait, told.status, told.times, told.bad_usage, told.odd,
	       told.huge, told.regs, told.length);
}

static void exec_chain(void)
{
	int n = getenv("CHAIN") ? atoi(getenv("CHAIN")) : 0;
	char text[16];

	CHECK(zeroed(bss, sizeof(bss)));
	fill(bss, 64, n);
	snprintf(text, sizeof(text), "%d", n + 1);
	setenv("CHAIN", text, 1);
	if (n < 20)
		exec_case("exec-chain");
	printf("after %d execs\n", n);
}

static void *exec_now(void *arg)
{
	execl("/bin/echo", "echo", "a thread became echo", (char *)NULL);
	return NULL;
}

static void *wait_forever(void *arg)
{
	for (;;)
		pause_ms(1000);
	return NULL;
}

/* Not the main thread, while others run: it takes over the process's id. */
static void exec_thread(void)
{
	pthread_t t;

	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&t, NULL, wait_forever, NULL) == 0);
	CHECK(pthread_create(&t, NULL, exec_now, NULL) == 0);
	wait_forever(NULL);
}

/* A failed exec leaves everything as it was. */
static void exec_fails(void)
{
	struct memories m;

	memories_init(&m, 3);
	CHECK(execl("/nonexistent", "x", (char *)NULL) < 0 && errno == ENOENT);
	CHECK(execl("/etc/passwd", "x", (char *)NULL) < 0 && errno == EACCES);
	pause_ms(60);
	memories_check(&m, 3);
	memories_write(&m, 4);
	memories_check(&m, 4);
}

/* A daemon's habit: close everything that was inherited. */
static void close_all(void)
{
	char *p;
	int pid;

	CHECK(syscall(SYS_close_range, 3, ~0u, 0) == 0);
	p = map_pages(512);
	fill(p, 512, 1);
	pause_ms(60);
	CHECK(filled(p, 512, 1));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		closefrom(3);
		CHECK(filled(p, 512, 1));
		fill(p, 512, 2);
		p = map_pages(64);
		fill(p, 64, 3);
		pause_ms(30);
		CHECK(filled(p, 64, 3));
		_exit(0);
	}
	wait_ok(pid);
	CHECK(filled(p, 512, 1));
}

static void high_fds(void)
{
	struct rlimit r;
	char *p;
	int pid;

	CHECK(getrlimit(RLIMIT_NOFILE, &r) == 0);
	r.rlim_cur = r.rlim_max < 20000 ? r.rlim_max : 20000;
	CHECK(setrlimit(RLIMIT_NOFILE, &r) == 0);
	for (int fd = 10; fd < (int)r.rlim_cur; fd++)
		CHECK(dup2(1, fd) == fd);
	p = map_pages(512);
	fill(p, 512, 4);
	pause_ms(60);
	CHECK(filled(p, 512, 4));
	CHECK(write(r.rlim_cur - 1, "the highest\n", 12) == 12);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		_exit(!filled(p, 512, 4));
	wait_ok(pid);
}

/* The lowest free descriptor is what a program expects from open(). */
static void low_fds(void)
{
	int null = open("/dev/null", O_RDONLY);

	printf("%d %d\n", null, dup(0));
	close(0);
	CHECK(open("/dev/null", O_RDONLY) == 0);
	map_pages(10);
	printf("%d\n", dup(0));
}

/* No rights to gain, no new files: a sandbox that limits itself. */
static void limits(void)
{
	struct rlimit r = { 0, 0 };
	char *p;

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(setrlimit(RLIMIT_NOFILE, &r) == 0);
	CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
	p = map_pages(256);
	fill(p, 256, 8);
	pause_ms(60);
	CHECK(filled(p, 256, 8));
	CHECK(open("/dev/null", O_RDONLY) < 0 && errno == EMFILE);
}

static void identity(void)
{
	int pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		CHECK(getppid() > 0);
		CHECK(setsid() == getpid());
		CHECK(getsid(0) == getpid() && getpgrp() == getpid());
		_exit(0);
	}
	wait_ok(pid);
	CHECK(getpgrp() == getpgid(0));
	CHECK(syscall(SYS_gettid) == getpid());
	printf("%d\n", prctl(PR_GET_PDEATHSIG, &pid) == 0 && pid == 0);
}

/* Killed anywhere in a fork, it leaves a child that goes on all the same. */
static void killed_parents(void)
{
	char *p = map_pages(64), c;

	fill(p, 64, 3);
	for (int i = 0; i < 100; i++) {
		int fd[2], pid, status;

		CHECK(pipe(fd) == 0);
		pid = fork();
		CHECK(pid >= 0);
		while (!pid) {
			int child = fork();

			if (!child) {
				int good = filled(p, 64, 3);

				fill(p, 64, 4);
				if (!good || !filled(p, 64, 4))
					CHECK(write(fd[1], "x", 1) == 1);
				_exit(0);
			}
			CHECK(child > 0 && waitpid(child, NULL, 0) == child);
		}
		usleep(1000 + i * 61);
		CHECK(kill(pid, SIGKILL) == 0);
		CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
		close(fd[1]);
		/* Open in the orphan until it has ended. */
		CHECK(read(fd[0], &c, 1) == 0);
		close(fd[0]);
		CHECK(filled(p, 64, 3));
	}
	puts("all ended");
}

/* Adopts its orphans, as a container's init does, and waits for all. */
static void subreaper(void)
{
	char *p = map_pages(64);
	int i, n = 0, status;

	CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
	for (i = 0; i < 3; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			if (fork() == 0)	/* an orphan, soon */
				usleep(150000);
			for (int j = 0; j < 15; j++) {
				fill(p, 64, j);
				usleep(10000);
			}
			_exit(filled(p, 64, 14) ? 0 : 1);
		}
	}
	for (i = 0; i < 10; i++) {
		fill(p, 64, 77);
		usleep(10000);
	}
	for (;;) {
		pid_t pid = wait(&status);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			break;
		CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
		n++;
	}
	CHECK(errno == ECHILD && filled(p, 64, 77));
	printf("%d children\n", n);
}

static const struct test_case cases[] = {
	{ "isolation", isolation },
	{ "isolation-threads", isolation_threads },
	{ "nested", nested },
	{ "orphan", orphan },
	{ "killed-parents", killed_parents },
	{ "subreaper", subreaper },
	{ "fork-storm", fork_storm },
	{ "last-child-writes", last_child_writes },
	{ "vfork", use_vfork },
	{ "posix-spawn", spawned },
	{ "clone-vm", clone_vm },
	{ "clone-untraced", clone_untraced },
	{ "pid-namespace", pid_namespace },
	{ "exec-chain", exec_chain },
	{ "exec-thread", exec_thread },
	{ "exec-fails", exec_fails },
	{ "close-all", close_all },
	{ "high-fds", high_fds },
	{ "low-fds", low_fds },
	{ "limits", limits },
	{ "identity", identity },
	{ "debugger", debugger },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}

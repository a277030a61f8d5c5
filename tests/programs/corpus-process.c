/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The corpus: corners of processes, threads, namespaces and rights. */
#include "case.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;

static void daemonised(void)
{
	int fd[2], pid;
	char c;

	CHECK(!pipe(fd));
	pid = fork();
	if (!pid) {
		close(fd[0]);
		if (setsid() < 0 || fork())
			_exit(0);
		fill(map_pages(64), 64, 1);
		pause_ms(100);
		CHECK(write(fd[1], "d", 1) == 1);
		_exit(0);
	}
	close(fd[1]);
	wait_ok(pid);
	CHECK(read(fd[0], &c, 1) == 1 && c == 'd' && !read(fd[0], &c, 1));
}

static void stopped(void)
{
	int status, pid, go[2];
	char c = 0;

	CHECK(!pipe(go));
	pid = fork();
	if (!pid) {
		char *p = map_pages(64);

		for (int i = 0; i < 3; i++) {
			fill(p, 64, i);
			pause_ms(80);
			/* A stop forgets that it went on: who waits hears first. */
			CHECK(!i || read(go[0], &c, 1) == 1);
			raise(SIGSTOP);
			CHECK(filled(p, 64, i));
		}
		_exit(9);
	}
	for (int i = 0; i < 3; i++) {
		CHECK(waitpid(pid, &status, WUNTRACED) == pid);
		printf("stopped by %d\n", WIFSTOPPED(status) ? WSTOPSIG(status)
							     : -1);
		pause_ms(30);
		CHECK(!kill(pid, SIGCONT));
		if (i < 2) {
			CHECK(waitpid(pid, &status, WCONTINUED) == pid);
			printf("continued: %d\n", WIFCONTINUED(status) != 0);
			CHECK(write(go[1], &c, 1) == 1);
		}
	}
	do
		CHECK(waitpid(pid, &status, WCONTINUED) == pid);
	while (WIFCONTINUED(status));
	print_status("end", status);
}

/* The first process of a namespace waits until it has no child. */
static int reap_all(int depth)
{
	int status, n = 0;

	for (int i = 0; i < 3; i++)
		if (!fork()) {
			char *p = map_pages(64);

			if (!fork())
				pause_ms(30);
			fill(p, 64, i);
			pause_ms(60);
			_exit(0);
		}
	fill(map_pages(64), 64, depth);
	while (wait(&status) > 0)
		n += WIFEXITED(status) && !WEXITSTATUS(status);
	CHECK(errno == ECHILD);
	return n;
}

static void first_of_pidns(void)
{
	int pid;

	if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
		UNSUPPORTED("a PID namespace");
	pid = fork();
	if (!pid)
		_exit(getpid() == 1 ? reap_all(0) : 99);
	print_status("children and orphans reaped", wait_for(pid));
}

static void kill_all_of_pidns(void)
{
	int pid, status, n = 0;

	if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
		UNSUPPORTED("a PID namespace");
	pid = fork();
	if (!pid) {
		char *p = map_pages(64);

		for (int i = 0; i < 4; i++)
			if (!fork())
				for (;;)
					pause();
		fill(p, 64, 1);
		pause_ms(120);
		fill(p, 64, 2);
		CHECK(!kill(-1, SIGTERM));
		while (wait(&status) > 0)
			n += WIFSIGNALED(status);
		_exit(n);
	}
	print_status("killed", wait_for(pid));
}

static volatile int terms;

static void count_term(int sig)
{
	terms++;
}

static void kill_group(void)
{
	char *p = map_pages(64), c = 0;
	int pid, ready[2];

	CHECK(!pipe(ready));
	signal(SIGTERM, count_term);
	setpgid(0, 0);	/* or it leads a session */
	pid = fork();
	if (!pid) {
		signal(SIGTERM, SIG_DFL);
		CHECK(write(ready[1], &c, 1) == 1);
		for (;;)
			pause();
	}
	fill(p, 64, 1);
	pause_ms(120);
	CHECK(read(ready[0], &c, 1) == 1);
	CHECK(!kill(0, SIGTERM));
	print_status("the child", wait_for(pid));
	for (int i = 0; i < 20; i++) {
		fill(p, 64, i);
		pause_ms(5);
		CHECK(filled(p, 64, i));
	}
	printf("%d\n", terms);
}

static void user_namespace(void)
{
	char *p = map_pages(64);
	int pid = fork();

	if (!pid) {
		fill(p, 64, 1);
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS |
			    CLONE_NEWIPC))
			_exit(77);
		printf("%d\n", getuid());
		CHECK(!sethostname("corner", 6));
		fill(p, 64, 2);
		pause_ms(60);
		CHECK(!fflush(stdout) && filled(p, 64, 2));
		execl("/bin/uname", "uname", "-n", NULL);
		_exit(1);
	}
	if (WEXITSTATUS(wait_for(pid)) == 77)
		UNSUPPORTED("a user namespace");
}

static void joins_namespace(void)
{
	int go[2], joined[2], pid, fd;
	char path[64], name[64], c;

	CHECK(!pipe(go) && !pipe(joined));
	pid = fork();
	if (!pid) {
		int bad = unshare(CLONE_NEWUTS) || sethostname("other", 5);

		close(joined[1]);
		CHECK(write(go[1], bad ? "n" : "y", 1) == 1);
		_exit(read(joined[0], &c, 1) != 0);
	}
	close(joined[0]);
	CHECK(read(go[0], &c, 1) == 1);
	if (c == 'n')
		UNSUPPORTED("unshare without root");
	snprintf(path, sizeof(path), "/proc/%d/ns/uts", pid);
	fd = open(path, O_RDONLY);
	fill(map_pages(32), 32, 1);
	CHECK(fd >= 0 && !setns(fd, CLONE_NEWUTS) && !gethostname(name, 64));
	printf("%s\n", name);
	close(joined[1]);
	wait_ok(pid);
}

static void unshares_threads(void)
{
	char *p = map_pages(32);

	fill(p, 32, 1);
	pause_ms(120);
	printf("%d\n", unshare(CLONE_FILES | CLONE_FS | CLONE_SYSVSEM));
	printf("%d %d\n", unshare(CLONE_VM | CLONE_SIGHAND),
	       unshare(CLONE_THREAD));
	CHECK(filled(p, 32, 1));
}

/* Rights that are dropped while it runs. */
static void drops_rights(void)
{
	char *p = map_pages(64);
	int pid;

	if (getuid())
		UNSUPPORTED("dropping rights without having any");
	fill(p, 64, 1);
	CHECK(!setgroups(0, NULL) && !setresgid(65534, 65534, 65534));
	CHECK(!setresuid(65534, 65534, 65534));
	for (int i = 0; i < 10; i++) {
		char *q = map_pages(64);

		fill(q, 64, i);
		pause_ms(10);
		CHECK(filled(q, 64, i) && !munmap(q, 32 * PAGE));
	}
	pid = fork();
	if (!pid) {
		fill(p, 64, 2);
		execl("/bin/sh", "sh", "-c", "id -u; echo $((6 * 7))", NULL);
		_exit(1);
	}
	wait_ok(pid);
	CHECK(filled(p, 64, 1));
	printf("%d\n", setuid(0));
}

static void not_dumpable(void)
{
	char *p = map_pages(64);
	int pid;

	fill(p, 64, 1);
	CHECK(!prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
	for (int i = 0; i < 10; i++) {
		char *q = map_pages(64);

		fill(q, 64, i);
		pause_ms(10);
		CHECK(filled(q, 64, i) && !munmap(q, 32 * PAGE));
	}
	pid = fork();
	if (!pid) {
		fill(p, 64, 2);
		_exit(!filled(p, 64, 2));
	}
	wait_ok(pid);
	printf("%d\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
}

static void pdeathsig(void)
{
	int fd[2], pid;
	char c = 0;

	CHECK(!pipe(fd));
	pid = fork();
	if (!pid) {
		int kid = fork();

		if (!kid) {
			close(fd[0]);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			CHECK(write(fd[1], "r", 1) == 1);
			pause_ms(20000);
			_exit(0);
		}
		CHECK(read(fd[0], &c, 1) == 1);
		_exit(0);
	}
	close(fd[1]);
	wait_ok(pid);
	CHECK(!read(fd[0], &c, 1)); /* its end was closed: it is dead */
}

static void *in_a_call(void *arg)
{
	char c;

	fill(map_pages(4), 4, 1);
	if (read(*(int *)arg, &c, 1) == 1)
		printf("heard\n");
	return NULL;
}

static void exits_with_threads(void)
{
	int fd[2];
	pthread_t t;

	CHECK(!pipe(fd));
	for (int i = 0; i < 50; i++)
		CHECK(!pthread_create(&t, NULL, in_a_call, fd));
	pause_ms(60);
	printf("bye\n");
	fflush(stdout);
	syscall(SYS_exit_group, 12);
}

static void *last(void *arg)
{
	pause_ms(100);
	fill(map_pages(32), 32, 1);
	printf("the last thread\n");
	fflush(stdout);
	_exit(4);
}

static void main_ends_first(void)
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, last, NULL));
	syscall(SYS_exit, 0);
}

/* Anti-debugging: what it finds without Moca is a tracer of its own making. */
static void traces_itself(void)
{
	printf("%ld\n", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static void traces_child(void)
{
	int pid = fork(), status;

	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(40);
		raise(SIGSTOP);
		_exit(3);
	}
	CHECK(waitpid(pid, &status, WUNTRACED) == pid);
	if (WIFSTOPPED(status)) {
		CHECK(!ptrace(PTRACE_CONT, pid, NULL, NULL));
		status = wait_for(pid);
	}
	print_status("the traced", status);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void environment(void)
{
	char **e = environ;
	size_t n = 0;

	while (e[n])
		n++;
	qsort(e, n, sizeof(*e), by_name);
	for (size_t i = 0; i < n; i++)
		if (strncmp(e[i], "_=", 2) && strncmp(e[i], "SHLVL", 5))
			printf("%s\n", e[i]);
}

static void descriptors(void)
{
	int n = 0, highest = 0, fd;

	for (fd = 0; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0) {
			n++;
			highest = fd;
		}
	printf("%d open, the highest %d\n", n, highest);
	CHECK(!syscall(SYS_close_range, 3, ~0u, 0));
	CHECK(dup2(1, 1000) == 1000);
	fill(map_pages(32), 32, 1);
	printf("%d", fcntl(1000, F_GETFD));
	printf(" %d", open("/dev/null", O_RDONLY));
	printf(" %d\n", fcntl(0, F_DUPFD, 1000));
	fflush(stdout);
	execl("/bin/sh", "sh", "-c", "ls -l /proc/self/fd | wc -l", NULL);
}

/* Returns how many there were. */
static int close_each(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int fd, n = 0;

	CHECK(d);
	while ((e = readdir(d))) {
		fd = atoi(e->d_name);
		if (fd < 3 || fd == dirfd(d))
			continue;
		CHECK(fcntl(fd, F_GETFD) >= 0);
		CHECK(!fcntl(fd, F_SETFD, FD_CLOEXEC));
		CHECK(!close(fd));
		n++;
	}
	CHECK(!closedir(d));
	return n;
}

static void close_listed(void)
{
	int fd;

	close_each();
	/* What is not listed is not open. */
	for (fd = 3; fd < 2048; fd++)
		CHECK(close(fd) < 0 && errno == EBADF);
	fill(map_pages(32), 32, 1);
}

/* All that is listed can be closed, as crashpad and others do ahead of an exec. */
static void descriptors_listed(void)
{
	int pid;

	CHECK(open("/dev/null", O_RDONLY) >= 0);
	pid = fork();
	if (!pid) {
		close_listed();
		_exit(0);
	}
	wait_ok(pid);
	close_listed();
	printf("all closed\n");
}

/* Until the list is empty, which what stays open would never let it be. */
static void descriptors_emptied(void)
{
	char *p = map_pages(32);

	fill(p, 32, 1);
	CHECK(open("/dev/null", O_RDONLY) >= 0);
	while (close_each())
		;
	CHECK(filled(p, 32, 1));
	printf("nothing is open\n");
}

/* A file at the number that Moca's descriptor has stays the program's. */
static void descriptor_kept(void)
{
	char text[6] = "";
	int ends[2];

	CHECK(!pipe(ends));
	CHECK(write(ends[1], "kept\nthere\n", 11) == 11);
	CHECK(dup2(ends[0], 1000) == 1000);
	CHECK(!close(ends[0]) && !close(ends[1]));
	await_recorder();
	CHECK(read(1000, text, 5) == 5);
	printf("%s", text);
	fflush(stdout);
	execlp("head", "head", "-c", "6", "/proc/self/fd/1000", NULL);
}

static void few_listed(void)
{
	CHECK(printf("%d\n", open("/dev/null", O_RDONLY)) > 0);
	descriptors_listed();
}

/* So few that Moca's cannot be where it is else. */
static void few_descriptors(void)
{
	struct rlimit few = { 500, 500 };

	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	exec_case("few-listed");
}

static void status_of_signals(void)
{
	static const char *const keys[] = { "SigQ", "SigBlk", "SigIgn",
		"SigCgt", "ShdPnd", "NoNewPrivs", "Threads", "CapEff",
		"Umask", "Uid", "CoreDumping", NULL };
	char line[512];
	FILE *f = fopen("/proc/self/status", "r");

	while (fgets(line, sizeof(line), f))
		for (const char *const *k = keys + 1; *k; k++)
			if (!strncmp(line, *k, strlen(*k)))
				fputs(line, stdout);
	fclose(f);
}

static void dumps_core(void)
{
	struct rlimit r = { RLIM_INFINITY, RLIM_INFINITY };
	char pattern[128] = "";
	int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY), pid;

	if (fd < 0 || read(fd, pattern, 127) < 1 || pattern[0] == '|' ||
	    pattern[0] == '/' || getrlimit(RLIMIT_CORE, &r))
		UNSUPPORTED("a core file here");
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_CORE, &r);
	pid = fork();
	if (!pid) {
		fill(map_pages(64), 64, 1);
		abort();
	}
	print_status("it", wait_for(pid));
}

static void limits_of_others(void)
{
	struct rlimit r = { 64, 64 }, old;
	int pid = fork(), n = 0;

	if (!pid) {
		do {
			pause_ms(20);
			CHECK(!getrlimit(RLIMIT_NOFILE, &old));
		} while (old.rlim_cur != 64);
		while (n < 200 && open("/dev/null", O_RDONLY) >= 0)
			n++;
		fill(map_pages(16), 16, 1);
		_exit(n == 61 && errno == EMFILE ? 0 : n);
	}
	CHECK(!prlimit(pid, RLIMIT_NOFILE, &r, &old));
	print_status("its descriptors", wait_for(pid));
}

/* A second of CPU time is the least that there is. */
static void time_limit(void)
{
	struct rlimit r = { 1, 2 };
	int pid = fork();

	if (!pid) {
		CHECK(!setrlimit(RLIMIT_CPU, &r));
		for (volatile long i = 0;; i++)
			;
	}
	print_status("its time", wait_for(pid));
}

static void file_size_limit(void)
{
	struct rlimit r = { 8192, 8192 };
	char buf[4096] = { 0 };
	int fd = open("limited", O_CREAT | O_RDWR, 0600), n = 0;

	signal(SIGXFSZ, SIG_IGN);
	CHECK(!setrlimit(RLIMIT_FSIZE, &r));
	while (n < 10 && write(fd, buf, 4096) == 4096)
		n++;
	printf("%d %d\n", n, errno);
	for (int i = 0; i < 4; i++) {
		char *p = map_pages(512);

		fill(p, 512, i);
		if (!fork())
			_exit(!filled(p, 512, i));
		wait(&n);
		CHECK(!n);
	}
	CHECK(!unlink("limited"));
}

static pthread_mutex_t *shared_mutex(void)
{
	pthread_mutex_t *m = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS,
				  -1, 0);
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	CHECK(!pthread_mutex_init(m, &a));
	return m;
}

static void robust_shared(void)
{
	pthread_mutex_t *m = shared_mutex();
	_Atomic int *held = (void *)(m + 1);
	int pid = fork();

	if (!pid) {
		pthread_mutex_lock(m);
		*held = 1;
		pause_ms(50);
		raise(SIGKILL);
	}
	while (!*held)
		pause_ms(10);
	printf("%s\n", pthread_mutex_lock(m) == EOWNERDEAD ? "owner is dead" :
	       "locked");
	print_status("it", wait_for(pid));
	CHECK(!pthread_mutex_consistent(m) && !pthread_mutex_unlock(m));
}

/*
 * A futex in memory that is private, without the private flag: the first thread
 * is in the kernel, on that word. When it was stopped there, it went on by
 * restart_syscall, with the same arguments; it may find then that the word has
 * changed meanwhile (EAGAIN), which is as good as to be woken.
 */
static void until_it_waits(const int *word)
{
	char path[64], line[256], want[64], *args;
	int found = 0;
	long nr;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", getpid());
	snprintf(want, sizeof(want), " 0x%lx 0x0 ", (unsigned long)word);
	while (!found) {
		FILE *f = fopen(path, "r");

		CHECK(f && fgets(line, sizeof(line), f));
		fclose(f);
		nr = strtol(line, &args, 10);
		found = (nr == SYS_futex || nr == SYS_restart_syscall) &&
			!strncmp(args, want, strlen(want));
		pause_ms(1);
	}
}

static void *waker(void *arg)
{
	int *word = arg;

	until_it_waits(word);
	fill(map_pages(32), 32, 1);
	*word = 1;
	while (syscall(SYS_futex, word, 1 /* FUTEX_WAKE */, 1, NULL, NULL,
		       0) != 1 && *word < 1000)
		pause_ms(1), ++*word;
	*word = 1;
	return NULL;
}

static void futex_private(void)
{
	int *word = map_pages(1);
	struct timespec ts = { 20, 0 };
	pthread_t t;
	int ret;

	CHECK(!pthread_create(&t, NULL, waker, word));
	ret = syscall(SYS_futex, word, 0 /* FUTEX_WAIT */, 0, &ts, NULL, 0);
	printf("%s\n", !ret || errno == EAGAIN ? "woken" : strerror(errno));
	pthread_join(t, NULL);
}

static void passes_memfd(void)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, c = 'x';
	struct iovec io = { &c, 1 };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	int sv[2], fd = memfd_create("passed", 0), pid;
	char *p;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, sv) &&
	      !ftruncate(fd, 16 * PAGE));
	pid = fork();
	if (!pid) {
		close(fd);
		CHECK(recvmsg(sv[1], &m, 0) == 1);
		memcpy(&fd, CMSG_DATA(h), sizeof(fd));
		p = mmap(NULL, 16 * PAGE, RW, MAP_SHARED, fd, 0);
		CHECK(p != MAP_FAILED && filled(p, 16, 1));
		fill(p, 16, 2);
		_exit(0);
	}
	p = mmap(NULL, 16 * PAGE, RW, MAP_SHARED, fd, 0);
	fill(p, 16, 1);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	CHECK(sendmsg(sv[0], &m, 0) == 1);
	wait_ok(pid);
	CHECK(filled(p, 16, 2));
}

static void pidfd_calls(void)
{
	int pid = fork(), fd, theirs;

	if (!pid) {
		dup2(1, 20);
		pause_ms(60);
		for (;;)
			pause();
	}
	fd = syscall(SYS_pidfd_open, pid, 0);
	do
		theirs = syscall(SYS_pidfd_getfd, fd, 20, 0);
	while (theirs < 0 && errno == EBADF);
	printf("%s\n", theirs >= 0 ? "got its descriptor" : "refused");
	CHECK(!syscall(SYS_pidfd_send_signal, fd, SIGUSR1, NULL, 0));
	print_status("it", wait_for(pid));
}

static void from_memory(void)
{
	int in = open("/bin/echo", O_RDONLY), fd = memfd_create("echo", 0);
	char buf[65536], *argv[] = { "echo", "from", "memory", NULL };
	ssize_t n;

	while ((n = read(in, buf, sizeof(buf))) > 0)
		CHECK(write(fd, buf, n) == n);
	fill(map_pages(8), 8, 1);
	fexecve(fd, argv, environ);
	CHECK(0);
}

static void without_random(void)
{
	int old = personality(0xffffffff);

	if (personality(old | ADDR_NO_RANDOMIZE) < 0)
		UNSUPPORTED("personality");
	exec_case("scheduling");
}

static void changes_root(void)
{
	int pid;

	CHECK(!mkdir("root", 0755));
	pid = fork();
	if (!pid) {
		if (chroot("root"))
			_exit(77);
		CHECK(!chdir("/"));
		for (int i = 0; i < 10; i++) {
			fill(map_pages(16), 16, i);
			pause_ms(10);
		}
		_exit(fork() ? wait(NULL) < 0 : 0);
	}
	if (WEXITSTATUS(wait_for(pid)) == 77)
		UNSUPPORTED("chroot");
	CHECK(!rmdir("root"));
}

static void locks(void)
{
	int fd = open("lock", O_CREAT | O_RDWR, 0600), other, pid;
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	CHECK(!fcntl(fd, F_SETLK, &l) && !flock(fd, LOCK_EX));
	pid = fork();
	if (!pid) {
		other = open("lock", O_RDWR);
		printf("%d", fcntl(other, F_SETLK, &l) < 0);
		printf(" %d\n", flock(other, LOCK_EX | LOCK_NB) < 0);
		fflush(stdout);
		_exit(0);
	}
	wait_ok(pid);
	CHECK(!unlink("lock"));
}

static void scheduling(void)
{
	struct sched_param p = { .sched_priority = 1 };
	cpu_set_t one, got;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one));
	for (int i = 0; i < 10; i++) {
		fill(map_pages(16), 16, i);
		pause_ms(8);
	}
	CHECK(!sched_getaffinity(0, sizeof(got), &got));
	printf("%d CPU\n", CPU_COUNT(&got));
	printf("%d", setpriority(PRIO_PROCESS, 0, 5));
	printf(" %d", sched_setscheduler(0, SCHED_BATCH,
					 &(struct sched_param){ 0 }));
	printf(" %d\n", sched_getscheduler(0));
	if (!sched_setscheduler(0, SCHED_FIFO, &p))
		for (int i = 0; i < 10; i++) {
			fill(map_pages(16), 16, i);
			pause_ms(8);
		}
}

static void ends_in_exec(void)
{
	pthread_t t;
	int fd[2];

	CHECK(!pipe(fd));
	for (int i = 0; i < 20; i++)
		CHECK(!pthread_create(&t, NULL, in_a_call, fd));
	pause_ms(60);
	execl("/bin/echo", "echo", "its threads are gone", NULL);
}

static const struct test_case cases[] = {
	{ "daemon", daemonised },
	{ "stopped", stopped },
	{ "first-of-pidns", first_of_pidns },
	{ "kill-pidns", kill_all_of_pidns },
	{ "kill-group", kill_group },
	{ "user-namespace", user_namespace },
	{ "joins-namespace", joins_namespace },
	{ "unshares", unshares_threads },
	{ "drops-rights", drops_rights },
	{ "not-dumpable", not_dumpable },
	{ "pdeathsig", pdeathsig },
	{ "exits-with-threads", exits_with_threads },
	{ "main-ends-first", main_ends_first },
	{ "traces-itself", traces_itself },
	{ "traces-child", traces_child },
	{ "environment", environment },
	{ "descriptors", descriptors },
	{ "descriptors-listed", descriptors_listed },
	{ "descriptors-emptied", descriptors_emptied },
	{ "descriptor-kept", descriptor_kept },
	{ "few-descriptors", few_descriptors },
	{ "few-listed", few_listed },
	{ "status", status_of_signals },
	{ "core", dumps_core },
	{ "limits", limits_of_others },
	{ "time-limit", time_limit },
	{ "file-size", file_size_limit },
	{ "robust-shared", robust_shared },
	{ "futex-private", futex_private },
	{ "passes-memfd", passes_memfd },
	{ "pidfd", pidfd_calls },
	{ "from-memory", from_memory },
	{ "without-random", without_random },
	{ "changes-root", changes_root },
	{ "locks", locks },
	{ "scheduling", scheduling },
	{ "exec-threads", ends_in_exec },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}

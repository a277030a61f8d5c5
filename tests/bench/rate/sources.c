// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where page faults and CPU time of other tasks can be read: what a reading
 * costs, what the tasks themselves pay, and what is counted. One figure a line:
 * "NAME VALUE".
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READS 20000
#define BATCH 50
#define THREADS 100
#define PAGES 10000

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* ns of one call, in the batch that was disturbed least by others. */
#define LEAST(call)                                                        \
	({                                                                 \
		double least_ = 1e18, begin_;                              \
		int b_, i_;                                                \
		for (b_ = 0; b_ < READS / BATCH; b_++) {                   \
			begin_ = now();                                    \
			for (i_ = 0; i_ < BATCH; i_++)                     \
				call;                                      \
			begin_ = (now() - begin_) / BATCH;                 \
			least_ = begin_ < least_ ? begin_ : least_;        \
		}                                                          \
		least_;                                                    \
	})

static void try_read(int fd, char *buf, size_t size)
{
	if (pread(fd, buf, size, 0) < 0)
		exit(1);
}

static void *rest(void *arg)
{
	pause();
	return arg;
}

/* A process of many threads that do nothing. */
static pid_t start_target(void)
{
	pid_t pid = fork();
	pthread_t t;
	int i;

	if (pid)
		return pid;
	for (i = 1; i < THREADS; i++)
		pthread_create(&t, NULL, rest, NULL);
	pause();
	_exit(0);
}

static int open_perf(pid_t pid, unsigned long long config, int kernel)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(a),
		.config = config, .inherit = 1, .exclude_kernel = !kernel,
	};

	return (int)syscall(SYS_perf_event_open, &a, pid, -1, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

static void files(pid_t pid)
{
	static const char *const names[] = { "stat", "schedstat", "children" };
	char path[64], buf[4096];
	size_t k;
	int fd;

	for (k = 0; k < 3; k++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, pid,
			 names[k]);
		fd = open(path, O_RDONLY);
		printf("thread_%s_ns %.0f\n", names[k],
		       LEAST(try_read(fd, buf, sizeof(buf))));
		close(fd);
	}
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY);
	printf("process_stat_of_100_threads_ns %.0f\n",
	       LEAST(try_read(fd, buf, sizeof(buf))));
	close(fd);
}

static void clocks(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	clock_getcpuclockid(pid, &clock);
	printf("process_clock_of_100_threads_ns %.0f\n",
	       LEAST(clock_gettime(clock, &ts)));
}

static void touch(size_t n)
{
	char *p = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	madvise(p, n * 4096, MADV_NOHUGEPAGE);
	for (i = 0; i < n; i++)
		p[i * 4096] = 1;
	munmap(p, n * 4096);
}

/* The same, but it is the kernel that touches. */
static void touch_in_call(size_t n)
{
	char *p = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("/dev/zero", O_RDONLY);

	madvise(p, n * 4096, MADV_NOHUGEPAGE);
	if (read(fd, p, n * 4096) < 0)
		perror("read");
	munmap(p, n * 4096);
	close(fd);
}

/* Two processes that wake each other: ns per switch, with n events or none. */
static double switches(int events)
{
	static const unsigned long long configs[] = {
		PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ,
		PERF_COUNT_SW_TASK_CLOCK };
	int a[2], b[2], fds[3], i;
	double begin;
	char c = 0;
	pid_t pid;

	for (i = 0; i < events; i++)
		fds[i] = open_perf(0, configs[i], 1);
	if (pipe(a) || pipe(b))
		return 0;
	pid = fork();
	if (!pid) {
		while (read(a[0], &c, 1) == 1 && c != 'e')
			if (write(b[1], &c, 1) != 1)
				break;
		_exit(0);
	}
	begin = now();
	for (i = 0; i < READS; i++)
		if (write(a[1], &c, 1) != 1 || read(b[0], &c, 1) != 1)
			break;
	begin = (now() - begin) / READS / 2;
	c = 'e';
	if (write(a[1], &c, 1) != 1)
		perror("write");
	waitpid(pid, NULL, 0);
	for (i = 0; i < events; i++)
		close(fds[i]);
	return begin;
}

static double forks(int events)
{
	int fds[3], i;
	double begin;
	pid_t pid;

	for (i = 0; i < events; i++)
		fds[i] = open_perf(0, i ? PERF_COUNT_SW_TASK_CLOCK :
					  PERF_COUNT_SW_PAGE_FAULTS_MIN, 1);
	begin = now();
	for (i = 0; i < 500; i++) {
		pid = fork();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	begin = (now() - begin) / 500;
	for (i = 0; i < events; i++)
		close(fds[i]);
	return begin;
}

static void perf_reads(pid_t pid)
{
	unsigned long long v;
	int fd;

	fd = open_perf(pid, PERF_COUNT_SW_PAGE_FAULTS_MIN, 1);
	if (fd < 0)
		return;
	printf("perf_read_of_one_thread_ns %.0f\n",
	       LEAST(if (read(fd, &v, sizeof(v)) < 0) exit(1)));
	close(fd);
}

/* Faults of PAGES touched by the program, and of as many by the kernel. */
static void exactness(void)
{
	struct rusage before, after;
	unsigned long long v;
	int kernel, fd;

	for (kernel = 0; kernel < 2; kernel++) {
		fd = open_perf(0, PERF_COUNT_SW_PAGE_FAULTS_MIN, kernel);
		getrusage(RUSAGE_SELF, &before);
		touch(PAGES);
		touch_in_call(PAGES);
		getrusage(RUSAGE_SELF, &after);
		if (read(fd, &v, sizeof(v)) < 0)
			return;
		printf("perf_faults_%s %llu\n",
		       kernel ? "all" : "without_rights", v);
		printf("proc_faults %ld\n", after.ru_minflt - before.ru_minflt);
		close(fd);
	}
}

int main(void)
{
	pid_t pid = start_target();

	usleep(100000);
	files(pid);
	clocks(pid);
	perf_reads(pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("switch_ns %.0f\n", switches(0));
	printf("switch_with_3_perf_events_ns %.0f\n", switches(3));
	printf("fork_ns %.0f\n", forks(0));
	printf("fork_with_3_perf_events_ns %.0f\n", forks(3));
	exactness();
	return 0;
}

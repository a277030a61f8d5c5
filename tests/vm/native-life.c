// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a program may do with its memory and its tasks, for tests/vm/native.sh. It
 * says which task touched which page of its own, one line each, as it does so:
 *
 *	TID HOW ADDRESS		HOW: r or w
 *
 * usage: native-life touch|fork|threads|exec|vfork TRUTH
 *        native-life gup|uffd|churn
 *        native-life work FILE GO
 * The second ones print the same in every run. work writes it to FILE instead; it
 * does its work again and again, until there is a file GO, and once more.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define PAGES 48ul
#define THREADS 8
#define ROUNDS 40

static const char *truth_path;
static int sink;

static void die(const char *what)
{
	printf("not ok %s: %s\n", what, strerror(errno));
	exit(1);
}

static char *map(size_t pages)
{
	char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

/* Touch each page, and say so. The lines go out in one write. */
static void touch(char *p, size_t pages, char how)
{
	int fd = open(truth_path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	char *text = malloc(pages * 40);
	size_t n = 0;

	if (fd < 0 || !text)
		die("truth");
	for (size_t i = 0; i < pages; i++) {
		volatile char *at = p + i * PAGE + 64;

		if (how == 'w')
			*at = (char)(i + 1);
		else
			sink += *at;
		n += (size_t)sprintf(text + n, "%ld %c %lx\n",
				     syscall(SYS_gettid), how,
				     (uintptr_t)at & ~(PAGE - 1));
	}
	if (write(fd, text, n) != (ssize_t)n)
		die("truth");
	close(fd);
	free(text);
}

static void check(const char *p, size_t pages, const char *what)
{
	for (size_t i = 0; i < pages; i++)
		if (p[i * PAGE + 64] != (char)(i + 1)) {
			printf("not ok %s: page %zu has %d\n", what, i,
			       p[i * PAGE + 64]);
			exit(1);
		}
}

static void wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status)
		die("a child");
}

static void run_fork(void)
{
	char *a = map(PAGES), *b = map(PAGES);
	pid_t pid;

	touch(a, PAGES, 'w');
	touch(b, PAGES, 'w');
	pid = fork();
	if (!pid) {
		touch(a, PAGES, 'r');	/* its parent's pages: no native fault */
		touch(b, PAGES, 'w');
		pid = fork();
		if (!pid) {
			touch(a, PAGES, 'r');
			check(a, PAGES, "grandchild");
			exit(0);
		}
		wait_for(pid);
		check(a, PAGES, "child");
		memset(a, 0, PAGES * PAGE);
		exit(0);
	}
	wait_for(pid);
	check(a, PAGES, "parent");
	check(b, PAGES, "parent");
}

static void *thread(void *p)
{
	touch(p, PAGES, 'w');
	check(p, PAGES, "thread");
	return NULL;
}

static void run_threads(void)
{
	pthread_t t[THREADS];
	char *p = map(PAGES * THREADS);

	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, thread, p + i * PAGES * PAGE))
			die("pthread_create");
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void run_touch(void)
{
	char stack[PAGES * PAGE], *heap = sbrk((intptr_t)((PAGES + 1) * PAGE));
	char *a = (char *)(((uintptr_t)stack + PAGE - 1) & ~(PAGE - 1));
	int m = memfd_create("m", 0);
	char *s;

	touch(a, PAGES - 1, 'w');
	touch((char *)(((uintptr_t)heap + PAGE - 1) & ~(PAGE - 1)), PAGES, 'w');
	if (m < 0 || ftruncate(m, PAGES * PAGE))
		die("memfd");
	s = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, m, 0);
	if (s == MAP_FAILED)
		die("mmap of a memfd");
	touch(s, PAGES, 'w');
	check(s, PAGES, "memfd");
}

static void run_exec(int by_vfork)
{
	char *const argv[] = { "native-life", "touch", (char *)truth_path, NULL };
	pid_t pid = by_vfork ? vfork() : 0;

	touch(map(PAGES), by_vfork && !pid ? 1 : PAGES, 'w');
	if (pid) {
		wait_for(pid);
		touch(map(PAGES), PAGES, 'w');
		return;
	}
	execv("/proc/self/exe", argv);
	_exit(1);
}

/* The kernel reads pages without a fault: get_user_pages. */
static void run_gup(void)
{
	char *p = map(PAGES), buf[PAGE];

	memset(p, 1, PAGES * PAGE);
	for (int r = 0; r < ROUNDS; r++) {
		for (size_t i = 0; i < PAGES; i++) {
			struct iovec to = { buf, PAGE };
			struct iovec from = { p + i * PAGE, PAGE };

			if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) !=
			    (ssize_t)PAGE)
				die("process_vm_readv");
		}
		usleep(20000);	/* intervals are as long */
	}
	printf("gup %d\n", buf[7]);
}

/* A userfaultfd of the program's own, over all memory that it has. */
static void run_uffd(void)
{
	char *p = map(PAGES);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_zeropage z = { .mode = 0 };
	int fd;

	memset(p, 1, PAGES * PAGE);
	usleep(100000);		/* it is protected once and more */
	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		die("userfaultfd");
	r.range.start = (uintptr_t)p;
	r.range.len = PAGES * PAGE;
	if (ioctl(fd, UFFDIO_REGISTER, &r))
		die("register");
	if (madvise(p, PAGE, MADV_DONTNEED))
		die("madvise");
	z.range.start = (uintptr_t)p;
	z.range.len = PAGE;
	if (ioctl(fd, UFFDIO_ZEROPAGE, &z))
		die("zeropage");
	usleep(100000);
	printf("uffd %d %d %d\n", fd, p[64], p[PAGE + 64]);
}

static uint64_t step(uint64_t x)
{
	return x * 6364136223846793005ull + 1442695040888963407ull;
}

/* Mappings come, go, move, change rights; what is in them is summed. */
static uint64_t churn(uint64_t x, int rounds)
{
	uint64_t sum = 0;

	for (int r = 0; r < rounds; r++) {
		size_t n = 4 + (x >> 33) % 60, more = n + (x >> 40) % 20;
		uint64_t *p = (void *)map(n);

		for (size_t i = 0; i < n * PAGE / 8; i += 64)
			p[i] = x = step(x);
		p = mremap(p, n * PAGE, more * PAGE, MREMAP_MAYMOVE);
		if (p == MAP_FAILED)
			die("mremap");
		if (mprotect(p, PAGE, PROT_READ) ||
		    madvise((char *)p + (n - 1) * PAGE, PAGE, MADV_DONTNEED) ||
		    mprotect(p, PAGE, PROT_READ | PROT_WRITE))
			die("mprotect");
		for (size_t i = 0; i < more * PAGE / 8; i += 64)
			sum = step(sum ^ p[i]);
		munmap(p, more * PAGE);
	}
	return sum;
}

static void *churning(void *arg)
{
	uint64_t *x = arg;

	*x = churn(*x, (int)x[1]);
	return NULL;
}

static uint64_t churn_all(uint64_t rounds)
{
	uint64_t x[THREADS][2], sum = 0;
	pthread_t t[THREADS];

	for (size_t i = 0; i < THREADS; i++) {
		x[i][0] = i + 1;
		x[i][1] = rounds;
		if (pthread_create(&t[i], NULL, churning, x[i]))
			die("pthread_create");
	}
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		sum = step(sum ^ x[i][0]);
	}
	return sum;
}

static void run_work(const char *file, const char *go)
{
	uint64_t sum, first = 0;
	char text[64], path[256];
	int last, fd;

	do {
		last = !access(go, F_OK);
		sum = churn_all(40);
		if (first && sum != first)
			die("another sum");
		first = sum;
	} while (!last);
	snprintf(text, sizeof(text), "churn %016lx\n", sum);
	/* All at once, for who waits for it. */
	snprintf(path, sizeof(path), "%s.new", file);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) < 0 || close(fd) ||
	    rename(path, file))
		die(file);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	truth_path = argc > 2 ? argv[2] : NULL;
	if (!strcmp(what, "gup"))
		run_gup();
	else if (!strcmp(what, "uffd"))
		run_uffd();
	else if (!strcmp(what, "churn"))
		printf("churn %016lx\n", churn_all(60));
	else if (!truth_path)
		return 2;
	else if (!strcmp(what, "work") && argc > 3)
		run_work(truth_path, argv[3]);
	else if (!strcmp(what, "touch"))
		run_touch();
	else if (!strcmp(what, "fork"))
		run_fork();
	else if (!strcmp(what, "threads"))
		run_threads();
	else if (!strcmp(what, "exec") || !strcmp(what, "vfork"))
		run_exec(what[0] == 'v');
	else
		return 2;
	return 0;
}

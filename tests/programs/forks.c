/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fork of processes with much memory, and all that either side may do with it
 * afterwards. Pages are filled with what tells page and writer.
 */
#include "case.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#define MADV_KEEPONFORK 19
#endif

#define PAGES 2048ul	/* 8 MiB: more than a fork copies */
#define THAW_MS 500	/* until memory is traced in full again */

static char *at(void *p, size_t page)
{
	return (char *)p + page * PAGE;
}

static int fork_or_die(void)
{
	int pid = fork();

	CHECK(pid >= 0);
	return pid;
}

/* Two processes take turns. */
struct turns {
	int to_child[2], to_parent[2];
};

static void turns_init(struct turns *t)
{
	CHECK(!pipe(t->to_child) && !pipe(t->to_parent));
}

static void say(int fd[2])
{
	CHECK(write(fd[1], "x", 1) == 1);
}

static void hear(int fd[2])
{
	char c;

	CHECK(read(fd[0], &c, 1) == 1);
}

static void both_ways(void)
{
	struct turns t;
	char *p = map_pages(PAGES);
	int pid;

	turns_init(&t);
	fill(p, PAGES, 1);
	pid = fork_or_die();
	if (!pid) {
		fill(at(p, 100), 50, 2);
		say(t.to_parent);
		hear(t.to_child);
		CHECK(filled(p, 100, 1) && filled(at(p, 100), 50, 2));
		CHECK(*(uint64_t *)(at(p, 200) + 8 * 200) == 1000003 + 200);
		_exit(0);
	}
	hear(t.to_parent);
	CHECK(filled(p, PAGES, 1));
	fill(at(p, 200), 50, 3);
	fill(p, 10, 4);
	fill(p, 10, 1);	/* as it was */
	say(t.to_child);
	wait_ok(pid);
	CHECK(filled(p, 100, 1) && filled(at(p, 200), 50, 3));
	fill(p, PAGES, 5);
	pause_ms(THAW_MS);
	CHECK(filled(p, PAGES, 5));
}

static void generations(void)
{
	char *p = map_pages(PAGES), *q;
	int pid;

	fill(p, PAGES, 1);
	for (int depth = 0; depth < 4; depth++) {
		pid = fork_or_die();
		if (pid) {
			fill(p, 100, 10 + depth);
			wait_ok(pid);
			CHECK(filled(p, 100, 10 + depth));
			if (depth)
				_exit(0);
			return;
		}
		/* Of each generation's own, frozen by the next fork. */
		q = map_pages(PAGES);
		fill(q, PAGES, 20 + depth);
		fill(at(p, 300 + depth), 1, depth);
		pid = fork_or_die();
		if (!pid) {
			CHECK(filled(q, PAGES, 20 + depth));
			CHECK(filled(at(p, 300 + depth), 1, depth));
			fill(q, 100, 90);
			_exit(0);
		}
		wait_ok(pid);
		CHECK(filled(q, PAGES, 20 + depth));
	}
	_exit(0);
}

/* Frozen and thawed again and again, with more memory each time. */
static void rounds(void)
{
	char *p[4];

	for (int i = 0; i < 4; i++) {
		int pid;

		p[i] = map_pages(PAGES);
		fill(p[i], PAGES, i);
		pid = fork_or_die();
		if (!pid) {
			for (int k = 0; k <= i; k++)
				CHECK(filled(p[k], 100, k));
			_exit(0);
		}
		fill(at(p[i], 100), 1, 50 + i);
		wait_ok(pid);
		pause_ms(i % 2 ? THAW_MS : 30);
		for (int k = 0; k <= i; k++)
			CHECK(filled(at(p[k], 100), 1, 50 + k) &&
			      filled(p[k], 100, k));
	}
}

static void discard(void)
{
	struct turns t;
	char *p = map_pages(PAGES);
	int pid;

	turns_init(&t);
	fill(p, PAGES, 1);
	pid = fork_or_die();
	if (!pid) {
		hear(t.to_child);
		CHECK(filled(p, PAGES, 1));
		CHECK(!madvise(at(p, 50), 100 * PAGE, MADV_DONTNEED));
		CHECK(zeroed(at(p, 50), 100 * PAGE));
		fill(at(p, 60), 10, 7);
		CHECK(!madvise(at(p, 65), 100 * PAGE, MADV_FREE));
		fill(at(p, 60), 10, 7);
		say(t.to_parent);
		hear(t.to_child);
		CHECK(filled(at(p, 60), 10, 7));
		CHECK(zeroed(at(p, 50), 10 * PAGE));
		_exit(0);
	}
	fill(p, 10, 1);
	CHECK(!madvise(p, 30 * PAGE, MADV_DONTNEED));
	CHECK(zeroed(p, 30 * PAGE));
	say(t.to_child);
	hear(t.to_parent);
	for (int i = 0; i < 10; i++) {	/* scattered */
		CHECK(!madvise(at(p, 1000 + 3 * i), PAGE, MADV_DONTNEED));
		CHECK(zeroed(at(p, 1000 + 3 * i), PAGE));
	}
	say(t.to_child);
	wait_ok(pid);
	CHECK(zeroed(p, 30 * PAGE));
	fill(p, 20, 9);
	pause_ms(THAW_MS);
	CHECK(filled(p, 20, 9) && zeroed(at(p, 20), 10 * PAGE));
	CHECK(!madvise(p, PAGES * PAGE, MADV_DONTNEED));
	CHECK(zeroed(p, PAGES * PAGE));
	CHECK(madvise(p + 1, PAGE, MADV_DONTNEED) && errno == EINVAL);
}

static void *grown(void *p, size_t from, size_t to)
{
	void *q = mremap(p, from * PAGE, to * PAGE, MREMAP_MAYMOVE);

	CHECK(q != MAP_FAILED);
	CHECK(zeroed(at(q, from), (to - from) * PAGE));
	return q;
}

static void remap(void)
{
	struct turns t;
	char *p = map_pages(PAGES), *q = map_pages(PAGES), *to, *r;
	int pid;

	turns_init(&t);
	fill(p, PAGES, 1);
	fill(q, PAGES, 2);
	pid = fork_or_die();
	if (!pid) {
		p = grown(p, PAGES, 2 * PAGES);
		CHECK(filled(p, PAGES, 1));
		fill(p, 2 * PAGES, 3);
		say(t.to_parent);
		hear(t.to_child);
		CHECK(filled(p, 2 * PAGES, 3) && filled(q, PAGES, 2));
		_exit(0);
	}
	hear(t.to_parent);
	CHECK(filled(p, PAGES, 1));
	fill(at(p, 5), 5, 4);
	to = map_pages(PAGES);
	r = mremap(p, 100 * PAGE, 100 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		   to);
	CHECK(r == to && filled(r, 5, 1) && filled(at(r, 5), 5, 4));
	CHECK(filled(at(r, 0), 5, 1));
	q = mremap(q, PAGES * PAGE, 100 * PAGE, 0);
	CHECK(q != MAP_FAILED && filled(q, 100, 2));
	q = grown(q, 100, 4 * PAGES);
	r = mremap(at(q, 0), 10 * PAGE, 10 * PAGE,
		   MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
	if (r != MAP_FAILED)
		CHECK(filled(r, 10, 2) && zeroed(q, 10 * PAGE));
	say(t.to_child);
	wait_ok(pid);
	pause_ms(THAW_MS);
	CHECK(filled(to, 5, 1) && filled(at(to, 5), 5, 4));
	p = grown(at(to, 100), PAGES - 100, 2 * PAGES);
	fill(p, 2 * PAGES, 8);
	CHECK(filled(p, 2 * PAGES, 8));
}

static void unmap(void)
{
	struct turns t;
	char *p = map_pages(PAGES), *q;
	int pid;

	turns_init(&t);
	fill(p, PAGES, 1);
	pid = fork_or_die();
	if (!pid) {
		hear(t.to_child);
		CHECK(filled(p, PAGES, 1));
		_exit(0);
	}
	CHECK(!munmap(at(p, 10), 500 * PAGE));
	q = mmap(at(p, 20), 300 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
	CHECK(q == at(p, 20) && zeroed(q, 300 * PAGE));
	fill(q, 300, 2);
	CHECK(mmap(at(p, 1000), 10 * PAGE, RW, ANON | MAP_FIXED, -1, 0) ==
	      at(p, 1000));
	CHECK(zeroed(at(p, 1000), 10 * PAGE));
	say(t.to_child);
	wait_ok(pid);
	pause_ms(THAW_MS);
	CHECK(filled(p, 10, 1) && filled(q, 300, 2));
	CHECK(zeroed(at(p, 1000), 10 * PAGE));
	CHECK(mmap(at(p, 10), 10 * PAGE, RW, ANON | MAP_FIXED, -1, 0) ==
	      at(p, 10));
	CHECK(zeroed(at(p, 10), 10 * PAGE));
}

static void heap(void)
{
	char *p;
	int pid;

	CHECK(!brk((void *)(((uintptr_t)sbrk(0) + PAGE - 1) & -PAGE)));
	p = sbrk(PAGES * PAGE);
	CHECK(p != (void *)-1);
	fill(p, PAGES, 1);
	pid = fork_or_die();
	if (!pid) {
		CHECK(!brk(at(p, 1000)));
		CHECK(sbrk(2000 * PAGE) == at(p, 1000));
		CHECK(filled(p, 1000, 1));
		CHECK(zeroed(at(p, 1000), 2000 * PAGE));
		fill(p, 3000, 2);
		CHECK(filled(p, 3000, 2));
		_exit(0);
	}
	CHECK(sbrk(100 * PAGE) == at(p, PAGES));
	CHECK(zeroed(at(p, PAGES), 100 * PAGE));
	wait_ok(pid);
	CHECK(filled(p, PAGES, 1));
	CHECK(!brk(at(p, 100)));
	CHECK(sbrk(100 * PAGE) == at(p, 100));
	CHECK(zeroed(at(p, 100), 100 * PAGE));
	pause_ms(THAW_MS);
	CHECK(filled(p, 100, 1) && zeroed(at(p, 100), 100 * PAGE));
}

static void protect(void)
{
	char *p = map_pages(PAGES);
	int pid;

	fill(p, PAGES, 1);
	CHECK(!mprotect(at(p, 10), 10 * PAGE, PROT_READ));
	CHECK(!mprotect(at(p, 30), 10 * PAGE, PROT_NONE));
	pid = fork_or_die();
	if (!pid) {
		CHECK(!mprotect(at(p, 10), 30 * PAGE, RW));
		CHECK(filled(p, PAGES, 1));
		fill(p, PAGES, 2);
		CHECK(filled(p, PAGES, 2));
		_exit(0);
	}
	fill(at(p, 50), 10, 3);
	CHECK(!mprotect(at(p, 50), 10 * PAGE, PROT_NONE));
	wait_ok(pid);
	pause_ms(THAW_MS);
	CHECK(!mprotect(p, PAGES * PAGE, RW));
	CHECK(filled(p, 50, 1) && filled(at(p, 50), 10, 3));
	fill(p, PAGES, 4);
	CHECK(filled(p, PAGES, 4));
}

static int is_mapped(void *p)
{
	unsigned char c;

	return !mincore(p, PAGE, &c);
}

static void advice_at_fork(void)
{
	char *p = map_pages(PAGES);
	int pid;

	fill(p, PAGES, 1);
	CHECK(!madvise(at(p, 10), 10 * PAGE, MADV_WIPEONFORK));
	CHECK(!madvise(at(p, 30), 10 * PAGE, MADV_DONTFORK));
	for (int round = 0; round < 4; round++) {
		pid = fork_or_die();
		if (!pid) {
			CHECK(filled(p, 10, 1) && zeroed(at(p, 10), 10 * PAGE));
			CHECK(!is_mapped(at(p, 30)));
			CHECK(is_mapped(at(p, 60)) == !round);
			if (round)
				CHECK(zeroed(at(p, 50), 10 * PAGE));
			_exit(0);
		}
		wait_ok(pid);
		if (!round) {	/* of what is shared since the fork */
			CHECK(!madvise(at(p, 50), 10 * PAGE, MADV_WIPEONFORK));
			CHECK(!madvise(at(p, 60), 10 * PAGE, MADV_DONTFORK));
		}
		if (round == 1)
			pause_ms(THAW_MS);
	}
	CHECK(!madvise(at(p, 10), 50 * PAGE, MADV_KEEPONFORK));
	CHECK(!madvise(at(p, 30), 40 * PAGE, MADV_DOFORK));
	pid = fork_or_die();
	if (!pid) {
		CHECK(filled(p, PAGES, 1));
		_exit(0);
	}
	wait_ok(pid);
	CHECK(filled(p, PAGES, 1));
}

static void killed_child(void)
{
	char *p = map_pages(PAGES);

	fill(p, PAGES, 1);
	for (int i = 0; i < 5; i++) {
		int pid = fork_or_die(), status;

		if (!pid)
			for (;;)
				fill(p, PAGES, 2);
		pause_ms(i * 7);
		fill(at(p, 10 * i), 10, 3);
		CHECK(!kill(pid, SIGKILL));
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(WIFSIGNALED(status));
		CHECK(filled(at(p, 10 * i), 10, 3));
	}
	pause_ms(THAW_MS);
	for (int i = 0; i < 5; i++)
		CHECK(filled(at(p, 10 * i), 10, 3));
	for (size_t i = 50; i < PAGES; i++)
		CHECK(*(uint64_t *)(at(p, i) + 8 * (i % 512)) == 1000003 + i);
}

/* The one that is left over has memory that was another's. */
static void left_over(void)
{
	char *p = map_pages(PAGES);
	int result[2], pid;
	char c;

	CHECK(!pipe(result));
	fill(p, PAGES, 1);
	pid = fork_or_die();
	if (!pid) {
		fill(p, 100, 2);
		if (fork_or_die())
			_exit(0);
		if (fork_or_die())
			_exit(0);
		fill(at(p, 100), 100, 3);
		pause_ms(2 * THAW_MS);
		CHECK(filled(p, 100, 2) && filled(at(p, 100), 100, 3));
		CHECK(*(uint64_t *)(at(p, 700) + 8 * (700 % 512)) ==
		      1000003 + 700);
		fill(p, PAGES, 4);
		CHECK(filled(p, PAGES, 4));
		CHECK(write(result[1], "y", 1) == 1);
		_exit(0);
	}
	wait_ok(pid);
	CHECK(!munmap(p, PAGES * PAGE));
	CHECK(read(result[0], &c, 1) == 1 && c == 'y');
}

static atomic_int end_threads;

static void *count_up(void *arg)
{
	volatile uint64_t *p = arg;

	while (!end_threads)
		for (size_t i = 0; i < 64; i++)
			p[i * PAGE / 8]++;
	return NULL;
}

static void *map_and_unmap(void *arg)
{
	while (!end_threads) {
		char *p = map_pages(64);

		fill(p, 64, 5);
		CHECK(filled(p, 64, 5));
		CHECK(!madvise(p, 8 * PAGE, MADV_DONTNEED));
		CHECK(zeroed(p, 8 * PAGE));
		CHECK(!munmap(p, 64 * PAGE));
	}
	return NULL;
}

static void *fork_too(void *arg)
{
	char *p = arg;

	while (!end_threads) {
		int pid = fork_or_die();

		if (!pid) {
			if (!filled(at(p, 200), 100, 1))
				_exit(1);
			*(volatile char *)at(p, 210) = 1;
			_exit(0);
		}
		wait_ok(pid);
	}
	return NULL;
}

static void threads(void)
{
	char *p = map_pages(PAGES);
	pthread_t t[4];

	fill(p, PAGES, 1);
	fill(at(p, 200), 100, 1);
	CHECK(!pthread_create(&t[0], NULL, count_up, p));
	CHECK(!pthread_create(&t[1], NULL, count_up, at(p, 64)));
	CHECK(!pthread_create(&t[2], NULL, map_and_unmap, NULL));
	CHECK(!pthread_create(&t[3], NULL, fork_too, p));
	for (int i = 0; i < 15; i++) {
		int pid = fork_or_die();

		if (!pid) {
			uint64_t was = *(volatile uint64_t *)p;

			fill(at(p, 200), 100, 2);
			pause_ms(10);
			/* Nobody counts here. */
			CHECK(*(volatile uint64_t *)p == was);
			CHECK(filled(at(p, 200), 100, 2));
			_exit(0);
		}
		wait_ok(pid);
		CHECK(filled(at(p, 200), 100, 1));
		if (i % 5 == 4)
			pause_ms(200);
	}
	end_threads = 1;
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(t[i], NULL));
	for (int i = 2; i < 64; i++) /* no count got lost */
		CHECK(*(uint64_t *)at(p, i) == *(uint64_t *)at(p, 1) &&
		      *(uint64_t *)at(p, 64 + i) == *(uint64_t *)at(p, 65));
}

/* A futex that is not private is one of the memory that it lies in. */
static void *wait_futex(void *arg)
{
	atomic_int *f = arg;

	while (!atomic_load(f))
		syscall(SYS_futex, f, FUTEX_WAIT, 0, NULL, NULL, 0);
	return NULL;
}

static void futex(void)
{
	char *p = map_pages(PAGES);
	atomic_int *f = (atomic_int *)at(p, 77);

	fill(p, PAGES, 1);
	for (int i = 0; i < 4; i++) {
		pthread_t t;
		int pid;

		atomic_store(f, 0);
		CHECK(!pthread_create(&t, NULL, wait_futex, f));
		pause_ms(20);
		pid = fork_or_die();
		if (!pid)
			_exit(0);
		wait_ok(pid);
		if (i % 2)
			pause_ms(THAW_MS);
		atomic_store(f, 1);
		syscall(SYS_futex, f, FUTEX_WAKE, 100, NULL, NULL, 0);
		CHECK(!pthread_join(t, NULL));
	}
}

/* The kernel reads and writes it, too. */
static void by_kernel(void)
{
	char *p = map_pages(PAGES);
	int fd = open("forks.tmp", O_RDWR | O_CREAT | O_TRUNC, 0600), pid;

	CHECK(fd >= 0);
	fill(p, PAGES, 1);
	CHECK(write(fd, p, PAGES * PAGE) == (ssize_t)(PAGES * PAGE));
	fill(p, PAGES, 2);
	pid = fork_or_die();
	if (!pid) {
		CHECK(pread(fd, p, 500 * PAGE, 0) == (ssize_t)(500 * PAGE));
		CHECK(filled(p, 500, 1));
		CHECK(pwrite(fd, at(p, 500), PAGE, PAGES * PAGE) ==
		      (ssize_t)PAGE);
		_exit(0);
	}
	wait_ok(pid);
	CHECK(filled(p, PAGES, 2));
	CHECK(pread(fd, p, PAGES * PAGE, 0) == (ssize_t)(PAGES * PAGE));
	CHECK(filled(p, PAGES, 1));
	CHECK(pread(fd, at(p, 3), PAGE, PAGES * PAGE) == (ssize_t)PAGE);
	CHECK(!memcmp(at(p, 3) + 8 * 500, &(uint64_t){ 2 * 1000003 + 500 }, 8));
	close(fd);
	unlink("forks.tmp");
}

static void locked(void)
{
	char *p = map_pages(PAGES);
	int pid;

	fill(p, PAGES, 1);
	pid = fork_or_die();
	if (!pid) {
		pause_ms(30);
		CHECK(filled(p, PAGES, 1));
		_exit(0);
	}
	CHECK(!mlock(p, 16 * PAGE));
	fill(p, 8, 2);
	wait_ok(pid);
	pid = fork_or_die();
	if (!pid) {
		CHECK(filled(p, 8, 2));
		fill(p, 16, 3);
		_exit(0);
	}
	wait_ok(pid);
	CHECK(filled(p, 8, 2));
	CHECK(!munlock(p, 16 * PAGE));
	pause_ms(THAW_MS);
	CHECK(filled(p, 8, 2));
	CHECK(!munlock(p, 16 * PAGE));
}

static int in_child(void *arg)
{
	char *p = arg;

	if (!filled(p, PAGES, 1))
		return 1;
	p = map_pages(PAGES);
	fill(p, PAGES, 3);
	return !filled(p, PAGES, 3);
}

/* A child with memory of its own but its parent's descriptors. */
static void same_files(void)
{
	char *p = map_pages(PAGES), *q;
	int pid, status;

	fill(p, PAGES, 1);
	pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	CHECK(pid >= 0);
	if (!pid)
		_exit(in_child(p));
	q = map_pages(PAGES);
	fill(q, PAGES, 2);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK(filled(q, PAGES, 2) && filled(p, PAGES, 1));
	q = map_pages(PAGES);
	CHECK(zeroed(q, PAGES * PAGE));
}

static void exec_child(void)
{
	char *p = map_pages(PAGES);

	fill(p, PAGES, 1);
	for (int i = 0; i < 6; i++) {
		int pid = fork_or_die();

		if (!pid) {
			fill(p, 10, 2);
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		fill(at(p, i), 1, 3);
		wait_ok(pid);
		if (i == 3)
			pause_ms(THAW_MS);
	}
	for (int i = 0; i < 6; i++)
		CHECK(filled(at(p, i), 1, 3));
	CHECK(*(uint64_t *)(at(p, 6) + 8 * 6) == 1000003 + 6);
}

static void many(void)
{
	char *p = map_pages(PAGES);

	fill(p, PAGES, 1);
	for (uint64_t i = 0; i < 100; i++) {
		int pid = fork_or_die();

		if (!pid) {
			CHECK(filled(p, 10, 1) && *at(p, 20 + i) != 99);
			fill(p, PAGES / 8, 2);
			_exit(0);
		}
		*at(p, 20 + i) = 99;
		if (i % 3)
			wait_ok(pid);
	}
	while (wait(NULL) > 0)
		;
	for (uint64_t i = 0; i < 100; i++)
		CHECK(*at(p, 20 + i) == 99);
}

/* The kernel writes the child's number into the child's memory alone. */
static void own_numbers(int *word)
{
	pthread_mutexattr_t a;
	pthread_mutex_t m;
	int pid;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
	CHECK(!pthread_mutex_init(&m, &a) && !pthread_mutex_lock(&m));
	pid = fork_or_die();
	/* Who holds it is told by the thread's number in memory. */
	if (!pid)
		_exit(pthread_mutex_unlock(&m) == EPERM ? 0 : 1);
	CHECK(!pthread_mutex_unlock(&m));
	wait_ok(pid);
	*word = 4711;
	/* By machine the place is the fourth argument or the fifth; the other
	 * one is not looked at. */
	pid = syscall(SYS_clone, CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID |
				 SIGCHLD, 0, NULL, word, word);
	if (!pid)
		_exit(*word == (int)syscall(SYS_gettid) ? 0 : 1);
	CHECK(pid > 0 && *word == 4711);
	wait_ok(pid);
	CHECK(*word == 4711);
}

static void numbers(void)
{
	char *p = map_pages(PAGES);

	own_numbers((int *)p);	/* copied */
	fill(p, PAGES, 1);
	own_numbers((int *)p);	/* frozen */
	own_numbers((int *)p);
}

/* Of 8 MiB, some pages and an own number: a child's and a grandchild's. */
static void fork_within_limits(void)
{
	char *p = map_pages(PAGES), *few = map_pages(4);
	int pid, second;

	CHECK(!mprotect(at(p, 9), PAGE, PROT_READ));
	CHECK(!madvise(at(few, 3), PAGE, MADV_WIPEONFORK));
	fill(p, 9, 1);
	fill(few, 4, 2);
	fill(at(p, 10), PAGES - 10, 3);
	pid = fork_or_die();
	if (!pid) {
		CHECK(filled(p, 9, 1) && zeroed(at(p, 9), PAGE));
		CHECK(filled(few, 3, 2) && zeroed(at(few, 3), PAGE));
		CHECK(filled(at(p, 10), PAGES - 10, 3));
		own_numbers((int *)few);
		fill(p, 9, 4);
		fill(at(p, 10), PAGES - 10, 4);
		second = fork_or_die();
		if (!second) {
			CHECK(filled(p, 9, 4));
			fill(p, 9, 5);
			_exit(0);
		}
		wait_ok(second);
		CHECK(filled(p, 9, 4) && filled(at(p, 10), PAGES - 10, 4));
		_exit(0);
	}
	wait_ok(pid);
	CHECK(filled(p, 9, 1) && filled(few, 4, 2));
	CHECK(filled(at(p, 10), PAGES - 10, 3));
}

/* No descriptor is free, neither for parent nor for child. */
static void no_descriptor(void)
{
	struct rlimit r = { 16, 16 };

	CHECK(!setrlimit(RLIMIT_NOFILE, &r));
	while (dup(0) >= 0)
		;
	CHECK(errno == EMFILE);
	fork_within_limits();
}

/* An orphan's memory stays while its grandparent goes on writing. */
static void no_descriptor_orphan(void)
{
	struct rlimit r = { 16, 16 };
	char *p = map_pages(PAGES), c;
	int go[2], done[2], pid;

	CHECK(!pipe(go) && !pipe(done) && !setrlimit(RLIMIT_NOFILE, &r));
	while (dup(0) >= 0)
		;
	fill(p, PAGES, 1);
	pid = fork_or_die();
	if (!pid) {
		if (fork_or_die())
			_exit(0);
		close(go[1]);
		CHECK(read(go[0], &c, 1) == 0);
		c = filled(p, PAGES, 1) ? 'y' : 'n';
		CHECK(write(done[1], &c, 1) == 1);
		_exit(0);
	}
	wait_ok(pid);
	/* Longer than a recorder waits with what concerns a fork's memory. */
	for (int i = 0; i < 5; i++) {
		fill(p, PAGES, 2 + i);
		pause_ms(150);
	}
	close(go[1]);
	CHECK(read(done[0], &c, 1) == 1 && c == 'y');
}

/* Nothing more may be mapped, not even over what is there. */
static void no_space(void)
{
	struct rlimit r = { 64 * PAGE, 64 * PAGE };
	char *p = map_pages(PAGES), *few = map_pages(4);
	int pid;

	fill(p, PAGES, 1);
	fill(few, 4, 2);
	CHECK(!setrlimit(RLIMIT_AS, &r));
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	      MAP_FAILED);
	pid = fork_or_die();
	if (!pid) {
		CHECK(filled(p, PAGES, 1) && filled(few, 4, 2));
		fill(p, PAGES, 3);
		fill(few, 4, 3);
		_exit(0);
	}
	wait_ok(pid);
	CHECK(filled(p, PAGES, 1) && filled(few, 4, 2));
}

static const struct test_case cases[] = {
	{ "both-ways", both_ways },
	{ "generations", generations },
	{ "rounds", rounds },
	{ "discard", discard },
	{ "remap", remap },
	{ "unmap", unmap },
	{ "heap", heap },
	{ "protect", protect },
	{ "advice-at-fork", advice_at_fork },
	{ "killed-child", killed_child },
	{ "left-over", left_over },
	{ "threads", threads },
	{ "futex", futex },
	{ "by-kernel", by_kernel },
	{ "locked", locked },
	{ "same-files", same_files },
	{ "exec-child", exec_child },
	{ "many", many },
	{ "numbers", numbers },
	{ "no-descriptor", no_descriptor },
	{ "no-descriptor-orphan", no_descriptor_orphan },
	{ "no-space", no_space },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The corpus: sealed memory (mseal, Linux 6.10). Nobody may map it anew. */
#include "case.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

static int seal(void *p, size_t pages)
{
	return syscall(462, p, pages * PAGE, 0);
}

/* The case's first seal: of pages of its own. */
static char *sealed_pages(size_t pages, uint64_t seed)
{
	char *p = map_pages(pages);

	fill(p, pages, seed);
	if (seal(p, pages))
		UNSUPPORTED("mseal");
	return p;
}

/* "WHAT: RESULT (ERROR)" of a call, whose error is 0 where it succeeds. */
static void say(const char *what, long ret)
{
	printf("%s: %ld (%s)\n", what, ret, ret < 0 ? strerror(errno) : "right");
}

/* A child and its parent write to what was sealed: each to its own. */
static void both_write(char *p, size_t pages, uint64_t seed)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		CHECK(filled(p, pages, seed));
		fill(p, pages, seed + 1);
		pause_ms(40);
		CHECK(filled(p, pages, seed + 1));
		CHECK(munmap(p, pages * PAGE) == -1 && errno == EPERM);
		_exit(0);
	}
	fill(p, pages, seed + 2);
	wait_ok(child);
	CHECK(filled(p, pages, seed + 2));
}

static void forks(void)
{
	char *p = sealed_pages(64, 1);

	both_write(p, 64, 1);
	pause_ms(60);
	both_write(p, 64, 3);
}

/* The child of a child, and what it executes. */
static void generations(void)
{
	char *p = sealed_pages(16, 1);
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		both_write(p, 16, 1);
		exec_case("forks");
	}
	wait_ok(child);
	CHECK(filled(p, 16, 1));
}

/* Shared by a fork before it is sealed, in the parent and in the child. */
static void after_fork(void)
{
	char *p = map_pages(1024);
	pid_t child;

	fill(p, 1024, 1);
	child = fork();
	CHECK(child >= 0);
	if (seal(p + 100 * PAGE, 500))
		UNSUPPORTED("mseal");
	if (!child) {
		CHECK(filled(p, 1024, 1));
		fill(p + 100 * PAGE, 500, 2);
		both_write(p + 100 * PAGE, 500, 2);
		_exit(0);
	}
	CHECK(filled(p, 1024, 1));
	fill(p, 1024, 5);
	wait_ok(child);
	CHECK(filled(p, 1024, 5));
	say("munmap", munmap(p, 1024 * PAGE));
	say("munmap of the rest", munmap(p + 600 * PAGE, 424 * PAGE));
	CHECK(filled(p, 600, 5));
}

/* What is sealed and may not be written may not be emptied either. */
static void emptied(void)
{
	char *p = map_pages(16);

	fill(p, 16, 1);
	CHECK(!mprotect(p, 8 * PAGE, PROT_READ));
	if (seal(p, 16))
		UNSUPPORTED("mseal");
	say("read-only", madvise(p, 8 * PAGE, MADV_DONTNEED));
	CHECK(filled(p, 8, 1));
	say("writable", madvise(p + 8 * PAGE, 8 * PAGE, MADV_DONTNEED));
	CHECK(zeroed(p + 8 * PAGE, 8 * PAGE));
	say("mprotect", mprotect(p, PAGE, RW));
	say("mremap", mremap(p, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED ?
	    -1 : 0);
	say("mmap", mmap(p, PAGE, RW, ANON | MAP_FIXED, -1, 0) == MAP_FAILED ?
	    -1 : 0);
	fill(p + 8 * PAGE, 8, 2);
	both_write(p + 8 * PAGE, 8, 2);
	CHECK(filled(p, 8, 1));
}

/* Several mappings, of other rights; a hole; calls that are refused. */
static void ranges(void)
{
	char *p = map_pages(32), *q = sealed_pages(1, 1);

	fill(p, 32, 1);
	CHECK(!mprotect(p + 8 * PAGE, 8 * PAGE, PROT_READ));
	CHECK(!mprotect(p + 16 * PAGE, 8 * PAGE, PROT_NONE));
	CHECK(!munmap(p + 30 * PAGE, PAGE));
	say("with a hole", seal(p, 32));
	say("not aligned", syscall(462, p + 1, PAGE, 0));
	say("flags", syscall(462, p, PAGE, 1));
	say("too long", syscall(462, p, -PAGE, 0));
	say("nothing", seal(p, 0));
	/* None of these has sealed anything. */
	CHECK(!mprotect(p, PAGE, PROT_READ) && !mprotect(p, PAGE, RW));
	say("some pages", seal(p + 4 * PAGE, 24));
	say("again", seal(p + 4 * PAGE, 24));
	say("below", munmap(p, 4 * PAGE));
	say("behind", munmap(p + 28 * PAGE, 4 * PAGE));
	say("inside", munmap(p + 12 * PAGE, PAGE));
	CHECK(*(volatile uint64_t *)(p + 4 * PAGE + 32) == 1000007);
	both_write(q, 1, 1);
}

/* Of the heap, whose end stays where it is then. */
static void heap(void)
{
	char *from, *p;

	/* No buffer, which malloc would put there. */
	CHECK(!setvbuf(stdout, NULL, _IONBF, 0));
	from = sbrk(0);
	from += -(uintptr_t)from % PAGE;
	CHECK(!brk(from + 64 * PAGE));
	fill(from, 64, 1);
	if (seal(from + 16 * PAGE, 16))
		UNSUPPORTED("mseal");
	say("brk to inside", brk(from + 20 * PAGE));
	say("brk to behind", brk(from + 40 * PAGE));
	say("brk to above", brk(from + 80 * PAGE));
	CHECK(filled(from, 40, 1) && zeroed(from + 64 * PAGE, 16 * PAGE));
	p = from + 16 * PAGE;
	fill(p, 16, 4);
	both_write(p, 16, 4);
}

static void stack(void)
{
	char here[8 * PAGE], *p = here + (-(uintptr_t)here % PAGE);

	fill(p, 4, 1);
	if (seal(p, 4))
		UNSUPPORTED("mseal");
	both_write(p, 4, 1);
}

static atomic_int sealing = 1;

static void *write_on(void *arg)
{
	volatile uint64_t *p = arg;

	for (uint64_t n = 1; atomic_load(&sealing); n++)
		for (int i = 0; i < 64; i++) {
			p[i * 512] = n;
			CHECK(p[i * 512] == n);
		}
	return NULL;
}

/* Other threads write to it while it is sealed. */
static void threads(void)
{
	char *p = map_pages(128);
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&t[i], NULL, write_on, p + i * 64 * PAGE));
	pause_ms(20);
	for (int i = 0; i < 128; i += 16) {
		if (seal(p + i * PAGE, 16))
			UNSUPPORTED("mseal");
		pause_ms(5);
	}
	atomic_store(&sealing, 0);
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(t[i], NULL));
	fill(p, 128, 1);
	both_write(p, 128, 1);
}

static void *fork_on(void *arg)
{
	while (atomic_load(&sealing)) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (!child) {
			CHECK(filled(arg, 512, 1));
			_exit(0);
		}
		wait_ok(child);
	}
	return NULL;
}

/* ... and fork meanwhile. */
static void threads_fork(void)
{
	char *p = map_pages(512);
	pthread_t t[2];

	fill(p, 512, 1);
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&t[i], NULL, fork_on, p));
	for (int i = 0; i < 512; i += 16) {
		if (seal(p + i * PAGE, 16))
			UNSUPPORTED("mseal");
		pause_ms(2);
	}
	atomic_store(&sealing, 0);
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(t[i], NULL));
	CHECK(filled(p, 512, 1));
}

/* Of files: privately mapped, and shared. */
static void files(void)
{
	int fd = open(".", O_TMPFILE | O_RDWR, 0600);
	char *own, *all, *read;

	CHECK(fd >= 0 && !ftruncate(fd, 16 * PAGE));
	own = mmap(NULL, 16 * PAGE, RW, MAP_PRIVATE, fd, 0);
	all = mmap(NULL, 16 * PAGE, RW, MAP_SHARED, fd, 0);
	read = mmap(NULL, 16 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(own != MAP_FAILED && all != MAP_FAILED && read != MAP_FAILED);
	fill(all, 16, 1);
	if (seal(own, 16) || seal(all, 16) || seal(read, 16))
		UNSUPPORTED("mseal");
	pause_ms(60);
	CHECK(filled(own, 16, 1) && filled(read, 16, 1));
	say("discard", madvise(own, 8 * PAGE, MADV_DONTNEED));
	say("discard what is read", madvise(read, 8 * PAGE, MADV_DONTNEED));
	fill(own, 16, 2);
	CHECK(filled(all, 16, 1) && filled(read, 16, 1));
	both_write(own, 16, 2);
	say("mprotect", mprotect(read, PAGE, RW));
}

/* The program's own data, which its loader mapped. */
static char data[32 * PAGE] __attribute__((aligned(4096))) = { 7, 8 };

static void own_data(void)
{
	CHECK(data[0] == 7 && data[1] == 8);
	if (seal(data, 16))
		UNSUPPORTED("mseal");
	CHECK(data[0] == 7 && data[1] == 8 && zeroed(data + 2, 32 * PAGE - 2));
	fill(data, 32, 1);
	both_write(data, 16, 1);
	say("discard", madvise(data, 4 * PAGE, MADV_DONTNEED));
	printf("%d %d\n", data[0], data[1]);
}

static void locked(void)
{
	char *p = map_pages(16);

	fill(p, 16, 1);
	if (mlock(p, 8 * PAGE))
		UNSUPPORTED("mlock");
	if (seal(p, 16))
		UNSUPPORTED("mseal");
	say("locked", madvise(p, 4 * PAGE, MADV_DONTNEED));
	CHECK(filled(p, 16, 1));
	say("locked, all the same", madvise(p, 4 * PAGE, MADV_DONTNEED_LOCKED));
	CHECK(zeroed(p, 4 * PAGE));
	say("munlock", munlock(p, 8 * PAGE));
	say("not locked", madvise(p + 4 * PAGE, 4 * PAGE, MADV_DONTNEED));
	CHECK(zeroed(p, 8 * PAGE));
}

#ifdef __x86_64__
static void touch(volatile char *p)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		p[0] = 9;
		_exit(0);
	}
	print_status("child", wait_for(child));
}
#endif

/* The program has more private memory than it may have from now on. */
static void limited(void)
{
	const struct rlimit limit = { MIB, RLIM_INFINITY };
	char *p = map_pages(1024);
	struct rlimit was;

	fill(p, 1024, 1);
	if (setrlimit(RLIMIT_DATA, &limit))
		UNSUPPORTED("a higher hard limit");
	if (seal(p, 1024))
		UNSUPPORTED("mseal");
	CHECK(!getrlimit(RLIMIT_DATA, &was) && was.rlim_cur == MIB);
	both_write(p, 1024, 1);
}

/* Locked memory is sealed when the limit no longer allows the lock: its contents stay. */
static void unlockable(void)
{
	const struct rlimit none = { 0, 0 };
	char *p = map_pages(64);

	fill(p, 64, 1);
	if (mlock(p, 64 * 4096ul))
		UNSUPPORTED("mlock");
	if (setrlimit(RLIMIT_MEMLOCK, &none))
		UNSUPPORTED("a lower limit");
	/* Root is above that limit. */
	if (!getuid() && setuid(65534))
		UNSUPPORTED("another user");
	if (seal(p, 64))
		UNSUPPORTED("mseal");
	/* A sweep or two. */
	pause_ms(120);
	CHECK(filled(p, 64, 1));
	both_write(p, 64, 1);
}

/* Its protection key stays. */
static void keys(void)
{
#ifdef __x86_64__
	int key = pkey_alloc(0, 0);
	char *p = map_pages(4);

	if (key < 0)
		UNSUPPORTED("memory protection keys");
	fill(p, 4, 1);
	CHECK(!pkey_mprotect(p, 2 * PAGE, RW, key));
	if (seal(p, 4))
		UNSUPPORTED("mseal");
	CHECK(filled(p, 4, 1));
	CHECK(!pkey_set(key, PKEY_DISABLE_WRITE));
	touch(p);
	touch(p + 2 * PAGE);
	CHECK(!pkey_set(key, 0));
	touch(p);
#else
	UNSUPPORTED("memory protection keys");
#endif
}

static const struct test_case cases[] = {
	{ "forks", forks },
	{ "generations", generations },
	{ "after-fork", after_fork },
	{ "emptied", emptied },
	{ "ranges", ranges },
	{ "heap", heap },
	{ "stack", stack },
	{ "threads", threads },
	{ "threads-fork", threads_fork },
	{ "files", files },
	{ "own-data", own_data },
	{ "locked", locked },
	{ "limited", limited },
	{ "unlockable", unlockable },
	{ "keys", keys },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	await_recorder();
	return cases_main(argc, argv, cases);
}

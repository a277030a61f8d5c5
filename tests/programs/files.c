// SPDX-License-Identifier: GPL-2.0-or-later
/* Files mapped: privately and shared, written by others meanwhile, cut short. */
#include "mapped.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

static int temp_file(size_t pages)
{
	char name[] = "mapped-XXXXXX";
	int fd = mkstemp(name);

	CHECK(fd >= 0 && unlink(name) == 0);
	for (size_t i = 0; i < pages; i++) {
		char page[PAGE];

		memset(page, 'a' + i % 26, sizeof(page));
		CHECK(write(fd, page, PAGE) == (ssize_t)PAGE);
	}
	return fd;
}

static void private_file(void)
{
	int fd = temp_file(40);
	char page[PAGE];
	char *p = mmap(NULL, 40 * PAGE, RW, MAP_PRIVATE, fd, 0);
	char *half = mmap(NULL, 8 * PAGE, RW, MAP_PRIVATE, fd, 36 * PAGE);

	CHECK(p != MAP_FAILED && half != MAP_FAILED);
	CHECK(p[0] == 'a' && p[27 * PAGE] == 'b');
	for (int i = 0; i < 40; i += 2)
		memset(p + i * PAGE, 'A' + i % 26, PAGE);
	half[0] = '!';
	pause_ms(60);
	for (int i = 0; i < 40; i++) {
		CHECK(p[i * PAGE + 9] == (i % 2 ? 'a' : 'A') + i % 26);
		CHECK(pread(fd, page, PAGE, i * PAGE) == (ssize_t)PAGE);
		CHECK(page[9] == 'a' + i % 26);
	}
	CHECK(p[36 * PAGE] == 'A' + 36 % 26 && half[0] == '!');
	/* Dropping the private pages shows the file again. */
	CHECK(madvise(p, 40 * PAGE, MADV_DONTNEED) == 0);
	CHECK(p[2 * PAGE] == 'c');
	catch_faults();
	printf("beyond the file: %d\n", touch_faults(half + 4 * PAGE, 0));
}

/* A private mapping that is not written sees the file change. */
static void private_file_changes(void)
{
	int fd = temp_file(8);
	char *p = mmap(NULL, 8 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

	CHECK(p != MAP_FAILED && p[PAGE] == 'b');
	CHECK(pwrite(fd, "new", 3, PAGE) == 3);
	printf("%.4s\n", p + PAGE);
	CHECK(mprotect(p, 8 * PAGE, RW) == 0);
	p[2 * PAGE] = 'Z';
	CHECK(pwrite(fd, "xyz", 3, 2 * PAGE) == 3);
	pause_ms(60);
	printf("%.4s\n", p + 2 * PAGE);
}

/*
 * As numpy.memmap(mode='c') beside a mapping that is written: what was not
 * written privately shows the file as it is now.
 */
static void private_view(int fd)
{
	char *view, *shared, *late;
	unsigned int seen = 0;
	int pid;

	CHECK(fd >= 0 && ftruncate(fd, 64 * PAGE) == 0);
	view = mmap(NULL, 64 * PAGE, RW, MAP_PRIVATE, fd, 0);
	late = mmap(NULL, 64 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	shared = mmap(NULL, 64 * PAGE, RW, MAP_SHARED, fd, 0);
	CHECK(view != MAP_FAILED && late != MAP_FAILED && shared != MAP_FAILED);
	for (int i = 0; i < 64; i += 4)
		seen += view[i * PAGE + 1]; /* some are there already */
	pause_ms(60);
	fill(shared, 64, 30);
	CHECK(filled(view, 64, 30) && filled(late, 64, 30));
	fill(view + 16 * PAGE, 16, 31);
	CHECK(mprotect(late, 64 * PAGE, RW) == 0);
	late[8] = 1;
	pause_ms(60);
	fill(shared, 64, 32);
	CHECK(filled(view, 16, 32) && filled(view + 16 * PAGE, 16, 31));
	CHECK(late[8] == 1);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		fill(view, 16, 33);
		CHECK(filled(view + 16 * PAGE, 16, 31));
		CHECK(*(uint64_t *)(late + 40 * PAGE + 320) == 32 * 1000003 + 40);
		_exit(0);
	}
	wait_ok(pid);
	CHECK(filled(view, 16, 32) && filled(view + 16 * PAGE, 16, 31));
	/* Moved and grown, it is still the same. */
	view = mremap(view, 32 * PAGE, 48 * PAGE, MREMAP_MAYMOVE);
	CHECK(view != MAP_FAILED);
	fill(shared, 64, 34);
	CHECK(filled(view, 16, 34) && filled(view + 16 * PAGE, 16, 31));
	CHECK(*(uint64_t *)(view + 40 * PAGE + 320) == 34 * 1000003 + 40);
	CHECK(madvise(view, 48 * PAGE, MADV_DONTNEED) == 0);
	CHECK(filled(view, 48, 34));
	for (int i = 0; i < 48; i++)
		seen += view[i * PAGE + 8 * i];
	catch_faults();
	CHECK(ftruncate(fd, 4 * PAGE) == 0);
	printf("beyond the new end: %d\n", touch_faults(view + 8 * PAGE, 1));
	printf("%u %016lx\n", seen, sum(view, 4 * PAGE));
}

static void private_view_file(void)
{
	private_view(temp_file(64));
}

static void private_view_memfd(void)
{
	private_view(memfd_create("view", 0));
}

static void private_view_shm(void)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/dev/shm/moca-view-%d", getpid());
	fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		UNSUPPORTED("/dev/shm");
	unlink(name);
	private_view(fd);
}

/* A large file, of which little is used: nothing of it is copied. */
static void private_large(void)
{
	int fd = temp_file(1);
	size_t pages = 100 * MIB / PAGE;
	uint64_t total = 0;
	char *p;

	CHECK(ftruncate(fd, pages * PAGE) == 0);
	p = mmap(NULL, pages * PAGE, RW, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED);
	for (int round = 0; round < 4; round++) {
		for (size_t i = 0; i < pages; i += 100)
			total += p[i * PAGE];
		for (size_t i = 50; i < pages; i += 1000)
			*(uint64_t *)(p + i * PAGE) += round + i;
		CHECK(pwrite(fd, "\x07", 1, 200 * PAGE) == 1);
		pause_ms(25);
	}
	for (size_t i = 50; i < pages; i += 1000)
		CHECK(*(uint64_t *)(p + i * PAGE) == 6 + 4 * i);
	printf("%lu\n", total);
}

/* What is mapped, touched and unmapped thousands of times. */
static void private_often(void)
{
	int fd = temp_file(16);
	uint64_t total = 0;

	for (int i = 0; i < 1000; i++) {
		char *p = mmap(NULL, 16 * PAGE, RW, MAP_PRIVATE, fd, 0);

		CHECK(p != MAP_FAILED);
		p[PAGE] += i;
		total += p[PAGE] + p[3 * PAGE];
		CHECK(munmap(p, 16 * PAGE) == 0);
	}
	printf("%lu\n", total);
}

static void shared_file(void)
{
	int fd = temp_file(40);
	char page[PAGE];
	char *p = mmap(NULL, 40 * PAGE, RW, MAP_SHARED, fd, 0);
	char *q = mmap(NULL, 40 * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	CHECK(p != MAP_FAILED && q != MAP_FAILED);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 40; i++)
			memset(p + i * PAGE, 'A' + (i + round) % 26, PAGE);
		pause_ms(15);
		for (int i = 0; i < 40; i++) {
			CHECK(q[i * PAGE] == 'A' + (i + round) % 26);
			CHECK(pread(fd, page, PAGE, i * PAGE) == (ssize_t)PAGE);
			CHECK(page[7] == 'A' + (i + round) % 26);
		}
	}
	CHECK(msync(p, 40 * PAGE, MS_SYNC) == 0);
	printf("%016lx\n", sum(q, 40 * PAGE));
}

/* read(2) and write(2) of megabytes from and into pages never touched. */
static void system_calls(void)
{
	int fd = temp_file(1024);
	char *p = map_pages(1024), *q = map_pages(1024);
	struct iovec v[3] = { { q, 100 * PAGE },
			      { q + 500 * PAGE, 3 },
			      { q + 700 * PAGE + 5, 10 * PAGE } };
	struct stat st;

	CHECK(pread(fd, p, 1024 * PAGE, 0) == 1024 * (ssize_t)PAGE);
	printf("%016lx\n", sum(p, 1024 * PAGE));
	CHECK(preadv(fd, v, 3, 0) == 110 * (ssize_t)PAGE + 3);
	printf("%016lx\n", sum(q, 1024 * PAGE));
	/* Out of pages that never were touched: zeroes. */
	q = map_pages(1024);
	CHECK(pwrite(fd, q, 1024 * PAGE, 0) == 1024 * (ssize_t)PAGE);
	CHECK(pread(fd, p, 1024 * PAGE, 0) == 1024 * (ssize_t)PAGE);
	CHECK(zeroed(p, 1024 * PAGE));
	CHECK(fstat(fd, (struct stat *)(q + 10 * PAGE)) == 0);
	CHECK(fstat(fd, &st) == 0);
	CHECK(memcmp(&st, q + 10 * PAGE, sizeof(st)) == 0);
}

static const struct test_case cases[] = {
	{ "private-file", private_file },
	{ "private-file-changes", private_file_changes },
	{ "private-view", private_view_file },
	{ "private-view-memfd", private_view_memfd },
	{ "private-view-shm", private_view_shm },
	{ "private-large", private_large },
	{ "private-often", private_often },
	{ "shared-file", shared_file },
	{ "system-calls", system_calls },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}

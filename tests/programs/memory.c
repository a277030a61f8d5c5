/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mappings made, changed and given back in every way a program may. */
#include "mapped.h"

#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define MPOL_DEFAULT 0
#define MPOL_BIND 2
#define MPOL_F_ADDR 2
#define MPOL_MF_MOVE 2

static void shared_fork(void)
{
	char *p = mmap(NULL, 16 * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int pid;

	CHECK(p != MAP_FAILED);
	fill(p, 8, 1);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK(filled(p, 8, 1));
		fill(p + 8 * PAGE, 8, 2);
		_exit(0);
	}
	wait_ok(pid);
	CHECK(filled(p + 8 * PAGE, 8, 2));
	printf("the child's writes are seen: %016lx\n", sum(p, 16 * PAGE));
}

static void fixed_overlay(void)
{
	char *p = map_pages(64);
	char *q;

	fill(p, 64, 3);
	q = mmap(p + 16 * PAGE, 8 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
	CHECK(q == p + 16 * PAGE);
	CHECK(zeroed(q, 8 * PAGE));
	CHECK(filled(p, 16, 3));
	CHECK(p[24 * PAGE + 8 * 24] == (char)(3 * 1000003 + 24));
	fill(q, 8, 4);
	/* Over the seam of the old and the new mapping. */
	q = mmap(p + 20 * PAGE, 16 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
	CHECK(q == p + 20 * PAGE);
	CHECK(zeroed(q, 16 * PAGE));
	CHECK(filled(p + 16 * PAGE, 4, 4));
	CHECK(mmap(p, 4 * PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0) ==
	      MAP_FAILED);
	CHECK(errno == EEXIST);
	printf("%016lx\n", sum(p, 64 * PAGE));
	CHECK(munmap(p, 64 * PAGE) == 0);
}

static void mremap_grow(void)
{
	char *p = map_pages(1);
	size_t pages = 1;

	fill(p, 1, 5);
	while (pages < 2048) {
		p = mremap(p, pages * PAGE, 2 * pages * PAGE, MREMAP_MAYMOVE);
		CHECK(p != MAP_FAILED);
		CHECK(filled(p, pages, 5));
		CHECK(zeroed(p + pages * PAGE, PAGE));
		pages *= 2;
		fill(p, pages, 5);
	}
	printf("%016lx\n", sum(p, pages * PAGE));
}

static void mremap_move(void)
{
	char *p = map_pages(32), *to = map_pages(64), *q;

	fill(p, 32, 6);
	fill(to, 64, 7);
	q = mremap(p, 32 * PAGE, 32 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		   to + 16 * PAGE);
	CHECK(q == to + 16 * PAGE);
	CHECK(filled(q, 32, 6) && filled(to, 16, 7));
	CHECK(mincore(p, PAGE, (unsigned char[1]){ 0 }) < 0);
	CHECK(mmap(p, 32 * PAGE, RW, ANON | MAP_FIXED, -1, 0) == p);
	CHECK(zeroed(p, 32 * PAGE));
	/* Part of a mapping, grown while moved. */
	q = mremap(to + 20 * PAGE, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED);
	CHECK(zeroed(q + 4 * PAGE, 4 * PAGE));
	printf("%016lx\n", sum(q, 8 * PAGE));
}

static void mremap_shrink(void)
{
	char *p = map_pages(64);

	fill(p, 64, 8);
	CHECK(mremap(p, 64 * PAGE, 10 * PAGE, 0) == p);
	CHECK(filled(p, 10, 8));
	CHECK(mmap(p + 10 * PAGE, 54 * PAGE, RW,
		   ANON | MAP_FIXED_NOREPLACE, -1, 0) == p + 10 * PAGE);
	CHECK(zeroed(p + 10 * PAGE, 54 * PAGE));
	fill(p, 64, 9);
	CHECK(filled(p, 64, 9));
}

static void mremap_dontunmap(void)
{
	char *p = map_pages(32), *q;

	fill(p, 32, 10);
	q = mremap(p, 32 * PAGE, 32 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP,
		   0);
	CHECK(q != MAP_FAILED && q != p);
	CHECK(filled(q, 32, 10));
	CHECK(zeroed(p, 32 * PAGE));
	fill(p, 32, 11);
	CHECK(filled(q, 32, 10) && filled(p, 32, 11));
}

/* Two mappings that the kernel merged are one to the program. */
static void mremap_adjacent(void)
{
	char *p = map_pages(64), *q;

	CHECK(munmap(p, 64 * PAGE) == 0);
	CHECK(mmap(p, 32 * PAGE, RW, ANON | MAP_FIXED, -1, 0) == p);
	CHECK(mmap(p + 32 * PAGE, 32 * PAGE, RW, ANON | MAP_FIXED, -1, 0) ==
	      p + 32 * PAGE);
	fill(p, 64, 12);
	q = mremap(p, 64 * PAGE, 128 * PAGE, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED);
	CHECK(filled(q, 64, 12));
	CHECK(zeroed(q + 64 * PAGE, 64 * PAGE));
	fill(q, 128, 13);
	printf("%016lx\n", sum(q, 128 * PAGE));
}

static void guard_pages(void)
{
	char *p = map_pages(16);

	catch_faults();
	fill(p, 16, 14);
	CHECK(mprotect(p, PAGE, PROT_NONE) == 0);
	CHECK(mprotect(p + 15 * PAGE, PAGE, PROT_NONE) == 0);
	CHECK(mprotect(p + 8 * PAGE, PAGE, PROT_READ) == 0);
	printf("read below: %d\n", touch_faults(p, 0));
	printf("write above: %d\n", touch_faults(p + 15 * PAGE, 1));
	printf("read of a read-only page: %d\n",
	       touch_faults(p + 8 * PAGE, 0));
	printf("write to it: %d\n", touch_faults(p + 8 * PAGE, 1));
	CHECK(filled(p + 8 * PAGE, 0, 14));
	CHECK(mprotect(p, 16 * PAGE, RW) == 0);
	CHECK(filled(p, 16, 14));
	CHECK(munmap(p + 4 * PAGE, PAGE) == 0);
	printf("after munmap: %d\n", touch_faults(p + 4 * PAGE, 0));
}

/* A page beyond a file's end is SIGBUS, in the program's own files too. */
static void sigbus(void)
{
	int fd = memfd_create("mine", 0);
	char *p;

	CHECK(fd >= 0 && ftruncate(fd, 2 * PAGE) == 0);
	p = mmap(NULL, 4 * PAGE, RW, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	catch_faults();
	printf("inside: %d\n", touch_faults(p + PAGE, 1));
	printf("beyond the end: %d\n", touch_faults(p + 2 * PAGE, 0));
}

/* System calls that get a bad address fail; they do not fault. */
static void efault(void)
{
	char *p = map_pages(4);
	int fd[2];

	CHECK(pipe(fd) == 0);
	CHECK(write(fd[1], "hello", 5) == 5);
	CHECK(mprotect(p, PAGE, PROT_READ) == 0);
	CHECK(mprotect(p + PAGE, PAGE, PROT_NONE) == 0);
	CHECK(read(fd[0], p, 5) < 0 && errno == EFAULT);
	CHECK(read(fd[0], p + PAGE, 5) < 0 && errno == EFAULT);
	CHECK(write(fd[1], p + PAGE, 5) < 0 && errno == EFAULT);
	CHECK(read(fd[0], p + 2 * PAGE, 5) == 5);
	printf("%.5s\n", p + 2 * PAGE);
}

static void dontneed(void)
{
	char *p = map_pages(128);

	for (int round = 0; round < 20; round++) {
		fill(p, 128, round);
		CHECK(madvise(p + 32 * PAGE, 64 * PAGE, MADV_DONTNEED) == 0);
		CHECK(filled(p, 32, round));
		CHECK(zeroed(p + 32 * PAGE, 64 * PAGE));
		pause_ms(7);
	}
	CHECK(madvise(p, 128 * PAGE, MADV_DONTNEED) == 0);
	CHECK(zeroed(p, 128 * PAGE));
}

static void free_pages(void)
{
	char *p = map_pages(64);

	fill(p, 64, 15);
	CHECK(madvise(p, 64 * PAGE, MADV_FREE) == 0);
	for (int i = 0; i < 64; i++) { /* each is the old page or zeroes */
		uint64_t v = *(uint64_t *)(p + i * PAGE + 8 * i);

		CHECK(v == 0 || v == 15 * 1000003 + (uint64_t)i);
	}
	fill(p, 64, 16); /* a write after it stays */
	pause_ms(60);
	CHECK(filled(p, 64, 16));
}

static void wipeonfork(void)
{
	char *p = map_pages(16);
	int pid;

	fill(p, 16, 17);
	if (madvise(p + 4 * PAGE, 4 * PAGE, MADV_WIPEONFORK))
		UNSUPPORTED("MADV_WIPEONFORK");
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK(filled(p, 4, 17));
		CHECK(zeroed(p + 4 * PAGE, 4 * PAGE));
		CHECK(*(uint64_t *)(p + 8 * PAGE + 64) == 17 * 1000003 + 8);
		_exit(0);
	}
	wait_ok(pid);
	CHECK(filled(p, 16, 17));
	CHECK(madvise(p + 4 * PAGE, 4 * PAGE, MADV_KEEPONFORK) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK(filled(p, 16, 17));
		_exit(0);
	}
	wait_ok(pid);
}

/* What is wiped comes first: a child's own child keeps the rest all the same. */
static void wipeonfork_nested(void)
{
	char *p = map_pages(24);
	int pid;

	CHECK(munmap(p, 4 * PAGE) == 0);
	p += 4 * PAGE;
	fill(p, 16, 18);
	if (madvise(p, 4 * PAGE, MADV_WIPEONFORK))
		UNSUPPORTED("MADV_WIPEONFORK");
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK(zeroed(p, 4 * PAGE));
		pid = fork();
		CHECK(pid >= 0);
		CHECK(*(uint64_t *)(p + 4 * PAGE + 32) == 18 * 1000003 + 4);
		CHECK(*(uint64_t *)(p + 15 * PAGE + 120) ==
		      18 * 1000003 + 15);
		if (!pid)
			_exit(0);
		wait_ok(pid);
		_exit(0);
	}
	wait_ok(pid);
	CHECK(filled(p, 16, 18));
}

static void dontfork(void)
{
	char *p = map_pages(16);
	int pid;

	fill(p, 16, 18);
	CHECK(madvise(p + 4 * PAGE, 4 * PAGE, MADV_DONTFORK) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		catch_faults();
		CHECK(filled(p, 4, 18));
		CHECK(touch_faults(p + 4 * PAGE, 0) == SEGV_MAPERR);
		_exit(0);
	}
	wait_ok(pid);
	CHECK(filled(p, 16, 18));
	CHECK(madvise(p + 4 * PAGE, 4 * PAGE, MADV_DOFORK) == 0);
}

#define RESERVED (1ul << 40)

static char *reserve(void)
{
	char *p = mmap(NULL, RESERVED, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void reserve_mprotect(void)
{
	char *p = reserve();

	for (uint64_t i = 0; i < 200; i++) {
		char *q = p + i * (RESERVED / 200) / PAGE * PAGE;

		CHECK(mprotect(q, 16 * PAGE, RW) == 0);
		CHECK(zeroed(q, PAGE));
		fill(q, 16, i);
	}
	pause_ms(60);
	for (uint64_t i = 0; i < 200; i++)
		CHECK(filled(p + i * (RESERVED / 200) / PAGE * PAGE, 16, i));
	catch_faults();
	CHECK(touch_faults(p + 64 * PAGE, 0) == SEGV_ACCERR);
	CHECK(mprotect(p, 16 * PAGE, PROT_NONE) == 0);
	CHECK(madvise(p, 16 * PAGE, MADV_DONTNEED) == 0);
	CHECK(mprotect(p, 16 * PAGE, RW) == 0);
	CHECK(zeroed(p, 16 * PAGE));
	CHECK(munmap(p, RESERVED) == 0);
}

static void reserve_fixed(void)
{
	char *p = reserve();

	for (uint64_t i = 0; i < 200; i++) {
		char *q = p + i * (RESERVED / 200) / PAGE * PAGE;

		CHECK(mmap(q, 16 * PAGE, RW, ANON | MAP_FIXED, -1, 0) == q);
		fill(q, 16, i);
	}
	for (uint64_t i = 0; i < 200; i += 2) { /* and back to nothing */
		char *q = p + i * (RESERVED / 200) / PAGE * PAGE;

		CHECK(mmap(q, 16 * PAGE, PROT_NONE,
			   ANON | MAP_FIXED | MAP_NORESERVE, -1, 0) == q);
	}
	pause_ms(60);
	for (uint64_t i = 1; i < 200; i += 2)
		CHECK(filled(p + i * (RESERVED / 200) / PAGE * PAGE, 16, i));
	catch_faults();
	CHECK(touch_faults(p, 0) == SEGV_ACCERR);
	CHECK(munmap(p, RESERVED) == 0);
}

/* Pages in the middle, at either end, and all of what is left. */
static void unmap_parts(void)
{
	static const struct {
		size_t at, pages;
	} parts[] = { { 6, 4 }, { 0, 2 }, { 14, 2 }, { 2, 4 }, { 10, 4 } };
	char *p;

	for (int round = 0; round < 3; round++) {
		p = map_pages(16);
		fill(p, 16, 5);
		for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
			char *q = p + parts[i].at * PAGE;

			q[100] = 9;
			CHECK(munmap(q + 1, PAGE) == -1 && errno == EINVAL);
			CHECK(munmap(q, 0) == -1 && errno == EINVAL);
			CHECK(q[100] == 9);
			CHECK(munmap(q, parts[i].pages * PAGE) == 0);
			CHECK(msync(q, PAGE, MS_ASYNC) == -1 &&
			      errno == ENOMEM);
		}
		CHECK(mmap(p, 16 * PAGE, RW, ANON | MAP_FIXED, -1, 0) == p);
		CHECK(zeroed(p, 16 * PAGE));
		CHECK(munmap(p, 16 * PAGE) == 0);
	}
}

/* What is sealed stays, with what is in it. */
static void sealed(void)
{
	char *p = map_pages(8);

	fill(p, 8, 6);
	if (syscall(462 /* mseal */, p, 8 * PAGE, 0))
		UNSUPPORTED("mseal");
	for (int i = 0; i < 3; i++) {
		CHECK(munmap(p, 8 * PAGE) == -1 && errno == EPERM);
		CHECK(filled(p, 8, 6));
	}
}

/* What is locked cannot be thrown away. */
static void locked_dontneed(void)
{
	char *p = map_pages(4);

	fill(p, 4, 7);
	if (mlock(p, 4 * PAGE))
		UNSUPPORTED("mlock");
	CHECK(madvise(p, 4 * PAGE, MADV_DONTNEED) == -1 && errno == EINVAL);
	CHECK(filled(p, 4, 7));
	CHECK(munlock(p, 4 * PAGE) == 0);
	CHECK(madvise(p, 4 * PAGE, MADV_DONTNEED) == 0);
	CHECK(zeroed(p, 4 * PAGE));
}

/* A function that returns value. */
static void emit(unsigned char *p, uint32_t value)
{
#ifdef __aarch64__
	const uint32_t code[] = {
		0x52800000 | (value & 0xffff) << 5, /* mov w0, #low */
		0x72a00000 | value >> 16 << 5, /* movk w0, #high, lsl #16 */
		0xd65f03c0, /* ret */
	};

	memcpy(p, code, sizeof(code));
	__builtin___clear_cache((char *)p, (char *)p + sizeof(code));
#else
	p[0] = 0xb8;
	memcpy(p + 1, &value, 4);
	p[5] = 0xc3;
#endif
}

static void jit(void)
{
	unsigned char *p = map_pages(64);
	uint64_t total = 0;

	for (uint32_t round = 0; round < 50; round++) {
		for (uint32_t i = 0; i < 64; i++)
			emit(p + i * PAGE, round * 1000 + i);
		CHECK(mprotect(p, 64 * PAGE, PROT_READ | PROT_EXEC) == 0);
		for (uint32_t i = 0; i < 64; i++)
			total += ((uint32_t (*)(void))(p + i * PAGE))();
		CHECK(mprotect(p, 64 * PAGE, RW) == 0);
	}
	printf("W^X: %lu\n", total);
	p = mmap(NULL, 8 * PAGE, RW | PROT_EXEC, ANON, -1, 0);
	CHECK(p != MAP_FAILED);
	for (uint32_t round = 0; round < 5000; round++) {
		unsigned char *f = p + round % 8 * PAGE;

		emit(f, round);
		total += ((uint32_t (*)(void))f)();
	}
	printf("RWX: %lu\n", total);
}

static void heap_brk(void)
{
	char *base = sbrk(0);
	char *p = (char *)(((uintptr_t)base + PAGE - 1) & ~(PAGE - 1));

	for (size_t pages = 1; pages <= 1024; pages *= 4) {
		CHECK(brk(p + pages * PAGE) == 0);
		CHECK(pages == 1 || filled(p, pages / 4, pages / 4));
		CHECK(zeroed(p + pages / 4 * PAGE, (pages - pages / 4) * PAGE));
		fill(p, pages, pages);
	}
	CHECK(brk(p + 512 * PAGE + 100) == 0);
	CHECK(filled(p, 512, 1024));
	CHECK(brk(p + 1024 * PAGE) == 0);
	CHECK(filled(p, 512, 1024));
	CHECK(zeroed(p + 513 * PAGE, 511 * PAGE));
	/* What lies past a break inside a page is kept by Linux or zero. */
	for (int i = 0; i < 2000; i++)
		CHECK(sbrk(i % 2 ? -24 : 24) != (void *)-1);
	pause_ms(60);
	CHECK(filled(p, 512, 1024));
	CHECK(brk(base) == 0);
	CHECK(brk(p + 64 * PAGE) == 0);
	CHECK(zeroed(p, 64 * PAGE));
	CHECK(brk(base) == 0);
}

static char bss[300 * PAGE];
static char data[20 * PAGE] = { 1, 2, 3 };

static void data_and_bss(void)
{
	CHECK(data[0] == 1 && data[2] == 3 && zeroed(bss, sizeof(bss)));
	fill(bss, 300, 19);
	fill(data, 20, 20);
	for (int i = 0; i < 10; i++) {
		pause_ms(12);
		CHECK(filled(bss, 300, 19) && filled(data, 20, 20));
	}
	printf("%016lx\n", sum(bss, sizeof(bss)));
}

static void many_maps(int count)
{
	uint64_t total = 0;
	char **maps = malloc(count * sizeof(*maps));

	for (int i = 0; i < count; i++) {
		maps[i] = mmap(NULL, PAGE, RW, ANON, -1, 0);
		CHECK(maps[i] != MAP_FAILED);
		*(int *)maps[i] = i;
	}
	for (int i = 0; i < count; i++) {
		CHECK(*(int *)maps[i] == i);
		total += *(int *)maps[i];
	}
	for (int i = 0; i < count; i += 16) /* leave holes */
		CHECK(munmap(maps[i], PAGE) == 0);
	for (int i = 0; i < count; i++)
		CHECK(i % 16 == 0 || *(int *)maps[i] == i);
	printf("%d adjacent mappings: %lu\n", count, total);
}

static void maps_20000(void)
{
	many_maps(20000);
}

/* More than vm.max_map_count: to the kernel they are a single mapping. */
static void maps_70000(void)
{
	many_maps(70000);
}

/* A recursion in a stack of our own that grows down on demand. */
static uint64_t descend(int depth)
{
	volatile char room[3000];

	memset((char *)room, depth & 127, sizeof(room));
	if (depth == 0)
		return 0;
	return descend(depth - 1) + room[2999];
}

static uint64_t descend_result;

static void on_grown_stack(int sig)
{
	descend_result = descend(100);
}

static void growsdown(void)
{
	char *area = mmap(NULL, 1024 * PAGE, PROT_NONE, ANON, -1, 0);
	char *top = area + 1024 * PAGE;
	char *p;
	stack_t ss = { 0 };
	struct sigaction sa = { .sa_handler = on_grown_stack,
				.sa_flags = SA_ONSTACK };

	CHECK(area != MAP_FAILED && munmap(area, 1024 * PAGE) == 0);
	p = mmap(top - 8 * PAGE, 8 * PAGE, RW,
		 ANON | MAP_FIXED | MAP_GROWSDOWN | MAP_STACK, -1, 0);
	CHECK(p == top - 8 * PAGE);
	/* The kernel checks the size given, not that all of it is mapped. */
	ss.ss_sp = top - 200 * PAGE;
	ss.ss_size = 200 * PAGE;
	CHECK(sigaltstack(&ss, NULL) == 0);
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	CHECK(raise(SIGUSR1) == 0);
	printf("grew down: %lu\n", descend_result);
}

static void deep_stack(void)
{
	uint64_t total = 0;

	for (int i = 0; i < 10; i++) {
		total += descend(2000); /* 6 MiB */
		pause_ms(10);
	}
	printf("%lu\n", total);
}

static void locked(void)
{
	char *p;

	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_MEMLOCK, &none);
		UNSUPPORTED("mlockall");
	}
	p = map_pages(256);
	fill(p, 256, 21);
	pause_ms(60);
	CHECK(filled(p, 256, 21));
	CHECK(munmap(p, 256 * PAGE) == 0);
	p = map_pages(64);
	CHECK(zeroed(p, 64 * PAGE));
	CHECK(munlockall() == 0);
}

/* Where pages are that it shares. */
static void placement_shared(void)
{
	static void *pages[64];
	static int status[64];
	char *p = mmap(NULL, 64 * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int there = 0, missing = 0;

	CHECK(p != MAP_FAILED);
	for (int i = 0; i < 64; i++) {
		pages[i] = p + i * PAGE;
		if (i % 2)
			p[i * PAGE] = 1;
	}
	if (syscall(SYS_move_pages, 0, 1, pages + 1, NULL, status, 0))
		UNSUPPORTED("move_pages");
	pause_ms(60);
	CHECK(syscall(SYS_move_pages, 0, 64, pages, NULL, status, 0) == 0);
	for (int i = 0; i < 64; i++) {
		there += i % 2 && status[i] >= 0;
		missing += i % 2 == 0 && status[i] == -ENOENT;
	}
	printf("%d shared pages have a node, %d do not exist\n", there, missing);
	CHECK(munmap(p, 64 * PAGE) == 0);
}

/* Where its pages are, the program asks, and has them moved. */
static void placement(void)
{
	static unsigned char in[512];
	static void *pages[512];
	static int status[512];
	char *p = map_pages(512);
	int nodes[512] = { 0 }, there = 0, missing = 0, mode = -1, moved = 0;
	unsigned long node0 = 1;

	for (int i = 0; i < 512; i++) {
		pages[i] = p + i * PAGE;
		if (i % 2)
			p[i * PAGE] = 1;
	}
	if (syscall(SYS_move_pages, 0, 1, pages + 1, NULL, status, 0))
		UNSUPPORTED("move_pages");
	pause_ms(60);
	CHECK(syscall(SYS_move_pages, 0, 512, pages, NULL, status, 0) == 0);
	for (int i = 0; i < 512; i++) {
		there += i % 2 && status[i] >= 0;
		missing += i % 2 == 0 && status[i] == -ENOENT;
	}
	printf("%d pages have a node, %d do not exist\n", there, missing);
	pause_ms(60);
	CHECK(syscall(SYS_move_pages, getpid(), 512, pages, nodes, status,
		      MPOL_MF_MOVE) >= 0);
	for (int i = 1; i < 512; i += 2)
		moved += status[i] == 0;
	CHECK(mincore(p, 512 * PAGE, in) == 0);
	for (int i = there = 0; i < 512; i++)
		there += in[i] & 1;
	printf("%d are on node 0, %d in core\n", moved, there);
	CHECK(syscall(SYS_migrate_pages, 0, 8, &node0, &node0) == 0);
	CHECK(syscall(SYS_mbind, p, 512 * PAGE, MPOL_BIND, &node0, 8,
		      MPOL_MF_MOVE) == 0);
	CHECK(syscall(SYS_get_mempolicy, &mode, NULL, 0, p, MPOL_F_ADDR) == 0);
	CHECK(mode == MPOL_BIND && p[PAGE] == 1 && p[2 * PAGE] == 0);
	/* A policy goes with its mapping. */
	CHECK(munmap(p, 512 * PAGE) == 0);
	CHECK(mmap(p, 512 * PAGE, RW, ANON | MAP_FIXED, -1, 0) == p);
	CHECK(syscall(SYS_get_mempolicy, &mode, NULL, 0, p, MPOL_F_ADDR) == 0);
	CHECK(mode == MPOL_DEFAULT && zeroed(p, 512 * PAGE));
}

/* The kernel's views of memory: mincore, smaps, /proc/self/mem. */
static void views(void)
{
	char *p = map_pages(32);
	unsigned char in[32];
	char back[8];
	struct iovec local = { back, 8 }, remote = { p + 3 * PAGE + 24, 8 };
	int fd = open("/proc/self/mem", O_RDWR);

	CHECK(fd >= 0);
	fill(p, 32, 22);
	CHECK(mincore(p, 32 * PAGE, in) == 0 && (in[5] & 1));
	CHECK(process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 8);
	CHECK(*(uint64_t *)back == 22 * 1000003 + 3);
	CHECK(pread(fd, back, 8, (off_t)(p + 4 * PAGE + 32)) == 8);
	CHECK(*(uint64_t *)back == 22 * 1000003 + 4);
	CHECK(pwrite(fd, "written", 8, (off_t)(p + 9 * PAGE)) == 8);
	printf("%s\n", p + 9 * PAGE);
	CHECK(madvise(p, 32 * PAGE, MADV_WILLNEED) == 0);
	CHECK(madvise(p, 32 * PAGE, MADV_DONTDUMP) == 0);
	CHECK(mprotect(p, PAGE, PROT_READ) == 0);
	CHECK(madvise(p + PAGE, 31 * PAGE, MADV_POPULATE_WRITE) == 0 ||
	      errno == EINVAL);
	CHECK(filled(p, 9, 22));
}

static void populate(void)
{
	char *p = mmap(NULL, 512 * PAGE, RW, ANON | MAP_POPULATE, -1, 0);
	char *z;
	int fd = open("/dev/zero", O_RDWR);

	CHECK(p != MAP_FAILED && zeroed(p, 512 * PAGE));
	fill(p, 512, 23);
	z = mmap(NULL, 64 * PAGE, RW, MAP_PRIVATE, fd, 0);
	CHECK(z != MAP_FAILED && zeroed(z, 64 * PAGE));
	fill(z, 64, 24);
	pause_ms(60);
	CHECK(filled(p, 512, 23) && filled(z, 64, 24));
}

/* 64 MiB, aligned and advised for huge pages; khugepaged or not. */
static void huge(void)
{
	size_t bytes = 32 * MIB;
	char *p;

	CHECK(posix_memalign((void **)&p, 2 * MIB, bytes) == 0);
	madvise(p, bytes, MADV_HUGEPAGE);
	fill(p, bytes / PAGE, 25);
	pause_ms(60);
	CHECK(filled(p, bytes / PAGE, 25));
	CHECK(madvise(p + 3 * PAGE, 5 * PAGE, MADV_DONTNEED) == 0);
	CHECK(zeroed(p + 3 * PAGE, 5 * PAGE));
	CHECK(filled(p, 3, 25));
	free(p);
}

static void sysv(void)
{
	int id = shmget(IPC_PRIVATE, 64 * PAGE, IPC_CREAT | 0600);
	char *p, *q;
	int pid;

	if (id < 0)
		UNSUPPORTED("System V shared memory");
	p = shmat(id, NULL, 0);
	q = shmat(id, NULL, 0);
	CHECK(p != (void *)-1 && q != (void *)-1 && p != q);
	CHECK(shmctl(id, IPC_RMID, NULL) == 0);
	fill(p, 64, 26);
	CHECK(filled(q, 64, 26));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		fill(q, 64, 27);
		_exit(0);
	}
	wait_ok(pid);
	CHECK(filled(p, 64, 27));
	CHECK(shmdt(p) == 0 && shmdt(q) == 0);
}

/* munmap gives memory back: 3 GiB pass through 8 MiB at a time. */
static void churn(void)
{
	uint64_t total = 0;

	for (int i = 0; i < 384; i++) {
		char *p = map_pages(2048);

		fill(p, 64, i);
		total += sum(p, 64);
		CHECK(zeroed(p + 1024 * PAGE, PAGE));
		CHECK(munmap(p, 2048 * PAGE) == 0);
	}
	printf("%016lx\n", total);
}

static void out_of_memory(void)
{
	struct rlimit as = { 512 * MIB, 512 * MIB };
	int n = 0;

	CHECK(setrlimit(RLIMIT_AS, &as) == 0);
	while (n < 100 && mmap(NULL, 64 * MIB, RW, ANON, -1, 0) != MAP_FAILED)
		n++;
	CHECK(n < 9 && errno == ENOMEM);
	CHECK(mmap((void *)123, PAGE, RW, ANON | MAP_FIXED, -1, 0) ==
	      MAP_FAILED);
	CHECK(errno == EINVAL);
	CHECK(mmap(NULL, 0, RW, ANON, -1, 0) == MAP_FAILED);
	CHECK(errno == EINVAL);
	CHECK(mmap(NULL, PAGE, RW, MAP_PRIVATE, 12345, 0) == MAP_FAILED);
	CHECK(errno == EBADF);
	CHECK(munmap((void *)123, PAGE) < 0 && errno == EINVAL);
	CHECK(syscall(SYS_mremap, 4096, 1, 1, 0, 0) < 0 && errno == EFAULT);
}

/* Where nothing of a plain program's is, and the recorder has code and data. */
#define TAKEN ((char *)0x180000)
#define TAKEN_PAGES 17

static void take(int how)
{
	char *p = map_pages(64), *q;

	fill(p, 64, 1);
	switch (how) {
	case 0:
		CHECK(!munmap(TAKEN + PAGE, PAGE));
		break;
	case 1:
		CHECK(!munmap(TAKEN, TAKEN_PAGES * PAGE));
		break;
	case 2:
		q = mmap(TAKEN, TAKEN_PAGES * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		CHECK(q == TAKEN);
		fill(q, TAKEN_PAGES, 2);
		break;
	case 3:
		q = mmap(TAKEN, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			 0);
		CHECK(q == TAKEN);
		fill(q, 1, 2);
		break;
	case 4:
		q = mremap(map_pages(4), 4 * PAGE, 4 * PAGE,
			   MREMAP_MAYMOVE | MREMAP_FIXED, TAKEN + 2 * PAGE);
		CHECK(q == TAKEN + 2 * PAGE);
		fill(q, 4, 2);
		break;
	case 5:
		CHECK(mprotect(TAKEN, PAGE, PROT_READ | PROT_WRITE) &&
		      errno == ENOMEM);
		break;
	default:
		CHECK(mremap(TAKEN + PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE) ==
			      MAP_FAILED && errno == EFAULT);
	}
	/* Goes on, and is right. */
	CHECK(filled(p, 64, 1) && !munmap(p, 32 * PAGE));
	fill(map_pages(64), 64, 3);
}

static void taken(void)
{
	int pid;

	for (int how = 0; how < 7; how++) {
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			take(how);
			_exit(0);
		}
		wait_ok(pid);
	}
	take(2);
}

static const struct test_case cases[] = {
	{ "shared-fork", shared_fork },
	{ "fixed-overlay", fixed_overlay },
	{ "mremap-grow", mremap_grow },
	{ "mremap-move", mremap_move },
	{ "mremap-shrink", mremap_shrink },
	{ "mremap-dontunmap", mremap_dontunmap },
	{ "mremap-adjacent", mremap_adjacent },
	{ "guard-pages", guard_pages },
	{ "sigbus", sigbus },
	{ "efault", efault },
	{ "dontneed", dontneed },
	{ "free", free_pages },
	{ "wipeonfork", wipeonfork },
	{ "wipeonfork-nested", wipeonfork_nested },
	{ "dontfork", dontfork },
	{ "reserve-mprotect", reserve_mprotect },
	{ "reserve-fixed", reserve_fixed },
	{ "unmap-parts", unmap_parts },
	{ "sealed", sealed },
	{ "locked-dontneed", locked_dontneed },
	{ "jit", jit },
	{ "brk", heap_brk },
	{ "data-bss", data_and_bss },
	{ "maps-20000", maps_20000 },
	{ "maps-70000", maps_70000 },
	{ "growsdown", growsdown },
	{ "deep-stack", deep_stack },
	{ "mlockall", locked },
	{ "placement", placement },
	{ "placement-shared", placement_shared },
	{ "views", views },
	{ "populate", populate },
	{ "huge", huge },
	{ "sysv-shm", sysv },
	{ "churn", churn },
	{ "errors", out_of_memory },
	{ "taken", taken },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}

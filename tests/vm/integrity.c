// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Data stays right while pages are made to fault every 5 ms: workers, each of
 * which does one thing that a kernel does with pages, check their own.
 * usage: integrity SECONDS [keep | heat] [NAME...]; keep: huge pages stay huge; heat:
 * their bits are cleared each millisecond as well. On a
 * busy host it takes longer: until all that is asked for has happened.
 */
#include <dirent.h>
#include <elf.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "session.h"

#define WORDS (PAGE / 8)
#define HUGE (2ul << 20)
#define SKIP (-1)

/* What a worker says of one round. */
#define WANT(is) do { if (!(is)) { worker_line = __LINE__; return 1; } } while (0)

static int worker_line;
static char self[256];
static unsigned char *huge_given;	/* made before anybody is traced */

static uint64_t pattern(size_t page, uint64_t round)
{
	return (page + 1) * 0x9e3779b97f4a7c15ull ^ round << 20;
}

/* A word of each page, elsewhere in each. */
static void fill(uint64_t *m, size_t pages, uint64_t round)
{
	for (size_t i = 0; i < pages; i++)
		m[i * WORDS + i % WORDS] = pattern(i, round);
}

static int is_filled(const uint64_t *m, size_t pages, uint64_t round)
{
	for (size_t i = 0; i < pages; i++)
		if (((volatile const uint64_t *)m)[i * WORDS + i % WORDS] !=
		    pattern(i, round))
			return 0;
	return 1;
}

static void *map(size_t pages)
{
	void *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(9);
	return p;
}

static void nap(unsigned int round)
{
	usleep(1000 + round % 7 * 1000);
}

/* ---- workers ---- */

static int do_memory(unsigned int round)
{
	static uint64_t *m;

	m = m ?: map(256);
	fill(m, 256, round);
	WANT(is_filled(m, 256, round));
	nap(round);
	WANT(is_filled(m, 256, round));
	return 0;
}

static int do_fork(unsigned int round)
{
	static uint64_t *m;
	int status;
	pid_t pid;

	m = m ?: map(128);
	fill(m, 128, round);
	pid = fork();
	if (!pid) {
		int good = is_filled(m, 128, round);

		nap(round);
		good &= is_filled(m, 128, round);
		fill(m, 128, ~round);
		good &= is_filled(m, 128, ~round);
		if (round % 4 == 0)
			execl(self, "integrity", "image", NULL);
		_exit(!good);
	}
	for (size_t i = 0; i < 128; i += 2)	/* breaks COW on this side */
		m[i * WORDS + (i + 1) % WORDS] = round;
	WANT(is_filled(m, 128, round));
	WANT(waitpid(pid, &status, 0) == pid && status == 0);
	WANT(is_filled(m, 128, round));
	return 0;
}

static int do_map(unsigned int round)
{
	const size_t n = 96;
	uint64_t *m = map(n), *to;

	fill(m, n, round);
	WANT(!mprotect(m, n * PAGE, PROT_READ));
	WANT(is_filled(m, n, round));
	WANT(!mprotect(m, n / 2 * PAGE, PROT_NONE));
	nap(round);
	WANT(!mprotect(m, n * PAGE, PROT_READ | PROT_WRITE));
	WANT(is_filled(m, n, round));
	to = mremap(m, n * PAGE, 2 * n * PAGE, MREMAP_MAYMOVE);
	WANT(to != MAP_FAILED && is_filled(to, n, round));
	WANT(!madvise(to + 16 * WORDS, 16 * PAGE, MADV_DONTNEED));
	for (size_t i = 16; i < 32; i++)
		WANT(!to[i * WORDS + i % WORDS]);
	WANT(is_filled(to, 16, round));
	/* What was freed and written again stays; the rest may be zero. */
	WANT(!madvise(to + 32 * WORDS, 16 * PAGE, MADV_FREE));
	nap(round);
	for (size_t i = 32; i < 48; i++) {
		uint64_t v = to[i * WORDS + i % WORDS];

		WANT(!v || v == pattern(i, round));
		to[i * WORDS + i % WORDS] = i;
	}
	nap(round);
	for (size_t i = 32; i < 48; i++)
		WANT(to[i * WORDS + i % WORDS] == i);
	WANT(!munmap(to + 64 * WORDS, 8 * PAGE));
	WANT(!munmap(to, 2 * n * PAGE));
	return 0;
}

static void *use_page(void *m)
{
	for (;; usleep(1000))
		++*(volatile uint64_t *)m;
	return NULL;
}

/* A whole table moves, and a part of one, in a process of two threads. */
static int do_remap(unsigned int round)
{
	const size_t n = HUGE / PAGE + 64;
	static uint64_t *a, *b;
	pthread_t t;

	if (!a) {
		a = map(5 * HUGE / PAGE);
		a = (void *)(((uintptr_t)a + HUGE - 1) & ~(HUGE - 1));
		b = a + 2 * HUGE / PAGE * WORDS;
		WANT(!pthread_create(&t, NULL, use_page, map(1)));
	}
	WANT(mmap(a, n * PAGE, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE |
		  MAP_ANONYMOUS, -1, 0) == a);
	fill(a, n, round);
	WANT(mremap(a, n * PAGE, n * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, b) ==
	     b && is_filled(b, n, round));
	nap(round);
	a += WORDS;
	WANT(mremap(b, n * PAGE, n * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, a) ==
	     a && is_filled(a, n, round));
	fill(a, n, ~round);
	WANT(is_filled(a, n, ~round));
	a -= WORDS;
	return 0;
}

/* A mapped file, and what read and write make of it. */
static int check_file(int fd, off_t at, size_t n, unsigned int round)
{
	uint64_t *f = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			   fd, at);
	uint64_t *copy = map(n);

	WANT(f != MAP_FAILED);
	fill(f, n, round);
	nap(round);
	WANT(is_filled(f, n, round));
	WANT(!msync(f, n * PAGE, MS_SYNC));
	WANT(pread(fd, copy, n * PAGE, at) == (ssize_t)(n * PAGE));
	WANT(is_filled(copy, n, round));
	fill(copy, n, round + 1);
	WANT(pwrite(fd, copy, n * PAGE, at) == (ssize_t)(n * PAGE));
	WANT(is_filled(f, n, round + 1));
	WANT(!munmap(f, n * PAGE) && !munmap(copy, n * PAGE));
	return 0;
}

static int do_file(unsigned int round)
{
	static int fd = -1;

	if (fd < 0) {
		fd = open("/tmp/integrity.file", O_RDWR | O_CREAT, 0600);
		WANT(fd >= 0 && !ftruncate(fd, 64 * PAGE));
	}
	return check_file(fd, 0, 64, round);
}

/* The far end of the disk: its begin takes the results. */
#define DISK "/dev/vda"
#define DISK_AT (400l << 20)

static int do_disk(unsigned int round)
{
	static int fd = -1;

	if (fd < 0)
		fd = open(DISK, O_RDWR);
	return fd < 0 ? SKIP : check_file(fd, DISK_AT, 32, round);
}

static int do_direct(unsigned int round)
{
	const size_t n = 32, bytes = n * PAGE;
	static uint64_t *m, *back;
	static int fd = -1;

	if (fd < 0)
		fd = open(DISK, O_RDWR | O_DIRECT);
	if (fd < 0)
		return SKIP;
	m = m ?: map(n);
	back = back ?: map(n);
	fill(m, n, round);
	nap(round);
	WANT(pwrite(fd, m, bytes, DISK_AT + (8 << 20)) == (ssize_t)bytes);
	fill(back, n, ~round);
	nap(round);
	WANT(pread(fd, back, bytes, DISK_AT + (8 << 20)) == (ssize_t)bytes);
	WANT(is_filled(back, n, round));
	return 0;
}

static int do_pipe(unsigned int round)
{
	uint64_t *m = map(16), *back = map(16);
	struct iovec v = { m, 16 * PAGE };
	int p[2];

	fill(m, 16, round);
	WANT(!pipe(p));
	nap(round);
	WANT(vmsplice(p[1], &v, 1, 0) == 16 * PAGE);
	nap(round);
	for (size_t at = 0; at < 16 * PAGE;) {
		ssize_t got = read(p[0], (char *)back + at, 16 * PAGE - at);

		WANT(got > 0);
		at += got;
	}
	WANT(is_filled(back, 16, round) && is_filled(m, 16, round));
	close(p[0]);
	close(p[1]);
	munmap(m, 16 * PAGE);
	munmap(back, 16 * PAGE);
	return 0;
}

/* Another's memory, from outside: no fault of its own. */
static int do_remote(unsigned int round)
{
	static uint64_t *m, *back;
	struct iovec mine, its;
	int go[2], good;
	pid_t pid;
	char c;

	m = m ?: map(64);
	back = back ?: map(64);
	mine = (struct iovec){ back, 64 * PAGE };
	its = (struct iovec){ m, 64 * PAGE };
	fill(m, 64, round);
	WANT(!pipe(go));
	pid = fork();
	if (!pid) {
		close(go[1]);
		_exit(read(go[0], &c, 1) < 0 || !is_filled(m, 64, round + 1));
	}
	nap(round);
	WANT(process_vm_readv(pid, &mine, 1, &its, 1, 0) == 64 * PAGE);
	WANT(is_filled(back, 64, round));
	fill(back, 64, round + 1);
	nap(round);
	WANT(process_vm_writev(pid, &mine, 1, &its, 1, 0) == 64 * PAGE);
	nap(round);
	close(go[0]);
	close(go[1]);
	WANT(waitpid(pid, &good, 0) == pid && !good);
	return 0;
}

static int do_ptrace(unsigned int round)
{
	static uint64_t *m;
	int status;
	pid_t pid;

	m = m ?: map(16);
	fill(m, 16, round);
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(!is_filled(m, 16, round + 1));
	}
	WANT(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	for (size_t i = 0; i < 16; i++) {
		uint64_t *at = &m[i * WORDS + i % WORDS];

		errno = 0;
		WANT((uint64_t)ptrace(PTRACE_PEEKDATA, pid, at, NULL) ==
		     pattern(i, round) && !errno);
		if (i % 4 == 0)
			nap(round);
		WANT(!ptrace(PTRACE_POKEDATA, pid, at, pattern(i, round + 1)));
	}
	WANT(!ptrace(PTRACE_CONT, pid, NULL, NULL));
	WANT(waitpid(pid, &status, 0) == pid && !status);
	return 0;
}

/* The words that a core file has of region m are what was there. */
static int check_core(const char *path, const uint64_t *m, size_t n,
		      unsigned int round)
{
	Elf64_Phdr ph = { 0 };
	uint64_t *back = map(n);
	int fd = open(path, O_RDONLY), found = 0;
	Elf64_Ehdr eh;

	WANT(fd >= 0 && read(fd, &eh, sizeof(eh)) == sizeof(eh));
	for (int i = 0; i < eh.e_phnum && !found; i++) {
		WANT(pread(fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)) ==
		     sizeof(ph));
		found = ph.p_type == PT_LOAD && ph.p_vaddr <= (uintptr_t)m &&
			ph.p_vaddr + ph.p_filesz >= (uintptr_t)(m + n * WORDS);
	}
	WANT(found);
	WANT(pread(fd, back, n * PAGE, ph.p_offset + (uintptr_t)m -
		   ph.p_vaddr) == (ssize_t)(n * PAGE));
	WANT(is_filled(back, n, round));
	munmap(back, n * PAGE);
	close(fd);
	return 0;
}

static int do_core(unsigned int round)
{
	const struct rlimit r = { RLIM_INFINITY, RLIM_INFINITY };
	static uint64_t *m;
	char path[64];
	int status, err;
	pid_t pid;

	m = m ?: map(64);
	fill(m, 64, round);
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_CORE, &r);
		for (size_t i = 0; i < 64; i += 3)	/* some are its own */
			m[i * WORDS + (i + 5) % WORDS] = 1;
		nap(round);
		abort();
	}
	WANT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	WANT(WCOREDUMP(status));
	snprintf(path, sizeof(path), "/tmp/core.%d", pid);
	err = check_core(path, m, 64, round);
	unlink(path);
	return err;
}

static int do_mlock(unsigned int round)
{
	uint64_t *m = map(64);

	WANT(!mlock(m, 32 * PAGE));
	fill(m, 64, round);
	WANT(!mlock(m, 64 * PAGE));
	nap(round);
	WANT(is_filled(m, 64, round));
	WANT(!munlock(m, 48 * PAGE));
	fill(m, 64, round + 1);
	nap(round);
	WANT(is_filled(m, 64, round + 1));
	munmap(m, 64 * PAGE);
	return 0;
}

/* ---- userfaultfd: what is missing is given, every protected write is told ---- */

#define UFFD_PAGES 16

static struct {
	int fd;
	uint64_t *m;
	unsigned int round;
	volatile int missing, protect;
} uffd;

static void *uffd_give(void *arg)
{
	uint64_t *page = map(1);

	for (;;) {
		struct uffd_msg msg;
		uint64_t addr, i;

		if (read(uffd.fd, &msg, sizeof(msg)) != sizeof(msg))
			continue;
		addr = msg.arg.pagefault.address & ~(PAGE - 1);
		i = (addr - (uintptr_t)uffd.m) / PAGE;
		if (msg.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP) {
			struct uffdio_writeprotect wp = { { addr, PAGE }, 0 };

			uffd.protect++;
			ioctl(uffd.fd, UFFDIO_WRITEPROTECT, &wp);
		} else {
			struct uffdio_copy c = { addr, (uintptr_t)page, PAGE,
						 0, 0 };

			memset(page, 0, PAGE);
			page[i % WORDS] = pattern(i, uffd.round);
			uffd.missing++;
			ioctl(uffd.fd, UFFDIO_COPY, &c);
		}
	}
	return NULL;
}

static int uffd_open(void)
{
	struct uffdio_api api = { .api = UFFD_API,
				  .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
	struct uffdio_register r = {
		.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP
	};
	pthread_t t;

	uffd.fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd.fd < 0 || ioctl(uffd.fd, UFFDIO_API, &api))
		return -1;
	uffd.m = map(UFFD_PAGES);
	r.range.start = (uintptr_t)uffd.m;
	r.range.len = UFFD_PAGES * PAGE;
	if (ioctl(uffd.fd, UFFDIO_REGISTER, &r))
		return -1;
	return pthread_create(&t, NULL, uffd_give, NULL) ? -1 : 0;
}

static int do_uffd(unsigned int round)
{
	struct uffdio_writeprotect wp;

	if (!uffd.m && uffd_open())
		return SKIP;
	uffd.round = round;
	uffd.missing = uffd.protect = 0;
	WANT(!madvise(uffd.m, UFFD_PAGES * PAGE, MADV_DONTNEED));
	WANT(is_filled(uffd.m, UFFD_PAGES, round));
	WANT(uffd.missing == UFFD_PAGES);
	wp = (struct uffdio_writeprotect){
		{ (uintptr_t)uffd.m, UFFD_PAGES * PAGE },
		UFFDIO_WRITEPROTECT_MODE_WP
	};
	WANT(!ioctl(uffd.fd, UFFDIO_WRITEPROTECT, &wp));
	nap(round);
	WANT(is_filled(uffd.m, UFFD_PAGES, round) && !uffd.protect);
	nap(round);
	fill(uffd.m, UFFD_PAGES, round + 1);
	WANT(uffd.protect == UFFD_PAGES);
	WANT(is_filled(uffd.m, UFFD_PAGES, round + 1));
	return 0;
}

/* ---- what the kernel does behind a program's back ---- */

static int write_to(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY), err;

	if (fd < 0)
		return -errno;
	err = write(fd, value, strlen(value)) < 0 ? -errno : 0;
	close(fd);
	return err;
}

static long number_in(const char *path)
{
	FILE *f = fopen(path, "r");
	long n = -1;

	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static int do_ksm(unsigned int round)
{
	static uint64_t *m;

	if (!m) {
		if (number_in("/sys/kernel/mm/ksm/run") != 1)
			return SKIP;
		m = map(128);
		WANT(!madvise(m, 128 * PAGE, MADV_MERGEABLE));
	}
	for (size_t i = 0; i < 128; i++)	/* all equal */
		m[i * WORDS] = round;
	for (int i = 0; i < 20; i++)
		nap(round);
	for (size_t i = 0; i < 128; i++)
		WANT(m[i * WORDS] == round);
	for (size_t i = 0; i < 128; i += 2)
		m[i * WORDS] = i;
	nap(round);
	for (size_t i = 0; i < 128; i++)
		WANT(m[i * WORDS] == (i % 2 ? round : i));
	return 0;
}

static int do_swap(unsigned int round)
{
	static uint64_t *m;

	if (!m) {
		if (access("/sys/block/zram0", F_OK))
			return SKIP;
		m = map(512);
	}
	fill(m, 512, round);
	nap(round);
	WANT(!madvise(m, 512 * PAGE, MADV_PAGEOUT));
	nap(round);
	WANT(is_filled(m, 512, round));
	WANT(!madvise(m, 256 * PAGE, MADV_PAGEOUT));
	fill(m, 512, round + 1);
	nap(round);
	WANT(is_filled(m, 512, round + 1));
	return 0;
}

static int do_huge(unsigned int round)
{
	const size_t n = HUGE / PAGE;
	static uint64_t *m;
	pid_t pid;
	int status;

	if (!m) {
		/* Given: filled with round 1 before; huge if the machine could. */
		m = (uint64_t *)huge_given;
		WANT(is_filled(m, 2 * n, 1));
	}
	fill(m, 2 * n, round);
	nap(round);
	WANT(is_filled(m, 2 * n, round));
	pid = fork();
	if (!pid)
		_exit(!is_filled(m, 2 * n, round));
	m[7] = m[n * WORDS + 7] = round;
	WANT(waitpid(pid, &status, 0) == pid && !status);
	WANT(is_filled(m, 2 * n, round));
	if (round % 3 == 0) {	/* is split by that, and collapsed again */
		WANT(!madvise(m + WORDS, PAGE, MADV_DONTNEED));
		m[WORDS + 1] = pattern(1, round);
		madvise(m, 2 * HUGE, 25 /* MADV_COLLAPSE */);
		WANT(is_filled(m, 2 * n, round));
	}
	return 0;
}

static int do_move(unsigned int round)
{
	static uint64_t *m;
	void *pages[64];
	int nodes[64], status[64];

	if (access("/sys/devices/system/node/node1", F_OK))
		return SKIP;
	m = m ?: map(64);
	fill(m, 64, round);
	for (size_t i = 0; i < 64; i++) {
		pages[i] = m + i * WORDS;
		nodes[i] = (round + i) % 2;
	}
	WANT(syscall(SYS_move_pages, 0, 64, pages, nodes, status, 2) >= 0);
	nap(round);
	WANT(is_filled(m, 64, round));
	fill(m, 64, round + 1);
	WANT(is_filled(m, 64, round + 1));
	return 0;
}

/* ---- all of them ---- */

static const struct { const char *name; int (*once)(unsigned int); } all[] = {
	{ "memory", do_memory }, { "fork", do_fork }, { "map", do_map },
	{ "remap", do_remap }, { "file", do_file }, { "disk", do_disk },
	{ "direct", do_direct }, { "pipe", do_pipe }, { "remote", do_remote },
	{ "ptrace", do_ptrace }, { "core", do_core }, { "mlock", do_mlock },
	{ "userfaultfd", do_uffd }, { "ksm", do_ksm }, { "swap", do_swap },
	{ "huge", do_huge }, { "move", do_move },
};
#define WORKERS (sizeof(all) / sizeof(*all))

static struct state {
	volatile int go, stop;
	struct { pid_t pid; volatile int rounds, result, line; } w[WORKERS];
} *state;

static void worker(size_t me)
{
	unsigned int round = 1;

	while (!state->stop) {
		int result = all[me].once(round += 2);

		if (result) {
			state->w[me].result = result;
			state->w[me].line = worker_line;
			_exit(0);
		}
		state->w[me].rounds++;
	}
	_exit(0);
}

/* Registered alone; all others are its children. */
static void root(const char *wanted[WORKERS + 1])
{
	size_t n = 2 * HUGE;
	pid_t pid;
	char *p = mmap(NULL, n + HUGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	huge_given = (void *)(((uintptr_t)p + HUGE - 1) & ~(HUGE - 1));
	madvise(huge_given, n, MADV_HUGEPAGE);
	fill((uint64_t *)huge_given, n / PAGE, 1);
	state->go = 1;
	while (state->go < 2)
		usleep(1000);
	for (size_t i = 0; i < WORKERS; i++) {
		int want = !wanted[0];

		for (int k = 0; wanted[k]; k++)
			want |= !strcmp(wanted[k], all[i].name);
		if (!want)
			continue;
		pid = fork();
		if (!pid)
			worker(i);
		state->w[i].pid = pid;
	}
	for (size_t i = 0; i < WORKERS; i++)
		if (state->w[i].pid)
			waitpid(state->w[i].pid, NULL, 0);
	_exit(0);
}

/* A swap device of zram: a header is all that swapon wants. */
static void make_swap(void)
{
	static char page[PAGE];
	int fd;

	if (access("/sys/block/zram0", F_OK))
		return;
	if (write_to("/sys/block/zram0/disksize", "64M"))
		die("disksize of zram0");
	((uint32_t *)page)[256] = 1;
	((uint32_t *)page)[257] = (64 << 20) / PAGE - 1;
	memcpy(page + PAGE - 10, "SWAPSPACE2", 10);
	fd = open("/dev/zram0", O_WRONLY);
	if (fd < 0 || write(fd, page, PAGE) != PAGE || close(fd) ||
	    swapon("/dev/zram0", 0))
		die("swapon /dev/zram0");
}

static void set_up_kernel(void)
{
	const char *thp = "/sys/kernel/mm/transparent_hugepage/khugepaged/";
	char path[128];

	write_to("/proc/sys/kernel/core_pattern", "/tmp/core.%p");
	write_to("/sys/kernel/mm/ksm/sleep_millisecs", "2");
	write_to("/sys/kernel/mm/ksm/pages_to_scan", "500");
	write_to("/sys/kernel/mm/ksm/run", "1");
	snprintf(path, sizeof(path), "%sscan_sleep_millisecs", thp);
	write_to(path, "10");
	write_to("/proc/sys/kernel/numa_balancing", "1");
	write_to("/sys/kernel/debug/sched/numa_balancing/scan_delay_ms", "10");
	write_to("/sys/kernel/debug/sched/numa_balancing/scan_period_min_ms",
		 "20");
	make_swap();
}

static void tear_down_kernel(void)
{
	write_to("/sys/kernel/mm/ksm/run", "2");
	write_to("/proc/sys/kernel/core_pattern", "core");
	if (!access("/sys/block/zram0", F_OK)) {
		if (swapoff("/dev/zram0") ||
		    write_to("/sys/block/zram0/reset", "1"))
			die("swapoff /dev/zram0");
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static int took_part(const char *name)
{
	for (size_t i = 0; i < WORKERS; i++)
		if (!strcmp(all[i].name, name))
			return state->w[i].pid && !state->w[i].result;
	return 0;
}

static long vmstat(const char *name)
{
	FILE *f = fopen("/proc/vmstat", "r");
	char line[64];
	long n;

	while (f && fscanf(f, "%63s %ld", line, &n) == 2)
		if (!strcmp(line, name)) {
			fclose(f);
			return n;
		}
	die(name);
	return 0;
}

static const char *const events[] = { "pswpout", "cow_ksm",
				      "numa_pte_updates" };
static const char *const of[] = { "swap", "ksm", "move" };

/* What the kernel was to do to the workers it has done. */
static void check_reached(const long before[3], long huge, int keep)
{
	for (int i = 0; i < 3; i++) {
		long n = vmstat(events[i]) - before[i];

		if (took_part(of[i]))
			check(n > 0, events[i], "none of it");
	}
	if (took_part("huge") && keep)
		check(huge > 0, "huge pages", "no record of one");
}

#define INJECTED 5000
#define FALSE_FAULTS 2500

/* Whether all that main() asks for has happened. */
static int is_enough(struct session *s, const long before[3], long huge,
		     int keep)
{
	struct moca_totals t = session_totals(s);

	if (t.injected <= INJECTED || t.false_faults <= FALSE_FAULTS)
		return 0;
	for (size_t i = 0; i < WORKERS; i++)
		if (state->w[i].pid && !state->w[i].rounds &&
		    !state->w[i].result)
			return 0;
	for (int i = 0; i < 3; i++)
		if (took_part(of[i]) && vmstat(events[i]) <= before[i])
			return 0;
	return !keep || !took_part("huge") || huge > 0;
}

static void count_huge(void *arg, const struct moca_chunk_head *h,
		       const struct moca_rec *rec)
{
	const struct moca_rec_access *a = (const void *)rec;

	if (rec->type == MOCA_REC_ACCESS && a->flags & MOCA_ACC_HUGE)
		++*(long *)arg;
}

static void say(void)
{
	for (size_t i = 0; i < WORKERS; i++) {
		if (!state->w[i].pid)
			continue;
		if (state->w[i].result == SKIP)
			printf("skip %s: this guest has none\n", all[i].name);
		else
			check(!state->w[i].result && state->w[i].rounds,
			      all[i].name, "wrong at line %d, in round %d",
			      state->w[i].line, state->w[i].rounds + 1);
		if (state->w[i].result != SKIP)
			printf("%s: %d rounds\n", all[i].name,
			       state->w[i].rounds);
	}
}

int main(int argc, char **argv)
{
	int keep = argc > 2 && !strcmp(argv[2], "keep");
	int heat = argc > 2 && !strcmp(argv[2], "heat");
	const struct moca_setup setup = {
		.interval_ns = 5000000, .ring_chunks = 128,
		.flags = keep ? MOCA_SETUP_KEEP_THP : 0,
		.heat_ns = heat ? 1000000 : 0,
	};
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct moca_totals t;
	struct session s;
	long huge = 0, before[3];
	size_t records = 0;
	double end, stopped = 0;
	pid_t pid;

	if (argc > 1 && !strcmp(argv[1], "image"))
		return do_memory(1);
	setvbuf(stdout, NULL, _IOLBF, 0);
	self[n > 0 ? n : 0] = 0;
	set_up_kernel();
	before[0] = vmstat("pswpout");
	before[1] = vmstat("cow_ksm");
	before[2] = vmstat("numa_pte_updates");
	state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (!pid) {
		/* Whatever hangs ends with us, and is missed. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		root((const char **)argv + 2 + (keep || heat));
	}
	while (!state->go)
		usleep(1000);
	session_open(&s, &setup);
	if (session_register(&s, pid))
		die("REGISTER");
	session_do(&s, MOCA_IOC_START, "START");
	state->go = 2;
	end = now() + atoi(argv[1]);
	while (waitpid(pid, NULL, WNOHANG) != pid) {
		struct pollfd p = { .fd = s.fd, .events = POLLIN };

		if (!stopped && now() > end &&
		    (is_enough(&s, before, huge, keep) || now() > end + 90)) {
			state->stop = 1;
			stopped = now();
		}
		poll(&p, 1, 20);
		records += session_drain(&s, count_huge, &huge);
		if (stopped && now() > stopped + 90) {
			check(0, "end", "workers did not end");
			kill(pid, SIGKILL);
			break;
		}
	}
	t = session_totals(&s);
	printf("%llu intervals, %llu held, %llu injected, %llu false faults, "
	       "%llu swept, %zu records, %llu lost\n", t.interval, t.held,
	       t.injected, t.false_faults, t.swept, records, t.lost);
	check(t.injected > INJECTED && t.false_faults > FALSE_FAULTS,
	      "injection",
	      "%llu pages, %llu false faults", t.injected, t.false_faults);
	if (heat)
		check(t.looks > t.interval + 10 && t.hot > 10000, "heat",
		      "%llu looks, %llu pages", t.looks, t.hot);
	say();
	check_reached(before, huge, keep);
	printf("%ld records of huge pages\n", huge);
	session_close(&s);
	tear_down_kernel();
	return failures != 0;
}

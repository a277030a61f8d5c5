/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The corpus: corners of memory calls: what few programs do, and all may. */
#include "case.h"

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static int temporary(size_t pages)
{
	int fd = open(".", O_TMPFILE | O_RDWR, 0600);

	CHECK(fd >= 0 && !ftruncate(fd, pages * PAGE));
	return fd;
}

static void *map_fd(int fd, size_t pages, int flags)
{
	void *p = mmap(NULL, pages * PAGE, RW, flags, fd, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* Pages that were not yet copied follow the file; copied ones do not. */
static void follows(int fd)
{
	char *all = map_fd(fd, 64, MAP_SHARED), *own = map_fd(fd, 64, MAP_PRIVATE);
	int same = 0;

	fill(all, 64, 1);
	fill(own, 16, 2);
	pause_ms(120);
	fill(all, 64, 3);
	CHECK(filled(own, 16, 2));
	for (int i = 16; i < 64; i++)
		same += !memcmp(all + i * PAGE, own + i * PAGE, PAGE);
	CHECK(pwrite(fd, "written", 8, 40 * PAGE) == 8);
	printf("%d of 48 pages follow, and %s\n", same, own + 40 * PAGE);
	CHECK(!munmap(own, 64 * PAGE) && !munmap(all, 64 * PAGE));
	close(fd);
}

static void cow_file(void)
{
	follows(temporary(64));
}

static void cow_memfd(void)
{
	int fd = memfd_create("cow", 0);

	CHECK(!ftruncate(fd, 64 * PAGE));
	follows(fd);
}

static void cow_shm(void)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/corner-%d", getpid());
	fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	CHECK(fd >= 0 && !shm_unlink(name) && !ftruncate(fd, 64 * PAGE));
	follows(fd);
}

/* A file that shrinks below a private mapping: SIGBUS behind its end. */
static sigjmp_buf out;
static volatile int got_signal, got_code;
static void *volatile got_address;

static void caught(int sig, siginfo_t *info, void *context)
{
	got_signal = sig;
	got_code = info->si_code;
	got_address = info->si_addr;
	siglongjmp(out, 1);
}

static void catch(int sig, int flags)
{
	struct sigaction sa = { .sa_sigaction = caught,
				.sa_flags = SA_SIGINFO | flags };

	CHECK(!sigaction(sig, &sa, NULL));
}

#define FAULTS(what, address)                                               \
	do {                                                                \
		got_signal = 0;                                             \
		if (!sigsetjmp(out, 1))                                     \
			what;                                               \
		printf("signal %d, code %d, address %s\n", got_signal,      \
		       got_code, got_address == (void *)(address) ? "right" \
								  : "wrong"); \
	} while (0)

static void file_shrinks(void)
{
	int fd = temporary(8);
	volatile char *own = map_fd(fd, 8, MAP_PRIVATE);

	catch(SIGBUS, 0);
	own[0] = 1;
	own[7 * PAGE] = 7;
	CHECK(!ftruncate(fd, 2 * PAGE));
	FAULTS(own[3 * PAGE] = 1, own + 3 * PAGE);
	FAULTS((void)own[7 * PAGE], own + 7 * PAGE);
	printf("%d\n", own[0]);
	CHECK(!ftruncate(fd, 8 * PAGE));
	printf("%d\n", own[7 * PAGE]);
}

static void fault_codes(void)
{
	volatile char *p = map_pages(4);

	catch(SIGSEGV, 0);
	p[0] = p[PAGE] = 1;
	pause_ms(60);
	CHECK(!mprotect((void *)p, PAGE, PROT_READ));
	CHECK(!mprotect((void *)(p + PAGE), PAGE, PROT_NONE));
	CHECK(!munmap((void *)(p + 2 * PAGE), PAGE));
	FAULTS(p[5] = 1, p + 5);
	FAULTS((void)p[PAGE + 9], p + PAGE + 9);
	FAULTS((void)p[2 * PAGE + 1], p + 2 * PAGE + 1);
	FAULTS(((void (*)(void))(p + 3 * PAGE))(), p + 3 * PAGE);
	printf("%d\n", p[0]);
}

static void sysv_fork(void)
{
	int id = shmget(IPC_PRIVATE, 32 * PAGE, IPC_CREAT | 0600), pid;
	char *p = shmat(id, NULL, 0), *q;

	CHECK(p != (void *)-1 && !shmctl(id, IPC_RMID, NULL));
	fill(p, 32, 1);
	pid = fork();
	if (!pid) {
		CHECK(filled(p, 32, 1));
		fill(p, 32, 2);
		_exit(0);
	}
	wait_ok(pid);
	q = shmat(id, NULL, SHM_RDONLY);
	CHECK(q != (void *)-1 && filled(q, 32, 2) && filled(p, 32, 2));
	CHECK(!shmdt(p) && !shmdt(q));
	errno = 0;
	printf("%d %d\n", (int)(long)shmat(id, NULL, 0), errno);
}

static void shared_anon(void)
{
	long *p = mmap(NULL, 64 * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int pids[4];

	CHECK(p != MAP_FAILED);
	for (int i = 0; i < 4; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			for (int n = 0; n < 20000; n++)
				__atomic_fetch_add(p + n % 64 * 512, 1,
						   __ATOMIC_RELAXED);
			_exit(0);
		}
	}
	for (int i = 0; i < 4; i++)
		wait_ok(pids[i]);
	for (int i = 1; i < 64; i++)
		p[0] += p[i * 512];
	printf("%ld\n", p[0]);
}

static void terabyte(void)
{
	size_t size = 1ul << 40, step = 1ul << 33;
	char *p = mmap(NULL, size, RW, ANON | MAP_NORESERVE, -1, 0);
	unsigned long sum = 0;

	if (p == MAP_FAILED)
		UNSUPPORTED("a mapping of a terabyte");
	for (size_t at = 0; at < size; at += step)
		p[at] = at / step;
	pause_ms(60);
	for (size_t at = 0; at < size; at += step)
		sum += (unsigned char)p[at];
	printf("%lu\n", sum);
	CHECK(!madvise(p, size, MADV_DONTNEED) && !p[5 * step]);
	CHECK(!mprotect(p + step, step, PROT_READ) && !munmap(p, size));
}

static void reserved(void)
{
	char *p = mmap(NULL, 1ul << 42, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);

	CHECK(p != MAP_FAILED);
	for (int i = 0; i < 200; i++) {
		char *part = p + i * 37 * 16 * PAGE;

		CHECK(!mprotect(part, 16 * PAGE, RW));
		fill(part, 16, i);
		if (i % 3 == 0)
			CHECK(mmap(part, 16 * PAGE, PROT_NONE,
				   ANON | MAP_FIXED | MAP_NORESERVE, -1,
				   0) == part);
	}
	for (int i = 0; i < 200; i++)
		CHECK(i % 3 == 0 || filled(p + i * 37 * 16 * PAGE, 16, i));
}

static void hugetlb(void)
{
	char *p = mmap(NULL, 2 * MIB, RW, ANON | MAP_HUGETLB, -1, 0);

	if (p == MAP_FAILED) {
		printf("none: %d\n", errno);
		return;
	}
	memset(p, 1, 2 * MIB);
	printf("%d\n", p[MIB]);
}

static void thp(void)
{
	char *p = mmap(NULL, 8 * MIB, RW, ANON, -1, 0);
	char *a = (char *)(((uintptr_t)p + 2 * MIB - 1) & -(2 * MIB));

	CHECK(!madvise(a, 4 * MIB, MADV_HUGEPAGE));
	fill(a, 1024, 1);
	madvise(a, 4 * MIB, MADV_COLLAPSE);
	pause_ms(60);
	CHECK(filled(a, 1024, 1));
	CHECK(!madvise(a + PAGE, PAGE, MADV_DONTNEED) && zeroed(a + PAGE, PAGE));
	CHECK(!munmap(a + 8 * PAGE, 3 * PAGE) && filled(a + 16 * PAGE, 1, 1) == 0);
	CHECK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0);
	printf("%ld\n", (long)prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
}

/* Memory that holds no huge page, or is inside one, is not collapsed. */
static void collapse(void)
{
	char *p = mmap(NULL, 8 * MIB, RW, ANON, -1, 0), *q;
	char *a = (char *)(((uintptr_t)p + 2 * MIB - 1) & -(2 * MIB));

	/* A mapping of its own, as of other rights. */
	q = mmap(NULL, 64 * PAGE, PROT_READ, ANON, -1, 0);
	CHECK(p != MAP_FAILED && q != MAP_FAILED);
	if (madvise(a, 0, MADV_COLLAPSE))
		UNSUPPORTED("MADV_COLLAPSE");
	fill(p, 2048, 1);
	printf("small %d", madvise(q, 64 * PAGE, MADV_COLLAPSE));
	printf(", inside %d", madvise(a + PAGE, 4 * PAGE, MADV_COLLAPSE));
	printf(", at its begin %d", madvise(a, 4 * PAGE, MADV_COLLAPSE));
	printf(", across %d", madvise(a + MIB, 2 * MIB, MADV_COLLAPSE));
	CHECK(!munmap(a + 4 * MIB, PAGE));
	printf(", to a hole %d\n", madvise(a + 3 * MIB, 2 * MIB, MADV_COLLAPSE));
	CHECK(filled(p, (a - p) / PAGE + 1024, 1));
}

static void advice(void)
{
	static const struct {
		const char *name;
		int advice;
	} all[] = {
		{ "normal", 0 }, { "random", 1 }, { "sequential", 2 },
		{ "willneed", 3 }, { "free", 8 }, { "mergeable", 12 },
		{ "unmergeable", 13 }, { "hugepage", 14 },
		{ "nohugepage", 15 }, { "dontdump", 16 }, { "dodump", 17 },
		{ "wipeonfork", 18 }, { "keeponfork", 19 }, { "cold", 20 },
		{ "pageout", 21 }, { "populate-read", 22 },
		{ "populate-write", 23 }, { "none such", 999 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		char *p = map_pages(8);
		int ret;

		fill(p, 8, i);
		ret = madvise(p, 8 * PAGE, all[i].advice);
		printf("%s: %d %d\n", all[i].name, ret, ret ? errno : 0);
		if (all[i].advice != 8)
			CHECK(filled(p, 8, i));
	}
}

static void in_core(void)
{
	unsigned char before[16] = { 0 }, after[16] = { 0 };
	char *p = map_pages(16);
	int a = 0, b = 0;

	CHECK(!mincore(p, 16 * PAGE, before));
	fill(p + 4 * PAGE, 8, 1);
	pause_ms(60);
	CHECK(!mincore(p, 16 * PAGE, after));
	for (int i = 0; i < 16; i++) {
		a += before[i] & 1;
		b += after[i] & 1;
	}
	printf("%d then %d\n", a, b);
}

static long smaps_of(void *p, const char *key)
{
	char line[512];
	FILE *f = fopen("/proc/self/smaps", "r");
	int found = 0;
	long value = -1;

	while (fgets(line, sizeof(line), f) && value < 0) {
		unsigned long start, end;

		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			found = start <= (unsigned long)p &&
				(unsigned long)p < end;
		else if (found && !strncmp(line, key, strlen(key)))
			value = atol(line + strlen(key));
	}
	fclose(f);
	return value;
}

/* What the program reads of itself: memory that it has just touched is there. */
static void resident(void)
{
	char *p = map_pages(256);

	fill(p, 256, 1);
	printf("%s\n", smaps_of(p, "Rss:") >= 1024 ? "resident" : "not there");
}

static void locked(void)
{
	struct rlimit r;
	char *p = map_pages(16);

	CHECK(!getrlimit(RLIMIT_MEMLOCK, &r));
	CHECK(!mlock(p, 4 * PAGE));
	CHECK(!mlock2(p + 4 * PAGE, 4 * PAGE, MLOCK_ONFAULT));
	fill(p, 16, 1);
	pause_ms(60);
	CHECK(filled(p, 16, 1) && !munlock(p, 16 * PAGE));
	CHECK(madvise(p, PAGE, MADV_DONTNEED) == 0 && !p[8]);
	CHECK(!mlockall(MCL_FUTURE | MCL_ONFAULT));
	fill(map_pages(16), 16, 2);
	CHECK(!munlockall());
}

static void pkeys(void)
{
	int key = pkey_alloc(0, 0);
	volatile char *p = map_pages(1);

	if (key < 0)
		UNSUPPORTED("memory protection keys");
	catch(SIGSEGV, 0);
	p[0] = 3;
	CHECK(!pkey_mprotect((void *)p, PAGE, RW, key));
	pkey_set(key, PKEY_DISABLE_WRITE);
	FAULTS(p[0] = 4, p);
	pkey_set(key, PKEY_DISABLE_ACCESS);
	FAULTS((void)p[0], p);
	pkey_set(key, 0);
	pause_ms(60);
	printf("%d\n", p[0]);
	CHECK(!pkey_mprotect((void *)p, PAGE, RW, 0) && !pkey_free(key));
}

static void memfd_secret(void)
{
	int fd = syscall(447, 0);
	char *p;

	if (fd < 0)
		UNSUPPORTED("memfd_secret");
	CHECK(!ftruncate(fd, 4 * PAGE));
	p = mmap(NULL, 4 * PAGE, RW, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	fill(p, 4, 1);
	pause_ms(60);
	CHECK(filled(p, 4, 1));
	printf("write of it: %zd %d\n", write(STDOUT_FILENO, p, 8), errno);
}

static void seals(void)
{
	int fd = memfd_create("sealed", MFD_ALLOW_SEALING);
	char *p, *q;

	CHECK(!ftruncate(fd, 4 * PAGE));
	p = map_fd(fd, 4, MAP_SHARED);
	printf("%d\n", fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	CHECK(!fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK));
	fill(p, 4, 1);
	q = mmap(NULL, 4 * PAGE, RW, MAP_SHARED, fd, 0);
	printf("%s\n", q == MAP_FAILED ? "refused" : "mapped");
	q = map_fd(fd, 4, MAP_PRIVATE);
	q[0] = 9;
	printf("%d %d\n", p[0], fcntl(fd, F_GET_SEALS));
}

static void other_memory(void)
{
	char *p = map_pages(16), *mine = map_pages(16), text[8] = "changed";
	struct iovec l = { mine, 16 * PAGE }, r = { p, 16 * PAGE };
	int go[2], pid, fd;

	fill(p, 16, 7);
	CHECK(!pipe(go));
	pid = fork();
	if (!pid) {
		char c;

		fill(p, 16, 8);
		CHECK(write(go[1], "x", 1) == 1);
		while (p[5 * PAGE] != 'c')
			pause_ms(2);
		CHECK(read(go[0], &c, 0) == 0 && !strcmp(p + 5 * PAGE, text));
		_exit(0);
	}
	CHECK(read(go[0], text + 7, 1) == 1);
	text[7] = 0;
	CHECK(process_vm_readv(pid, &l, 1, &r, 1, 0) == 16 * (ssize_t)PAGE);
	CHECK(filled(mine, 16, 8) && filled(p, 16, 7));
	l = (struct iovec){ text, 8 };
	r = (struct iovec){ p + 5 * PAGE, 8 };
	CHECK(process_vm_writev(pid, &l, 1, &r, 1, 0) == 8);
	wait_ok(pid);
	fd = open("/proc/self/mem", O_RDWR);
	CHECK(pread(fd, mine, PAGE, (off_t)p) == (ssize_t)PAGE);
	CHECK(pwrite(fd, "mem", 4, (off_t)p) == 4);
	printf("%s\n", p);
}

static void policy(void)
{
	unsigned long mask = 1, got = 0;
	char *p = map_pages(64);
	int mode = -1, status[64], there = 0;
	void *pages[64];

	if (syscall(SYS_mbind, p, 64 * PAGE, MPOL_BIND, &mask, 8, 0))
		UNSUPPORTED("mbind");
	fill(p, 64, 1);
	CHECK(!syscall(SYS_get_mempolicy, &mode, &got, 64, p, MPOL_F_ADDR));
	printf("mode %d, nodes %lx\n", mode, got);
	for (int i = 0; i < 64; i++)
		pages[i] = p + i * PAGE;
	CHECK(!syscall(SYS_move_pages, 0, 64, pages, NULL, status, 0));
	for (int i = 0; i < 64; i++)
		there += status[i] == 0;
	printf("%d of 64 on node 0\n", there);
	CHECK(!syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &mask, 8));
	fill(map_pages(8), 8, 1);
	printf("%ld\n", syscall(SYS_migrate_pages, 0, 8, &mask, &mask));
}

static void placed(void)
{
	char *p = map_pages(4), *q;

	fill(p, 4, 1);
	q = mmap(p, PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0);
	printf("%s %d\n", q == MAP_FAILED ? "refused" : "placed", errno);
	q = mmap((void *)0x200000000000, PAGE, RW, ANON, -1, 0);
	printf("%p\n", (void *)q);
	q = mmap(NULL, PAGE, RW, ANON | MAP_32BIT, -1, 0);
	printf("%s\n", (uintptr_t)q >> 32 ? "high" : "low");
	*q = 1;
	q = mmap((void *)0x10000, PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0);
	if (q != MAP_FAILED)
		*q = 1;
	printf("%p %d\n", (void *)q, mmap((void *)1, PAGE, RW,
					  ANON | MAP_FIXED, -1, 0) == MAP_FAILED);
	printf("%d", mmap(NULL, 0, RW, ANON, -1, 0) == MAP_FAILED);
	printf(" %d", errno);
	printf(" %d", munmap(p + 1, PAGE));
	printf(" %d", mprotect(p + 64 * PAGE * 64, 0, RW));
	printf(" %d\n", mmap(NULL, -PAGE, RW, ANON, -1, 0) == MAP_FAILED);
}

static void limited(void)
{
	struct rlimit r = { 512 * MIB, 512 * MIB };
	int n = 0;

	CHECK(!setrlimit(RLIMIT_AS, &r));
	while (n < 100) {
		char *p = mmap(NULL, 32 * MIB, RW, ANON, -1, 0);

		if (p == MAP_FAILED)
			break;
		*p = 1;
		n++;
	}
	printf("%s, error %d\n", n >= 14 && n <= 15 ? "as many as fit" :
	       "another number", errno);
}

static void limited_data(void)
{
	struct rlimit r = { 64 * MIB, 64 * MIB };
	char *none = mmap(NULL, 8 * MIB, PROT_NONE, ANON, -1, 0);
	char *p = NULL, *q;
	int n = 0;

	CHECK(none != MAP_FAILED && !setrlimit(RLIMIT_DATA, &r));
	while (n < 100) {
		q = mmap(NULL, 4 * MIB, RW, ANON, -1, 0);
		if (q == MAP_FAILED)
			break;
		p = q;
		n++;
	}
	printf("%d", mprotect(none, 8 * MIB, RW));
	printf(" %d", mprotect(none, 8 * MIB, PROT_READ));
	printf(" %d", mmap(p, 4 * MIB, RW, ANON | MAP_FIXED, -1, 0) == p);
	printf(" %d", mremap(p, 4 * MIB, 8 * MIB, MREMAP_MAYMOVE) == MAP_FAILED);
	printf(" %d\n", mmap(NULL, 8 * MIB, RW, ANON, -1, 0) == MAP_FAILED);
	errno = 0;
	CHECK(mmap(NULL, 4 * MIB, RW, ANON, -1, 0) == MAP_FAILED);
	printf("%d, error %d, brk %d\n", n, errno,
	       sbrk(8 * MIB) == (void *)-1);
}

/* One mapping takes nearly all that RLIMIT_DATA allows. Memory of Moca's, which
 * is in the process too, must not count. */
static void limited_large(void)
{
	struct rlimit r = { 64 * MIB, RLIM_INFINITY };
	char *p;

	CHECK(!setrlimit(RLIMIT_DATA, &r));
	p = mmap(NULL, 60 * MIB, RW, ANON, -1, 0);
	printf("mmap %d", p != MAP_FAILED);
	CHECK(p == MAP_FAILED || !munmap(p, 60 * MIB));
	p = sbrk(60 * MIB);
	printf(", brk %d", p != (void *)-1);
	CHECK(p == (void *)-1 || sbrk(-60 * MIB) != (void *)-1);
	p = mmap(NULL, 70 * MIB, PROT_NONE, ANON, -1, 0);
	CHECK(p != MAP_FAILED);
	printf(", fixed %d", mmap(p, 60 * MIB, RW, ANON | MAP_FIXED, -1, 0) == p);
	p[60 * MIB - 1] = 1;
	printf(", too large %d %d\n",
	       mmap(NULL, 5 * MIB, RW, ANON, -1, 0) == MAP_FAILED,
	       sbrk(5 * MIB) == (void *)-1);
	CHECK(!getrlimit(RLIMIT_DATA, &r) && r.rlim_cur == 64 * MIB &&
	      r.rlim_max == RLIM_INFINITY);
}

static void dual(void)
{
	static const unsigned char code[] = { 0xb8, 1, 0, 0, 0, 0xc3 };
	int fd = memfd_create("code", 0), sum = 0;
	unsigned char *w, *x;

	CHECK(!ftruncate(fd, 4 * PAGE));
	w = map_fd(fd, 4, MAP_SHARED);
	x = mmap(NULL, 4 * PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	CHECK(x != MAP_FAILED);
	for (int i = 0; i < 200; i++) {
		memcpy(w + i % 4 * PAGE, code, sizeof(code));
		w[i % 4 * PAGE + 1] = i;
		sum += ((int (*)(void))(x + i % 4 * PAGE))();
	}
	printf("%d\n", sum);
}

static void duplicate(void)
{
	char *p = mmap(NULL, 8 * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *q = mremap(p, 0, 8 * PAGE, MREMAP_MAYMOVE), *r;

	CHECK(q != MAP_FAILED && q != p);
	fill(p, 8, 3);
	CHECK(filled(q, 8, 3));
	r = map_pages(8);
	fill(r, 8, 4);
	q = mremap(r, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		   q);
	CHECK(q != MAP_FAILED && filled(q, 8, 4) && filled(p, 8, 3));
	errno = 0;
	printf("%d", mremap(p, PAGE, 2 * PAGE, 0) == MAP_FAILED);
	printf(" %d", mremap(q + 100 * MIB, PAGE, PAGE, 0) == MAP_FAILED);
	printf(" %d\n", errno);
}

static void nonlinear(void)
{
	char *p = map_fd(temporary(8), 8, MAP_SHARED);

	fill(p, 8, 1);
	if (syscall(SYS_remap_file_pages, p, PAGE, 0, 7, 0))
		UNSUPPORTED("remap_file_pages");
	printf("%d\n", !memcmp(p, p + 7 * PAGE, PAGE));
}

static void direct(void)
{
	int fd = open("direct", O_CREAT | O_TRUNC | O_RDWR | O_DIRECT, 0600);
	char *p = map_pages(64), *q = map_pages(64);

	if (fd < 0)
		UNSUPPORTED("O_DIRECT");
	for (int i = 0; i < 40; i++) {
		fill(p, 64, i);
		CHECK(pwrite(fd, p, 64 * PAGE, 0) == 64 * (ssize_t)PAGE);
		memset(q, 0, PAGE);
		CHECK(pread(fd, q, 64 * PAGE, 0) == 64 * (ssize_t)PAGE);
		CHECK(filled(q, 64, i));
		pause_ms(2);
	}
	CHECK(!unlink("direct"));
}

static void holes(void)
{
	int fd = temporary(64);
	char *p = map_fd(fd, 64, MAP_SHARED);

	fill(p, 64, 5);
	CHECK(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			 8 * PAGE, 8 * PAGE));
	CHECK(zeroed(p + 8 * PAGE, 8 * PAGE) && !msync(p, 64 * PAGE, MS_SYNC));
	CHECK(!madvise(p + 32 * PAGE, PAGE, MADV_REMOVE) ||
	      errno == EOPNOTSUPP);
	CHECK(pread(fd, p + 60 * PAGE, PAGE, 8 * PAGE) == (ssize_t)PAGE);
	printf("%d\n", zeroed(p + 60 * PAGE, PAGE));
}

static void named(void)
{
	char *p = map_pages(4);

	prctl(0x53564d41 /* PR_SET_VMA */, 0, p, 4 * PAGE, "corner");
	fill(p, 4, 1);
	CHECK(!mprotect(p + PAGE, PAGE, PROT_READ) && filled(p, 4, 1));
}

static void sealed(void)
{
	char *p = map_pages(4);

	if (syscall(462, p, 2 * PAGE, 0))
		UNSUPPORTED("mseal");
	fill(p, 4, 1);
	printf("%d", munmap(p, PAGE));
	printf(" %d", mprotect(p, PAGE, PROT_READ));
	printf(" %d", mmap(p, PAGE, RW, ANON | MAP_FIXED, -1, 0) == MAP_FAILED);
	printf(" %d\n", munmap(p + 2 * PAGE, PAGE));
	CHECK(filled(p, 2, 1));
}

static void guards(void)
{
	volatile char *p = map_pages(8);

	fill((void *)p, 8, 1);
	if (madvise((void *)(p + 2 * PAGE), 2 * PAGE, 102))
		UNSUPPORTED("MADV_GUARD_INSTALL");
	catch(SIGSEGV, 0);
	pause_ms(60);
	FAULTS(p[2 * PAGE] = 1, p + 2 * PAGE);
	CHECK(!madvise((void *)(p + 2 * PAGE), 2 * PAGE, 103));
	printf("%d %d\n", p[2 * PAGE], filled((void *)(p + 4 * PAGE), 4, 1));
}

static void overflow(int depth)
{
	volatile char here[2048];

	here[0] = depth;
	if (depth)
		overflow(depth + 1);
	here[1] = here[0];
}

/* The stack ends; the handler has one of its own. */
static void own_stack(void)
{
	stack_t s = { .ss_sp = map_pages(16), .ss_size = 16 * PAGE };
	struct rlimit r = { 256 * 1024, 256 * 1024 };

	CHECK(!setrlimit(RLIMIT_STACK, &r) && !sigaltstack(&s, NULL));
	catch(SIGSEGV, SA_ONSTACK);
	for (int i = 0; i < 3; i++) {
		got_signal = 0;
		if (!sigsetjmp(out, 1))
			overflow(1);
		printf("signal %d\n", got_signal);
	}
}

static void children_memory(void)
{
	char *p = map_pages(2048);
	int pid, more;

	fill(p, 2048, 1);
	for (int i = 0; i < 5; i++) {
		pid = fork();
		if (!pid) {
			CHECK(filled(p, 2048, i + 1));
			more = fork();
			if (!more) {
				fill(p, 1024, 77);
				_exit(!filled(p, 1024, 77));
			}
			wait_ok(more);
			_exit(!filled(p, 2048, i + 1));
		}
		fill(p, 2048, i + 2);
		wait_ok(pid);
	}
	CHECK(filled(p, 2048, 6));
}

/* A program with a wild pointer, which finds a page of Moca's when recorded. */
static void scribbles(void)
{
	char *page = (char *)0x181000, *p = map_pages(64);
	unsigned char there;

	for (int i = 0; i < 40; i++) {
		fill(p, 64, i);
		for (int j = 4 * (i % 2); !mincore(page, PAGE, &there) && j < 64; j++)
			page[j] = (char)(0x5a + i + 3 * j);
		CHECK(!munmap(map_pages(1), PAGE));
		pause_ms(4);
		CHECK(filled(p, 64, i));
	}
	puts("went on");
}

/* At an address of its own, as some heaps are: memory of ours may be there. */
static void fixed(void)
{
	char *at = (char *)0x320000000000;
	size_t size = 8ul << 30;
	char *p = mmap(at, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
		       -1, 0);

	CHECK(p == at);
	for (int i = 0; i < 3; i++) {
		fill(p, 64, i);
		fill(p + size / 2, 64, i + 1);
		CHECK(filled(p, 64, i));
		CHECK(filled(p + size / 2, 64, i + 1));
	}
	for (size_t i = 64 * PAGE; i < 64ul << 20; i++)
		CHECK(!p[i]);
	CHECK(!munmap(p, size));
	puts("went on");
}

static const struct test_case cases[] = {
	{ "cow-file", cow_file },
	{ "cow-memfd", cow_memfd },
	{ "cow-shm", cow_shm },
	{ "file-shrinks", file_shrinks },
	{ "fault-codes", fault_codes },
	{ "sysv-fork", sysv_fork },
	{ "shared-anon", shared_anon },
	{ "terabyte", terabyte },
	{ "reserved", reserved },
	{ "hugetlb", hugetlb },
	{ "thp", thp },
	{ "collapse", collapse },
	{ "advice", advice },
	{ "in-core", in_core },
	{ "resident", resident },
	{ "locked", locked },
	{ "pkeys", pkeys },
	{ "memfd-secret", memfd_secret },
	{ "seals", seals },
	{ "other-memory", other_memory },
	{ "policy", policy },
	{ "placed", placed },
	{ "limited", limited },
	{ "limited-data", limited_data },
	{ "limited-large", limited_large },
	{ "dual", dual },
	{ "duplicate", duplicate },
	{ "nonlinear", nonlinear },
	{ "direct", direct },
	{ "holes", holes },
	{ "named", named },
	{ "sealed", sealed },
	{ "guards", guards },
	{ "own-stack", own_stack },
	{ "children-memory", children_memory },
	{ "scribbles", scribbles },
	{ "fixed", fixed },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/calibrate.h"

#include <asm/perf_regs.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/run/recorder.h"
#include "lib/base/arch.h"

#define PAGES 128
#define ROUNDS 4
#define PARTS 8
#define UNSHARED_PAGES 64
/* First touches are measured so often, each on pages of its own. */
#define TOUCH_TRIES 3
#define HUGE (2ul << 20)
#define HUGE_TRIES 8
/* First touches of small pages that the one of a huge page takes at least. */
#define HUGE_FAULTS 8
/* Where nothing can be measured: the figures of a VM of 2026. */
#define DEFAULT_NS 1700.0
#define DEFAULT_TOUCH_NS 1500.0
/*
 * What a real fault costs more than one of this loop, beside perf's sample: cold
 * page tables and caches, and other threads. From make bench: the slowdown at
 * a fixed interval, divided by its repeated faults, less what is measured here.
 */
#define REAL_FAULT_NS 350.0
/* perf's sample, where it cannot be measured; what is believed of a measurement. */
#define SAMPLE_NS 650.0
#define SAMPLE_LEAST_NS 100.0
#define SAMPLE_MOST_NS 3000.0
#define SAMPLE_PAGES 64		/* their samples have room in the ring */
#define RING_PAGES 2
/*
 * How long another thread has to begin on another CPU; none is free, else. 0.1 to
 * 0.2 ms where one is idle, up to a turn of another program where none is.
 */
#define BESIDE_NS 3000000ull

/*
 * Writes: fault-around maps no neighbours for them. CPU time: on a busy machine
 * another program has the CPU for milliseconds in between.
 */
static double touch(volatile char *p, size_t pages)
{
	uint64_t t = moca_thread_cpu_ns();

	for (size_t i = 0; i < pages; i++)
		p[i * PAGE_SIZE] = 1;
	return (double)(moca_thread_cpu_ns() - t) / pages;
}

/* The median of parts: the host may have taken the CPU in one of them. */
static double touch_first(char *p, size_t pages)
{
	double part[PARTS];

	for (size_t i = 0; i < PARTS; i++) {
		double ns = touch(p + i * (pages / PARTS) * PAGE_SIZE,
				  pages / PARTS);
		size_t at = i;

		for (; at && part[at - 1] > ns; at--)
			part[at] = part[at - 1];
		part[at] = ns;
	}
	return part[PARTS / 2];
}

static void read_all(const volatile char *p, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		(void)p[i * PAGE_SIZE];
}

/*
 * ns of a write to a page of a memfd that was read: with userfaultfd, which
 * makes it a fault, as in the program. 0: unknown.
 */
static double measure_write(char *p)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP |
			    UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
	};
	struct uffdio_register r = {
		.range = { (uintptr_t)p, PAGES * PAGE_SIZE },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	double best = 0, ns;

	if (fd < 0)
		return 0;
	if (!ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &r))
		for (int round = 0; round < ROUNDS; round++) {
			madvise(p, PAGES * PAGE_SIZE, MADV_DONTNEED);
			read_all(p, PAGES);
			ns = touch(p, PAGES);
			if (!best || ns < best)
				best = ns;
		}
	close(fd);
	return best;
}

/* ns of repeated touches on a memfd, and of a write after a read, if asked for. */
static double measure_memfd(double *write)
{
	int fd = memfd_create("moca-calibrate", MFD_CLOEXEC);
	double best = 0, ns;
	char *p = MAP_FAILED;

	if (fd < 0)
		return 0;
	if (!ftruncate(fd, PAGES * PAGE_SIZE))
		p = mmap(NULL, PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return 0;
	for (int round = 0; round <= ROUNDS; round++) {
		/* As dear as MADV_DONTNEED_LOCKED, which sweeps use. */
		madvise(p, PAGES * PAGE_SIZE, MADV_DONTNEED);
		ns = touch(p, PAGES);
		/* Round 0 allocates; of the others the least disturbed. */
		if (round && (!best || ns < best))
			best = ns;
	}
	if (write)
		*write = measure_write(p);
	munmap(p, PAGES * PAGE_SIZE);
	return best;
}

/* As sampler.c has it: the faults of this thread. -1: not allowed. */
static int open_faults(void)
{
	struct perf_event_attr a = {
		.size = sizeof(a), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS, .sample_period = 1,
		.disabled = 1, .use_clockid = 1, .clockid = CLOCK_MONOTONIC,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_REGS_INTR,
		.sample_regs_intr = MOCA_PERF_FAULT_REGS,
	};
	int fd = syscall(SYS_perf_event_open, &a, 0, -1, -1,
			 PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		return fd;
	a.exclude_kernel = 1;
	return syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* ns of a repeated touch of p's pages. */
static double touch_again(char *p)
{
	madvise(p, SAMPLE_PAGES * PAGE_SIZE, MADV_DONTNEED);
	return touch(p, SAMPLE_PAGES);
}

/* What a sample takes: the least of faults with it, less the least without. */
static double with_samples(int event, struct perf_event_mmap_page *ring, char *p)
{
	double with = HUGE_VAL, without = HUGE_VAL;

	for (int round = 0; round < ROUNDS; round++) {
		without = fmin(without, touch_again(p));
		/* A full ring takes none. */
		__atomic_store_n(&ring->data_tail, ring->data_head,
				 __ATOMIC_RELEASE);
		ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
		with = fmin(with, touch_again(p));
		ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
	}
	return fmin(fmax(with - without, SAMPLE_LEAST_NS), SAMPLE_MOST_NS);
}

static double measure_sample(void)
{
	size_t ring_len = (1 + RING_PAGES) * PAGE_SIZE;
	size_t len = SAMPLE_PAGES * PAGE_SIZE;
	void *ring = MAP_FAILED, *p;
	double ns = SAMPLE_NS;
	int event = open_faults();

	if (event < 0)
		return ns;
	ring = mmap(NULL, ring_len, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		 -1, 0);
	if (ring != MAP_FAILED && p != MAP_FAILED) {
		touch(p, SAMPLE_PAGES);
		ns = with_samples(event, ring, p);
	}
	if (ring != MAP_FAILED)
		munmap(ring, ring_len);
	if (p != MAP_FAILED)
		munmap(p, len);
	close(event);
	return ns;
}

double calibrate_minor_ns(void)
{
	return measure_memfd(NULL);
}

enum huge_pages { HUGE_NEVER, HUGE_ASKED_FOR, HUGE_ALWAYS };

static enum huge_pages huge_pages(void)
{
	FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
	char line[64] = "";

	if (f) {
		if (!fgets(line, sizeof(line), f))
			line[0] = 0;
		fclose(f);
	}
	return strstr(line, "[always]") ? HUGE_ALWAYS :
	       strstr(line, "[madvise]") ? HUGE_ASKED_FOR : HUGE_NEVER;
}

static double middle(const double *v)
{
	return fmax(fmin(v[0], v[1]), fmin(fmax(v[0], v[1]), v[2]));
}

/*
 * First touches of a memfd and of native memory in small pages, ns: both by turns, and
 * the medians of the tries, as one of them may fall into a moment in which all is slow.
 * What was touched is kept until all tries are done: a page that comes back is in the
 * CPU's cache, and cheaper than a program's. 0: they cannot be measured.
 */
static void measure_touches(double *first, double *native)
{
	double ns[2][TOUCH_TRIES];
	void *maps[2][TOUCH_TRIES];
	size_t len = PAGES * PAGE_SIZE;
	int failed = 0;

	for (int i = 0; i < 2 * TOUCH_TRIES; i++) {
		void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_ANONYMOUS |
			       (i % 2 ? MAP_PRIVATE : MAP_SHARED), -1, 0);

		maps[i % 2][i / 2] = p;
		failed |= p == MAP_FAILED;
		ns[i % 2][i / 2] = p == MAP_FAILED ? 0 : touch_first(p, PAGES);
	}
	for (int i = 0; i < 2 * TOUCH_TRIES; i++)
		if (maps[i % 2][i / 2] != MAP_FAILED)
			munmap(maps[i % 2][i / 2], len);
	*first = failed ? 0 : middle(ns[0]);
	*native = failed ? 0 : middle(ns[1]);
}

/*
 * A first touch of native memory, as the program alone would have it; huge: of
 * memory that it asked for huge pages for.
 */
static double measure_native(int huge, double *free_ns)
{
	size_t pages = huge ? HUGE / PAGE_SIZE : PAGES;
	size_t len = pages * PAGE_SIZE + (pages == PAGES ? 0 : HUGE);
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t at = (uintptr_t)p;
	double ns;
	uint64_t t;

	if (p == MAP_FAILED)
		return 0;
	if (pages != PAGES) {
		at = (at + HUGE - 1) & ~(HUGE - 1);
		madvise((void *)at, HUGE, MADV_HUGEPAGE);
	}
	/* A huge page comes with its first touch. */
	ns = pages == PAGES ? touch_first((char *)at, pages) :
			      touch((char *)at, pages);
	t = moca_thread_cpu_ns();
	munmap(p, len);
	*free_ns = (double)(moca_thread_cpu_ns() - t) / pages;
	return ns;
}

/*
 * The same of a 4 KiB piece of a huge page, where the program asks for these. Where
 * memory is in small pieces, one of some tries may get one; native: where none does.
 */
static double measure_huge(double native)
{
	for (int i = 0; i < HUGE_TRIES; i++) {
		char *p = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		char *at = (char *)(((uintptr_t)p + HUGE - 1) & ~(HUGE - 1));
		size_t rest = HUGE / PAGE_SIZE - 1;
		double ns;

		if (p == MAP_FAILED)
			break;
		madvise(at, HUGE, MADV_HUGEPAGE);
		/* It comes with its first touch, and is cleared then. */
		ns = touch(at, 1);
		if (ns > HUGE_FAULTS * native)
			ns += (double)rest * touch(at + PAGE_SIZE, rest);
		else
			ns = HUGE_VAL;
		munmap(p, 2 * HUGE);
		if (ns < HUGE_VAL)
			return fmin(native, ns * PAGE_SIZE / HUGE);
	}
	return native;
}

/* A page that mmap fills, as below mlockall. The least of some rounds. */
static double measure_fill(void)
{
	size_t len = PAGES * PAGE_SIZE;
	double best = 0;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t t = moca_thread_cpu_ns();
		void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
			       0);
		double ns = (double)(moca_thread_cpu_ns() - t) / PAGES;

		if (p == MAP_FAILED)
			return best;
		munmap(p, len);
		if (!best || ns < best)
			best = ns;
	}
	return best;
}

/* A page that is read first, and then written to: both. 0: unknown. */
static double measure_unshared(void)
{
	size_t len = UNSHARED_PAGES * PAGE_SIZE;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t t;
	double ns;

	if (p == MAP_FAILED)
		return 0;
	madvise(p, len, MADV_NOHUGEPAGE);
	t = moca_thread_cpu_ns();
	read_all(p, UNSHARED_PAGES);
	ns = (double)(moca_thread_cpu_ns() - t) / UNSHARED_PAGES;
	ns += touch_first(p, UNSHARED_PAGES);
	munmap(p, len);
	return ns;
}

/* 0: it does not run yet; 1: it does; 2: it shall end. */
struct beside {
	atomic_int state;
	atomic_int cpu;
};

static void *run_beside(void *arg)
{
	struct beside *b = arg;
	int none = 0;

	atomic_store(&b->cpu, sched_getcpu());
	atomic_compare_exchange_strong(&b->state, &none, 1);
	while (atomic_load(&b->state) != 2)
		;
	return NULL;
}

/*
 * A thread that may run on all CPUs but ours. Nobody waits for its end: on a
 * busy machine it may get a CPU only later.
 */
static int start_beside(struct beside *b)
{
	pthread_attr_t a;
	pthread_t t;
	cpu_set_t cpus;
	int err;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return -1;
	CPU_CLR(sched_getcpu(), &cpus);
	if (!CPU_COUNT(&cpus) || pthread_attr_init(&a))
		return -1;
	err = pthread_attr_setaffinity_np(&a, sizeof(cpus), &cpus) ||
	      pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED) ||
	      pthread_create(&t, &a, run_beside, b);
	pthread_attr_destroy(&a);
	return err;
}

/* The same while another thread runs. 0: none has a CPU for it now. */
static double measure_unshared_beside(void)
{
	static struct beside b;
	uint64_t began = moca_now_ns();
	double ns = 0;

	if (start_beside(&b))
		return 0;
	while (!atomic_load(&b.state) && moca_now_ns() - began < BESIDE_NS)
		;
	if (atomic_load(&b.state) && atomic_load(&b.cpu) != sched_getcpu())
		ns = measure_unshared();
	atomic_store(&b.state, 2);
	return ns;
}

static double measure_call(void)
{
	double best = 0;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t t = moca_now_ns();
		void *p = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		double ns;

		if (p == MAP_FAILED)
			return best;
		munmap(p, PAGE_SIZE);
		ns = (moca_now_ns() - t) / 2.0;
		if (!best || ns < best)
			best = ns;
	}
	return best;
}

struct fault_prices calibrate_prices(void)
{
	struct fault_prices p = {
		.repeated_ns = DEFAULT_NS,
		.touch_ns = DEFAULT_TOUCH_NS,
		.kept_ns = DEFAULT_TOUCH_NS,
		.again_ns = measure_sample(),
	};
	double sample = p.again_ns;
	double first, small, write = 0, minor, unshared, beside, native;
	enum huge_pages huge = huge_pages();

	measure_touches(&first, &small);
	minor = measure_memfd(&write);
	native = measure_native(huge == HUGE_ALWAYS, &p.native_free_ns);
	p.native_touch_ns = native;
	p.native_huge_ns = native;
	if (huge == HUGE_ASKED_FOR)
		p.native_huge_ns = measure_huge(native);
	p.native_call_ns = measure_call();
	p.native_fill_ns = measure_fill();
	/* Huge pages are not copied one by one. */
	unshared = huge == HUGE_ALWAYS ? 0 : measure_unshared();
	beside = unshared ? measure_unshared_beside() : 0;
	p.native_unshare_ns = fmax(0, unshared - native);
	p.native_unshare_threads_ns = fmax(p.native_unshare_ns,
					   beside - native);
	p.again_ns += write;
	if (minor)
		p.repeated_ns = minor + sample + REAL_FAULT_NS;
	if (first && native)
		p.touch_ns = fmax(0, first - (huge == HUGE_ALWAYS ? native : small)) +
			     sample;
	if (minor && native)
		p.kept_ns = minor - native + sample;
	return p;
}

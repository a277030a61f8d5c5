// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/calibrate.h"

#include <sys/mman.h>
#include <unistd.h>

#include "collect/fault/internal.h"
#include "collect/fault/zap.h"

#define PAGES 256
#define ROUNDS 5
/* Where nothing can be measured: the figure of a VM of 2026. */
#define DEFAULT_NS 1700.0
/*
 * What a real fault costs more than one of this loop: perf's sample, cold
 * page tables and caches, and other threads. From make bench: the slowdown at
 * a fixed interval, divided by its repeated faults, less what is measured here.
 */
#define REAL_FAULT_NS 1000.0

double calibrate_minor_ns(void)
{
	int fd = memfd_create("moca-calibrate", MFD_CLOEXEC);
	double best = 0;
	volatile char *p;

	if (fd < 0)
		return 0;
	p = MAP_FAILED;
	if (!ftruncate(fd, PAGES * PAGE_SIZE))
		p = mmap(NULL, PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return 0;
	for (int round = 0; round <= ROUNDS; round++) {
		uint64_t t;
		double ns;

		madvise((void *)p, PAGES * PAGE_SIZE, zap_advice());
		t = moca_now_ns();
		/* Writes: fault-around maps no neighbours for them. */
		for (int i = 0; i < PAGES; i++)
			p[i * PAGE_SIZE] = 1;
		ns = (double)(moca_now_ns() - t) / PAGES;
		/* Round 0 allocates; of the others the least disturbed. */
		if (round && (!best || ns < best))
			best = ns;
	}
	munmap((void *)p, PAGES * PAGE_SIZE);
	return best;
}

double calibrate_fault_ns(void)
{
	double minor = calibrate_minor_ns();

	return minor ? minor + REAL_FAULT_NS : DEFAULT_NS;
}

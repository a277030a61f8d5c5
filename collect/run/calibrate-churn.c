// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/calibrate-churn.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/run/recorder.h"
#include "lib/base/clock.h"
#include "lib/format/meta.h"

#define LINE 64
#define ROUNDS 2
#define SMALL_TIMES 16		/* blocks in a row: one takes too short */

static void write_all(volatile char *p, size_t bytes, size_t step)
{
	for (size_t i = 0; i < bytes; i += step)
		p[i] = 1;
}

/* CPU time, ns, of taking a block, writing each step bytes, and giving it back. */
static double renewed(size_t bytes, size_t step, unsigned int times)
{
	uint64_t t = moca_thread_cpu_ns();

	for (unsigned int i = 0; i < times; i++) {
		char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return 0;
		write_all(p, bytes, step);
		munmap(p, bytes);
	}
	return (double)(moca_thread_cpu_ns() - t);
}

/* The same of one that is kept, and was written before. */
static double kept(char *p, size_t bytes, unsigned int times)
{
	uint64_t t;

	write_all(p, bytes, LINE);
	t = moca_thread_cpu_ns();
	for (unsigned int i = 0; i < times; i++)
		write_all(p, bytes, LINE);
	return (double)(moca_thread_cpu_ns() - t);
}

static struct churn_price measure(size_t bytes, unsigned int times)
{
	double pages = (double)(bytes / PAGE_SIZE) * times * ROUNDS;
	struct churn_price price = { 0, 0 };
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return price;
	for (int i = 0; i < ROUNDS; i++) {
		price.renew_ns += renewed(bytes, PAGE_SIZE, times) / pages;
		price.spared_ns += renewed(bytes, LINE, times) / pages;
		price.spared_ns -= kept(p, bytes, times) / pages;
	}
	munmap(p, bytes);
	return price;
}

static void tell(const struct churn_price *price, const char *renew,
		 const char *spared, struct moca_meta *m)
{
	if (!(price->renew_ns > 0) || !(price->spared_ns > 0))
		return;
	moca_meta_set(m, renew, "%.0f", price->renew_ns);
	moca_meta_set(m, spared, "%.0f", price->spared_ns);
}

void calibrate_churn(struct churn_prices *out)
{
	out->small = measure(CHURN_SMALL_BYTES, SMALL_TIMES);
	out->large = measure(CHURN_LARGE_BYTES, 1);
}

void calibrate_churn_describe(const struct churn_prices *p, struct moca_meta *m)
{
	tell(&p->small, "cost.price.renew_small_ns",
	     "cost.price.spared_small_ns", m);
	tell(&p->large, "cost.price.renew_large_ns",
	     "cost.price.spared_large_ns", m);
}

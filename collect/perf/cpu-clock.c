// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/perf/cpu-clock.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/perf/clock.h"
#include "collect/perf/ring.h"
#include "lib/base/arch.h"

/* Each CPU's: 16 KiB have 250 samples. */
#define RING_PAGES 4ul

struct cpu_ring {
	struct perf_ring perf;	/* not mapped: the CPU is off */
	int fd;
};

struct cpu_clock {
	int kernel;
	uint64_t ahead_ns;		/* our clock of perf's */
	unsigned int cpus, next;	/* next: to be looked at first */
	struct cpu_ring rings[];
};

/* What follows the header of a sample; in the order of perf_event_open(2). */
struct body {
	uint32_t pid, tid;
	uint64_t time, abi, ip;
};

static void describe(struct perf_event_attr *a, uint64_t period_ns, int kernel)
{
	memset(a, 0, sizeof(*a));
	a->size = sizeof(*a);
	a->type = PERF_TYPE_SOFTWARE;
	a->config = PERF_COUNT_SW_CPU_CLOCK;
	a->sample_period = period_ns;
	a->sample_type =
		PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER;
	a->sample_regs_user = MOCA_PERF_IP_REG;
	a->inherit = 1;
	a->disabled = 1;
	a->enable_on_exec = 1;
	a->exclude_kernel = !kernel;
	a->exclude_hv = 1;
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
}

static int open_ring(struct cpu_clock *c, unsigned int cpu, pid_t tid,
		     uint64_t period_ns)
{
	struct cpu_ring *r = &c->rings[cpu];
	struct perf_event_attr a;

	/* In step with no other CPU's, nor with what is done each millisecond. */
	describe(&a, period_ns + 1009 * cpu, c->kernel);
	r->fd = (int)syscall(SYS_perf_event_open, &a, tid, cpu, -1,
			     PERF_FLAG_FD_CLOEXEC);
	if (r->fd < 0)
		return errno == ENODEV ? 0 : -errno;
	return perf_ring_map(&r->perf, r->fd, RING_PAGES);
}

static int open_all(struct cpu_clock *c, pid_t tid, uint64_t period_ns)
{
	int err = 0, any = 0;

	for (unsigned int i = 0; i < c->cpus && !err; i++) {
		err = open_ring(c, i, tid, period_ns);
		any |= c->rings[i].perf.page != NULL;
	}
	return err ? err : any ? 0 : -ENODEV;
}

static void close_all(struct cpu_clock *c)
{
	for (unsigned int i = 0; i < c->cpus; i++) {
		perf_ring_unmap(&c->rings[i].perf);
		if (c->rings[i].fd >= 0)
			close(c->rings[i].fd);
		c->rings[i].fd = -1;
	}
}

int cpu_clock_open(struct cpu_clock **out, pid_t tid, uint64_t period_ns)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct cpu_clock *c;
	int err;

	if (cpus < 1)
		return -ENODEV;
	c = calloc(1, sizeof(*c) + (size_t)cpus * sizeof(*c->rings));
	if (!c)
		return -ENOMEM;
	c->cpus = (unsigned int)cpus;
	c->ahead_ns = perf_clock_ahead();
	for (unsigned int i = 0; i < c->cpus; i++)
		c->rings[i].fd = -1;
	c->kernel = 1;
	err = open_all(c, tid, period_ns);
	if (err == -EACCES || err == -EPERM) {
		close_all(c);
		c->kernel = 0;
		err = open_all(c, tid, period_ns);
	}
	if (err) {
		cpu_clock_close(c);
		return err;
	}
	*out = c;
	return 0;
}

void cpu_clock_close(struct cpu_clock *c)
{
	if (!c)
		return;
	close_all(c);
	free(c);
}

int cpu_clock_has_kernel(const struct cpu_clock *c)
{
	return c->kernel;
}

/* Takes records of r until one is a sample. */
static int take(struct perf_ring *r, struct clock_sample *out, uint64_t *lost)
{
	struct perf_event_header h;
	struct body b;
	int found = 0;
	size_t n;

	perf_ring_look(r);
	while (!found && perf_ring_header(r, &h)) {
		n = perf_ring_length(&h);
		memset(&b, 0, sizeof(b));
		perf_ring_body(r, &b, n < sizeof(b) ? n : sizeof(b));
		perf_ring_skip(r, &h);
		/* Its id, then how many; both are as long as b's first ones. */
		if (h.type == PERF_RECORD_LOST && n >= 16)
			*lost += b.time;
		/* Without registers there is nothing to tell of it. */
		if (h.type != PERF_RECORD_SAMPLE || n < 24)
			continue;
		*out = (struct clock_sample){
			.time_ns = b.time, .pid = b.pid, .tid = b.tid,
			.ip = b.abi == PERF_SAMPLE_REGS_ABI_NONE ? 0 : b.ip,
			.kernel = (h.misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
				  PERF_RECORD_MISC_KERNEL,
		};
		found = 1;
	}
	perf_ring_release(r);
	return found;
}

int cpu_clock_next(struct cpu_clock *c, struct clock_sample *out,
		   uint64_t *lost)
{
	for (unsigned int i = 0; i < c->cpus; i++) {
		struct perf_ring *r = &c->rings[c->next % c->cpus].perf;

		if (r->page && take(r, out, lost)) {
			out->time_ns += c->ahead_ns;
			return 1;
		}
		c->next++;
	}
	return 0;
}

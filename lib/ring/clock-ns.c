// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/ring/clock-ns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/ring/clock.h"

#define TRIES 5		/* of which the quickest is the most exact */

/* The beginning of a file as a string; empty when it cannot be read. */
static void read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	buf[len] = 0;
	if (fd >= 0)
		close(fd);
}

uint32_t tracer_clock_judge(const char *cpuinfo, const char *source)
{
	static const char *const good[] = { "tsc", "kvm-clock",
					    "hyperv_clocksource_tsc_page" };
	size_t len = strcspn(source, "\n"), i;

	if (!strstr(cpuinfo, " constant_tsc") ||
	    !strstr(cpuinfo, " nonstop_tsc"))
		return MOCA_CLOCK_MONOTONIC;
	for (i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (strlen(good[i]) == len && !memcmp(good[i], source, len))
			return MOCA_CLOCK_TSC;
	return MOCA_CLOCK_MONOTONIC;
}

uint32_t tracer_clock_choose(void)
{
	char cpuinfo[4096], source[64];

	read_text("/proc/cpuinfo", cpuinfo, sizeof(cpuinfo));
	read_text("/sys/devices/system/clocksource/clocksource0/"
		  "current_clocksource", source, sizeof(source));
	return tracer_clock_judge(cpuinfo, source);
}

static struct tracer_knot measure(uint32_t kind)
{
	struct tracer_knot best = { 0 };
	uint64_t least = UINT64_MAX, before, ns, after;
	int i;

	for (i = 0; i < TRIES; i++) {
		before = moca_clock_read(kind);
		ns = moca_now_ns();
		after = moca_clock_read(kind);
		if (after - before >= least)
			continue;
		least = after - before;
		best.clock = before + least / 2;
		best.ns = ns;
	}
	return best;
}

int tracer_clock_init(struct tracer_clock *c, uint32_t kind)
{
	memset(c, 0, sizeof(*c));
	c->kind = kind;
	if (kind == MOCA_CLOCK_MONOTONIC)
		return 0;
	c->knots = malloc(TRACER_KNOTS_MAX * sizeof(*c->knots));
	if (!c->knots)
		return -ENOMEM;
	c->knots[0] = c->tip = measure(kind);
	c->count = 1;
	return 0;
}

void tracer_clock_free(struct tracer_clock *c)
{
	free(c->knots);
	c->knots = NULL;
}

/* The rate hardly changes: the older half loses every second knot. */
static void thin_out(struct tracer_clock *c)
{
	size_t i, to = 1, half = c->count / 2;

	for (i = 2; i < half; i += 2)
		c->knots[to++] = c->knots[i];
	memmove(c->knots + to, c->knots + half,
		(c->count - half) * sizeof(*c->knots));
	c->count -= half - to;
}

void tracer_clock_add(struct tracer_clock *c, struct tracer_knot k)
{
	const struct tracer_knot *last;

	if (!c->count || k.clock <= c->tip.clock || k.ns <= c->tip.ns)
		return;
	c->tip = k;
	last = &c->knots[c->count - 1];
	if (k.ns - last->ns < TRACER_KNOT_NS)
		return;
	if (c->count == TRACER_KNOTS_MAX)
		thin_out(c);
	c->knots[c->count++] = k;
}

void tracer_clock_tick(struct tracer_clock *c)
{
	if (c->kind != MOCA_CLOCK_MONOTONIC)
		tracer_clock_add(c, measure(c->kind));
}

void tracer_clock_cover(struct tracer_clock *c, uint64_t clock)
{
	if (c->kind != MOCA_CLOCK_MONOTONIC && clock >= c->tip.clock)
		tracer_clock_tick(c);
}

/* The point at x of the line through a and b; outside of it, saturated. */
static uint64_t on_line(struct tracer_knot a, struct tracer_knot b, uint64_t x)
{
	__int128 d = (__int128)x - a.clock;

	if (b.clock == a.clock)
		return a.ns;
	d = d * (int64_t)(b.ns - a.ns) / (int64_t)(b.clock - a.clock) + a.ns;
	return d < 0 ? 0 : d > INT64_MAX ? INT64_MAX : (uint64_t)d;
}

/* The number of the first knot beyond x; count when there is none. */
static size_t knot_after(const struct tracer_clock *c, uint64_t x)
{
	size_t low = 0, high = c->count, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (c->knots[mid].clock > x)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* Knot n; the one after the last is the tip. */
static struct tracer_knot knot(const struct tracer_clock *c, size_t n)
{
	return n < c->count ? c->knots[n] : c->tip;
}

uint64_t tracer_clock_ns(const struct tracer_clock *c, uint64_t clock)
{
	size_t n;

	if (c->kind == MOCA_CLOCK_MONOTONIC)
		return clock;
	n = knot_after(c, clock);
	if (!n)
		n = 1;
	/* Beyond the last knot, when it is the tip too. */
	if (n == c->count && n > 1 && c->tip.clock == c->knots[n - 1].clock)
		n--;
	return on_line(knot(c, n - 1), knot(c, n), clock);
}

/* Does the line from a to b pass close to all knots between them? */
static int is_straight(const struct tracer_clock *c, struct tracer_knot a,
		       struct tracer_knot b, size_t from)
{
	int64_t off;
	size_t n;

	for (n = from; n < c->count && c->knots[n].clock < b.clock; n++) {
		off = (int64_t)(on_line(a, b, c->knots[n].clock) -
				c->knots[n].ns);
		if (off > TRACER_BEND_NS || off < -TRACER_BEND_NS)
			return 0;
	}
	return 1;
}

uint64_t tracer_clock_straight(const struct tracer_clock *c, uint64_t first,
			       uint64_t last)
{
	struct tracer_knot a = { first, tracer_clock_ns(c, first) };
	struct tracer_knot b = { last, tracer_clock_ns(c, last) };
	size_t from, low, high, mid;

	if (c->kind == MOCA_CLOCK_MONOTONIC)
		return last;
	from = knot_after(c, first);
	if (is_straight(c, a, b, from))
		return last;
	/* To the next knot it is straight; how much further? */
	for (low = from, high = knot_after(c, last); high - low > 1;) {
		mid = (low + high) / 2;
		if (is_straight(c, a, c->knots[mid], from))
			low = mid;
		else
			high = mid;
	}
	return c->knots[low].clock;
}

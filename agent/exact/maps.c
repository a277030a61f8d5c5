// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which addresses hold code. What the kernel says is read anew when an address
 * is not in the table, so calls that change mappings need only take out.
 */
#include <asm/unistd.h>
#include <linux/fcntl.h>

#include "agent/exact/translate.h"
#include "agent/exact/maps.h"

#define RANGES 8192

struct range {
	uint64_t start, end;
	int flags;
};

static struct range *ranges;
static int count;

static int is_ours(const char *line, const char *end)
{
	static const char alloc[] = "/libmoca-alloc.so";
	static const char trace[] = "/libmocatrace.so";

	for (; line < end; line++)
		if ((end - line >= (long)sizeof(alloc) - 1 &&
		     !memcmp(line, alloc, sizeof(alloc) - 1)) ||
		    (end - line >= (long)sizeof(trace) - 1 &&
		     !memcmp(line, trace, sizeof(trace) - 1)))
			return 1;
	return 0;
}

static uint64_t hex(const char **p)
{
	uint64_t v = 0;

	for (;; (*p)++) {
		int c = **p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else
			return v;
	}
}

static void add_range(void *arg, const struct maps_line *l)
{
	struct range r = { l->start, l->end, 0 };

	if (!l->executable || count == RANGES)
		return;
	if (l->writable || l->shared)
		r.flags |= CODE_WRITABLE;
	if (is_ours(l->text, l->text_end))
		r.flags |= CODE_OURS;
	/* Ours: the program has no business there. */
	if (r.start < moca_exact.setup.agent_end &&
	    r.end > moca_exact.setup.agent)
		return;
	if (r.start < moca_exact.setup.zydis_end &&
	    r.end > moca_exact.setup.zydis)
		return;
	if (moca_exact_cache_has(r.start))
		return;
	ranges[count++] = r;
}

static int parse(const char *p, const char *end, struct maps_line *l)
{
	static const char stack[] = "[stack]";

	l->start = hex(&p);
	p++;
	l->end = hex(&p);
	p++;
	if (end - p < 4)
		return -1;
	l->readable = p[0] == 'r';
	l->writable = p[1] == 'w';
	l->executable = p[2] == 'x';
	l->shared = p[3] == 's';
	l->text = p;
	l->text_end = end;
	l->stack = (size_t)(end - p) >= sizeof(stack) - 1 &&
		   !memcmp(end - (sizeof(stack) - 1), stack, sizeof(stack) - 1);
	return 0;
}

/* Into a large buffer; one line never leaves it unfinished. */
void moca_exact_maps(void (*each)(void *arg, const struct maps_line *l),
		     void *arg)
{
	static char text[65536];
	long fd = moca_exact_call(__NR_open, (long)"/proc/self/maps",
				  O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
	struct maps_line l;
	size_t have = 0;

	if (fd < 0) {
		moca_exact_say("/proc/self/maps cannot be read", (uint64_t)-fd);
		return;
	}
	for (;;) {
		long n = moca_exact_call(__NR_read, fd, (long)(text + have),
					 (long)(sizeof(text) - have), 0, 0, 0);
		size_t from = 0;

		if (n <= 0)
			break;
		have += (size_t)n;
		for (size_t i = 0; i < have; i++) {
			if (text[i] != '\n')
				continue;
			if (!parse(text + from, text + i, &l))
				each(arg, &l);
			from = i + 1;
		}
		memmove(text, text + from, have - from);
		have -= from;
	}
	moca_exact_call(__NR_close, fd, 0, 0, 0, 0, 0);
}

static void read_maps(void)
{
	if (!ranges)
		ranges = moca_exact_map(RANGES * sizeof(*ranges));
	count = 0;
	moca_exact_maps(add_range, NULL);
}

static struct range *find(uint64_t pc)
{
	int low = 0, high = count;

	while (low < high) {
		int mid = (low + high) / 2;

		if (ranges[mid].end <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low < count && ranges[low].start <= pc ? &ranges[low] : NULL;
}

int moca_exact_code_at(uint64_t pc, uint64_t *start, uint64_t *end, int *flags)
{
	struct range *r = find(pc);

	if (!r) {
		read_maps();
		r = find(pc);
	}
	if (!r)
		return 0;
	*start = r->start;
	*end = r->end;
	*flags = r->flags;
	return 1;
}

int moca_exact_is_code(uint64_t pc, uint64_t *start, uint64_t *end, int *flags)
{
	int ret;

	moca_exact_lock();
	ret = moca_exact_code_at(pc, start, end, flags);
	moca_exact_unlock();
	return ret;
}

void moca_exact_code_gone(uint64_t start, uint64_t end)
{
	/* Cheap, and rare enough: what is left is read again. */
	for (int i = 0; i < count; i++)
		if (ranges[i].start < end && ranges[i].end > start) {
			count = 0;
			return;
		}
}

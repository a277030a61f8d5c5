// SPDX-License-Identifier: LGPL-2.1-or-later
/* What a C library would do for us. */
#include <asm/unistd.h>
#include <linux/mman.h>

#include "agent/exact/translator.h"

#define CHUNK (1ul << 20)
#define CHUNK_MAX (64ul << 20)
#define TOUCHED (64ul << 10)	/* at once */

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#undef memcpy
#undef memset

void *memcpy(void *to, const void *from, size_t n)
{
	void *ret = to;

	__asm__ volatile("rep movsb"
			 : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	return ret;
}

void *memset(void *p, int value, size_t n)
{
	void *ret = p;

	__asm__ volatile("rep stosb"
			 : "+D"(p), "+c"(n) : "a"(value) : "memory");
	return ret;
}

void *memmove(void *to, const void *from, size_t n)
{
	uint8_t *d = to;
	const uint8_t *s = from;

	if (d <= s || d >= s + n)
		return memcpy(to, from, n);
	while (n--)
		d[n] = s[n];
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;

	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

struct own moca_exact_own[OWN_MAX];
int moca_exact_own_count;

void moca_exact_own_add(uint64_t start, uint64_t end)
{
	if (moca_exact_own_count == OWN_MAX)
		moca_exact_die("too many tables", start);
	moca_exact_own[moca_exact_own_count++] = (struct own){ start, end };
}

void moca_exact_unmap(void *p, size_t size)
{
	for (int i = 0; i < moca_exact_own_count; i++)
		if (moca_exact_own[i].start == (uint64_t)p)
			moca_exact_own[i] =
				moca_exact_own[--moca_exact_own_count];
	moca_exact_call(__NR_munmap, (long)p, (long)size, 0, 0, 0, 0);
	moca_exact_limits_more(-(int64_t)((size + 4095) & -4096ul));
}

static long map_at(uint64_t at, size_t size)
{
	return moca_exact_call(__NR_mmap, (long)at, (long)size,
			       PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				       (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);
}

/*
 * Behind the arena: a hole among the program's mappings may be one that it has
 * just made, for what it will map there, or for a stack to grow into.
 */
void *moca_exact_map(size_t size)
{
	static uint64_t used;
	uint64_t at = moca_exact.arena + MOCA_EXACT_ARENA_SIZE + (1ul << 30) +
		      used;
	long p;

	size = (size + 4095) & -4096ul;
	used += size + 4096;
	moca_exact_limits_more((int64_t)size);
	p = map_at(at, size);
	if ((uint64_t)p != at) {
		if (p >= 0 || p < -4095)
			moca_exact_call(__NR_munmap, p, (long)size, 0, 0, 0, 0);
		p = map_at(0, size);
	}
	if (p < 0 && p > -4096)
		moca_exact_die("no memory for moca's own tables", size);
	moca_exact_own_add((uint64_t)p, (uint64_t)p + size);
	return (void *)p;
}

void *moca_exact_map_anywhere(size_t size)
{
	long p;

	moca_exact_limits_more((int64_t)size);
	p = map_at(0, size);
	if (p < 0 && p > -4096) {
		moca_exact_limits_more(-(int64_t)size);
		return NULL;
	}
	moca_exact_own_add((uint64_t)p, (uint64_t)p + size);
	return (void *)p;
}

void moca_exact_touch(const void *start, size_t size)
{
	moca_exact_call(__NR_madvise, (long)start, (long)size,
			MADV_POPULATE_WRITE, 0, 0, 0);
}

uint8_t *moca_exact_touch_ahead(const uint8_t *at, uint8_t *touched,
				const uint8_t *end)
{
	size_t left = (size_t)(end - touched);

	if (at <= touched || !left)
		return touched;
	left = left < TOUCHED ? left : TOUCHED;
	moca_exact_touch(touched, left);
	return touched + left;
}

void *moca_exact_alloc(size_t size)
{
	static size_t next = CHUNK, left;
	static uint8_t *chunk, *touched;
	void *p;

	size = (size + 15) & -16ul;
	if (size > CHUNK / 4)
		return moca_exact_map(size);
	if (size > left) {
		/* Few ranges are ours: they grow, as what is untouched is free. */
		chunk = touched = moca_exact_map(next);
		left = next;
		next = next < CHUNK_MAX ? 2 * next : next;
	}
	p = chunk;
	chunk += size;
	left -= size;
	touched = moca_exact_touch_ahead(chunk, touched, chunk + left);
	return p;
}

void moca_exact_say(const char *what, uint64_t value)
{
	char line[200];
	size_t n = 0, len = strlen(what);

	memcpy(line, "moca: exact mode: ", 18);
	n = 18;
	if (len > 150)
		len = 150;
	memcpy(line + n, what, len);
	n += len;
	if (value) {
		memcpy(line + n, " (0x", 4);
		n += 4;
		for (int shift = 60; shift >= 0; shift -= 4)
			if (value >> shift)
				line[n++] = "0123456789abcdef"[value >> shift & 15];
		line[n++] = ')';
	}
	line[n++] = '\n';
	moca_exact_call(__NR_write, 2, (long)line, (long)n, 0, 0, 0);
}

void moca_exact_die(const char *what, uint64_t value)
{
	moca_exact_say(what, value);
	moca_exact_call(__NR_kill, moca_exact_call(__NR_getpid, 0, 0, 0, 0, 0, 0),
			9, 0, 0, 0, 0);
	for (;;)
		;
}

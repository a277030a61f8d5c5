/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that know the answer: each says what `moca objects` should find,
 * one line per object, before it ends.
 *
 *	object NAME KIND pages N threads N sharing WORD...
 */
#ifndef EXPECT_H
#define EXPECT_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef __cplusplus
#define EXPECT_NOINLINE __attribute__((noinline, noclone))
#else
#define EXPECT_NOINLINE __attribute__((noinline))
#endif

#define EXPECT_PAGE 4096ul

/* Pages that [p, p + size) touches. */
static inline unsigned long expect_pages(const void *p, unsigned long size)
{
	unsigned long a = (unsigned long)p;

	return (a + size - 1) / EXPECT_PAGE - a / EXPECT_PAGE + 1;
}

static inline void expect(const char *name, const char *kind,
			  unsigned long pages, unsigned threads,
			  const char *sharing)
{
	printf("object %s %s pages %lu threads %u sharing %s\n", name, kind,
	       pages, threads, sharing);
}

/*
 * Let the pages be looked at anew. A sweep has taken a page of ours from the page
 * tables, and so has the next one: the first one is done. A recording without
 * sweeps, or none: after a while.
 */
static inline void expect_settle(void)
{
	static volatile char probe[2 * EXPECT_PAGE];
	unsigned long at = ((unsigned long)probe + EXPECT_PAGE - 1) /
			   EXPECT_PAGE;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), i, round;
	uint64_t entry;

	for (round = 0; round < 2; round++) {
		*(volatile char *)(at * EXPECT_PAGE) = 1;
		for (i = 0; i < 400; i++) {
			usleep(5000);
			if (pread(fd, &entry, sizeof(entry),
				  (off_t)(at * sizeof(entry))) !=
				    sizeof(entry) ||
			    !(entry >> 63))
				break;
		}
	}
	if (fd < 0)
		usleep(70000);
	else
		close(fd);
}

/* Distinct pages of several objects. */
struct expect_set {
	unsigned long pages[4096];
	unsigned count;
};

static inline void expect_add(struct expect_set *s, const void *p,
			      unsigned long size)
{
	unsigned long a = (unsigned long)p / EXPECT_PAGE, n, i;

	for (n = expect_pages(p, size); n--; a++) {
		for (i = 0; i < s->count && s->pages[i] != a; i++)
			;
		if (i == s->count && i < 4096)
			s->pages[s->count++] = a;
	}
}

/* Write each page of it once, so that it is known how many were touched. */
static inline void expect_touch(void *p, unsigned long size)
{
	volatile char *c = (volatile char *)p;
	unsigned long i;

	for (i = 0; i < size; i += EXPECT_PAGE)
		c[i] = 1;
	c[size - 1] = 1;
}

#endif

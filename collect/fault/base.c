// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct base *base_of(struct mm *mm)
{
	struct base *b = mm->base;

	if (b)
		return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->fd = fcntl(mm->memfd, F_DUPFD_CLOEXEC, 0);
	if (b->fd < 0) {
		free(b);
		return NULL;
	}
	b->dev = mm->memfd_dev;
	b->ino = mm->memfd_ino;
	b->refs = 1;
	mm->base = b;
	return b;
}

static void put(struct base *b)
{
	if (--b->refs)
		return;
	close(b->fd);
	free(b);
}

int base_use(struct mm *mm, struct base *b)
{
	struct base **p;

	for (size_t i = 0; i < mm->base_count; i++)
		if (mm->bases[i] == b)
			return 0;
	p = realloc(mm->bases, (mm->base_count + 1) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	mm->bases = p;
	mm->bases[mm->base_count++] = b;
	b->refs++;
	b->users++;
	return 0;
}

static int has_region(const struct mm *mm, const struct base *b)
{
	for (size_t i = 0; i < mm->regions.count; i++)
		if (mm->regions.items[i].base == b)
			return 1;
	return 0;
}

void base_tidy(struct mm *mm)
{
	size_t kept = 0;

	for (size_t i = 0; i < mm->base_count; i++) {
		struct base *b = mm->bases[i];

		if (has_region(mm, b)) {
			mm->bases[kept++] = b;
			continue;
		}
		b->users--;
		put(b);
	}
	mm->base_count = kept;
}

void base_leave_all(struct mm *mm)
{
	for (size_t i = 0; i < mm->base_count; i++) {
		mm->bases[i]->users--;
		put(mm->bases[i]);
	}
	free(mm->bases);
	mm->bases = NULL;
	mm->base_count = 0;
	if (mm->base)
		put(mm->base);
	mm->base = NULL;
}

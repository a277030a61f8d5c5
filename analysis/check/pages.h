/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of processes, as rules remember them: a table (lib/base/table.h). */
#ifndef MOCA_CHECK_PAGES_H
#define MOCA_CHECK_PAGES_H

#include <stdint.h>

#include "lib/base/table.h"

#define PAGE_SHIFT 12

struct page {
	uint64_t number;	/* of the page, + 1; 0 = none */
	uint64_t pid;
};

static uint64_t page_hash(const struct page *p)
{
	return moca_mix(p->number ^ p->pid << 52);
}

static int page_same(const struct page *a, const struct page *b)
{
	return a->number == b->number && a->pid == b->pid;
}

static int page_used(const struct page *p)
{
	return p->number != 0;
}

MOCA_TABLE(page, struct page, page_hash, page_same, page_used);

#endif

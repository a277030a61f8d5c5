// SPDX-License-Identifier: GPL-2.0-or-later
#include "import/regions.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "lib/base/vec.h"

#define SHIFT 21
#define BLOCKS_MAX ((size_t)1 << 22)

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void sort(struct regions *r)
{
	size_t n = 0;

	if (!r->count)
		return;
	qsort(r->blocks, r->count, sizeof(*r->blocks), by_value);
	for (size_t i = 0; i < r->count; i++)
		if (!i || r->blocks[i] != r->blocks[n - 1])
			r->blocks[n++] = r->blocks[i];
	r->count = r->sorted = n;
}

int regions_add(struct regions *r, uint64_t addr)
{
	uint64_t block = addr >> SHIFT;

	if (r->count && r->blocks[r->count - 1] == block)
		return 0;
	/* Twice what there was when it was last in order. */
	if (r->count >= 4096 && r->count >= 2 * r->sorted)
		sort(r);
	if (r->count >= BLOCKS_MAX)
		return -E2BIG;
	if (moca_vec_fit(r->blocks, r->room, r->count + 1))
		return -ENOMEM;
	r->blocks[r->count++] = block;
	return 0;
}

int regions_tell(struct regions *r, struct import_trace *x, uint32_t task,
		 uint64_t time_ns)
{
	struct moca_change map = {
		.type = MOCA_CHANGE_MMAP, .time_ns = time_ns, .name = "",
		.parent = MOCA_NO_TASK, .prot = PROT_READ | PROT_WRITE,
		.memory = MOCA_MEMORY_PRIVATE,
	};
	size_t i, end;
	int err = 0;

	sort(r);
	for (i = 0; i < r->count && !err; i = end) {
		for (end = i + 1; end < r->count; end++)
			if (r->blocks[end] != r->blocks[end - 1] + 1)
				break;
		map.addr = r->blocks[i] << SHIFT;
		map.len = (r->blocks[end - 1] - r->blocks[i] + 1) << SHIFT;
		/* The last block of all addresses ends where none is. */
		if (map.addr + map.len < map.addr)
			map.len -= 4096;
		err = import_trace_change(x, task, &map);
	}
	return err;
}

void regions_free(struct regions *r)
{
	free(r->blocks);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/flame-windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"

#define SUMS_MAX                                                               \
	((size_t)1 << 20) /* 32 bytes each, with more than one window */

void moca_flame_windows_init(struct moca_flame_windows *x, uint64_t begin_ns,
			     uint64_t end_ns)
{
	uint64_t length = end_ns > begin_ns ? end_ns - begin_ns : 1;

	*x = (struct moca_flame_windows){
		.begin_ns = begin_ns,
		.count = MOCA_FLAME_WINDOWS,
		.window_ns = (length - 1) / MOCA_FLAME_WINDOWS + 1,
	};
}

void moca_flame_windows_free(struct moca_flame_windows *x)
{
	free(x->sums);
	*x = (struct moca_flame_windows){ 0 };
}

unsigned moca_flame_window_of(const struct moca_flame_windows *x,
			      uint64_t time_ns)
{
	uint64_t w = time_ns > x->begin_ns
			     ? (time_ns - x->begin_ns) / x->window_ns
			     : 0;

	return w < x->count ? (unsigned)w : x->count - 1;
}

void moca_flame_windows_join(struct moca_flame_windows *x)
{
	size_t i, n = x->items * (x->count / 2);

	if (x->count < 2)
		return;
	/* In place: what is read is never below what is written. */
	for (i = 0; i < n; i++)
		for (int k = 0; k < MOCA_FLAME_TIMED; k++)
			x->sums[i][k] =
				x->sums[2 * i][k] + x->sums[2 * i + 1][k];
	x->count /= 2;
	x->window_ns *= 2;
}

uint64_t *moca_flame_windows_at(struct moca_flame_windows *x, size_t item,
				uint64_t time_ns)
{
	size_t from;

	while (item >= x->items && x->count > 1 && item >= SUMS_MAX / x->count)
		moca_flame_windows_join(x);
	if (item >= x->items) {
		if (moca_vec_fit(x->sums, x->room, (item + 1) * x->count))
			return NULL;
		from = x->items * x->count;
		x->items = item + 1;
		memset(&x->sums[from], 0,
		       (x->items * x->count - from) * sizeof(*x->sums));
	}
	return x->sums[item * x->count + moca_flame_window_of(x, time_ns)];
}

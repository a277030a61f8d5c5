// SPDX-License-Identifier: GPL-2.0-or-later
/* Quicksort with random pivots, so that no trace can make it slow. */
#include "analysis/objects/table.h"

#define FEW 16

static inline int before(const struct moca_page_stat *x,
			 const struct moca_page_stat *y)
{
	if (x->space != y->space)
		return x->space < y->space;
	if (x->page != y->page)
		return x->page < y->page;
	return x->row < y->row;
}

static inline void swap(struct moca_page_stat *x, struct moca_page_stat *y)
{
	struct moca_page_stat t = *x;

	*x = *y;
	*y = t;
}

static void sort_few(struct moca_page_stat *s, size_t n)
{
	struct moca_page_stat x;
	size_t i, k;

	for (i = 1; i < n; i++) {
		x = s[i];
		for (k = i; k && before(&x, &s[k - 1]); k--)
			s[k] = s[k - 1];
		s[k] = x;
	}
}

/* Hoare's partition: s[..k] <= pivot <= s[k + 1..], k < n - 1. */
static size_t split(struct moca_page_stat *s, size_t n, size_t pivot)
{
	size_t i = 0, k = n - 1;
	struct moca_page_stat p;

	swap(&s[0], &s[pivot]);
	p = s[0];
	for (;;) {
		while (before(&s[i], &p))
			i++;
		while (before(&p, &s[k]))
			k--;
		if (i >= k)
			return k;
		swap(&s[i++], &s[k--]);
	}
}

static void sort(struct moca_page_stat *s, size_t n, uint64_t *seed)
{
	size_t k;

	while (n > FEW) {
		*seed = moca_mix(*seed + n);
		k = split(s, n, *seed % n) + 1;
		/* The smaller part first: a depth of log2(n). */
		if (k <= n - k) {
			sort(s, k, seed);
			s += k;
			n -= k;
		} else {
			sort(s + k, n - k, seed);
			n = k;
		}
	}
	sort_few(s, n);
}

void moca_page_stats_sort(struct moca_page_stat *s, size_t n)
{
	uint64_t seed = n;

	sort(s, n, &seed);
}

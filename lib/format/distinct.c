// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/distinct.h"

#include <string.h>

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
#define EMPTY UINT32_MAX

void moca_distinct_find(struct moca_distinct *d, const uint64_t *keys,
			size_t n)
{
	unsigned bits = 4;
	uint32_t *slot = NULL;
	uint64_t last = 0;
	size_t i, h, mask;

	while ((1ull << bits) < 2 * n && bits < 17)
		bits++;
	mask = (1ull << bits) - 1;
	memset(d->table, 0xff, (mask + 1) * sizeof(d->table[0]));
	d->count = 0;
	for (i = 0; i < n; i++) {
		/* Neighbours are often equal. */
		if (slot && keys[i] == last) {
			d->index[i] = *slot;
			continue;
		}
		last = keys[i];
		h = last * 0x9e3779b97f4a7c15ull >> (64 - bits);
		while (d->table[h] != EMPTY && d->list[d->table[h]] != last)
			h = (h + 1) & mask;
		slot = &d->table[h];
		if (*slot == EMPTY) {
			*slot = (uint32_t)d->count;
			d->list[d->count++] = last;
		}
		d->index[i] = *slot;
	}
}

/* One stable pass of a radix sort by the digit at shift. */
static void pass(const uint64_t *key, const uint32_t *order, uint64_t *key_to,
		 uint32_t *order_to, size_t n, unsigned shift)
{
	uint32_t at[DIGITS] = { 0 };
	uint32_t sum = 0, c;
	size_t i;

	for (i = 0; i < n; i++)
		at[key[i] >> shift & (DIGITS - 1)]++;
	for (i = 0; i < DIGITS; i++) {
		c = at[i];
		at[i] = sum;
		sum += c;
	}
	for (i = 0; i < n; i++) {
		c = at[key[i] >> shift & (DIGITS - 1)]++;
		key_to[c] = key[i];
		order_to[c] = order[i];
	}
}

void moca_distinct_sort(struct moca_distinct *d, size_t n)
{
	uint64_t *key = d->list, *key_to = d->key2, *key_tmp;
	uint32_t *order = d->order[0], *order_to = d->order[1], *order_tmp;
	uint64_t diff = 0;
	int sorted = 1;
	unsigned shift;
	size_t i;

	for (i = 1; i < d->count; i++) {
		diff |= key[i] ^ key[0];
		sorted &= key[i] > key[i - 1];
	}
	if (sorted)
		return;
	for (i = 0; i < d->count; i++)
		order[i] = (uint32_t)i;
	for (shift = 0; shift < 64; shift += DIGIT_BITS) {
		if (!(diff >> shift & (DIGITS - 1)))
			continue;
		pass(key, order, key_to, order_to, d->count, shift);
		key_tmp = key;
		key = key_to;
		key_to = key_tmp;
		order_tmp = order;
		order = order_to;
		order_to = order_tmp;
	}
	if (key != d->list)
		memcpy(d->list, key, d->count * sizeof(*key));
	for (i = 0; i < d->count; i++)
		order_to[order[i]] = (uint32_t)i;
	for (i = 0; i < n; i++)
		d->index[i] = order_to[d->index[i]];
}

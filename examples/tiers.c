// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tiers: a table of 128 MiB, of which nearly all look-ups go to the first 4 MiB.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS (128l << 20 >> 3)
#define HOT (4l << 20 >> 3)
#define LOOKUPS 1200000000l
#define RARE 16000		/* one look-up in so many goes anywhere */

int main(void)
{
	uint64_t *table = malloc(ROWS * sizeof(*table)), x = 1, sum = 0;

	if (!table)
		return 1;
	for (long i = 0; i < ROWS; i++)
		table[i] = i * 2654435761u;
	for (long i = 0; i < LOOKUPS; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		sum += table[(x >> 20) % (i % RARE ? HOT : ROWS)];
	}
	printf("%lu\n", (unsigned long)sum);
	free(table);
	return 0;
}

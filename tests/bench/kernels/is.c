/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bucket sort of random keys, again and again with a few of them changed:
 * streaming reads, scattered writes. SIZE keys of 32 bits.
 */
#include "kernel.h"

#define BUCKETS 2048
#define KEY_BITS 23

int main(int argc, char **argv)
{
	long n = argument(argc, argv, 1, 16l << 20);
	long iterations = argument(argc, argv, 2, 40);
	uint32_t *key = memory(n * sizeof(*key));
	uint32_t *sorted = memory(n * sizeof(*sorted));
	int threads = omp_get_max_threads();
	long (*count)[BUCKETS] = memory(threads * sizeof(*count));
	uint32_t *seen = memory((4l << KEY_BITS));
	long from[BUCKETS + 1];
	uint64_t check = 0;

#pragma omp parallel for schedule(static)
	for (long i = 0; i < n; i++)
		key[i] = noise(i) >> (64 - KEY_BITS);
	for (long it = 0; it < iterations; it++) {
		long at = 0;

		for (long i = 0; i < 1000; i++)
			key[noise(it * 1000 + i) % n] = (it * 1000 + i) & 8191;
		memset(count, 0, threads * sizeof(*count));
#pragma omp parallel num_threads(threads)
		{
			long *c = count[omp_get_thread_num()];

#pragma omp for schedule(static)
			for (long i = 0; i < n; i++)
				c[key[i] >> (KEY_BITS - 11)]++;
		}
		for (int b = 0; b < BUCKETS; b++) {
			from[b] = at;
			for (int t = 0; t < threads; t++) {
				long c = count[t][b];

				count[t][b] = at;
				at += c;
			}
		}
		from[BUCKETS] = at;
#pragma omp parallel num_threads(threads)
		{
			long *c = count[omp_get_thread_num()];

#pragma omp for schedule(static)
			for (long i = 0; i < n; i++)
				sorted[c[key[i] >> (KEY_BITS - 11)]++] = key[i];
		}
		memset(seen, 0, 4l << KEY_BITS);
		/* Inside a bucket: by counting; its keys are only its own. */
#pragma omp parallel for schedule(dynamic, 16)
		for (int b = 0; b < BUCKETS; b++) {
			long o = from[b];
			long span = 1l << (KEY_BITS - 11);

			for (long i = from[b]; i < from[b + 1]; i++)
				seen[sorted[i]]++;
			for (long k = b * span; k < (b + 1) * span; k++)
				for (uint32_t c = seen[k]; c; c--)
					sorted[o++] = k;
		}
		check = check * 31 + sorted[n / 3] + sorted[n / 2];
	}
	for (long i = 1; i < n; i++)
		if (sorted[i - 1] > sorted[i])
			return 1;
	printf("is %016lx\n", check);
	return 0;
}

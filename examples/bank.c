// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that emits events. Build and record it:
 *
 *	cc bank.c $(pkg-config --cflags --libs moca-trace) -pthread -o bank
 *	moca trace -o t -- ./bank
 *	moca dump t
 *
 * The same events stand in a page trace, beside the accesses around them:
 *
 *	moca record -o t -- ./bank
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <moca/trace.h>

MOCA_EVENT(bank, transfer, (u32, from), (u32, to), (s64, amount));
MOCA_EVENT(bank, audit, (string, what), (s64, sum),
	   (enum, result, "right=0,wrong=1"));

#define ACCOUNTS 4096
#define CLERKS 2

static int64_t balance[ACCOUNTS];

static void *clerk(void *arg)
{
	unsigned seed = *(unsigned *)arg;
	uint32_t from, to;
	int64_t amount;
	int i;

	for (i = 0; i < 10000; i++) {
		from = rand_r(&seed) % ACCOUNTS;
		to = rand_r(&seed) % ACCOUNTS;
		amount = rand_r(&seed) % 100;
		__atomic_fetch_sub(&balance[from], amount, __ATOMIC_RELAXED);
		__atomic_fetch_add(&balance[to], amount, __ATOMIC_RELAXED);
		moca_trace_bank_transfer(from, to, amount);
	}
	return NULL;
}

int main(void)
{
	static unsigned seeds[CLERKS] = { 1, 2 };
	pthread_t t[CLERKS];
	int64_t sum = 0;
	int i;

	for (i = 0; i < CLERKS; i++)
		if (pthread_create(&t[i], NULL, clerk, &seeds[i]))
			return 1;
	for (i = 0; i < CLERKS; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < ACCOUNTS; i++)
		sum += balance[i];
	moca_trace_bank_audit("all accounts", sum, sum ? 1 : 0);
	return sum ? 1 : 0;
}

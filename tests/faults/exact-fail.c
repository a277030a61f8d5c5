// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Exact mode's agent, of whose calls of one kind the n-th fails in each program
 * image: it is linked with --wrap=moca_exact_call. tests/faults/run writes into a
 * copy of the file which, behind the mark; a line on stderr says that it came to it.
 */
#include <asm/errno.h>
#include <asm/unistd.h>

#define SAID "faults: the call failed\n"

long __real_moca_exact_call(long nr, long a, long b, long c, long d, long e,
			    long f);
long __wrap_moca_exact_call(long nr, long a, long b, long c, long d, long e,
			    long f);

static volatile struct {
	char mark[16];
	long nr;
	long at;	/* 0: none */
	long error;
} fail = { "MOCA-FAIL-HERE:", 0, 0, 0 };

static long count;

long __wrap_moca_exact_call(long nr, long a, long b, long c, long d, long e,
			    long f)
{
	if (fail.at && nr == fail.nr &&
	    __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) == fail.at) {
		__real_moca_exact_call(__NR_write, 2, (long)SAID,
				       sizeof(SAID) - 1, 0, 0, 0);
		return -fail.error;
	}
	return __real_moca_exact_call(nr, a, b, c, d, e, f);
}

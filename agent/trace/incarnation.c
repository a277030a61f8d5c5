// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A number for this image of this process: the same for all copies of the
 * library in it (a program and a library may both have one), another after
 * fork and exec. It is a hash (SipHash-2-4, Aumasson and Bernstein 2012) of
 * pid and start, keyed by the random bytes that the kernel gave at exec: these
 * guard the program's stack, and cannot be told from the hash.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/trace/emitter.h"

static uint64_t rotate(uint64_t x, unsigned n)
{
	return x << n | x >> (64 - n);
}

static void round_of(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

static uint64_t siphash(const uint64_t key[2], const uint64_t *words,
			unsigned n)
{
	uint64_t v[4] = {
		key[0] ^ 0x736f6d6570736575ull, key[1] ^ 0x646f72616e646f6dull,
		key[0] ^ 0x6c7967656e657261ull, key[1] ^ 0x7465646279746573ull,
	};
	uint64_t last = (uint64_t)(8 * n) << 56, word;
	unsigned i, r;

	for (i = 0; i <= n; i++) {
		word = i < n ? words[i] : last;
		v[3] ^= word;
		for (r = 0; r < 2; r++)
			round_of(v);
		v[0] ^= word;
	}
	v[2] ^= 0xff;
	for (r = 0; r < 4; r++)
		round_of(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Field 22 of /proc/self/stat, in ticks since boot; 0: cannot be read. */
static uint64_t start_of_process(void)
{
	uint64_t ticks = 0;
	unsigned field = 2;
	char buf[512], *p;
	long fd, n;

	fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/stat",
		     O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = syscall(SYS_read, fd, buf, sizeof(buf) - 1);
	syscall(SYS_close, fd);
	buf[n > 0 ? n : 0] = 0;
	p = strrchr(buf, ')');	/* names may have blanks */
	for (; p && *p && field < 22; p++)
		field += *p == ' ';
	for (; p && *p >= '0' && *p <= '9'; p++)
		ticks = ticks * 10 + (uint64_t)(*p - '0');
	return ticks;
}

uint64_t agent_incarnation(int pid)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t words[2] = { (uint64_t)pid }, key[2] = { 0, 0 };
	int saved_errno = errno;

	words[1] = start_of_process();
	if (random)
		memcpy(key, random, sizeof(key));
	errno = saved_errno;
	return siphash(key, words, 2);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cpuid.h>

struct machine machine;
int machine_avx512;

int machine_init(const char **what)
{
	unsigned int a, b, c, d;

	if (!(getauxval(AT_HWCAP2) & 2)) {
		*what = "FSGSBASE";
		return -1;
	}
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & 1u << 5)) {
		*what = "AVX2";
		return -1;
	}
	machine_avx512 = (b & 1u << 16) && (b & 1u << 30) && (b & 1u << 31);
	return 0;
}

void rng_seed(struct rng *r, uint64_t seed)
{
	r->s[0] = seed * 0x9e3779b97f4a7c15 + 1;
	r->s[1] = ~seed * 0xbf58476d1ce4e5b9 + 2;
	for (int i = 0; i < 8; i++)
		rng_next(r);
}

/* xorshift128+ */
uint64_t rng_next(struct rng *r)
{
	uint64_t x = r->s[0], y = r->s[1];

	r->s[0] = y;
	x ^= x << 23;
	r->s[1] = x ^ y ^ (x >> 17) ^ (y >> 26);
	return r->s[1] + y;
}

static int map(uint64_t addr, size_t size, int fd, off_t offset)
{
	void *p = mmap((void *)addr, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_FIXED_NOREPLACE |
			       (fd < 0 ? MAP_ANONYMOUS : 0),
		       fd, offset);

	return p == (void *)addr ? 0 : -1;
}

/* The kernel writes CONSTS: what it does is not counted. */
static int fill_consts(void)
{
	static uint8_t c[CONSTS_SIZE];
	struct rng r;
	uint32_t *mxcsr = (uint32_t *)(c + (CONST_MXCSR(0) - CONSTS));
	uint16_t *cw = (uint16_t *)(c + (CONST_CW(0) - CONSTS));
	uint8_t *text = c + (CONST_TEXT - CONSTS);
	unsigned int i, n;
	int fd;

	rng_seed(&r, 4711);
	/* Odd sets as 64-bit indices, even ones as 32-bit ones. */
	for (i = 0; i < 32; i++)
		for (n = 0; n < 16; n++) {
			int32_t v = (int)rng_below(&r, 129) - 64;

			if (i & 1)
				((int64_t *)(c + i * 64))[n / 2] = v;
			else
				((int32_t *)(c + i * 64))[n] = v;
		}
	for (i = 0; i < 32 * 8; i++)
		((uint64_t *)(c + 2048))[i] =
			i % 16 < 2 ? ~0ul : rng_next(&r) & rng_next(&r);
	for (i = 0; i < 8; i++) {
		mxcsr[i] = 0x1f80 | (i & 3) << 13 | (i & 4 ? 0x8040 : 0);
		cw[i] = 0x7f | (i & 3) << 10 | (i & 4 ? 0x300 : 0x200);
	}
	for (i = 0; i < CONST_TEXT_SIZE;) {
		uint8_t v = rng_below(&r, 3);

		n = 1 + rng_below(&r, 24);
		while (n-- && i < CONST_TEXT_SIZE)
			text[i++] = v;
	}
	fd = memfd_create("consts", 0);
	if (fd < 0 || write(fd, c, sizeof(c)) != (ssize_t)sizeof(c) ||
	    pread(fd, (void *)CONSTS, sizeof(c), 0) != (ssize_t)sizeof(c))
		return -1;
	return close(fd);
}

int machine_map(void)
{
	if (map(DATA, DATA_SIZE, -1, 0) || map(CONSTS, CONSTS_SIZE, -1, 0) ||
	    map(STACK, STACK_SIZE, -1, 0) || map(AFFINE, AFFINE_SIZE, -1, 0) ||
	    map(CODE, CODE_SIZE + 0x2000, -1, 0))
		return -1;
	return fill_consts();
}

/* Floats of all kinds: random bits are mostly huge, so some are small. */
static uint64_t random_lane(struct rng *r)
{
	uint64_t v = rng_next(r);

	switch (v & 7) {
	case 0: {
		double d = (double)(int64_t)v * 0x1p-60;
		uint64_t u;

		memcpy(&u, &d, 8);
		return u;
	}
	case 1: {
		float f[2] = { (float)(int32_t)v * 0x1p-20f,
			       (float)(int32_t)(v >> 32) * 0x1p-28f };
		uint64_t u;

		memcpy(&u, f, 8);
		return u;
	}
	case 2:
		return v >> (v >> 58);
	case 3:
		return (v & 8 ? 0x7ff0ul << 48 : 0xffful) | (v & 0xff0);
	default:
		return v;
	}
}

void machine_random(struct rng *r)
{
	unsigned int n = machine_avx512 ? 32 : 16;
	uint32_t mxcsr;
	uint16_t cw;

	for (unsigned int i = 0; i < 16; i++) {
		uint64_t v = rng_next(r);

		/* Small and large: what shifts and products tell apart. */
		machine.gpr[i] = v & 3 ? v : v >> (v >> 58);
	}
	machine.flags = (rng_next(r) & STATUS_FLAGS) | 0x202;
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = 0; j < 8; j++)
			((uint64_t *)machine.zmm[i])[j] = random_lane(r);
	for (unsigned int i = 0; i < 8; i++)
		machine.k[i] = rng_next(r);
	memset(machine.fx, 0, sizeof(machine.fx));
	mxcsr = 0x1f80 | (rng_next(r) & 0xe040);
	cw = 0x7f | (rng_next(r) & 0xc00) | 0x200 | (rng_next(r) & 0x100);
	memcpy(machine.fx, &cw, 2);
	memcpy(machine.fx + 24, &mxcsr, 4);
	machine.fx[4] = (uint8_t)rng_next(r) | 0x81;	/* tags: in use */
	machine.fx[3] = (uint8_t)(rng_below(r, 8) << 3); /* top of the stack */
	for (unsigned int i = 0; i < 8; i++) {
		uint64_t m = rng_next(r) | 1ul << 63;
		uint16_t e = (uint16_t)(16383 - 20 + rng_below(r, 40)) |
			     (uint16_t)(m & 1) << 15;

		memcpy(machine.fx + 32 + 16 * i, &m, 8);
		memcpy(machine.fx + 32 + 16 * i + 8, &e, 2);
	}
}

/* Four lanes, multiplied and rotated: quick, and every bit counts. */
uint64_t hash_bytes(uint64_t h, const void *p, size_t n)
{
	const uint64_t *q = p;
	uint64_t a[4] = { h, h + 1, h + 2, h + 3 };

	for (size_t i = 0; i < n / 32; i++, q += 4)
		for (int j = 0; j < 4; j++) {
			a[j] = (a[j] ^ q[j]) * 0x9fb21c651e98df25;
			a[j] ^= a[j] >> 29;
		}
	for (int j = 0; j < 4; j++) {
		h = (h ^ a[j]) * 0xd6e8feb86659fd93;
		h ^= h >> 32;
	}
	return h;
}

uint64_t machine_hash(unsigned int undefined)
{
	static struct machine m;
	size_t size = offsetof(struct machine, zmm) +
		      (machine_avx512 ? 32 : 16) * 64;

	memcpy(&m, &machine, size);
	m.flags &= ~(uint64_t)undefined;
	memset(m.fx + 8, 0, 8);
	return hash_bytes(0, &m, size);
}

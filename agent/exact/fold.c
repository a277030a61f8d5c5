// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Counters are those of an address modulo the *window*, MOCA_EXACT_CELLS granules.
 * Two mappings that are a multiple of it apart would share them. Where the kernel
 * chooses the address of one we choose another; where it cannot be helped, the
 * certificate has a gap. What holds a stretch of the window is known by its upper
 * bits.
 */
#include <asm/unistd.h>
#include <linux/mman.h>

#include "agent/exact/maps.h"
#include "agent/exact/translate.h"

#define STRETCHES (1u << 20)
#define TRIES 64
#define STACK_ROOM (8ul << 20)	/* a stack grows down */

static uint16_t *owners;	/* of stretches: upper bits + 1 */

static unsigned int window_bits(void)
{
	return 29 + moca_exact.shift;
}

static unsigned int stretch_bits(void)
{
	return window_bits() - 20;
}

/* Takes [start, end) for its upper bits. How many stretches were another's. */
static uint64_t claim(uint64_t start, uint64_t end, int force)
{
	uint64_t size = 1ull << stretch_bits(), taken = 0;

	/* Addresses of the kernel's, as of the vsyscall page, need none. */
	if (start >> 47)
		return 0;
	for (uint64_t at = start & -size; at < end; at += size) {
		uint16_t *o = &owners[at >> stretch_bits() & (STRETCHES - 1)];
		uint16_t mine = (uint16_t)((at >> window_bits()) + 1);

		if (*o && *o != mine) {
			taken++;
			if (!force)
				return taken;
		}
	}
	for (uint64_t at = start & -size; at < end; at += size)
		owners[at >> stretch_bits() & (STRETCHES - 1)] =
			(uint16_t)((at >> window_bits()) + 1);
	return taken;
}

/* Of [start, end), what is not ours: that is not counted. */
static uint64_t claim_others(uint64_t start, uint64_t end)
{
	uint64_t taken = 0;

	while (start < end) {
		uint64_t until = end, next = end;

		for (int i = 0; i < moca_exact_own_count; i++) {
			const struct own *o = &moca_exact_own[i];

			if (o->start <= start && o->end > start) {
				until = start;
				next = o->end;
				break;
			}
			if (o->start > start && o->start < until) {
				until = o->start;
				next = o->start;
			}
		}
		if (until > start)
			taken += claim(start, until, 1);
		start = next;
	}
	return taken;
}

static void claim_mapping(void *arg, const struct moca_maps_line *l)
{
	static const char stack[] = "[stack]";
	int grows = !memcmp(l->name, stack, sizeof(stack));

	if (l->readable)
		*(uint64_t *)arg += claim_others(
			l->start - (grows ? STACK_ROOM : 0), l->end);
}

/*
 * Sets all owners to 0. The table has 2 MB, of which a process touches a small part:
 * the kernel gives zeroed pages when they are touched.
 */
static void clear(void)
{
	const size_t size = STRETCHES * sizeof(*owners);

	if (!owners)
		owners = moca_exact_map(size);
	else if (moca_exact_call(__NR_madvise, (long)owners, (long)size,
				 MADV_DONTNEED, 0, 0, 0))
		memset(owners, 0, size);	/* locked: mlockall */
}

/* As the mappings are now, those that are gone forgotten. */
static uint64_t rebuild(void)
{
	uint64_t taken = 0;

	clear();
	moca_exact_maps(claim_mapping, &taken);
	return taken;
}

void moca_exact_fold_init(struct context *c)
{
	if (rebuild())
		moca_exact_gap(c, MOCA_EXACT_GAP_FOLDED, 0);
}

/* The mapping at addr, anew where it shares nothing; addr if that fails. */
static uint64_t elsewhere(uint64_t addr, uint64_t len, const uint64_t *a)
{
	uint64_t step = 1ull << (stretch_bits() + 3);

	for (uint64_t i = 1; i <= TRIES; i++) {
		uint64_t want = addr - i * step;
		long got;

		if (want > addr || want < 1 << 20)
			break;
		if (claim(want, want + len, 0))
			continue;
		got = moca_exact_call(__NR_mmap, (long)want, (long)a[1],
				      (long)a[2],
				      (long)(a[3] | MAP_FIXED_NOREPLACE),
				      (long)a[4], (long)a[5]);
		if ((uint64_t)got == want) {
			moca_exact_call(__NR_munmap, (long)addr, (long)len, 0,
					0, 0, 0);
			return want;
		}
		if (got >= 0 || got < -4095)
			moca_exact_call(__NR_munmap, got, (long)len, 0, 0, 0,
					0);
	}
	return addr;
}

uint64_t moca_exact_fold_mapped(struct context *c, uint64_t addr, uint64_t len,
				const uint64_t *a)
{
	uint64_t moved;

	if (!(a[2] & (PROT_READ | PROT_WRITE)))
		return addr;
	moca_exact_lock();
	if (claim(addr, addr + len, 0) && rebuild()) {
		/* Populated ones have their contents, others' are asked for there. */
		moved = a[0] || a[3] & (MAP_FIXED | MAP_32BIT | MAP_GROWSDOWN) ?
				addr : elsewhere(addr, len, a);
		if (moved == addr)
			moca_exact_gap(c, MOCA_EXACT_GAP_FOLDED, addr);
		addr = moved;
		rebuild();
	}
	moca_exact_unlock();
	return addr;
}

void moca_exact_fold_used(struct context *c, uint64_t addr, uint64_t len)
{
	moca_exact_lock();
	if (claim(addr, addr + len, 0) && rebuild())
		moca_exact_gap(c, MOCA_EXACT_GAP_FOLDED, addr);
	moca_exact_unlock();
}

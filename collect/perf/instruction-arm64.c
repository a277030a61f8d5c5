// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loads and stores of A64, by the groups of the Arm Architecture Reference
 * Manual, C4.1.94. What is new there and in no group here is not known.
 */
#include <string.h>

#include "collect/perf/instruction.h"

#define READ		      MOCA_ACCESS_READ
#define WRITE		      MOCA_ACCESS_WRITE
#define BIT(insn, n)	      ((insn) >> (n)&1)
#define BITS(insn, high, low) ((insn) >> (low) & ((2u << ((high) - (low))) - 1))

/* Caches: DC ZVA, GVA and GZVA write, the rest may read. */
static uint8_t of_cache(uint32_t insn)
{
	switch (insn & ~0x1fu) {
	case 0xd50b7420:
	case 0xd50b7460:
	case 0xd50b7480:
		return WRITE;
	case 0xd50b7520: /* IC IVAU */
	case 0xd50b7a20: /* DC CVAC */
	case 0xd50b7b20: /* DC CVAU */
	case 0xd50b7e20: /* DC CIVAC */
		return READ;
	}
	return INSTRUCTION_NOT_KNOWN;
}

/* Exclusive and ordered; CAS and CASP, which ask for the page as for a write.
 */
static uint8_t of_exclusive(uint32_t insn)
{
	int swaps = BIT(insn, 21) && (BIT(insn, 23) || !BIT(insn, 31));

	return swaps || !BIT(insn, 22) ? WRITE : READ;
}

/* Atomic: LDAPR and LD64B alone only read. */
static uint8_t of_atomic(uint32_t insn)
{
	return BITS(insn, 15, 12) == 0xc || BITS(insn, 15, 12) == 0xd ? READ
								      : WRITE;
}

/* One register. */
static uint8_t of_single(uint32_t insn)
{
	if (!BIT(insn, 24) && BIT(insn, 21) && !BIT(insn, 26)) {
		if (!BITS(insn, 11, 10))
			return of_atomic(insn);
		if (BIT(insn, 10))
			return READ; /* LDRAA, LDRAB */
	}
	if (BIT(insn, 26))
		return BIT(insn, 22) ? READ : WRITE;
	return BITS(insn, 23, 22) ? READ : WRITE;
}

/* Unscaled with order, copies, fills, tags. */
static uint8_t of_others(uint32_t insn)
{
	if (!BIT(insn, 21) && BITS(insn, 11, 10) == 1)
		return BITS(insn, 23, 22) == 3 ? WRITE : INSTRUCTION_DOES_BOTH;
	if (BIT(insn, 26))
		return INSTRUCTION_NOT_KNOWN;
	if (!BIT(insn, 21))
		return BITS(insn, 23, 22) ? READ : WRITE;
	return BITS(insn, 23, 22) == 1 && !BITS(insn, 11, 10) ? READ : WRITE;
}

uint8_t instruction_type(const uint8_t *bytes, size_t len)
{
	uint32_t insn;

	if (len < sizeof(insn))
		return INSTRUCTION_NOT_KNOWN;
	memcpy(&insn, bytes, sizeof(insn));
	/* SVE: gathers and loads, stores. */
	if (BITS(insn, 28, 25) == 2 && BIT(insn, 31))
		return BITS(insn, 30, 29) == 3 ? WRITE : READ;
	if ((insn & 0x0a000000) != 0x08000000)
		return of_cache(insn);
	if ((insn & 0xbe000000) == 0x0c000000) /* structures of vectors */
		return BIT(insn, 22) ? READ : WRITE;
	switch (BITS(insn, 29, 27)) {
	case 1:
		return BITS(insn, 26, 24) ? INSTRUCTION_NOT_KNOWN
					  : of_exclusive(insn);
	case 3:
		if (!BIT(insn, 24))
			return READ; /* literal */
		return of_others(insn);
	case 5:
		return BIT(insn, 22) ? READ : WRITE; /* pairs */
	case 7:
		return of_single(insn);
	}
	return INSTRUCTION_NOT_KNOWN;
}

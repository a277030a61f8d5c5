// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * At most five instructions are displaced (of five bytes, each of one at
 * least), of which the longest copy is a loop's nine bytes and its prefixes,
 * and any other's its own fifteen; and a jump.
 */
#include "lib/code/relocate.h"

#include <errno.h>
#include <string.h>

_Static_assert(5 * 15 + MOCA_JUMP <= MOCA_RELOCATED_MAX, "room for the copy");

static const uint8_t endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };

/* A branch to an address that the instruction itself names. */
static int is_branch(const ZydisDecodedInstruction *in)
{
	return (in->attributes & ZYDIS_ATTRIB_IS_RELATIVE) &&
	       in->raw.imm[0].is_relative;
}

static uint64_t branch_target(const ZydisDecodedInstruction *in, uint64_t addr)
{
	return addr + in->length + (uint64_t)in->raw.imm[0].value.s;
}

static int is_call(const ZydisDecodedInstruction *in)
{
	return in->meta.category == ZYDIS_CATEGORY_CALL;
}

/*
 * A call of the entry is recursion, which goes through the hook like any
 * other. A jump there is a loop: each turn would enter the hook anew, and never
 * leave it.
 */
static const char *lands_inside(const ZydisDecodedInstruction *in,
				uint64_t addr, const struct moca_code *c,
				const struct moca_prologue *p)
{
	uint64_t at;

	if (!is_branch(in))
		return NULL;
	at = branch_target(in, addr) - c->addr;
	if (at >= p->end || (is_call(in) && (at == 0 || at == p->start)))
		return NULL;
	return at <= p->start ? "it loops back to its first instruction" :
				"it jumps into its first instructions";
}

int moca_prologue_avoided(const struct moca_zydis *z,
			  const struct moca_code *other,
			  const struct moca_code *c,
			  const struct moca_prologue *p, const char **why)
{
	ZydisDecodedInstruction in;

	for (size_t at = 0; at < other->len; at += in.length) {
		if (moca_zydis_decode(z, other->bytes + at, other->len - at,
				      &in)) {
			*why = "there is something else than code in it";
			return -EILSEQ;
		}
		*why = lands_inside(&in, other->addr + at, c, p);
		if (*why)
			return -ENOTSUP;
	}
	return 0;
}

int moca_prologue_find(const struct moca_zydis *z, const struct moca_code *c,
		       struct moca_prologue *p, const char **why)
{
	ZydisDecodedInstruction in;

	p->start = 0;
	if (c->len >= sizeof(endbr64) &&
	    !memcmp(c->bytes, endbr64, sizeof(endbr64)))
		p->start = sizeof(endbr64);
	p->end = p->start;
	while (p->end < p->start + MOCA_JUMP) {
		if (p->end >= c->len) {
			*why = "it is shorter than a jump";
			return -ENOTSUP;
		}
		if (moca_zydis_decode(z, c->bytes + p->end, c->len - p->end,
				      &in)) {
			*why = "its first instructions are unknown";
			return -EILSEQ;
		}
		/* What it calls would return to where no unwinder knows. */
		if (is_call(&in)) {
			*why = "it begins with a call";
			return -ENOTSUP;
		}
		p->end += in.length;
	}
	return moca_prologue_avoided(z, c, c, p, why);
}

static int fits(uint64_t distance)
{
	return (int64_t)distance == (int32_t)distance;
}

int moca_jump_write(uint8_t out[MOCA_JUMP], uint64_t from, uint64_t to)
{
	uint64_t distance = to - (from + MOCA_JUMP);
	int32_t d = (int32_t)distance;

	if (!fits(distance))
		return -ERANGE;
	out[0] = 0xe9;
	memcpy(out + 1, &d, sizeof(d));
	return 0;
}

/* One that can only jump by 8 bits; returns the copy's length, or -errno. */
static int widen(const ZydisDecodedInstruction *in, const uint8_t *bytes,
		 uint64_t target, uint64_t to, uint8_t *out)
{
	size_t n = in->raw.imm[0].offset - 1;	/* prefixes */
	uint8_t op = bytes[n];
	int32_t d;

	memcpy(out, bytes, n);
	if (op == 0xeb) {
		out[n++] = 0xe9;
	} else if ((op & 0xf0) == 0x70) {
		out[n++] = 0x0f;
		out[n++] = 0x80 | (op & 0x0f);
	} else if (op >= 0xe0 && op <= 0xe3) {
		/* loop, jrcxz: over a jump that is skipped otherwise. */
		out[n++] = op;
		out[n++] = 2;
		out[n++] = 0xeb;
		out[n++] = MOCA_JUMP;
		out[n++] = 0xe9;
	} else {
		return -ENOTSUP;
	}
	target -= to + n + sizeof(d);
	d = (int32_t)target;
	if (!fits(target))
		return -ERANGE;
	memcpy(out + n, &d, sizeof(d));
	return (int)(n + sizeof(d));
}

/* Where the 32 bits are that count from the instruction's end; 0: none. */
static unsigned int relative_at(const ZydisDecodedInstruction *in)
{
	if (is_branch(in))
		return in->raw.imm[0].size == 32 ? in->raw.imm[0].offset : 0;
	return in->raw.disp.size == 32 ? in->raw.disp.offset : 0;
}

/* One instruction at `from`, for `to`. The copy's length, or -errno. */
static int move(const ZydisDecodedInstruction *in, const uint8_t *bytes,
		uint64_t from, uint64_t to, uint8_t *out)
{
	unsigned int at;
	uint64_t distance;
	int32_t d;

	/* Of 16 bits on some CPUs, of 32 on others. */
	if (is_branch(in) && (in->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE))
		return -ENOTSUP;
	if (is_branch(in) && in->raw.imm[0].size == 8)
		return widen(in, bytes, branch_target(in, from), to, out);
	memcpy(out, bytes, in->length);
	if (!(in->attributes & ZYDIS_ATTRIB_IS_RELATIVE))
		return in->length;
	at = relative_at(in);
	if (!at)
		return -ENOTSUP;
	memcpy(&d, bytes + at, sizeof(d));
	distance = (uint64_t)d + from - to;
	if (!fits(distance))
		return -ERANGE;
	d = (int32_t)distance;
	memcpy(out + at, &d, sizeof(d));
	return in->length;
}

int moca_prologue_move(const struct moca_zydis *z, const struct moca_code *c,
		       const struct moca_prologue *p, uint64_t to, uint8_t *out,
		       const char **why)
{
	ZydisDecodedInstruction in;
	int len, n = 0;

	for (size_t at = p->start; at < p->end; at += in.length) {
		len = moca_zydis_decode(z, c->bytes + at, c->len - at, &in);
		if (!len)
			len = move(&in, c->bytes + at, c->addr + at, to + n,
				   out + n);
		if (len < 0) {
			*why = len == -ERANGE ?
				"what its first instructions refer to is too far away" :
				"its first instructions cannot be moved";
			return len;
		}
		n += len;
	}
	if (moca_jump_write(out + n, to + n, c->addr + p->end)) {
		*why = "it is too far away from free memory";
		return -ERANGE;
	}
	return n + MOCA_JUMP;
}

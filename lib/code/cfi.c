// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Rules of .eh_frame (LSB core 10.6, DWARF 5 6.4), for the two registers that
 * stacks of x86-64 are made of. What needs more is a rule that stops.
 */
#include "lib/code/cfi.h"

#include <string.h>

#define RBP 6
#define RSP 7
#define RA 16

/* Encodings of pointers: DW_EH_PE_* */
#define PE_OMIT 0xff
#define PE_PCREL 0x10
#define PE_DATAREL 0x30
#define PE_INDIRECT 0x80

/* A cursor within one module; what would leave it reads as 0 and is bad. */
struct bytes {
	const uint8_t *p, *end;
	const uint8_t *low, *high;	/* of the module */
	int bad;
};

static uint64_t get(struct bytes *b, unsigned n)
{
	uint64_t v = 0;

	if ((uint64_t)(b->end - b->p) < n || b->p > b->end) {
		b->bad = 1;
		b->p = b->end;
		return 0;
	}
	memcpy(&v, b->p, n);
	b->p += n;
	return v;
}

static uint64_t get_uleb(struct bytes *b)
{
	uint64_t v = 0, c;
	unsigned shift = 0;

	do {
		c = get(b, 1);
		if (shift < 64)
			v |= (c & 0x7f) << shift;
		shift += 7;
	} while (c & 0x80);
	return v;
}

static int64_t get_sleb(struct bytes *b)
{
	uint64_t v = 0, c;
	unsigned shift = 0;

	do {
		c = get(b, 1);
		if (shift < 64)
			v |= (c & 0x7f) << shift;
		shift += 7;
	} while (c & 0x80);
	if (shift < 64 && (c & 0x40))
		v |= ~0ull << shift;
	return v;
}

static uint64_t get_pointer(struct bytes *b, unsigned enc, uint64_t data)
{
	uint64_t at = (uint64_t)b->p, v;

	switch (enc & 0x0f) {
	case 0x00: v = get(b, 8); break;
	case 0x01: v = get_uleb(b); break;
	case 0x02: v = get(b, 2); break;
	case 0x03: v = get(b, 4); break;
	case 0x04: v = get(b, 8); break;
	case 0x09: v = get_sleb(b); break;
	case 0x0a: v = (int16_t)get(b, 2); break;
	case 0x0b: v = (int32_t)get(b, 4); break;
	case 0x0c: v = get(b, 8); break;
	default: b->bad = 1; return 0;
	}
	switch (enc & 0x70) {
	case 0: return v;
	case PE_PCREL: return v + at;
	case PE_DATAREL: return v + data;
	default: b->bad = 1; return 0;
	}
}

/* What a common information entry says of its frame descriptions. */
struct cie {
	uint64_t code_align;
	int64_t data_align;
	unsigned fde_enc;
	int has_aug;
	int is_signal;
	struct bytes init;	/* instructions */
};

static int parse_augmentation(struct bytes *b, const char *aug, struct cie *c)
{
	uint64_t len = get_uleb(b);
	const uint8_t *end = b->p + len;

	if (len > (uint64_t)(b->end - b->p))
		return 0;
	c->has_aug = 1;
	for (aug++; *aug; aug++) {
		if (*aug == 'R') {
			c->fde_enc = get(b, 1);
		} else if (*aug == 'P') {
			unsigned enc = get(b, 1);

			get_pointer(b, enc & 0x0f, 0);
		} else if (*aug == 'L') {
			get(b, 1);
		} else if (*aug == 'S') {
			c->is_signal = 1;
		} else {
			break;	/* the length leads over what is unknown */
		}
	}
	b->p = end;
	return !b->bad;
}

static int parse_cie(const struct bytes *module, const uint8_t *at,
		     struct cie *c)
{
	struct bytes b = *module;
	const char *aug;
	uint64_t len;

	if (at < b.low || at >= b.high)
		return 0;
	b.p = at;
	len = get(&b, 4);
	if (!len || len == 0xffffffff || len > (uint64_t)(b.end - b.p))
		return 0;
	b.end = b.p + len;
	if (get(&b, 4) != 0)	/* not a CIE */
		return 0;
	if (get(&b, 1) > 3)
		return 0;
	aug = (const char *)b.p;
	while (get(&b, 1))
		;
	*c = (struct cie){ .code_align = get_uleb(&b) };
	c->data_align = get_sleb(&b);
	if (get_uleb(&b) != RA || b.bad)
		return 0;
	if (*aug == 'z') {
		if (!parse_augmentation(&b, aug, c))
			return 0;
	} else if (*aug) {
		return 0;
	}
	c->init = b;
	return !b.bad;
}

/* The rules of the registers that matter, while instructions are run. */
struct row {
	struct {
		unsigned reg;
		int64_t off;
		int odd;	/* none of ours: an expression */
		int deref;	/* in memory at reg + off */
	} cfa;
	struct {
		enum { KEPT, AT_CFA, AT_RBP_REG, OTHER, UNDEFINED } kind;
		int64_t off;
	} rbp, ra;
};

#define ROWS 8		/* remembered, one in the other */

struct machine {
	struct row row, initial, saved[ROWS];
	unsigned depth;
	uint64_t loc;
};

/* breg6 X; deref, as functions that realign their stack have it. */
static void cfa_expression(struct bytes *b, struct row *r)
{
	uint64_t len = get_uleb(b);
	struct bytes e = *b;

	if (len > (uint64_t)(b->end - b->p)) {
		b->bad = 1;
		return;
	}
	e.end = e.p + len;
	b->p += len;
	r->cfa.odd = 1;
	if (get(&e, 1) != 0x70 + RBP)
		return;
	r->cfa.off = get_sleb(&e);
	if (get(&e, 1) != 0x06 || e.p != e.end || e.bad)
		return;
	r->cfa.reg = RBP;
	r->cfa.deref = 1;
	r->cfa.odd = 0;
}

static void reg_expression(struct bytes *b, struct row *r, int is_value)
{
	uint64_t reg = get_uleb(b), len = get_uleb(b);
	struct bytes e = *b;

	if (len > (uint64_t)(b->end - b->p)) {
		b->bad = 1;
		return;
	}
	e.end = e.p + len;
	b->p += len;
	if (reg == RA)
		r->ra.kind = OTHER;
	if (reg != RBP)
		return;
	r->rbp.kind = OTHER;
	if (is_value || get(&e, 1) != 0x70 + RBP)
		return;
	r->rbp.off = get_sleb(&e);
	if (e.p == e.end && !e.bad)
		r->rbp.kind = AT_RBP_REG;
}

static void set_reg(struct machine *m, uint64_t reg, int kind, int64_t off)
{
	if (reg == RBP) {
		m->row.rbp.kind = kind;
		m->row.rbp.off = off;
	} else if (reg == RA) {
		m->row.ra.kind = kind;
		m->row.ra.off = off;
	}
}

static void restore_reg(struct machine *m, uint64_t reg)
{
	if (reg == RBP)
		m->row.rbp = m->initial.rbp;
	else if (reg == RA)
		m->row.ra = m->initial.ra;
}

static void set_cfa(struct machine *m, unsigned reg, int64_t off)
{
	m->row.cfa.reg = reg;
	m->row.cfa.off = off;
	m->row.cfa.odd = m->row.cfa.deref = 0;
}

/* The instructions other than the three with an operand in the opcode. */
static void step(struct machine *m, struct bytes *b, unsigned op,
		 const struct cie *c)
{
	uint64_t reg;

	switch (op) {
	case 0x00: break;					/* nop */
	case 0x01:						/* set_loc */
		m->loc = get_pointer(b, c->fde_enc & 0x7f, 0);
		break;
	case 0x02: m->loc += get(b, 1) * c->code_align; break;
	case 0x03: m->loc += get(b, 2) * c->code_align; break;
	case 0x04: m->loc += get(b, 4) * c->code_align; break;
	case 0x05:					/* offset_extended */
		reg = get_uleb(b);
		set_reg(m, reg, AT_CFA, get_uleb(b) * c->data_align);
		break;
	case 0x06: restore_reg(m, get_uleb(b)); break;
	case 0x07: set_reg(m, get_uleb(b), UNDEFINED, 0); break;
	case 0x08: set_reg(m, get_uleb(b), KEPT, 0); break;
	case 0x09:						/* register */
		reg = get_uleb(b);
		get_uleb(b);
		set_reg(m, reg, OTHER, 0);
		break;
	case 0x0a:
		if (m->depth == ROWS)
			b->bad = 1;
		else
			m->saved[m->depth++] = m->row;
		break;
	case 0x0b:
		if (!m->depth)
			b->bad = 1;
		else
			m->row = m->saved[--m->depth];
		break;
	case 0x0c:						/* def_cfa */
		reg = get_uleb(b);
		set_cfa(m, reg, get_uleb(b));
		break;
	case 0x0d: set_cfa(m, get_uleb(b), m->row.cfa.off); break;
	case 0x0e: set_cfa(m, m->row.cfa.reg, get_uleb(b)); break;
	case 0x0f: cfa_expression(b, &m->row); break;
	case 0x10: reg_expression(b, &m->row, 0); break;
	case 0x11:					/* offset_extended_sf */
		reg = get_uleb(b);
		set_reg(m, reg, AT_CFA, get_sleb(b) * c->data_align);
		break;
	case 0x12:						/* def_cfa_sf */
		reg = get_uleb(b);
		set_cfa(m, reg, get_sleb(b) * c->data_align);
		break;
	case 0x13:
		set_cfa(m, m->row.cfa.reg, get_sleb(b) * c->data_align);
		break;
	case 0x14: case 0x15:					/* val_offset */
		set_reg(m, get_uleb(b), OTHER, 0);
		get_uleb(b);
		break;
	case 0x16: reg_expression(b, &m->row, 1); break;
	case 0x2e: get_uleb(b); break;				/* args_size */
	default: b->bad = 1;
	}
}

static int run(struct machine *m, struct bytes b, const struct cie *c,
	       uint64_t ip)
{
	while (b.p < b.end && !b.bad && m->loc <= ip) {
		unsigned op = get(&b, 1);

		switch (op >> 6) {
		case 1: m->loc += (op & 0x3f) * c->code_align; break;
		case 2:
			set_reg(m, op & 0x3f, AT_CFA,
				get_uleb(&b) * c->data_align);
			break;
		case 3: restore_reg(m, op & 0x3f); break;
		default: step(m, &b, op, c);
		}
	}
	return !b.bad;
}

static int fits(int64_t off)
{
	return off >= -(1 << 24) && off < 1 << 24;
}

static struct moca_cfi_rule make_rule(const struct row *r)
{
	static const struct moca_cfi_rule stop;
	struct moca_cfi_rule rule = { .cfa_off = r->cfa.off };

	if (r->ra.kind == UNDEFINED)
		return (struct moca_cfi_rule){ .cfa = MOCA_CFA_END };
	if (r->cfa.odd || r->ra.kind != AT_CFA || r->ra.off != -8 ||
	    !fits(r->cfa.off) || !fits(r->rbp.off))
		return stop;
	if (r->cfa.reg == RBP)
		rule.cfa = r->cfa.deref ? MOCA_CFA_AT_RBP : MOCA_CFA_RBP;
	else if (r->cfa.reg == RSP)
		rule.cfa = MOCA_CFA_RSP;
	else
		return stop;
	rule.rbp_off = r->rbp.off;
	switch (r->rbp.kind) {
	case KEPT: rule.rbp = MOCA_RBP_KEPT; break;
	case AT_CFA: rule.rbp = MOCA_RBP_AT_CFA; break;
	case AT_RBP_REG: rule.rbp = MOCA_RBP_AT_RBP; break;
	default: rule.rbp = MOCA_RBP_LOST;
	}
	return rule;
}

static struct moca_cfi_rule rule_of_fde(const struct bytes *module,
				     const uint8_t *at, uint64_t ip)
{
	static const struct moca_cfi_rule stop;
	struct bytes b = *module;
	struct machine m;
	uint64_t len, begin;
	struct cie c;

	if (at < b.low || at >= b.high)
		return stop;
	b.p = at;
	len = get(&b, 4);
	if (!len || len == 0xffffffff || len > (uint64_t)(b.end - b.p))
		return stop;
	b.end = b.p + len;
	at = b.p;
	if (!parse_cie(module, at - get(&b, 4), &c) ||
	    (c.fde_enc & PE_INDIRECT))
		return stop;
	begin = get_pointer(&b, c.fde_enc, 0);
	if (ip - begin >= get_pointer(&b, c.fde_enc & 0x0f, 0) || b.bad)
		return stop;
	if (c.is_signal)
		return (struct moca_cfi_rule){ .cfa = MOCA_CFA_SIGNAL };
	if (c.has_aug) {
		len = get_uleb(&b);
		if (len > (uint64_t)(b.end - b.p))
			return stop;
		b.p += len;
	}
	memset(&m, 0, sizeof(m));
	if (!run(&m, c.init, &c, 0))
		return stop;
	m.initial = m.row;
	m.loc = begin;
	if (!run(&m, b, &c, ip))
		return stop;
	return make_rule(&m.row);
}

/* .eh_frame_hdr has a sorted table: of code, of its description. */
struct moca_cfi_rule moca_cfi_parse(const uint8_t *low_end, const uint8_t *high_end,
				    const uint8_t *header, uint64_t ip)
{
	static const struct moca_cfi_rule stop;
	unsigned ptr_enc, count_enc, table_enc;
	uint64_t hdr = (uint64_t)header, low, high, n;
	struct bytes b = {
		.p = header, .low = low_end, .high = high_end, .end = high_end,
	};
	const int32_t *table;

	if (b.p < b.low || b.p >= b.high || get(&b, 1) != 1)
		return stop;
	ptr_enc = get(&b, 1);
	count_enc = get(&b, 1);
	table_enc = get(&b, 1);
	if (ptr_enc != PE_OMIT)
		get_pointer(&b, ptr_enc, hdr);
	if (count_enc == PE_OMIT || table_enc != (PE_DATAREL | 0x0b))
		return stop;
	n = get_pointer(&b, count_enc, hdr);
	if (b.bad || !n || n > (uint64_t)(b.end - b.p) / 8)
		return stop;
	table = (const int32_t *)b.p;
	if (ip < hdr + table[0])
		return stop;
	for (low = 0, high = n; high - low > 1;) {
		uint64_t mid = (low + high) / 2;

		if (hdr + (int64_t)table[2 * mid] <= ip)
			low = mid;
		else
			high = mid;
	}
	return rule_of_fde(&b, (const uint8_t *)hdr + table[2 * low + 1], ip);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which of the calls that one source line makes: several variables may be
 * allocated there, in the order of the code.
 */
#include <gelf.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "analysis/symbols/calls.h"

struct count {
	ZydisDecoder zydis;	/* of x86-64 */
	int arm64;		/* the code's machine */
	uint64_t vaddr;		/* inside the call that is asked for */
	uint64_t target;	/* that it calls; 0: not known yet */
	unsigned before, total;
};

/* The file's bytes at vaddr, at most *len. */
static const uint8_t *text(struct moca_module *m, uint64_t vaddr, size_t *len)
{
	const char *raw;
	GElf_Phdr ph;
	size_t n, size;
	uint64_t at;

	raw = elf_rawfile(m->elf, &size);
	if (!raw || elf_getphdrnum(m->elf, &n) < 0)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(m->elf, (int)i, &ph) ||
		    ph.p_type != PT_LOAD || vaddr < ph.p_vaddr ||
		    vaddr - ph.p_vaddr >= ph.p_filesz)
			continue;
		at = vaddr - ph.p_vaddr;
		if (*len > ph.p_filesz - at)
			*len = ph.p_filesz - at;
		if (ph.p_offset > size || at > size - ph.p_offset)
			return NULL;
		if (*len > size - ph.p_offset - at)
			*len = size - ph.p_offset - at;
		return (const uint8_t *)raw + ph.p_offset + at;
	}
	return NULL;
}

/* What a call through a register or memory calls: they are one of a kind. */
#define INDIRECT 1

/* The length of the instruction at p, which is at vaddr `at`; 0: there is none.
 * *target: what it calls; 0: it is no call. */
static unsigned step_x86(const struct count *c, const uint8_t *p, size_t len,
			 uint64_t at, uint64_t *target)
{
	ZydisDecodedInstruction insn;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&c->zydis, NULL, p, len,
							&insn)))
		return 0;
	*target = 0;
	if (insn.meta.category == ZYDIS_CATEGORY_CALL)
		*target = insn.raw.imm[0].is_relative ?
			  at + insn.length + (uint64_t)insn.raw.imm[0].value.s :
			  INDIRECT;
	return insn.length;
}

/* bl has 100101 and 26 bits of how many words on it calls; blr is 0xd63f.... */
static unsigned step_arm64(const uint8_t *p, size_t len, uint64_t at,
			   uint64_t *target)
{
	uint32_t insn;
	int32_t words;

	if (len < sizeof(insn))
		return 0;
	insn = (uint32_t)p[3] << 24 | p[2] << 16 | p[1] << 8 | p[0];
	words = (int32_t)(insn << 6) >> 6;
	*target = insn >> 26 == 0x25 ? at + (uint64_t)(int64_t)words * 4 :
		  (insn & 0xfeff0000) == 0xd63f0000 ? INDIRECT : 0;
	return sizeof(insn);
}

/* All direct calls in [lo, hi). */
static void decode(struct moca_module *m, struct count *c, uint64_t lo,
		   uint64_t hi, int finding)
{
	size_t len = hi - lo;
	const uint8_t *p = text(m, lo, &len);
	uint64_t at = lo, target;
	unsigned n;

	for (; p && len; p += n, len -= n, at += n) {
		n = c->arm64 ? step_arm64(p, len, at, &target) :
			       step_x86(c, p, len, at, &target);
		if (!n)
			return;
		if (!target)
			continue;
		if (finding) {
			if (c->vaddr >= at && c->vaddr < at + n)
				c->target = target;
			continue;
		}
		if (target != c->target)
			continue;
		c->total++;
		if (at + n <= c->vaddr)
			c->before++;
	}
}

/* All code of the line in the function [lo, hi). */
static void each_piece(struct moca_module *m, struct unit *u, struct count *c,
		       const char *file, unsigned line, uint64_t lo,
		       uint64_t hi, int finding)
{
	Dwarf_Lines *lines;
	Dwarf_Addr at, next;
	const char *name;
	size_t n;
	int number;

	if (dwarf_getsrclines(&u->lines, &lines, &n) != 0)
		return;
	for (size_t i = 0; i + 1 < n; i++) {
		Dwarf_Line *l = dwarf_onesrcline(lines, i);

		if (dwarf_lineno(l, &number) != 0 ||
		    (unsigned)number != line || dwarf_lineaddr(l, &at) != 0 ||
		    dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &next) != 0)
			continue;
		at += m->bias;
		next += m->bias;
		if (at < lo || next > hi || at >= next)
			continue;
		name = dwarf_linesrc(l, NULL, NULL);
		if (name && file && !strcmp(name, file))
			decode(m, c, at, next, finding);
	}
}

unsigned call_number(struct moca_module *m, struct unit *u, uint64_t vaddr,
		     unsigned *total)
{
	struct elf_symbol *f = module_function(m, vaddr);
	struct count c = { .vaddr = vaddr };
	Dwarf_Line *l;
	const char *file;
	int line;

	*total = 0;
	l = dwarf_getsrc_die(&u->lines, vaddr - m->bias);
	if (!f || !f->size || !l || dwarf_lineno(l, &line) != 0 || line <= 0)
		return 0;
	file = dwarf_linesrc(l, NULL, NULL);
	c.arm64 = moca_module_is_arm64(m);
	if (gelf_getclass(m->elf) != ELFCLASS64 ||
	    (!c.arm64 && !ZYAN_SUCCESS(ZydisDecoderInit(&c.zydis,
			ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64))))
		return 0;
	each_piece(m, u, &c, file, (unsigned)line, f->begin,
		   f->begin + f->size, 1);
	if (!c.target)
		return 0;
	each_piece(m, u, &c, file, (unsigned)line, f->begin,
		   f->begin + f->size, 0);
	*total = c.total;
	return c.before;
}

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
	ZydisDecoder zydis;
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

/* All direct calls in [lo, hi). */
static void decode(struct moca_module *m, struct count *c, uint64_t lo,
		   uint64_t hi, int finding)
{
	ZydisDecodedInstruction insn;
	size_t len = hi - lo;
	const uint8_t *p = text(m, lo, &len);
	uint64_t at = lo, target;

	for (; p && len; p += insn.length, len -= insn.length,
	     at += insn.length) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&c->zydis,
				NULL, p, len, &insn)))
			return;
		if (insn.meta.category != ZYDIS_CATEGORY_CALL)
			continue;
		/* A call through a register or memory is one of a kind. */
		target = insn.raw.imm[0].is_relative ?
			 at + insn.length + (uint64_t)insn.raw.imm[0].value.s :
			 1;
		if (finding) {
			if (c->vaddr >= at && c->vaddr < at + insn.length)
				c->target = target;
			continue;
		}
		if (target != c->target)
			continue;
		c->total++;
		if (at + insn.length <= c->vaddr)
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
	if (gelf_getclass(m->elf) != ELFCLASS64 ||
	    !ZYAN_SUCCESS(ZydisDecoderInit(&c.zydis,
			ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
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

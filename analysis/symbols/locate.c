// SPDX-License-Identifier: GPL-2.0-or-later
/* Which function, inlined ones too, and which line an address is of. */
#include <dwarf.h>
#include <string.h>

#include "analysis/symbols/locate.h"
#include "analysis/symbols/tables.h"

void unit_line(struct moca_module *m, struct unit *u, uint64_t vaddr,
	       const char **file, unsigned *line, unsigned *column)
{
	Dwarf_Line *l = dwarf_getsrc_die(&u->lines, vaddr - m->bias);
	int n;

	*file = NULL;
	*line = *column = 0;
	if (!l)
		return;
	*file = unit_path(m, u, dwarf_linesrc(l, NULL, NULL));
	if (dwarf_lineno(l, &n) == 0 && n > 0)
		*line = (unsigned)n;
	if (dwarf_linecol(l, &n) == 0 && n > 0)
		*column = (unsigned)n;
}

static uint64_t number(Dwarf_Die *die, unsigned attr)
{
	Dwarf_Attribute a;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, attr, &a), &value) != 0)
		return 0;
	return value;
}

unsigned call_column(Dwarf_Die *die)
{
	uint64_t column = number(die, DW_AT_call_column);

	return column <= UINT32_MAX ? (unsigned)column : 0;
}

/* Where an inlined function was called from. */
static void call_line(struct moca_module *m, struct unit *u, Dwarf_Die *die,
		      struct moca_location *out)
{
	uint64_t line = number(die, DW_AT_call_line);

	out->line = line <= UINT32_MAX ? (unsigned)line : 0;
	out->file = die_file(m, u, die, DW_AT_call_file);
}

static size_t locate_dwarf(struct moca_module *m, struct unit *u,
			   uint64_t vaddr, struct moca_location *out,
			   uint32_t *scopes, size_t max)
{
	struct moca_location at = { 0 };
	uint32_t s, outermost = NO_SCOPE;
	struct elf_symbol *sym;
	unsigned column;
	uint64_t begin;
	size_t n = 0;

	unit_line(m, u, vaddr, &at.file, &at.line, &column);
	sym = module_function(m, vaddr);
	for (s = unit_scope(m, u, vaddr); s != NO_SCOPE && n < max;
	     s = u->scopes[s].parent) {
		outermost = s;
		at.function = scope_name(m, u, s);
		if (!at.function && u->scopes[s].parent == NO_SCOPE && sym)
			at.function = elf_symbol_name(m, sym);
		if (at.function || at.file) {
			out[n] = at;
			if (scopes)
				scopes[n] = s;
			n++;
		}
		call_line(m, u, &u->scopes[s].die, &at);
	}
	if (!n) {	/* lines only: assembler */
		if (!at.file && !sym)
			return 0;
		out[n] = at;
		if (scopes)
			scopes[n] = NO_SCOPE;
		if (sym) {
			out[n].function = elf_symbol_name(m, sym);
			out[n].offset = vaddr - sym->begin;
		}
		return 1;
	}
	while (u->scopes[outermost].parent != NO_SCOPE)
		outermost = u->scopes[outermost].parent;
	begin = u->scopes[outermost].entry;
	if (begin > vaddr) {	/* in a part of it that lies before */
		begin = sym ? sym->begin : vaddr;
	}
	for (size_t i = 0; i < n; i++)
		out[i].offset = vaddr - begin;
	return n;
}

size_t module_locate(struct moca_module *m, uint64_t vaddr,
		     struct unit **unit, struct moca_location *out,
		     uint32_t *scopes, size_t max)
{
	struct unit *u;
	struct elf_symbol *sym;
	size_t n;

	*unit = NULL;
	if (!max)
		return 0;
	memset(out, 0, max * sizeof(*out));
	u = module_unit(m, vaddr);
	if (u) {
		n = locate_dwarf(m, u, vaddr, out, scopes, max);
		if (n) {
			*unit = u;
			return n;
		}
	}
	sym = module_function(m, vaddr);
	if (!sym)
		return 0;
	out[0].function = elf_symbol_name(m, sym);
	out[0].offset = vaddr - sym->begin;
	if (scopes)
		scopes[0] = NO_SCOPE;
	return 1;
}

size_t moca_module_locate(struct moca_module *m, uint64_t vaddr,
			  struct moca_location *out, size_t max)
{
	struct unit *u;

	return module_locate(m, vaddr, &u, out, NULL, max);
}

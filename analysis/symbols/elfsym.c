// SPDX-License-Identifier: GPL-2.0-or-later
/* The ELF symbol table: functions and data, by address. */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/symbols/tables.h"

/* Of two names for one place, the one that the source more likely has. */
static int worse(const struct elf_symbol *s)
{
	int n = s->bind == STB_LOCAL ? 2 : s->bind == STB_WEAK ? 1 : 0;

	if (s->raw[0] == '_' && s->raw[1] != 'Z')
		n += 4;
	return n + (s->size ? 0 : 8);
}

static int by_begin(const void *a, const void *b)
{
	const struct elf_symbol *x = a, *y = b;
	int tls = (x->type == STT_TLS) - (y->type == STT_TLS);

	if (tls)
		return tls;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (worse(x) != worse(y))
		return worse(x) < worse(y) ? -1 : 1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return strcmp(x->raw, y->raw);
}

static int add_symbol(struct moca_module *m, const GElf_Sym *sym,
		      uint64_t addr, const char *name)
{
	int type = GELF_ST_TYPE(sym->st_info);
	struct elf_symbol e = { .begin = addr, .size = sym->st_size,
				.raw = name, .type = (uint8_t)type,
				.bind = GELF_ST_BIND(sym->st_info) };

	if (type == STT_OBJECT || type == STT_COMMON || type == STT_TLS) {
		if (!sym->st_size || addr + sym->st_size < addr)
			return 0;
		if (moca_vec_fit(m->data, m->data_room, m->data_count + 1))
			return -ENOMEM;
		m->data[m->data_count++] = e;
		return 0;
	}
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	/* Labels of hand-written code have no type. */
	if (!module_loads(m, addr, PF_X))
		return 0;
	if (moca_vec_fit(m->functions, m->function_room, m->function_count + 1))
		return -ENOMEM;
	m->functions[m->function_count++] = e;
	return 0;
}

int module_elf_symbols(struct moca_module *m)
{
	const char *name;
	GElf_Word shndx;
	GElf_Addr addr;
	GElf_Sym sym;
	int n;

	if (module_open(m) < 0)
		return m->error;
	if (m->elf_symbols_read)
		return 0;
	m->elf_symbols_read = 1;
	n = dwfl_module_getsymtab(m->mod);
	for (int i = 0; i < n; i++) {
		name = dwfl_module_getsym_info(m->mod, i, &sym, &addr, &shndx,
					       NULL, NULL);
		if (!name || !name[0])
			continue;
		if (!strncmp(name, "_gfortran_", 10))
			m->fortran = 1;
		if (shndx == SHN_UNDEF || shndx == SHN_ABS)
			continue;
		if (add_symbol(m, &sym, addr, name) < 0)
			break;
	}
	if (m->function_count)
		qsort(m->functions, m->function_count, sizeof(*m->functions),
		      by_begin);
	if (m->data_count)
		qsort(m->data, m->data_count, sizeof(*m->data), by_begin);
	return 0;
}

/* The last function that begins at vaddr or before; -1. */
static long last_before(const struct moca_module *m, uint64_t vaddr)
{
	size_t lo = 0, hi = m->function_count, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (m->functions[mid].begin <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (long)lo - 1;
}

struct elf_symbol *module_function(struct moca_module *m, uint64_t vaddr)
{
	struct elf_symbol *f, *best = NULL;
	long i;

	if (module_elf_symbols(m) < 0 || !module_loads(m, vaddr, PF_X))
		return NULL;
	i = last_before(m, vaddr);
	/* Aliases, and labels inside, are few. */
	for (int n = 0; i >= 0 && n < 32; i--, n++) {
		f = &m->functions[i];
		if (f->size && vaddr - f->begin < f->size) {
			if (!best || f->begin == best->begin || !best->size)
				best = f;
			continue;
		}
		/* Without a size: as far as the next one. */
		if (!f->size && (!best || f->begin == best->begin) &&
		    n == 0)
			best = f;
		if (best && f->begin < best->begin && best->size)
			break;
	}
	return best;
}

const char *elf_symbol_name(struct moca_module *m, struct elf_symbol *sym)
{
	if (!sym->name) {
		sym->name = sym->type == STT_OBJECT || sym->type == STT_TLS ||
				    sym->type == STT_COMMON ?
			    demangle_variable(m, sym->raw) :
			    demangle_function(m, sym->raw);
		if (!sym->name)
			sym->name = sym->raw;
	}
	return sym->name;
}

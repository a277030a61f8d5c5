// SPDX-License-Identifier: GPL-2.0-or-later
/* The compilation units of a module, and which one an address is of. */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/symbols/tables.h"

const char *die_string(Dwarf_Die *die, unsigned attr)
{
	Dwarf_Attribute a;

	return dwarf_formstring(dwarf_attr_integrate(die, attr, &a));
}

Dwarf_Die *die_reference(Dwarf_Die *die, unsigned attr, Dwarf_Die *out)
{
	Dwarf_Attribute a;

	if (!dwarf_attr(die, attr, &a))
		return NULL;
	return dwarf_formref_die(&a, out);
}

static void set_language(struct unit *u)
{
	switch (dwarf_srclang(&u->die)) {
	case DW_LANG_Fortran77:
	case DW_LANG_Fortran90:
	case DW_LANG_Fortran95:
	case DW_LANG_Fortran03:
	case DW_LANG_Fortran08:
		u->fortran = 1;
		break;
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
		u->cxx = 1;
		break;
	default:
		break;
	}
}

/* Not from .debug_aranges: compilers other than gcc leave it out. */
static int add_ranges(struct moca_module *m, uint32_t index)
{
	struct unit *u = &m->units[index];
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;

	while (m->ranges_read < RANGES_MAX &&
	       (at = dwarf_ranges(&u->lines, at, &base, &lo, &hi)) > 0) {
		m->ranges_read++;
		if (lo >= hi)
			continue;
		if (moca_vec_fit(m->unit_ranges, m->unit_range_room,
				 m->unit_range_count + 1))
			return -ENOMEM;
		m->unit_ranges[m->unit_range_count++] = (struct unit_range){
			lo + m->bias, hi + m->bias, index };
	}
	return 0;
}

static int by_lo(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return (x->unit > y->unit) - (x->unit < y->unit);
}

static int read_units(struct moca_module *m)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	Dwarf_Die die, sub;
	uint8_t type;

	while (dwarf_get_units(m->dwarf, cu, &cu, &version, &type, &die,
			       &sub) == 0) {
		struct unit u = { .lines = die, .die = die };

		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (type == DW_UT_skeleton && dwarf_tag(&sub) ==
					      DW_TAG_compile_unit)
			u.die = sub;
		u.dir = die_string(&u.lines, DW_AT_comp_dir);
		set_language(&u);
		if (u.fortran)
			m->fortran = 1;
		if (moca_vec_fit(m->units, m->unit_room, m->unit_count + 1))
			return -ENOMEM;
		m->units[m->unit_count++] = u;
		if (add_ranges(m, (uint32_t)m->unit_count - 1) < 0)
			return -ENOMEM;
	}
	if (m->unit_range_count)
		qsort(m->unit_ranges, m->unit_range_count,
		      sizeof(*m->unit_ranges), by_lo);
	return 0;
}

int module_dwarf(struct moca_module *m)
{
	Dwarf_Addr bias;
	int rc;

	rc = module_open(m);
	if (rc < 0)
		return rc;
	if (m->dwarf_read)
		return m->unit_count ? 0 : -ENOENT;
	m->dwarf_read = 1;
	m->dwarf = dwfl_module_getdwarf(m->mod, &bias);
	if (!m->dwarf)
		return -ENOENT;
	m->bias = bias;
	read_units(m);
	return m->unit_count ? 0 : -ENOENT;
}

int moca_module_has_debug(struct moca_module *m)
{
	return module_dwarf(m) == 0;
}

struct unit *module_unit(struct moca_module *m, uint64_t vaddr)
{
	size_t lo = 0, hi, mid;

	if (module_dwarf(m) < 0)
		return NULL;
	hi = m->unit_range_count;
	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (m->unit_ranges[mid].lo <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Ranges overlap only where something is broken. */
	for (int n = 0; lo-- > 0 && n < 16; n++)
		if (vaddr < m->unit_ranges[lo].hi)
			return &m->units[m->unit_ranges[lo].unit];
	return NULL;
}

const char *unit_path(struct moca_module *m, const struct unit *u,
		      const char *file)
{
	char *path;

	if (!file || !file[0] || file[0] == '/' || !u->dir || !u->dir[0])
		return file && file[0] ? file : NULL;
	path = arena_printf(m->symbols, "%s/%s", u->dir, file);
	return path ? path : file;
}

/* Not by dwarf_decl_file: it stops the program where a table is broken. */
const char *die_file(struct moca_module *m, const struct unit *u,
		     Dwarf_Die *die, unsigned attr)
{
	Dwarf_Die home, *table;
	Dwarf_Attribute a;
	Dwarf_Files *files;
	Dwarf_Word index;
	Dwarf_Half version;
	size_t n;

	if (dwarf_formudata(dwarf_attr_integrate(die, attr, &a), &index) != 0)
		return NULL;
	/* It counts in the table of the unit where the attribute stands. */
	table = dwarf_cu_die(a.cu, &home, &version, NULL, NULL, NULL, NULL,
			     NULL);
	if (!table || (!index && version < 5))
		return NULL;
	if (dwarf_getsrcfiles(table, &files, &n) != 0) {
		home = u->lines;
		if (dwarf_getsrcfiles(&home, &files, &n) != 0)
			return NULL;
	}
	return unit_path(m, u, dwarf_filesrc(files, index, NULL, NULL));
}

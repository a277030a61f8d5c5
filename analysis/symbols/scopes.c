// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions of a unit and what is inlined in them, by address. A unit's
 * tree is walked once; of its ranges, each one knows the next one around, so
 * that a look-up is a binary search and a few steps.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/symbols/tables.h"

#define DEPTH_MAX 128	/* of the tree; compilers stay far below */

static int add_scope(struct moca_module *m, struct unit *u, Dwarf_Die *die,
		     uint32_t parent, uint32_t depth)
{
	struct scope s = { .die = *die, .parent = parent };
	Dwarf_Addr base, lo, hi;
	uint32_t index = (uint32_t)u->scope_count;
	ptrdiff_t at = 0;
	int any = 0;

	while (m->ranges_read < RANGES_MAX &&
	       (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		m->ranges_read++;
		if (lo >= hi)
			continue;
		if (moca_vec_fit(u->ranges, u->range_room, u->range_count + 1))
			return -ENOMEM;
		u->ranges[u->range_count++] = (struct scope_range){
			lo + m->bias, hi + m->bias, index, depth, NO_SCOPE };
		/* The first one; a cold part, wherever it lies, comes later. */
		if (!any)
			s.entry = lo + m->bias;
		any = 1;
	}
	if (!any)
		return 0;
	if (moca_vec_fit(u->scopes, u->scope_room, u->scope_count + 1))
		return -ENOMEM;
	u->scopes[u->scope_count++] = s;
	return 1;
}

static int has_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_entry_point:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return 1;
	default:
		return 0;
	}
}

static int walk(struct moca_module *m, struct unit *u, Dwarf_Die *parent,
		uint32_t scope, uint32_t depth)
{
	Dwarf_Die die;
	uint32_t inner;
	int tag, rc;

	if (depth > DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		tag = dwarf_tag(&die);
		if (!has_functions(tag))
			continue;
		inner = scope;
		if (tag == DW_TAG_subprogram ||
		    tag == DW_TAG_inlined_subroutine) {
			/* A function in a function is not inlined in it. */
			rc = add_scope(m, u, &die, tag == DW_TAG_subprogram ?
				       NO_SCOPE : scope, depth);
			if (rc < 0)
				return rc;
			if (rc)
				inner = (uint32_t)u->scope_count - 1;
		}
		rc = walk(m, u, &die, inner, depth + 1);
		if (rc < 0)
			return rc;
	} while (dwarf_siblingof(&die, &die) == 0);
	return 0;
}

static int outer_first(const void *a, const void *b)
{
	const struct scope_range *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	if (x->hi != y->hi)
		return x->hi > y->hi ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (x->scope > y->scope) - (x->scope < y->scope);
}

static void read_scopes(struct moca_module *m, struct unit *u)
{
	uint32_t outer = NO_SCOPE;

	u->scopes_read = 1;
	walk(m, u, &u->die, NO_SCOPE, 0);
	if (!u->range_count)
		return;
	qsort(u->ranges, u->range_count, sizeof(*u->ranges), outer_first);
	for (uint32_t i = 0; i < u->range_count; i++) {
		while (outer != NO_SCOPE &&
		       u->ranges[outer].hi <= u->ranges[i].lo)
			outer = u->ranges[outer].outer;
		u->ranges[i].outer = outer;
		outer = i;
	}
}

uint32_t unit_scope(struct moca_module *m, struct unit *u, uint64_t vaddr)
{
	size_t lo = 0, hi, mid;
	uint32_t i;

	if (!u->scopes_read)
		read_scopes(m, u);
	hi = u->range_count;
	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (u->ranges[mid].lo <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return NO_SCOPE;
	for (i = (uint32_t)lo - 1; i != NO_SCOPE; i = u->ranges[i].outer)
		if (vaddr < u->ranges[i].hi &&
		    u->ranges[i].scope < u->scope_count)
			return u->ranges[i].scope;
	return NO_SCOPE;
}

/*
 * C++ by its linkage name, since DW_AT_name has no namespace and no arguments;
 * Fortran by the name in the source, but for a module's procedure.
 */
const char *scope_name(struct moca_module *m, struct unit *u, uint32_t scope)
{
	struct scope *s = &u->scopes[scope];
	const char *name, *raw, *pretty = NULL;
	struct elf_symbol *sym;

	if (s->name)
		return s->name;
	name = die_string(&s->die, DW_AT_name);
	raw = die_string(&s->die, DW_AT_linkage_name);
	if (!raw)
		raw = die_string(&s->die, DW_AT_MIPS_linkage_name);
	/* What nobody else can call has none in DWARF. */
	if (!raw && u->cxx && s->parent == NO_SCOPE) {
		sym = module_function(m, s->entry);
		if (sym && sym->begin == s->entry &&
		    !strncmp(sym->raw, "_Z", 2))
			raw = sym->raw;
	}
	if (raw && (!strncmp(raw, "_Z", 2) || !strncmp(raw, "__", 2) || !name))
		pretty = demangle_function(m, raw);
	s->name = pretty ? pretty : name;
	return s->name;
}

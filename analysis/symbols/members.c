// SPDX-License-Identifier: GPL-2.0-or-later
/* Which member of a struct a byte is, by DWARF. */
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "analysis/symbols/tables.h"

#define DEPTH_MAX 16	/* of bases and members without a name */

static int has_members(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type;
}

const struct moca_type *type_with_members(struct moca_module *m,
					  const struct unit *u, Dwarf_Die *type)
{
	struct moca_type *t;

	if (!has_members(dwarf_tag(type)))
		return NULL;
	t = arena_alloc(m->symbols, sizeof(*t));
	if (t)
		*t = (struct moca_type){ .module = m, .unit = u, .die = *type };
	return t;
}

/* First byte and bytes of a member, of one of bits as well. 0 or -ENOENT. */
static int place(Dwarf_Die *owner, Dwarf_Die *member, Dwarf_Die *type,
		 uint64_t *at, uint64_t *size)
{
	Dwarf_Word bytes;
	int64_t n, bits;

	if (type_of(member, type) || dwarf_aggregate_size(type, &bytes) != 0)
		return -ENOENT;
	*size = bytes;
	if (!die_constant(member, DW_AT_data_member_location, &n) && n >= 0) {
		*at = (uint64_t)n;
		return 0;
	}
	if (!die_constant(member, DW_AT_data_bit_offset, &n) && n >= 0) {
		*at = (uint64_t)n / 8;
		if (!die_constant(member, DW_AT_bit_size, &bits) && bits > 0 &&
		    bits < INT16_MAX)
			*size = ((uint64_t)n % 8 + (uint64_t)bits + 7) / 8;
		return 0;
	}
	*at = 0;
	return dwarf_tag(owner) == DW_TAG_union_type ? 0 : -ENOENT;
}

/* The child of that type which holds byte at; *from: where it begins. */
static int child_at(Dwarf_Die *owner, uint64_t at, Dwarf_Die *child,
		    Dwarf_Die *type, uint64_t *from, uint64_t *size)
{
	int tag;

	if (dwarf_child(owner, child) != 0)
		return -ENOENT;
	do {
		tag = dwarf_tag(child);
		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    place(owner, child, type, from, size))
			continue;
		if (at >= *from && at - *from < *size)
			return 0;
	} while (dwarf_siblingof(child, child) == 0);
	return -ENOENT;
}

int type_member(const struct moca_type *t, uint64_t at, struct member *out)
{
	Dwarf_Die owner = t->die, child, type;
	uint64_t before = 0, from, size;
	const char *name = NULL;
	int depth;

	for (depth = 0; depth < DEPTH_MAX; depth++) {
		if (child_at(&owner, at - before, &child, &type, &from, &size))
			return -ENOENT;
		before += from;
		name = dwarf_tag(&child) == DW_TAG_member ?
		       die_string(&child, DW_AT_name) : NULL;
		if (name || type_peel(&type, &owner) ||
		    !has_members(dwarf_tag(&owner)))
			break;
	}
	/* What a library's class consists of is nobody's name for it. */
	if (!name || !strncmp(name, "_M_", 3))
		return -ENOENT;
	*out = (struct member){
		.name = name, .at = before, .size = size,
		.shape = type_shape(t->module, t->unit, &type),
	};
	return 0;
}

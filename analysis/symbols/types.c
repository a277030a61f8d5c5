// SPDX-License-Identifier: GPL-2.0-or-later
/* From DWARF's types to shapes of arrays. */
#include <dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/symbols/tables.h"

#define DEPTH_MAX 16	/* of types in types that are followed */
#define NAME_LEN 512

int type_of(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute a;

	if (!dwarf_attr_integrate(die, DW_AT_type, &a) ||
	    !dwarf_formref_die(&a, out))
		return -ENOENT;
	return 0;
}

static int is_qualifier(int tag)
{
	return tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type ||
	       tag == DW_TAG_immutable_type || tag == DW_TAG_shared_type;
}

int type_peel(Dwarf_Die *type, Dwarf_Die *out)
{
	int tag;

	*out = *type;
	for (int i = 0; i < 4 * DEPTH_MAX; i++) {
		tag = dwarf_tag(out);
		if (tag != DW_TAG_typedef && !is_qualifier(tag))
			return 0;
		if (type_of(out, out) < 0)
			return -ENOENT;
	}
	return -ENOENT;
}

static void append(char *buf, const char *text)
{
	size_t n = strlen(buf);

	snprintf(buf + n, NAME_LEN - n, "%s", text);
}

int die_constant(Dwarf_Die *die, unsigned attr, int64_t *out)
{
	Dwarf_Attribute a;
	Dwarf_Sword s;
	Dwarf_Word w;

	if (!dwarf_attr_integrate(die, attr, &a))
		return -ENOENT;
	switch (dwarf_whatform(&a)) {
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
		if (dwarf_formudata(&a, &w) != 0)
			return -ENOENT;
		*out = (int64_t)w;
		return 0;
	case DW_FORM_sdata:
	case DW_FORM_implicit_const:
		if (dwarf_formsdata(&a, &s) != 0)
			return -ENOENT;
		*out = s;
		return 0;
	default:
		return -ENOENT;
	}
}

/*
 * One dimension. 1; 0 if its count is not known (a flexible or variable
 * array), with *lower all the same.
 */
static int dimension(const struct unit *u, Dwarf_Die *die, uint64_t *count,
		     int64_t *lower)
{
	int64_t n, upper;

	*count = 0;
	*lower = u->fortran;
	die_constant(die, DW_AT_lower_bound, lower);
	if (die_constant(die, DW_AT_count, &n) == 0) {
		*count = n > 0 ? (uint64_t)n : 0;
		return n > 0;
	}
	if (die_constant(die, DW_AT_upper_bound, &upper) < 0 || upper < *lower ||
	    upper == INT64_MAX)
		return 0;
	*count = (uint64_t)upper - (uint64_t)*lower + 1;
	return 1;
}

/* The "[16][64]" of an array type. */
static void bounds_name(const struct unit *u, Dwarf_Die *type, char *buf)
{
	uint64_t count;
	int64_t lower;
	char text[32];
	Dwarf_Die die;

	if (dwarf_child(type, &die) != 0)
		return;
	do {
		if (dwarf_tag(&die) != DW_TAG_subrange_type)
			continue;
		if (dimension(u, &die, &count, &lower))
			snprintf(text, sizeof(text), "[%" PRIu64 "]", count);
		else
			snprintf(text, sizeof(text), "[]");
		append(buf, text);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static void type_name(const struct unit *u, Dwarf_Die *type, char *buf,
		      int depth);

static void record_name(const struct unit *u, Dwarf_Die *type,
			const char *word, char *buf)
{
	const char *name = die_string(type, DW_AT_name);

	if (u->fortran) {
		append(buf, "type(");
		append(buf, name ? name : "?");
		append(buf, ")");
		return;
	}
	if (!u->cxx || !name) {
		append(buf, word);
		append(buf, " ");
	}
	append(buf, name ? name : "{...}");
}

/* What stands behind the target's name: " *", " (*)[64]", " (*)()". */
static void pointer_name(const struct unit *u, Dwarf_Die *type,
			 const char *sign, char *buf, int depth)
{
	Dwarf_Die to, end;
	size_t n;

	if (type_of(type, &to) < 0) {
		append(buf, "void ");
		append(buf, sign);
		return;
	}
	if (dwarf_tag(&to) == DW_TAG_subroutine_type) {
		if (type_of(&to, &end) < 0)
			append(buf, "void");
		else
			type_name(u, &end, buf, depth + 1);
		append(buf, " (");
		append(buf, sign);
		append(buf, ")()");
		return;
	}
	if (dwarf_tag(&to) == DW_TAG_array_type && type_of(&to, &end) == 0) {
		type_name(u, &end, buf, depth + 1);
		append(buf, " (");
		append(buf, sign);
		append(buf, ")");
		bounds_name(u, &to, buf);
		return;
	}
	type_name(u, &to, buf, depth + 1);
	n = strlen(buf);
	if (n && buf[n - 1] != '*' && buf[n - 1] != '&')
		append(buf, " ");
	append(buf, sign);
}

static void type_name(const struct unit *u, Dwarf_Die *type, char *buf,
		      int depth)
{
	const char *name;
	Dwarf_Die to;

	if (depth > DEPTH_MAX) {
		append(buf, "...");
		return;
	}
	switch (dwarf_tag(type)) {
	case DW_TAG_const_type:
		append(buf, "const ");
		/* fall through */
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		if (type_of(type, &to) < 0)
			append(buf, "void");
		else
			type_name(u, &to, buf, depth + 1);
		break;
	case DW_TAG_pointer_type:
		pointer_name(u, type, "*", buf, depth);
		break;
	case DW_TAG_reference_type:
		pointer_name(u, type, "&", buf, depth);
		break;
	case DW_TAG_rvalue_reference_type:
		pointer_name(u, type, "&&", buf, depth);
		break;
	case DW_TAG_structure_type:
		record_name(u, type, "struct", buf);
		break;
	case DW_TAG_class_type:
		record_name(u, type, "class", buf);
		break;
	case DW_TAG_union_type:
		record_name(u, type, "union", buf);
		break;
	case DW_TAG_enumeration_type:
		record_name(u, type, "enum", buf);
		break;
	case DW_TAG_array_type:
		if (type_of(type, &to) == 0) {
			type_name(u, &to, buf, depth + 1);
			bounds_name(u, type, buf);
		}
		break;
	default:
		name = die_string(type, DW_AT_name);
		append(buf, name ? name : "?");
		break;
	}
}

/*
 * Add an array type's dimensions to s. Then *known says whether all counts are
 * (the first one aside). 0, or -ENOENT: more dimensions than fit.
 */
static int dimensions(const struct unit *u, Dwarf_Die *type,
		      struct moca_shape *s, int *known)
{
	unsigned first = s->rank;
	Dwarf_Die die;
	int ok, tag;

	if (dwarf_child(type, &die) != 0)
		return -ENOENT;
	do {
		tag = dwarf_tag(&die);
		if (tag != DW_TAG_subrange_type &&
		    tag != DW_TAG_enumeration_type)
			continue;
		if (s->rank == MOCA_SHAPE_RANK)
			return -ENOENT;
		ok = dimension(u, &die, &s->count[s->rank],
			       &s->lower[s->rank]);
		if (!ok && (s->rank || u->fortran))
			*known = 0;
		s->rank++;
	} while (dwarf_siblingof(&die, &die) == 0);
	/* Fortran says the fastest index first. */
	for (unsigned i = first, j = s->rank; u->fortran && i + 1 < j;
	     i++, j--) {
		uint64_t count = s->count[i];
		int64_t lower = s->lower[i];

		s->count[i] = s->count[j - 1];
		s->count[j - 1] = count;
		s->lower[i] = s->lower[j - 1];
		s->lower[j - 1] = lower;
	}
	return s->rank > first ? 0 : -ENOENT;
}

static int has_attribute(Dwarf_Die *die, unsigned attr)
{
	Dwarf_Attribute a;

	return dwarf_attr(die, attr, &a) != NULL;
}

/* Fill in s, whose rank may count a pointer's dimension already. */
static int describe(struct moca_module *m, const struct unit *u,
		    Dwarf_Die *type, struct moca_shape *s)
{
	char name[NAME_LEN] = "";
	Dwarf_Die t = *type, peeled;
	int known = 1;
	Dwarf_Word size;

	s->fortran = u->fortran;
	for (int depth = 0;; depth++) {
		if (depth > DEPTH_MAX || type_peel(&t, &peeled) < 0)
			return -ENOENT;
		if (dwarf_tag(&peeled) != DW_TAG_array_type ||
		    has_attribute(&peeled, DW_AT_GNU_vector))
			break;
		if (dimensions(u, &peeled, s, &known) < 0 ||
		    type_of(&peeled, &t) < 0)
			return -ENOENT;
	}
	while (is_qualifier(dwarf_tag(&t)))	/* typedefs are kept */
		if (type_of(&t, &t) < 0)
			return -ENOENT;
	if (dwarf_aggregate_size(&t, &size) != 0 || !size)
		return -ENOENT;
	s->element_size = size;
	s->type = type_with_members(m, u, &peeled);
	if (!known) {
		/* One index over all: what the counts are, nobody knows. */
		s->dims = s->rank > 1 ? s->rank : 0;
		s->rank = 1;
		s->count[0] = 0;
		s->lower[0] = u->fortran;
	}
	type_name(u, &t, name, 0);
	s->element = arena_string(m->symbols, name, strlen(name));
	return s->element ? 0 : -ENOMEM;
}

static const struct moca_shape *keep(struct moca_module *m,
				     const struct moca_shape *s)
{
	struct moca_shape *copy = arena_alloc(m->symbols, sizeof(*s));

	if (copy)
		*copy = *s;
	return copy;
}

const struct moca_shape *type_shape(struct moca_module *m,
				    const struct unit *u, Dwarf_Die *type)
{
	struct moca_shape s = { 0 };
	Dwarf_Die t;

	/* An array behind a descriptor is not where the variable is. */
	if (type_peel(type, &t) < 0 || has_attribute(&t, DW_AT_data_location))
		return NULL;
	return describe(m, u, type, &s) < 0 ? NULL : keep(m, &s);
}

/* T of a C++ template's first type parameter. */
static int template_type(Dwarf_Die *type, Dwarf_Die *out)
{
	Dwarf_Die die;

	if (dwarf_child(type, &die) != 0)
		return -ENOENT;
	do {
		if (dwarf_tag(&die) == DW_TAG_template_type_parameter)
			return type_of(&die, out);
	} while (dwarf_siblingof(&die, &die) == 0);
	return -ENOENT;
}

/* Whose data is an array of their first parameter. */
static int holds_parameter(const char *name)
{
	static const char *const names[] = {
		"vector<", "unique_ptr<", "basic_string<", "valarray<",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return 1;
	return 0;
}

const struct moca_shape *type_pointee(struct moca_module *m,
				      const struct unit *u, Dwarf_Die *type)
{
	/* As many as fit of what is pointed to. */
	struct moca_shape s = { .rank = 1, .lower = { u->fortran } };
	const char *name;
	Dwarf_Die t, to;
	int tag;

	if (type_peel(type, &t) < 0)
		return NULL;
	tag = dwarf_tag(&t);
	if (tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type)
		if (type_of(&t, &t) < 0 || type_peel(&t, &t) < 0)
			return NULL;
	tag = dwarf_tag(&t);
	if (tag == DW_TAG_pointer_type && type_of(&t, &to) == 0) {
		if (u->fortran)	/* a scalar; an array says its bounds */
			s.rank = 0;
		return describe(m, u, &to, &s) < 0 ? NULL : keep(m, &s);
	}
	if (tag == DW_TAG_array_type &&
	    has_attribute(&t, DW_AT_data_location)) {
		s.rank = 0;
		return describe(m, u, &t, &s) < 0 ? NULL : keep(m, &s);
	}
	name = die_string(&t, DW_AT_name);
	if ((tag != DW_TAG_class_type && tag != DW_TAG_structure_type) ||
	    !name || !holds_parameter(name) || template_type(&t, &to) < 0)
		return NULL;
	/* unique_ptr<T[]>; another one's object may have memory of its own. */
	if (!strncmp(name, "unique_ptr<", 11) &&
	    (type_peel(&to, &t) < 0 || dwarf_tag(&t) != DW_TAG_array_type ||
	     type_of(&t, &to) < 0))
		return NULL;
	return describe(m, u, &to, &s) < 0 ? NULL : keep(m, &s);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* What a name in the source means at some place of the program. */
#include <ctype.h>
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "analysis/symbols/tables.h"

#define DEPTH_MAX 32
#define NAME_LEN 128

struct search {
	const char *name;
	int fortran;		/* case does not count */
	unsigned line;		/* declared there or before */
	Dwarf_Die best;
	unsigned best_line;
	int found;
	int local;		/* no static variable */
};

static int same_name(const struct search *s, Dwarf_Die *die)
{
	const char *name = die_string(die, DW_AT_name);

	return name && !(s->fortran ? strcasecmp(name, s->name) :
				      strcmp(name, s->name));
}

static void consider(struct search *s, Dwarf_Die *die)
{
	int line = 0;

	if (!same_name(s, die))
		return;
	if (dwarf_decl_line(die, &line) != 0 || line < 0)
		line = 0;
	if ((unsigned)line > s->line ||
	    (s->found && (unsigned)line < s->best_line))
		return;
	s->best = *die;
	s->best_line = (unsigned)line;
	s->found = 1;
}

/* A function's own: the one that is declared last before the line. */
static void search_function(struct search *s, Dwarf_Die *function, int depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dwarf_child(function, &die) != 0)
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_variable:
		case DW_TAG_formal_parameter:
			consider(s, &die);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_common_block:
			search_function(s, &die, depth + 1);
			break;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

/* A unit's, in any namespace or module. */
static int search_unit(struct search *s, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_variable:
			if (same_name(s, &die)) {
				s->best = die;
				return s->found = 1;
			}
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_common_block:
			if (search_unit(s, &die, depth + 1))
				return 1;
			break;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return 0;
}

/* The field of a struct or class, its bases' too. 0 or -ENOENT. */
static int field_type(const struct search *s, Dwarf_Die *record, int depth,
		      Dwarf_Die *type)
{
	Dwarf_Die die, base;
	int tag;

	if (depth > DEPTH_MAX || dwarf_child(record, &die) != 0)
		return -ENOENT;
	do {
		tag = dwarf_tag(&die);
		if ((tag == DW_TAG_member || tag == DW_TAG_variable) &&
		    same_name(s, &die))
			return type_of(&die, type);
		/* Bases, and structs without a name. */
		if (tag != DW_TAG_inheritance &&
		    (tag != DW_TAG_member || die_string(&die, DW_AT_name)))
			continue;
		if (type_of(&die, &base) == 0 &&
		    type_peel(&base, &base) == 0 &&
		    field_type(s, &base, depth + 1, type) == 0)
			return 0;
	} while (dwarf_siblingof(&die, &die) == 0);
	return -ENOENT;
}

/* *type: from a pointer, reference or smart pointer to what it is of. */
static int follow(Dwarf_Die *type)
{
	const char *name;
	Dwarf_Die die;
	int tag, skip;

	if (type_peel(type, type) < 0)
		return -ENOENT;
	tag = dwarf_tag(type);
	if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	    tag == DW_TAG_rvalue_reference_type || tag == DW_TAG_array_type)
		return type_of(type, type);
	name = die_string(type, DW_AT_name);
	if (!name || !strchr(name, '<') || dwarf_child(type, &die) != 0)
		return -ENOENT;
	/* What is in a map is its second parameter. */
	skip = !strncmp(name, "map<", 4) || !strncmp(name, "unordered_map<", 14);
	do {
		if (dwarf_tag(&die) == DW_TAG_template_type_parameter &&
		    skip-- == 0)
			return type_of(&die, type);
	} while (dwarf_siblingof(&die, &die) == 0);
	return -ENOENT;
}

/* A class that a method without a prefix takes its fields from. */
static int own_class(struct search *s, Dwarf_Die *function, Dwarf_Die *type)
{
	struct search self = { .name = "this", .line = ~0u };

	search_function(&self, function, 0);
	if (!self.found || type_of(&self.best, type) < 0 ||
	    follow(type) < 0 || type_peel(type, type) < 0)
		return -ENOENT;
	return field_type(s, type, 0, type);
}

/* Whether a variable in a function has a place of its own for good. */
static int is_static(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr_integrate(die, DW_AT_location, &a) ||
	    dwarf_getlocation(&a, &ops, &n) != 0 || !n)
		return 0;
	return ops[0].atom == DW_OP_addr || ops[0].atom == DW_OP_addrx ||
	       ops[0].atom == DW_OP_GNU_addr_index;
}

/* The type of a mere name. */
static int name_type(struct moca_module *m, struct unit *u, uint32_t scope,
		     struct search *s, Dwarf_Die *type)
{
	Dwarf_Die function, origin, home;

	/* Inlined code does not see what it is inlined in: one scope only. */
	if (scope != NO_SCOPE) {
		/* The abstract one has also what was optimised away. */
		function = u->scopes[scope].die;
		if (die_reference(&function, DW_AT_abstract_origin, &origin))
			function = origin;
		search_function(s, &function, 0);
		if (s->found) {
			s->local = !is_static(&s->best);
			return type_of(&s->best, type);
		}
		if (own_class(s, &function, type) == 0)
			return 0;
		/* Link-time optimised: the unit that it was written in. */
		if (dwarf_diecu(&function, &home, NULL, NULL) &&
		    search_unit(s, &home, 0))
			return type_of(&s->best, type);
	}
	if (search_unit(s, &u->die, 0))
		return type_of(&s->best, type);
	for (size_t i = 0; u->fortran && i < m->unit_count; i++)
		if (&m->units[i] != u && m->units[i].fortran &&
		    search_unit(s, &m->units[i].die, 0))
			return type_of(&s->best, type);
	return -ENOENT;
}

/* One step of a path, from its sign on. The rest, or NULL: no such thing. */
static const char *path_step(struct unit *u, const char *p, Dwarf_Die *type)
{
	struct search s = { .fortran = u->fortran };
	char name[NAME_LEN];
	size_t n;

	if (!strncmp(p, "[]", 2) || !strncmp(p, "()", 2)) {
		if (!u->fortran && *p == '(')
			return NULL;
		return follow(type) < 0 ? NULL : p + 2;
	}
	if (!strncmp(p, "->", 2)) {
		if (follow(type) < 0)
			return NULL;
		p += 2;
	} else if (*p == '.' || *p == '%') {
		p++;
	} else {
		return NULL;
	}
	for (n = 0; isalnum((unsigned char)p[n]) || p[n] == '_';)
		n++;
	if (!n || n >= sizeof(name))
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)n, p);
	s.name = name;
	/* x%field of a pointer to a record, r.field of a reference. */
	if (type_peel(type, type) < 0)
		return NULL;
	if (dwarf_tag(type) == DW_TAG_pointer_type ||
	    dwarf_tag(type) == DW_TAG_reference_type)
		if (type_of(type, type) < 0 || type_peel(type, type) < 0)
			return NULL;
	return field_type(&s, type, 0, type) < 0 ? NULL : p + n;
}

int lookup_meaning(struct moca_module *m, struct unit *u, uint32_t scope,
		   const char *path, unsigned line, struct meaning *out)
{
	struct search s = { .line = line, .fortran = u->fortran };
	const char *p = path, *sep;
	char name[NAME_LEN];
	int deref = 0, number;
	size_t n;

	memset(out, 0, sizeof(*out));
	for (; *p == '*'; p++)
		deref++;
	/* A qualified name: its last part. */
	while ((sep = strstr(p, "::")))
		p = sep + 2;
	for (n = 0; isalnum((unsigned char)p[n]) || p[n] == '_';)
		n++;
	if (!n || n >= sizeof(name))
		return -ENOENT;
	snprintf(name, sizeof(name), "%.*s", (int)n, p);
	s.name = name;
	if (name_type(m, u, scope, &s, &out->type) < 0)
		return -ENOENT;
	if (s.found && dwarf_decl_line(&s.best, &number) == 0 && number > 0)
		out->declared = (unsigned)number;
	out->local = s.local;
	for (p += n; *p;) {
		p = path_step(u, p, &out->type);
		if (!p)
			return -ENOENT;
	}
	while (deref--)
		if (follow(&out->type) < 0)
			return -ENOENT;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Static and thread-local variables: those of DWARF, by one walk over all
 * units, and what the ELF symbol table has besides.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/symbols/tables.h"

#define DEPTH_MAX 128	/* of the tree; compilers stay far below */

/* Where in the tree a variable is, as far as its name needs it. */
struct path {
	const struct path *outer;
	const char *name;	/* a namespace's, module's or COMMON block's */
};

struct walk {
	struct moca_module *m;
	const struct unit *u;
};

/* A constant operand, directly or by index into .debug_addr. */
static int operand(Dwarf_Attribute *loc, const Dwarf_Op *op, uint64_t *out)
{
	Dwarf_Attribute a;
	Dwarf_Addr addr;
	Dwarf_Word value;

	switch (op->atom) {
	case DW_OP_addr:
	case DW_OP_const4u:
	case DW_OP_const8u:
	case DW_OP_constu:
		*out = op->number;
		return 0;
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		if (dwarf_getlocation_attr(loc, op, &a) != 0 ||
		    dwarf_formudata(&a, &value) != 0)
			return -ENOENT;
		*out = value;
		return 0;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		if (dwarf_getlocation_attr(loc, op, &a) != 0 ||
		    dwarf_formaddr(&a, &addr) != 0)
			return -ENOENT;
		*out = addr;
		return 0;
	default:
		return -ENOENT;
	}
}

/*
 * An offset in the TLS block; with -gsplit-dwarf, gcc says by mistake where the
 * block's initial contents are.
 */
static int tls_offset(struct moca_module *m, uint64_t *offset)
{
	GElf_Phdr ph;

	if (module_tls(m, &ph) < 0)
		return -ENOENT;
	if (*offset >= ph.p_memsz && *offset >= ph.p_vaddr)
		*offset -= ph.p_vaddr;
	return *offset < ph.p_memsz ? 0 : -ENOENT;
}

/* Only what lies at one fixed place. 0 or -ENOENT. */
static int location(struct moca_module *m, Dwarf_Die *die,
		    struct moca_variable *v)
{
	Dwarf_Attribute a;
	Dwarf_Op *ops;
	size_t n, at = 1;

	if (!dwarf_attr(die, DW_AT_location, &a) ||
	    dwarf_getlocation(&a, &ops, &n) != 0 || n < 1 ||
	    operand(&a, &ops[0], &v->vaddr) < 0)
		return -ENOENT;
	v->tls = ops[0].atom != DW_OP_addr && ops[0].atom != DW_OP_addrx &&
		 ops[0].atom != DW_OP_GNU_addr_index;
	if (v->tls) {
		if (n < 2 || (ops[1].atom != DW_OP_form_tls_address &&
			      ops[1].atom != DW_OP_GNU_push_tls_address))
			return -ENOENT;
		at = 2;
		if (tls_offset(m, &v->vaddr) < 0)
			return -ENOENT;
	} else {
		v->vaddr += m->bias;
	}
	for (; at < n; at++) {	/* a member of a COMMON block */
		if (ops[at].atom != DW_OP_plus_uconst)
			return -ENOENT;
		v->vaddr += ops[at].number;
	}
	return 0;
}

static const char *path_name(struct moca_symbols *s, const struct path *p,
			     const char *name)
{
	for (; p && name; p = p->outer)
		if (p->name)
			name = arena_printf(s, "%s::%s", p->name, name);
	return name;
}

/* The symbol that begins there, or NULL. */
static struct elf_symbol *symbol_at(struct moca_module *m, uint64_t vaddr,
				    int tls)
{
	size_t lo = 0, hi = m->data_count, mid;
	struct elf_symbol *s;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		s = &m->data[mid];
		if ((s->type == STT_TLS) < tls ||
		    ((s->type == STT_TLS) == tls && s->begin < vaddr))
			lo = mid + 1;
		else
			hi = mid;
	}
	s = &m->data[lo];
	return lo < m->data_count && s->begin == vaddr &&
	       (s->type == STT_TLS) == tls ? s : NULL;
}

/*
 * The linkage name has the namespace or the module. Local and static ones have
 * none in DWARF; in C++ their symbols do.
 */
static const char *variable_name(struct walk *w, const struct path *path,
				 Dwarf_Die *die, const struct moca_variable *v,
				 const struct elf_symbol *sym)
{
	const char *name = die_string(die, DW_AT_name), *raw, *pretty;

	raw = die_string(die, DW_AT_linkage_name);
	if (!raw)
		raw = die_string(die, DW_AT_MIPS_linkage_name);
	if (!raw && w->u->cxx && sym && !strncmp(sym->raw, "_Z", 2))
		raw = sym->raw;
	if (raw && (!strncmp(raw, "_Z", 2) || strstr(raw, "_MOD_"))) {
		pretty = demangle_variable(w->m, raw);
		if (pretty)
			return pretty;
	}
	return name ? path_name(w->m->symbols, path, name) : NULL;
}

static int add(struct moca_module *m, const struct moca_variable *v)
{
	if (moca_vec_fit(m->variables, m->variable_room, m->variable_count + 1))
		return -ENOMEM;
	m->variables[m->variable_count++] = *v;
	return 0;
}

static int add_variable(struct walk *w, const struct path *path,
			Dwarf_Die *die, int member)
{
	struct moca_variable v = { 0 };
	struct elf_symbol *sym;
	Dwarf_Word size;
	Dwarf_Die type;
	int n, typed;

	if (location(w->m, die, &v) < 0)
		return 0;
	/* Left out by the linker: its address is 0, or another variable's. */
	if (!v.tls && !module_loads(w->m, v.vaddr, PF_R | PF_W | PF_X))
		return 0;
	typed = type_of(die, &type) == 0;
	if (typed && dwarf_aggregate_size(&type, &size) == 0)
		v.size = size;
	sym = symbol_at(w->m, v.vaddr, v.tls);
	/* The type leaves out a flexible member, and an array's descriptor. */
	if (sym && !member && sym->size > v.size)
		v.size = sym->size;
	if (typed)
		v.shape = type_shape(w->m, w->u, &type);
	if (v.shape && !v.size)
		v.size = v.shape->element_size;
	v.name = variable_name(w, path, die, &v, sym);
	if (!v.size || !v.name || v.vaddr + v.size < v.vaddr)
		return 0;
	v.file = die_file(w->m, w->u, die, DW_AT_decl_file);
	if (dwarf_decl_line(die, &n) == 0 && n > 0)
		v.line = (unsigned)n;
	return add(w->m, &v);
}

static int walk(struct walk *w, Dwarf_Die *parent, const struct path *path,
		int member, int depth);

static int visit(struct walk *w, Dwarf_Die *die, const struct path *path,
		 int member, int depth)
{
	struct path inner = { path, NULL };

	switch (dwarf_tag(die)) {
	case DW_TAG_variable:
		return add_variable(w, path, die, member);
	case DW_TAG_namespace:
		inner.name = die_string(die, DW_AT_name);
		if (!inner.name)
			inner.name = "(anonymous namespace)";
		return walk(w, die, &inner, 0, depth + 1);
	case DW_TAG_module:
		inner.name = die_string(die, DW_AT_name);
		return walk(w, die, &inner, 0, depth + 1);
	case DW_TAG_common_block:
		inner.outer = NULL;
		inner.name = die_string(die, DW_AT_name);
		if (inner.name && !strcmp(inner.name, "__BLNK__"))
			inner.name = NULL;
		return walk(w, die, &inner, 1, depth + 1);
	case DW_TAG_subprogram:
	case DW_TAG_entry_point:
		return walk(w, die, NULL, 0, depth + 1);
	case DW_TAG_lexical_block:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return walk(w, die, path, 0, depth + 1);
	default:
		return 0;
	}
}

static int walk(struct walk *w, Dwarf_Die *parent, const struct path *path,
		int member, int depth)
{
	Dwarf_Die die;
	int rc;

	if (depth > DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		rc = visit(w, &die, path, member, depth);
		if (rc < 0)
			return rc;
	} while (dwarf_siblingof(&die, &die) == 0);
	return 0;
}

static int add_symbols(struct moca_module *m)
{
	struct moca_variable v;
	struct elf_symbol *s;
	int rc;

	for (size_t i = 0; i < m->data_count; i++) {
		s = &m->data[i];
		v = (struct moca_variable){ .vaddr = s->begin, .size = s->size,
					    .tls = s->type == STT_TLS };
		if (!v.tls && !module_loads(m, v.vaddr, PF_R | PF_W | PF_X))
			continue;
		v.name = elf_symbol_name(m, s);
		rc = add(m, &v);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/*
 * By tls, vaddr. At one address those of DWARF come first, and of these the
 * largest; symbols stay as they are: the best comes first.
 */
static int by_address(const void *a, const void *b)
{
	const struct moca_variable *x = a, *y = b;
	int dx = x->line || x->shape, dy = y->line || y->shape, rc;

	if (x->tls != y->tls)
		return x->tls - y->tls;
	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	if (dx != dy)
		return dy - dx;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	rc = (x->name[0] == '_') - (y->name[0] == '_');
	return rc ? rc : strcmp(x->name, y->name);
}

/*
 * Keep what does not overlap: a DWARF variable that lies inside a symbol wins
 * (a member of a COMMON block, of which the linker knows but the whole).
 */
static void make_disjoint(struct moca_module *m)
{
	struct moca_variable *v = m->variables, *last = NULL;
	size_t kept = 0;
	int tls = 0;

	for (size_t i = 0; i < m->variable_count; i++) {
		if (v[i].tls != tls) {
			tls = v[i].tls;
			last = NULL;
		}
		if (last && v[i].vaddr < last->vaddr + last->size) {
			if (!v[i].line && !v[i].shape)
				continue;	/* a symbol inside */
			if (last->line || last->shape)
				continue;
			if (v[i].vaddr == last->vaddr) {
				*last = v[i];
				continue;
			}
			last->size = v[i].vaddr - last->vaddr;
		}
		v[kept] = v[i];
		last = &v[kept++];
	}
	m->variable_count = kept;
}

static void read_variables(struct moca_module *m)
{
	struct walk w = { .m = m };

	m->variables_read = 1;
	if (module_elf_symbols(m) < 0)
		return;
	if (module_dwarf(m) == 0) {
		for (size_t i = 0; i < m->unit_count; i++) {
			w.u = &m->units[i];
			if (walk(&w, &m->units[i].die, NULL, 0, 0) < 0)
				break;
		}
	}
	add_symbols(m);
	if (!m->variable_count)
		return;
	qsort(m->variables, m->variable_count, sizeof(*m->variables),
	      by_address);
	make_disjoint(m);
}

size_t moca_module_variables(struct moca_module *m,
			     const struct moca_variable **out)
{
	if (!m->variables_read)
		read_variables(m);
	*out = m->variables;
	return m->variable_count;
}

const struct moca_variable *moca_module_variable(struct moca_module *m,
						 uint64_t vaddr, int tls)
{
	const struct moca_variable *v;
	size_t lo = 0, hi = moca_module_variables(m, &v), mid;

	tls = !!tls;
	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (v[mid].tls < tls ||
		    (v[mid].tls == tls && v[mid].vaddr <= vaddr))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || v[lo - 1].tls != tls ||
	    vaddr - v[lo - 1].vaddr >= v[lo - 1].size)
		return NULL;
	return &v[lo - 1];
}

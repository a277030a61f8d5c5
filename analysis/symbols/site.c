// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Naming what an allocation made. Frames are gone through from the innermost,
 * and in each frame the functions inlined there; wrappers are passed over, and
 * the first place of the program's own decides: its source line tells the
 * variable. A line that only returns the memory passes it on to its caller.
 */
#include <ctype.h>
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/symbols/calls.h"
#include "analysis/symbols/locate.h"
#include "analysis/symbols/source.h"
#include "analysis/symbols/tables.h"

#define INLINED_MAX 32
#define TARGETS_MAX 16
#define CALLEE_LEN 256

/* One function of one frame. */
struct place {
	struct moca_module *m;
	struct unit *unit;		/* NULL: no DWARF */
	uint32_t scope;
	uint64_t vaddr;
	unsigned column;		/* 0 = unknown */
	int innermost;			/* of its frame: the line table's own */
	unsigned frame;
	struct moca_location at;
};

struct walk {
	struct moca_symbols *s;
	char callee[CALLEE_LEN];	/* what the place called; "": malloc */
	struct place fallback;		/* names the site if nothing else */
	int have_fallback;
	struct place first;		/* passed over, but better than none */
	int have_first;
	struct moca_site by_address;	/* "*out", unless its caller names it */
	struct moca_site returned;	/* a local, likewise */
	char element[CALLEE_LEN];	/* T of std::allocator<T>; "" */
};

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Libraries whose calls of malloc are their users' doing. */
static int library(const struct moca_module *m)
{
	static const char *const names[] = {
		"libmoca-alloc.so", "libmoca-place.so", "libmocatrace.so",
		"libc.so", "libc-2",
		"libstdc++.so", "libgfortran.so", "ld-linux", "ld-2",
		"libm.so", "libpthread", "libdl.so", "libgcc_s.so",
		"libc++.so", "libc++abi.so", "libquadmath.so", "libjemalloc",
		"libtcmalloc", "libmimalloc", "libasan.so", "libgomp.so",
	};
	const char *b = base(m->path);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(b, names[i], strlen(names[i])))
			return 1;
	return 0;
}

static int system_header(const char *file)
{
	return file && (!strncmp(file, "/usr/include/", 13) ||
			!strncmp(file, "/usr/lib/gcc/", 13) ||
			!strncmp(file, "/usr/lib/llvm", 13) ||
			!strncmp(file, "/rustc/", 7) ||
			strstr(file, "/include/c++/"));
}

/*
 * The function's own name of a demangled one: without result, namespace,
 * template and other arguments. "operator new" comes as "".
 */
static void bare_name(const char *name, char *out, size_t len)
{
	const char *begin = name, *p;
	int depth = 0;

	p = strstr(name, "operator");
	if (p && (p == name || p[-1] == ':' || p[-1] == ' ') &&
	    !isalnum((unsigned char)p[8]) && p[8] != '_') {
		snprintf(out, len, "%s",
			 strncmp(p, "operator new", 12) ? "operator" : "");
		return;
	}
	for (p = name; *p; p++) {
		if (!strncmp(p, "(anonymous namespace)", 21)) {
			p += 20;
			continue;
		}
		if (depth == 0 && *p == '(')
			break;
		if (strchr("<([{", *p))
			depth++;
		else if (strchr(">)]}", *p))
			depth--;
		else if (depth == 0 && (*p == ' ' || *p == ':'))
			begin = p + 1;
	}
	snprintf(out, len, "%.*s", (int)strcspn(begin, "<(["), begin);
}

static int is_std(const char *name)
{
	/* A template's result comes first: "void std::f<int>(int)". */
	const char *cut = strpbrk(name, " (<"), *p;

	if (!strncmp(name, "std::", 5) || !strncmp(name, "__gnu_cxx::", 11))
		return 1;
	if (!cut || *cut == '(')
		return 0;
	for (p = name; (p = strstr(p, " std::")); p++)
		if (memchr(name, '(', (size_t)(p - name)) == NULL &&
		    memchr(name, '<', (size_t)(p - name)) == NULL)
			return 1;
	return 0;
}

/*
 * Wrappers by their names. One that keeps the memory in something other than a
 * local variable is more than that: judge_place() looks.
 */
static int passed_over(const struct place *p)
{
	char bare[CALLEE_LEN];

	if (library(p->m) || system_header(p->at.file))
		return 1;
	if (!p->at.function)
		return 0;
	if (is_std(p->at.function) || !strncmp(p->at.function, "operator new",
					       12))
		return 1;
	bare_name(p->at.function, bare, sizeof(bare));
	return !strcmp(bare, "operator") || !bare[0] ||
	       allocator_name(bare, strlen(bare));
}

/* A local variable's name: no field, no element. */
static int is_local(const char *name)
{
	return name[0] && !strpbrk(name, ".->[*%(:");
}

/* Whether a variable of that type can be given memory. */
static int may_hold(Dwarf_Die *type)
{
	Dwarf_Die t;

	if (type_peel(type, &t) < 0)
		return 1;
	switch (dwarf_tag(&t)) {
	case DW_TAG_base_type:
	case DW_TAG_enumeration_type:
		return 0;
	default:
		return 1;
	}
}

/* Of several targets on the line, the one that this call is for, or -1. */
static int choose(const struct place *p, const struct target *t, size_t n,
		  int fortran)
{
	unsigned k, total, best_at = 0;
	int best = -1;

	if (n == 1)
		return 0;
	for (size_t i = 0; p->column && i < n; i++)
		if (t[i].column == p->column || t[i].name_column == p->column)
			return (int)i;
	if (p->innermost) {
		k = call_number(p->m, p->unit, p->vaddr, &total);
		/* Code may be there several times, inlined or unrolled. */
		if (total && total % n == 0)
			return (int)(k % n);
	}
	/* gfortran's column is that of the statement, or of any of its parts. */
	for (size_t i = 0; fortran && i < n; i++)
		if (strcmp(t[i].name, t[0].name))
			return -1;
	for (size_t i = 0; p->column && i < n; i++)
		if (t[i].column < p->column && t[i].column > best_at) {
			best = (int)i;
			best_at = t[i].column;
		}
	return best;
}

/* Remember what a C++ allocator, the innermost one, was to allocate. */
static void note_element(struct walk *w, const char *function)
{
	const char *p = function ? strstr(function, "allocator<") : NULL;
	int depth = 0;
	size_t n = 0;

	if (!p || w->element[0])
		return;
	for (p += 10; *p && n + 1 < sizeof(w->element); p++) {
		if (*p == '>' && depth-- == 0)
			break;
		if (*p == '<')
			depth++;
		if (*p != ' ')
			w->element[n++] = *p;
	}
	w->element[n] = '\0';
}

/*
 * Whether element, as DWARF calls it, is that type: a vector's own data, not
 * what an element of the vector allocated.
 */
static int same_element(const char *type, const char *element)
{
	const char *a = type + strlen(type), *b = element + strlen(element);

	/* From the end: DWARF's name is without its namespace. */
	while (a > type && b > element) {
		if (b[-1] == ' ') {
			b--;
			continue;
		}
		if (*--a != *--b)
			return 0;
	}
	return b == element && (a == type || a[-1] == ':');
}

/* The counts that a Fortran statement gives in numbers. */
static const struct moca_shape *with_bounds(struct walk *w,
					    const struct moca_shape *shape,
					    const struct target *t)
{
	struct moca_shape *s;

	if (!shape || !shape->fortran || !t->rank ||
	    (shape->dims ? shape->dims : shape->rank) != t->rank)
		return shape;
	s = arena_alloc(w->s, sizeof(*s));
	if (!s)
		return shape;
	*s = *shape;
	s->dims = 0;
	s->rank = t->rank;
	for (unsigned i = 0; i < t->rank; i++) {
		unsigned j = t->rank - 1 - i;

		if (t->upper[i] < t->lower[i])
			return shape;
		s->lower[j] = t->lower[i];
		s->count[j] = (uint64_t)t->upper[i] -
			      (uint64_t)t->lower[i] + 1;
	}
	return s;
}

static void fill(struct moca_site *out, const struct place *p)
{
	out->function = p->at.function;
	out->file = p->at.file;
	out->line = p->at.line;
	out->frame = p->frame;
	out->module = p->m->path;
}

/*
 * An optimised allocate(u, v) may be calls of different functions, calloc for
 * what is zeroed next, in any order: then it is one of them.
 */
static void name_all(struct walk *w, const struct target *t, size_t n,
		     struct moca_site *out)
{
	char name[256];
	size_t len = 0;

	for (size_t i = 0; i < n && len < sizeof(name); i++) {
		size_t j = 0;

		while (strcmp(t[j].name, t[i].name))
			j++;
		if (j < i)
			continue;
		len += (size_t)snprintf(name + len, sizeof(name) - len, "%s%s",
					i ? " or " : "", t[i].name);
	}
	if (len >= sizeof(name))
		len = sizeof(name) - 1;
	out->name = arena_string(w->s, name, len);
	out->is_variable = 1;
}

enum verdict { HERE, OUTER, UNNAMED };

/*
 * Read the place's line. HERE: out has the variable; OUTER: the caller's line
 * has it; UNNAMED: there is none.
 */
static enum verdict judge_place(struct walk *w, const struct place *p,
				int wrapper, struct moca_site *out)
{
	struct target t[TARGETS_MAX];
	const struct moca_shape *shape = NULL;
	const struct source *src;
	struct meaning v;
	int i, local, known = 0;
	size_t n;

	src = p->at.line ? source_get(w->s, p->at.file) : NULL;
	if (!src || !p->unit)
		return wrapper ? OUTER : UNNAMED;
	n = src->fortran ?
	    targets_fortran(src, p->at.line, t, TARGETS_MAX) :
	    targets_c(src, p->at.line, w->callee[0] ? w->callee : NULL, t,
		      TARGETS_MAX);
	i = n ? choose(p, t, n, src->fortran) : -1;
	if (i < 0 && n > 1 && src->fortran &&
	    src->mtime_ns <= moca_module_mtime(p->m)) {
		name_all(w, t, n, out);
		return HERE;
	}
	if (i < 0)
		return wrapper ? OUTER : UNNAMED;
	if (t[i].returned)
		return OUTER;
	local = is_local(t[i].name);
	if (lookup_meaning(p->m, p->unit, p->scope, t[i].name, p->at.line,
			   &v) == 0) {
		known = 1;
		local = local && v.local;
		if (!may_hold(&v.type))
			return wrapper ? OUTER : UNNAMED;
		shape = type_pointee(p->m, p->unit, &v.type);
		if (shape && w->element[0] &&
		    !same_element(w->element, shape->element))
			shape = NULL;
	}
	/* Newer than the program: have its lines moved? */
	if (src->mtime_ns > moca_module_mtime(p->m) &&
	    (!known || !v.declared ||
	     !source_has(src, v.declared, t[i].name)))
		return wrapper ? OUTER : UNNAMED;
	out->name = arena_string(w->s, t[i].name, strlen(t[i].name));
	out->is_variable = 1;
	out->shape = with_bounds(w, shape, &t[i]);
	/*
	 * A wrapper, by its name or its type, that its caller has it from. What
	 * makes a structure and returns it is no wrapper.
	 */
	if (local &&
	    (wrapper ||
	     (known && !(shape && shape->type) && !src->fortran)) &&
	    source_passes_on(src, p->at.line, t[i].name)) {
		if (!wrapper && shape && !w->returned.name) {
			fill(out, p);
			w->returned = *out;
		}
		memset(out, 0, sizeof(*out));
		return OUTER;
	}
	/* The caller's variable, by its address: see what the caller says. */
	if (t[i].name[0] == '*' && !w->by_address.name) {
		fill(out, p);
		w->by_address = *out;
		memset(out, 0, sizeof(*out));
		return OUTER;
	}
	return HERE;
}

/* "main() solve.c:12", "solve+0x1f", "libfoo.so+0x11f0". */
static int name_site(struct moca_symbols *s, const struct place *p,
		     struct moca_site *out)
{
	const char *f = p->at.function;

	fill(out, p);
	if (f && p->at.file && p->at.line)
		out->name = arena_printf(s, "%s%s %s:%u", f,
			strchr(f, '(') ? "" : "()", base(p->at.file),
			p->at.line);
	else if (p->at.file && p->at.line)
		out->name = arena_printf(s, "%s:%u", base(p->at.file),
					 p->at.line);
	else if (f)
		out->name = arena_printf(s, "%s+0x%llx", f,
					 (unsigned long long)p->at.offset);
	else
		out->name = arena_printf(s, "%s+0x%llx", base(p->m->path),
					 (unsigned long long)p->vaddr);
	return out->name ? 0 : -ENOMEM;
}

/* 1: out is done; 0: go on with what called the place. */
static int visit(struct walk *w, const struct place *p, struct moca_site *out)
{
	int wrapper = passed_over(p);
	enum verdict v = OUTER;

	/* A wrapper of the program's own may be more than one. */
	if (!wrapper || (!library(p->m) && !system_header(p->at.file) &&
			 p->at.function && !is_std(p->at.function)))
		v = judge_place(w, p, wrapper, out);
	if (v == HERE) {
		fill(out, p);
		return 1;
	}
	if (!wrapper && !w->have_fallback) {
		w->fallback = *p;
		w->have_fallback = 1;
	}
	if (wrapper) {
		w->first = *p;
		w->have_first = 1;
	}
	if (v == UNNAMED)
		return 1;
	note_element(w, p->at.function);
	if (p->at.function)
		bare_name(p->at.function, w->callee, sizeof(w->callee));
	else
		snprintf(w->callee, sizeof(w->callee), "operator");
	return 0;
}

static int visit_frame(struct walk *w, const struct moca_site_frame *frame,
		       unsigned index, struct moca_site *out)
{
	struct moca_location at[INLINED_MAX];
	uint32_t scopes[INLINED_MAX];
	struct place p = { .m = frame->module, .vaddr = frame->vaddr,
			   .frame = index, .scope = NO_SCOPE };
	const char *file;
	unsigned line;
	size_t n;

	n = module_locate(p.m, p.vaddr, &p.unit, at, scopes, INLINED_MAX);
	if (!n)
		return visit(w, &p, out);
	for (size_t i = 0; i < n; i++) {
		p.at = at[i];
		p.scope = scopes[i];
		p.innermost = i == 0;
		p.column = 0;
		if (p.innermost && p.unit)
			unit_line(p.m, p.unit, p.vaddr, &file, &line,
				  &p.column);
		else if (p.unit && scopes[i - 1] != NO_SCOPE)
			p.column = call_column(
				&p.unit->scopes[scopes[i - 1]].die);
		if (visit(w, &p, out))
			return 1;
	}
	return 0;
}

/* Frames inside of the site's, outermost first. */
static int name_through(struct moca_symbols *s,
			const struct moca_site_frame *frames, size_t n,
			struct moca_site *out)
{
	const char *text = "", *name;
	struct elf_symbol *sym;
	unsigned i;

	if (!out->module || out->frame >= n)
		return 0;
	for (i = out->frame; i-- > 0;) {
		sym = frames[i].module == frames[out->frame].module ?
		      module_function(frames[i].module, frames[i].vaddr) : NULL;
		if (!sym)
			return 0;
		name = elf_symbol_name(frames[i].module, sym);
		if (strpbrk(name, " ,(<"))
			name = sym->raw;
		text = arena_printf(s, "%s%s%s", text, *text ? ", " : "", name);
		if (!text)
			return -ENOMEM;
	}
	out->through = text;
	return 0;
}

static int name_it(struct moca_symbols *s, const struct moca_site_frame *frames,
		   size_t n, struct moca_site *out)
{
	struct walk w = { .s = s };

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < n; i++)
		if (frames[i].module &&
		    visit_frame(&w, &frames[i], (unsigned)i, out))
			break;
	if (out->name)
		return 0;
	if (out->is_variable)
		return -ENOMEM;
	if (w.by_address.name) {
		*out = w.by_address;
		return 0;
	}
	if (w.returned.name) {
		*out = w.returned;
		return 0;
	}
	if (w.have_fallback)
		return name_site(s, &w.fallback, out);
	if (w.have_first)
		return name_site(s, &w.first, out);
	return 0;
}

int moca_symbols_site(struct moca_symbols *s,
		      const struct moca_site_frame *frames, size_t n,
		      struct moca_site *out)
{
	int err = name_it(s, frames, n, out);

	return err ? err : name_through(s, frames, n, out);
}

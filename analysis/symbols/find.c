// SPDX-License-Identifier: GPL-2.0-or-later
/* The other way round: from names and lines to code. */
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "analysis/symbols/tables.h"

static int add_code(struct moca_codes *out, uint64_t begin, uint64_t end)
{
	struct moca_code *last = out->count ? &out->items[out->count - 1] : NULL;

	if (begin >= end)
		return 0;
	if (last && last->end == begin) {
		last->end = end;
		return 0;
	}
	if (moca_vec_fit(out->items, out->room, out->count + 1))
		return -ENOMEM;
	out->items[out->count++] = (struct moca_code){ begin, end };
	return 0;
}

/* --- lines ---------------------------------------------------------------- */

/* Whether path ends with file, at the begin of a name. */
static int is_file(const char *path, const char *file)
{
	size_t n = path ? strlen(path) : 0, k = strlen(file);

	return k && n >= k && !strcmp(path + n - k, file) &&
	       (n == k || file[0] == '/' || path[n - k - 1] == '/');
}

static int has_file(struct unit *u, const char *file)
{
	Dwarf_Files *files;
	size_t n, i;

	if (dwarf_getsrcfiles(&u->lines, &files, &n))
		return 0;
	for (i = 0; i < n; i++)
		if (is_file(dwarf_filesrc(files, i, NULL, NULL), file))
			return 1;
	return 0;
}

static int add_rows(struct moca_module *m, struct unit *u, const char *file,
		    unsigned line, struct moca_codes *out)
{
	Dwarf_Addr begin, end;
	Dwarf_Lines *lines;
	size_t n, i;
	int number;

	if (dwarf_getsrclines(&u->lines, &lines, &n))
		return 0;
	for (i = 0; i + 1 < n; i++) {
		Dwarf_Line *l = dwarf_onesrcline(lines, i);
		bool ends;

		if (!l || dwarf_lineno(l, &number) || number != (int)line ||
		    dwarf_lineendsequence(l, &ends) || ends ||
		    dwarf_lineaddr(l, &begin) ||
		    dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &end) ||
		    !is_file(dwarf_linesrc(l, NULL, NULL), file))
			continue;
		if (add_code(out, begin + m->bias, end + m->bias))
			return -ENOMEM;
	}
	return 0;
}

/* What is inlined by a call on that line, its wrapper of malloc for instance. */
static int add_inlined(struct moca_module *m, struct unit *u, const char *file,
		       unsigned line, struct moca_codes *out)
{
	Dwarf_Attribute a;
	Dwarf_Word number;
	size_t i;

	unit_scope(m, u, 0);	/* reads them */
	for (i = 0; i < u->range_count; i++) {
		struct scope_range *r = &u->ranges[i];
		struct scope *s = &u->scopes[r->scope];

		if (s->parent == NO_SCOPE ||
		    dwarf_formudata(dwarf_attr(&s->die, DW_AT_call_line, &a),
				    &number) ||
		    number != line ||
		    !is_file(die_file(m, u, &s->die, DW_AT_call_file), file))
			continue;
		if (add_code(out, r->lo, r->hi))
			return -ENOMEM;
	}
	return 0;
}

int moca_module_line_code(struct moca_module *m, const char *file,
			  unsigned line, struct moca_codes *out)
{
	size_t had = out->count, i;
	int err = module_dwarf(m);

	if (err)
		return m->error ? m->error : -ENODATA;
	for (i = 0; !err && i < m->unit_count; i++) {
		if (!has_file(&m->units[i], file))
			continue;
		err = add_rows(m, &m->units[i], file, line, out);
		if (!err)
			err = add_inlined(m, &m->units[i], file, line, out);
	}
	return err ? err : out->count > had ? 0 : -ENOENT;
}

/* --- functions ------------------------------------------------------------ */

/*
 * "f" is also "f(int)", and "f.cold", "f.part.0", "f.constprop.1": what the compiler
 * has made of it.
 */
static int is_function(struct moca_module *m, struct elf_symbol *s,
		       const char *name)
{
	size_t n = strlen(name);
	const char *full;

	if (!strncmp(s->raw, name, n) && (!s->raw[n] || s->raw[n] == '.'))
		return 1;
	if (s->raw[0] != '_' || s->raw[1] != 'Z')
		return 0;
	full = elf_symbol_name(m, s);
	return !strncmp(full, name, n) && (!full[n] || full[n] == '(');
}

int moca_module_function_code(struct moca_module *m, const char *name,
			      struct moca_codes *out)
{
	int err = module_elf_symbols(m), any = 0;
	size_t i;

	for (i = 0; !err && i < m->function_count; i++) {
		struct elf_symbol *s = &m->functions[i];

		if (!s->size || !is_function(m, s, name))
			continue;
		err = add_code(out, s->begin, s->begin + s->size);
		any = 1;
	}
	return err ? err : any ? 0 : -ENOENT;
}

size_t moca_module_build_id(struct moca_module *m, uint8_t *out, size_t max)
{
	const unsigned char *bits;
	GElf_Addr at;
	int n;

	if (module_open(m))
		return 0;
	n = dwfl_module_build_id(m->mod, &bits, &at);
	if (n <= 0)
		return 0;
	n = (size_t)n > max ? (int)max : n;
	memcpy(out, bits, (size_t)n);
	return (size_t)n;
}

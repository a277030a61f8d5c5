/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of analysis/symbols share: the tables of one ELF file, each
 * read when it is first asked for. Addresses are link-time ones.
 */
#ifndef MOCA_ANALYSIS_SYMBOLS_TABLES_H
#define MOCA_ANALYSIS_SYMBOLS_TABLES_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <sys/stat.h>

#include "analysis/symbols/symbols.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"

struct arena_block;
struct source;

struct moca_symbols {
	struct arena_block *arena;
	struct moca_module **modules;
	size_t module_count, module_room;
	struct moca_index module_index;	/* by path */
	struct source *sources;
	const char *root;	/* of all paths, or NULL */
};

/* Memory that lives as long as s. NULL: none left. */
void *arena_alloc(struct moca_symbols *s, size_t size);
char *arena_string(struct moca_symbols *s, const char *from, size_t len);
char *arena_printf(struct moca_symbols *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A symbol of the ELF symbol table. */
struct elf_symbol {
	uint64_t begin, size;	/* tls: offset in the TLS block */
	const char *raw;	/* as the linker sees it */
	const char *name;	/* as people do; NULL until asked for */
	uint8_t type, bind;	/* STT_*, STB_* */
};

/* A function, or one that is inlined in it. */
struct scope {
	Dwarf_Die die;
	uint32_t parent;	/* what it is inlined in, or NO_SCOPE */
	uint64_t entry;		/* where it begins */
	const char *name;	/* NULL until asked for */
};
#define NO_SCOPE UINT32_MAX

/* A piece of a scope's code. */
struct scope_range {
	uint64_t lo, hi;
	uint32_t scope;
	uint32_t depth;		/* of the scope in the tree */
	uint32_t outer;		/* index of the next range around, NO_SCOPE */
};

/* A compilation unit. */
struct unit {
	Dwarf_Die lines;	/* has the line table: the skeleton, if any */
	Dwarf_Die die;		/* has the tree */
	const char *dir;	/* of compilation; NULL */
	int fortran, cxx;
	int scopes_read;
	struct scope *scopes;
	size_t scope_count, scope_room;
	struct scope_range *ranges;
	size_t range_count, range_room;
};

struct unit_range {
	uint64_t lo, hi;
	uint32_t unit;
};

struct moca_module {
	struct moca_symbols *symbols;
	const char *path;
	int opened, error;
	uint64_t mtime_ns;
	Dwfl *dwfl;
	Dwfl_Module *mod;
	Elf *elf;
	int fortran;		/* has code of gfortran's */

	int dwarf_read;
	Dwarf *dwarf;
	uint64_t bias;		/* DWARF's addresses + bias are the file's */
	struct unit *units;
	size_t unit_count, unit_room;
	struct unit_range *unit_ranges;
	size_t unit_range_count, unit_range_room;
	uint32_t ranges_read;	/* of units and of functions */

	int elf_symbols_read;
	struct elf_symbol *functions;	/* by begin */
	size_t function_count, function_room;
	struct elf_symbol *data;	/* not tls, then tls; by begin */
	size_t data_count, data_room;

	int variables_read;
	struct moca_variable *variables;
	size_t variable_count, variable_room;
};

/* Functions may share a list of ranges: a small file has any number of them. */
#define RANGES_MAX (1u << 24)

/* module.c: 0, or the module's error. */
int module_open(struct moca_module *m);
/*
 * A descriptor to read a regular file by, and its status; others are not even
 * opened: -ENOEXEC. Or another -errno.
 */
int open_regular(const char *path, struct stat *st);
void module_free(struct moca_module *m);
/* Whether a loaded segment with any of these PF_* flags holds vaddr. */
int module_loads(struct moca_module *m, uint64_t vaddr, uint32_t flags);

/* The PT_TLS segment; 0 or -ENOENT. */
int module_tls(struct moca_module *m, GElf_Phdr *out);

/* units.c: reads the list of units; 0, -ENOENT without DWARF. */
int module_dwarf(struct moca_module *m);
struct unit *module_unit(struct moca_module *m, uint64_t vaddr);
/* The file's name as an absolute path where it can be. */
const char *unit_path(struct moca_module *m, const struct unit *u,
		      const char *file);
/* The file that attribute attr of die numbers (DW_AT_decl_file); NULL. */
const char *die_file(struct moca_module *m, const struct unit *u,
		     Dwarf_Die *die, unsigned attr);
const char *die_string(Dwarf_Die *die, unsigned attr);
/* The DIE that attribute attr of die refers to; NULL. */
Dwarf_Die *die_reference(Dwarf_Die *die, unsigned attr, Dwarf_Die *out);

/* elfsym.c */
int module_elf_symbols(struct moca_module *m);
/* The function's symbol that holds vaddr, or NULL. */
struct elf_symbol *module_function(struct moca_module *m, uint64_t vaddr);
const char *elf_symbol_name(struct moca_module *m, struct elf_symbol *sym);

/* demangle.c */
const char *demangle_function(struct moca_module *m, const char *raw);
/* A variable's; a function's own comes without the function. */
const char *demangle_variable(struct moca_module *m, const char *raw);

/* types.c; all return NULL where there is no shape to tell. */
const struct moca_shape *type_shape(struct moca_module *m,
				    const struct unit *u, Dwarf_Die *type);
/* Of what a variable of that type points to, or holds on the heap. */
const struct moca_shape *type_pointee(struct moca_module *m,
				      const struct unit *u, Dwarf_Die *type);
/* Without typedef, const and the like. 0 or -ENOENT. */
int type_peel(Dwarf_Die *type, Dwarf_Die *out);
/* What die's DW_AT_type says. 0 or -ENOENT (void). */
int type_of(Dwarf_Die *die, Dwarf_Die *out);

/* members.c: a type that has members, and one of these. */
struct moca_type {
	struct moca_module *module;
	const struct unit *unit;
	Dwarf_Die die;
};
struct member {
	const char *name;	/* "" if it has none */
	uint64_t at, size;	/* bytes from the type's begin */
	const struct moca_shape *shape;	/* NULL = unknown */
};

/* The type of that DIE if it has members, else NULL. */
const struct moca_type *type_with_members(struct moca_module *m,
					  const struct unit *u,
					  Dwarf_Die *type);
/*
 * The member that holds the byte at, the first one of a union. Bases and
 * members without a name are seen through. 0 or -ENOENT.
 */
int type_member(const struct moca_type *type, uint64_t at, struct member *out);
/* Number of a constant attribute; -ENOENT: none, or computed at run time. */
int die_constant(Dwarf_Die *die, unsigned attr, int64_t *out);

/* scopes.c: the innermost scope of the unit at vaddr, or NO_SCOPE. */
uint32_t unit_scope(struct moca_module *m, struct unit *u, uint64_t vaddr);
const char *scope_name(struct moca_module *m, struct unit *u, uint32_t scope);

/* lookup.c: what a name in the source means. */
struct meaning {
	Dwarf_Die type;
	unsigned declared;	/* line of its first variable; 0 = unknown */
	int local;		/* that variable is on the stack */
};

/*
 * What an expression such as "p->field", "rows[]" or "x%u" means in the source
 * at (unit, scope, line). 0 or -ENOENT.
 */
int lookup_meaning(struct moca_module *m, struct unit *u, uint32_t scope,
		   const char *path, unsigned line, struct meaning *out);

#endif

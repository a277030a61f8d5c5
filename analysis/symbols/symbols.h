/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From addresses in ELF files to names: variables, functions, lines, types.
 * By elfutils (libdw, libdwfl): separate debug files and, where it is
 * configured, debuginfod.
 *
 * Strings and structures live as long as the moca_symbols they come from. Not
 * thread-safe. Files are hostile: a broken one gives fewer names, no crash.
 */
#ifndef MOCA_SYMBOLS_H
#define MOCA_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct moca_symbols;
struct moca_module;	/* an ELF file */

/* 0 or -ENOMEM. */
int moca_symbols_open(struct moca_symbols **out);
void moca_symbols_close(struct moca_symbols *s);
/*
 * Files are looked for below this folder from now on, as for a program that had
 * another root; NULL: as they are named. 0 or -ENOMEM.
 */
int moca_symbols_root(struct moca_symbols *s, const char *root);

/*
 * The file at path, opened and read at first need. Never NULL but for want of
 * memory: a file that is not there or no ELF file gives a module without names.
 */
struct moca_module *moca_symbols_module(struct moca_symbols *s,
					const char *path);
/* 0, or why there are no names: -ENOENT, -EACCES, -ENOEXEC, ... */
int moca_module_error(struct moca_module *m);
const char *moca_module_path(const struct moca_module *m);
/* Last changed, Unix time in ns; 0 = unknown. For "changed since" warnings. */
uint64_t moca_module_mtime(struct moca_module *m);
/* 1: has DWARF (its own, a separate file's, debuginfod's), 0: symbols only. */
int moca_module_has_debug(struct moca_module *m);

/*
 * The link-time address of byte offset of the file, as loaded by a mapping of
 * the page that contains it. 0 or -ENOENT (in no PT_LOAD). What lies beyond the
 * file part of a segment (.bss) is reached from the segment's begin. A page
 * that holds the end of one segment and the begin of the next is mapped twice,
 * and only one of the two is returned: take a module's load bias from its lowest
 * mapping, for which this is right, and use it for all others.
 */
int moca_module_vaddr(struct moca_module *m, uint64_t offset, uint64_t *vaddr);
/*
 * Lowest and end of highest link-time address of all PT_LOADs, page-rounded:
 * so load bias + [*low, *high) is all memory of the module, .bss too.
 */
int moca_module_span(struct moca_module *m, uint64_t *low, uint64_t *high);
/* Name of the section at vaddr (".bss"); "" when there are none. */
const char *moca_module_section(struct moca_module *m, uint64_t vaddr);
/* 1: it has one of that name. */
int moca_module_has_section(struct moca_module *m, const char *name);
/* PT_TLS: size in memory and alignment of its TLS block; 0 size: none. */
void moca_module_tls(struct moca_module *m, uint64_t *size, uint64_t *align);
/* Whether its code is arm64's; 0 as well if it cannot be read. */
int moca_module_is_arm64(struct moca_module *m);

struct moca_type;	/* a struct, class or union */

/* An array's shape: element[count 0][count 1]..., slowest index first. */
#define MOCA_SHAPE_RANK 8
struct moca_shape {
	const char *element;		/* type as in the source: "double" */
	uint64_t element_size;		/* bytes */
	unsigned rank;			/* 0: one element */
	int fortran;			/* 1: print first index fastest, in () */
	uint64_t count[MOCA_SHAPE_RANK]; /* [0] may be 0: as many as fit */
	int64_t lower[MOCA_SHAPE_RANK];	/* first index */
	unsigned dims;			/* not 0: an array of so many dimensions
					   of unknown counts (allocatable(:,:)),
					   here as rank 1 over all elements */
	const struct moca_type *type;	/* of the element, if it has members */
};

/* A static or thread-local variable. */
struct moca_variable {
	uint64_t vaddr;		/* link-time; tls: offset in the TLS block */
	uint64_t size;		/* bytes */
	const char *name;	/* qualified, demangled: "ns::table", "mod::u" */
	const char *file;	/* of the declaration; NULL = unknown */
	unsigned line;
	int tls;
	const struct moca_shape *shape;	/* NULL = unknown type */
};

/*
 * All of a module's variables, by tls, vaddr; disjoint (an alias or overlapping
 * symbol is left out, Fortran COMMON is split into its members where these are
 * known). The array belongs to the module.
 */
size_t moca_module_variables(struct moca_module *m,
			     const struct moca_variable **out);
/* The one at this address, or NULL. */
const struct moca_variable *moca_module_variable(struct moca_module *m,
						 uint64_t vaddr, int tls);

/* Where an instruction is. */
struct moca_location {
	const char *function;	/* demangled; NULL = unknown */
	const char *file;	/* absolute where known; NULL */
	unsigned line;		/* 0 = unknown */
	uint64_t offset;	/* from the function's begin (of the outermost) */
};

/*
 * What vaddr is part of: the innermost inlined function first, the one that
 * was really called last. The number filled in, at most max; 0: nothing known.
 * A return address belongs to the call before it: pass it less 1.
 */
size_t moca_module_locate(struct moca_module *m, uint64_t vaddr,
			  struct moca_location *out, size_t max);

/* Code, by link-time addresses. */
struct moca_code {
	uint64_t begin, end;
};
struct moca_codes {
	struct moca_code *items;	/* free() it */
	size_t count, room;
};

/*
 * Code of that source line, and what is inlined there; file: the end of a path,
 * whole names of folders. Or code of the functions of that name, as the linker or
 * people have it. Adds what there is: 0; -ENOENT: none; -ENODATA: the module has no
 * lines; -ENOMEM; or the module's error.
 */
int moca_module_line_code(struct moca_module *m, const char *file,
			  unsigned line, struct moca_codes *out);
int moca_module_function_code(struct moca_module *m, const char *name,
			      struct moca_codes *out);
/* Bytes of the build id, cut to max; 0: it has none. */
size_t moca_module_build_id(struct moca_module *m, uint8_t *out, size_t max);

/* A frame of an allocation's call stack: the call's address, i.e. return - 1. */
struct moca_site_frame {
	struct moca_module *module;	/* NULL: in no file */
	uint64_t vaddr;			/* or, without module, the address */
};

/* How a heap object is called. */
struct moca_site {
	const char *name;	/* the variable's, "u"; or what names the site:
				   "main() solve.c:12", "solve+0x1f",
				   "libfoo.so+0x11f0"; NULL: nothing known */
	int is_variable;	/* name is of the first sort */
	const char *function;	/* of the frame that the site is in; NULL */
	const char *file;
	unsigned line;
	unsigned frame;		/* index of that frame in the stack */
	const char *module;	/* path of that frame's file; NULL */
	/* Functions that the call went through from there, "a, b": the linker's
	   names where people's have blanks or commas. "": none; NULL: some are
	   of other files, or have no name */
	const char *through;
	const struct moca_shape *shape;	/* of what the variable points to; NULL */
};

/*
 * Name what a call of an allocator with this stack made. Frames of wrappers
 * (operator new, the C++ library, xmalloc and the like, system headers inlined)
 * are passed over to the program's own line; the variable is read from that
 * source line where the file is readable. 0 or -ENOMEM.
 */
int moca_symbols_site(struct moca_symbols *s,
		      const struct moca_site_frame *frames, size_t n,
		      struct moca_site *out);

/*
 * The text of the source file at path, with a NUL behind; free() it. 0 or
 * -errno; -EINVAL: its name is of no language that we know, or it is no text:
 * debugging information may name any file of the user's.
 */
int moca_source_read(const char *path, char **text, uint64_t *mtime_ns);

/*
 * Say bytes [begin, end) of an object of size bytes by its shape, behind name:
 * "u[3][128..191][*]", Fortran "u(1:64,3)". Fills buf, cut to len, and returns
 * it; only name when shape is NULL.
 */
const char *moca_shape_range(const struct moca_shape *shape, const char *name,
			     uint64_t size, uint64_t begin, uint64_t end,
			     char *buf, size_t len);
/*
 * Say which part of an object of size bytes the byte at is: "args[0].sum",
 * "list.head.next", Fortran "u(3,1)%x"; only name when shape is NULL.
 */
const char *moca_shape_byte(const struct moca_shape *shape, const char *name,
			    uint64_t size, uint64_t at, char *buf, size_t len);
/* The type with its shape: "double[1024][64]", "real(kind=8)(64,1024)". */
const char *moca_shape_type(const struct moca_shape *shape, uint64_t size,
			    char *buf, size_t len);

#endif

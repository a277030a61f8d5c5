/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The functions in the symbol tables of an ELF file: .symtab, which has the
 * static ones, and .dynsym. Nothing in the file is believed.
 */
#ifndef MOCA_CODE_SYMFILE_H
#define MOCA_CODE_SYMFILE_H

#include <elf.h>
#include <stddef.h>

#define MOCA_SYMFILE_PHDRS 64

struct moca_symfile {
	int fd;
	size_t len;
	Elf64_Ehdr head;
	Elf64_Phdr phdrs[MOCA_SYMFILE_PHDRS];	/* head.e_phnum of them */
};

/* 0 or -errno; -ENOEXEC: not a 64-bit x86 ELF file, or broken. */
int moca_symfile_open(struct moca_symfile *f, const char *path);
void moca_symfile_close(struct moca_symfile *f);

/*
 * visit() of each function that is defined in it, with its name (without an
 * "@VERSION"): of len bytes, no NUL behind. One that is in both tables is
 * visited twice. 0 or -errno.
 */
int moca_symfile_walk(const struct moca_symfile *f,
		      void (*visit)(void *arg, const char *name, size_t len,
				    const Elf64_Sym *sym),
		      void *arg);

/*
 * The section of this name (as it is in memory: sh_addr, sh_size). 0; -ENOENT:
 * there is none.
 */
int moca_symfile_section(const struct moca_symfile *f, const char *name,
			 Elf64_Shdr *out);

#endif

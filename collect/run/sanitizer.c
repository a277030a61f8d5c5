// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/sanitizer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES_MAX 256
#define NAMES_MAX (16u << 20)	/* bytes of a string table */

static const char *const libraries[] = { "libasan.so", "libtsan.so",
					 "libmsan.so", "liblsan.so",
					 "libhwasan.so", "libclang_rt." };
static const char *const functions[] = { "__asan_init", "__tsan_init",
					 "__msan_init", "__lsan_init",
					 "__hwasan_init" };
/* Their runtimes, linked into a program, begin by it; hardly others do. */
static const char early[] = ".preinit_array";

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static int read_at(const struct moca_symfile *f, void *buf, size_t len,
		   uint64_t offset)
{
	return offset > INT64_MAX ||
	       pread(f->fd, buf, len, (off_t)offset) != (ssize_t)len;
}

/* The file offset of a link-time address; UINT64_MAX: in none. */
static uint64_t file_offset(const struct moca_symfile *f, uint64_t vaddr)
{
	for (size_t i = 0; i < f->head.e_phnum; i++) {
		const Elf64_Phdr *ph = &f->phdrs[i];

		if (ph->p_type == PT_LOAD && vaddr >= ph->p_vaddr &&
		    vaddr - ph->p_vaddr < ph->p_filesz)
			return ph->p_offset + (vaddr - ph->p_vaddr);
	}
	return UINT64_MAX;
}

/* One of the strings of a table that ends with a NUL. */
static const char *find_name(const char *names, size_t len)
{
	for (const char *p = names; p < names + len; p += strlen(p) + 1) {
		const char *library = *p == 'l' ? sanitizer_among(p) : NULL;

		if (library)
			return library;
		for (size_t i = 0; *p == '_' && i < COUNT(functions); i++)
			if (!strcmp(p, functions[i]))
				return functions[i];
	}
	return NULL;
}

static const char *search(const struct moca_symfile *f, const Elf64_Dyn *d,
			  size_t count)
{
	uint64_t strings = 0, len = 0;
	const char *found = NULL;
	char *names;
	int begins = 0;

	for (size_t i = 0; i < count && d[i].d_tag != DT_NULL; i++) {
		if (d[i].d_tag == DT_STRTAB)
			strings = file_offset(f, d[i].d_un.d_ptr);
		if (d[i].d_tag == DT_STRSZ)
			len = d[i].d_un.d_val;
		begins |= d[i].d_tag == DT_PREINIT_ARRAY;
	}
	if (len && len <= NAMES_MAX) {
		names = malloc(len + 1);
		if (names && !read_at(f, names, len, strings)) {
			names[len] = 0;
			found = find_name(names, len);
		}
		free(names);
	}
	return found ? found : begins ? early : NULL;
}

const char *sanitizer_in(const struct moca_symfile *f)
{
	Elf64_Dyn d[ENTRIES_MAX];
	size_t count;

	for (size_t i = 0; i < f->head.e_phnum; i++) {
		if (f->phdrs[i].p_type != PT_DYNAMIC)
			continue;
		count = f->phdrs[i].p_filesz / sizeof(*d);
		if (count > ENTRIES_MAX)
			count = ENTRIES_MAX;
		return read_at(f, d, count * sizeof(*d),
			       f->phdrs[i].p_offset) ?
			       NULL : search(f, d, count);
	}
	return NULL;
}

const char *sanitizer_among(const char *list)
{
	for (size_t i = 0; list && i < COUNT(libraries); i++)
		if (strstr(list, libraries[i]))
			return libraries[i];
	return NULL;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/segment.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collect/fault/memory.h"

#define SEGMENTS_MAX 64

/* The program headers of an ELF object. Their number; 0: it is none. */
static size_t read_headers(int fd, Elf64_Phdr ph[SEGMENTS_MAX])
{
	Elf64_Ehdr head;
	size_t bytes;

	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(*ph) || head.e_phnum > SEGMENTS_MAX ||
	    head.e_phoff > INT64_MAX)
		return 0;
	bytes = head.e_phnum * sizeof(*ph);
	return pread(fd, ph, bytes, head.e_phoff) == (ssize_t)bytes ?
		       head.e_phnum : 0;
}

/* Where the file's part of a segment ends, rounded up; 0: it has none. */
static uint64_t file_end(const Elf64_Phdr *ph, uint64_t size)
{
	if (ph->p_type != PT_LOAD || ph->p_offset > INT64_MAX ||
	    size > INT64_MAX)
		return 0;
	return PAGE_UP(ph->p_offset + size);
}

int segment_is(int fd, uint64_t offset, uint64_t len)
{
	Elf64_Phdr ph[SEGMENTS_MAX];
	size_t n = read_headers(fd, ph);

	for (size_t i = 0; i < n; i++) {
		if (!(ph[i].p_flags & PF_W) ||
		    (ph[i].p_offset & PAGE_MASK) != offset)
			continue;
		/* glibc maps what the file has, musl what memory has. */
		if (file_end(&ph[i], ph[i].p_filesz) == offset + len ||
		    file_end(&ph[i], ph[i].p_memsz) == offset + len)
			return 1;
	}
	return 0;
}

static int same_file(const struct vma *a, const struct vma *b)
{
	return a->ino == b->ino && a->major == b->major &&
	       a->minor == b->minor && !a->shared && !b->shared;
}

/* Is a segment with code of these headers mapped with that load address? */
static int code_at(const struct vma_list *l, const struct vma *v,
		   const Elf64_Phdr *ph, size_t n, uint64_t base)
{
	for (size_t k = 0; k < n; k++) {
		uint64_t at = base + (ph[k].p_vaddr & PAGE_MASK);

		if (ph[k].p_type != PT_LOAD || !(ph[k].p_flags & PF_X))
			continue;
		for (size_t i = 0; i < l->count; i++)
			if (l->items[i].start == at &&
			    l->items[i].prot & PROT_EXEC &&
			    l->items[i].offset ==
				    (ph[k].p_offset & PAGE_MASK) &&
			    same_file(&l->items[i], v))
				return 1;
	}
	return 0;
}

int segment_is_loaded(const struct vma_list *l, size_t i)
{
	const struct vma *v = &l->items[i];
	Elf64_Phdr ph[SEGMENTS_MAX];
	struct stat st;
	size_t n = 0;
	int fd;

	fd = open(v->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && st.st_ino == v->ino &&
	    st.st_dev == makedev(v->major, v->minor))
		n = read_headers(fd, ph);
	close(fd);
	for (size_t k = 0; k < n; k++) {
		uint64_t from = ph[k].p_offset & PAGE_MASK;
		uint64_t base = v->start - (v->offset - from) -
				(ph[k].p_vaddr & PAGE_MASK);

		if (ph[k].p_flags & PF_W && v->offset >= from &&
		    v->offset + (v->end - v->start) <=
			    file_end(&ph[k], ph[k].p_filesz) &&
		    code_at(l, v, ph, n, base))
			return 1;
	}
	return 0;
}

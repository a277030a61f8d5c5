// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs that count themselves: `moca cc` built them. A note of the
 * executable says so, and where it wants struct moca_exact_setup.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/exact/collector.h"
#include "include/abi/count.h"

#define PHDRS_MAX 64
#define NOTES_MAX 4096

static int get(pid_t pid, uint64_t addr, void *p, size_t len)
{
	struct iovec local = { p, len }, there = { (void *)addr, len };

	return process_vm_readv(pid, &local, 1, &there, 1, 0) == (ssize_t)len ?
		       0 : -EFAULT;
}

/* What is to be added to the addresses in the file. */
static uint64_t bias_of(const Elf64_Phdr *p, uint64_t n, uint64_t at)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		if (p[i].p_type == PT_PHDR)
			return at - p[i].p_vaddr;
	/* Static ones have none; the headers follow the ELF header. */
	for (i = 0; i < n; i++)
		if (p[i].p_type == PT_LOAD && !p[i].p_offset)
			return at - p[i].p_vaddr - sizeof(Elf64_Ehdr);
	return 0;
}

/* notes are of len bytes, at addr in the program. */
static int find(const uint8_t *notes, size_t len, uint64_t addr,
		struct exact_counting *c)
{
	size_t at = 0;

	while (len - at >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *n = (const void *)(notes + at);
		uint64_t name = (n->n_namesz + 3ull) & ~3ull;
		uint64_t desc = (n->n_descsz + 3ull) & ~3ull;
		size_t body = at + sizeof(*n);
		int32_t value[2];

		if (name + desc > len - body)
			break;
		if (n->n_type == MOCA_COUNT_NOTE_TYPE && n->n_descsz == 8 &&
		    n->n_namesz == sizeof(MOCA_COUNT_NOTE_NAME) &&
		    !memcmp(notes + body, MOCA_COUNT_NOTE_NAME, n->n_namesz)) {
			memcpy(value, notes + body + name, sizeof(value));
			c->shift = (unsigned int)value[0];
			c->setup = addr + body + name + 4 + value[1];
			return 1;
		}
		at = body + name + desc;
	}
	return 0;
}

static int read_at(int fd, uint64_t at, void *p, size_t len)
{
	return pread(fd, p, len, (off_t)at) == (ssize_t)len ? 0 : -EIO;
}

static int find_in_file(int fd, struct exact_counting *c)
{
	uint8_t notes[NOTES_MAX] __attribute__((aligned(8)));
	Elf64_Phdr p;
	Elf64_Ehdr e;

	if (read_at(fd, 0, &e, sizeof(e)) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phnum > PHDRS_MAX ||
	    e.e_phentsize != sizeof(p))
		return 0;
	for (unsigned int i = 0; i < e.e_phnum; i++)
		if (!read_at(fd, e.e_phoff + i * sizeof(p), &p, sizeof(p)) &&
		    p.p_type == PT_NOTE && p.p_filesz <= NOTES_MAX &&
		    !read_at(fd, p.p_offset, notes, p.p_filesz) &&
		    find(notes, p.p_filesz, 0, c))
			return 1;
	return 0;
}

unsigned int exact_built_for(const char *path)
{
	struct exact_counting c = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), found;

	if (fd < 0)
		return 0;
	found = find_in_file(fd, &c);
	close(fd);
	return found && c.shift >= 6 && c.shift <= 12 ? c.shift : 0;
}

int exact_counts_itself(pid_t pid, uint64_t phdr, uint64_t phnum,
			struct exact_counting *c)
{
	uint8_t notes[NOTES_MAX] __attribute__((aligned(8)));
	Elf64_Phdr p[PHDRS_MAX];
	uint64_t bias, i;

	if (!phnum || phnum > PHDRS_MAX ||
	    get(pid, phdr, p, phnum * sizeof(*p)))
		return 0;
	bias = bias_of(p, phnum, phdr);
	for (i = 0; i < phnum; i++)
		if (p[i].p_type == PT_NOTE && p[i].p_filesz <= NOTES_MAX &&
		    !get(pid, bias + p[i].p_vaddr, notes, p[i].p_filesz) &&
		    find(notes, p[i].p_filesz, bias + p[i].p_vaddr, c))
			return 1;
	return 0;
}

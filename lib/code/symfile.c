// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tables are copied out of the file: a mapping of it would end the program if
 * somebody cut the file short meanwhile. Memory is mmap's, as malloc is what is
 * being watched.
 */
#include "lib/code/symfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/arch.h"

static int get(const struct moca_symfile *f, void *to, uint64_t at, size_t len)
{
	char *p = to;
	ssize_t n;

	if (at > f->len || len > f->len - at)
		return -ENOEXEC;
	while (len) {
		n = pread(f->fd, p, len, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOEXEC;
		p += n;
		at += (size_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* A copy of len bytes and a NUL behind; NULL with errno. */
static void *copy(const struct moca_symfile *f, uint64_t at, uint64_t len)
{
	void *p;
	int err;

	if (len >= f->len) {
		errno = ENOEXEC;
		return NULL;
	}
	p = mmap(NULL, len + 1, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	/* Not by the kernel first: whose memory it is, is told by who touches it. */
	*(volatile char *)p = 0;
	err = get(f, p, at, len);
	if (err) {
		munmap(p, len + 1);
		errno = -err;
		return NULL;
	}
	return p;
}

int moca_symfile_open(struct moca_symfile *f, const char *path)
{
	struct stat st;
	int err = -ENOEXEC;

	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (f->fd < 0)
		return -errno;
	if (fstat(f->fd, &st)) {
		err = -errno;
		goto err_close;
	}
	f->len = S_ISREG(st.st_mode) ? (size_t)st.st_size : 0;
	err = get(f, &f->head, 0, sizeof(f->head));
	if (err)
		goto err_close;
	err = -ENOEXEC;
	if (memcmp(f->head.e_ident, ELFMAG, SELFMAG) ||
	    f->head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    f->head.e_machine != MOCA_ELF_MACHINE ||
	    f->head.e_phentsize != sizeof(Elf64_Phdr) ||
	    f->head.e_phnum > MOCA_SYMFILE_PHDRS)
		goto err_close;
	err = get(f, f->phdrs, f->head.e_phoff,
		  f->head.e_phnum * sizeof(Elf64_Phdr));
	if (!err)
		return 0;
err_close:
	moca_symfile_close(f);
	return err;
}

void moca_symfile_close(struct moca_symfile *f)
{
	close(f->fd);
	f->fd = -1;
}

/*
 * Without an "@VERSION". Programs have tens of thousands of symbols, and strcspn
 * takes 150 ns for each.
 */
static size_t plain_length(const char *name)
{
	size_t len = strlen(name);
	const char *at = memchr(name, '@', len);

	return at ? (size_t)(at - name) : len;
}

static void visit_one(const Elf64_Sym *sym, const char *names, uint64_t len,
		      void (*visit)(void *, const char *, size_t,
				    const Elf64_Sym *),
		      void *arg)
{
	unsigned int type = ELF64_ST_TYPE(sym->st_info);
	const char *name = names + sym->st_name;

	if (sym->st_name < len && sym->st_shndx != SHN_UNDEF &&
	    (type == STT_FUNC || type == STT_GNU_IFUNC))
		visit(arg, name, plain_length(name), sym);
}

/* One table and the names that it refers to. */
static int walk_table(const struct moca_symfile *f, const Elf64_Shdr *table,
		      const Elf64_Shdr *strings,
		      void (*visit)(void *, const char *, size_t,
				    const Elf64_Sym *),
		      void *arg)
{
	size_t count = table->sh_size / sizeof(Elf64_Sym);
	const Elf64_Sym *syms;
	const char *names;
	int err = 0;

	syms = copy(f, table->sh_offset, table->sh_size);
	if (!syms)
		return -errno;
	names = copy(f, strings->sh_offset, strings->sh_size);
	if (!names) {
		err = -errno;
		goto err_syms;
	}
	for (size_t i = 0; i < count; i++)
		visit_one(&syms[i], names, strings->sh_size, visit, arg);
	munmap((void *)names, strings->sh_size + 1);
err_syms:
	munmap((void *)syms, table->sh_size + 1);
	return err;
}

int moca_symfile_walk(const struct moca_symfile *f,
		      void (*visit)(void *arg, const char *name, size_t len,
				    const Elf64_Sym *sym),
		      void *arg)
{
	size_t count = f->head.e_shnum, len = count * sizeof(Elf64_Shdr);
	const Elf64_Shdr *s;
	int err = 0;

	if (!count)
		return 0;
	if (f->head.e_shentsize != sizeof(Elf64_Shdr))
		return -ENOEXEC;
	s = copy(f, f->head.e_shoff, len);
	if (!s)
		return -errno;
	for (size_t i = 0; i < count && !err; i++) {
		if (s[i].sh_type != SHT_SYMTAB && s[i].sh_type != SHT_DYNSYM)
			continue;
		err = s[i].sh_link < count ?
			      walk_table(f, &s[i], &s[s[i].sh_link], visit, arg) :
			      -ENOEXEC;
	}
	munmap((void *)s, len + 1);
	return err;
}

int moca_symfile_section(const struct moca_symfile *f, const char *name,
			 Elf64_Shdr *out)
{
	size_t size = sizeof(Elf64_Shdr), count = f->head.e_shnum;
	char found[64] = "";
	Elf64_Shdr names;

	if (f->head.e_shentsize != size || f->head.e_shstrndx >= count ||
	    strlen(name) >= sizeof(found) ||
	    get(f, &names, f->head.e_shoff + size * f->head.e_shstrndx, size))
		return -ENOENT;
	for (size_t i = 0; i < count; i++) {
		if (get(f, out, f->head.e_shoff + size * i, size))
			return -ENOENT;
		if (out->sh_name < names.sh_size &&
		    !get(f, found, names.sh_offset + out->sh_name,
			 strlen(name) + 1) &&
		    !strncmp(found, name, strlen(name) + 1))
			return 0;
	}
	return -ENOENT;
}

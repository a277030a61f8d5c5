// SPDX-License-Identifier: GPL-2.0-or-later
/* An ELF file: opening it, its segments and sections. */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/symbols/tables.h"

#define PAGE 4096u

static char *debuginfo_path;	/* libdwfl's default */

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debuginfo_path,
};

int open_regular(const char *path, struct stat *st)
{
	int fd, rc;

	/* To open a device or a FIFO may do something: a watchdog begins. */
	if (stat(path, st) < 0)
		return -errno;
	if (!S_ISREG(st->st_mode))
		return -ENOEXEC;
	/* O_NONBLOCK: it may be another one by now. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	rc = fstat(fd, st) < 0 ? -errno : S_ISREG(st->st_mode) ? 0 :
						       -ENOEXEC;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

/* A file descriptor of a regular file that begins as ELF does, or -errno. */
static int open_file(struct moca_module *m)
{
	unsigned char ident[EI_NIDENT];
	struct stat st;
	char *path = NULL;
	int fd, rc = -ENOEXEC;

	if (m->symbols->root && asprintf(&path, "%s%s", m->symbols->root, m->path) < 0)
		return -ENOMEM;
	fd = open_regular(path ? path : m->path, &st);
	free(path);
	if (fd < 0)
		return fd;
	m->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u +
		      (uint64_t)st.st_mtim.tv_nsec;
	if (pread(fd, ident, sizeof(ident), 0) != sizeof(ident) ||
	    memcmp(ident, ELFMAG, SELFMAG))
		goto err_close;
	return fd;
err_close:
	close(fd);
	return rc;
}

int module_open(struct moca_module *m)
{
	GElf_Ehdr ehdr;
	GElf_Addr bias;
	int fd;

	if (m->opened)
		return m->error;
	m->opened = 1;
	fd = open_file(m);
	if (fd < 0)
		return m->error = fd;
	m->error = -ENOEXEC;
	m->dwfl = dwfl_begin(&callbacks);
	if (!m->dwfl) {
		close(fd);
		return m->error = -ENOMEM;
	}
	dwfl_report_begin(m->dwfl);
	/* Base 0 and the file's own addresses: so all are link-time ones. */
	m->mod = dwfl_report_elf(m->dwfl, m->path, m->path, fd, 0, true);
	if (!m->mod)
		close(fd);
	dwfl_report_end(m->dwfl, NULL, NULL);
	if (!m->mod)
		return m->error;
	m->elf = dwfl_module_getelf(m->mod, &bias);
	if (!m->elf || bias || !gelf_getehdr(m->elf, &ehdr) ||
	    (ehdr.e_type != ET_EXEC && ehdr.e_type != ET_DYN)) {
		m->elf = NULL;
		return m->error;
	}
	return m->error = 0;
}

void module_free(struct moca_module *m)
{
	for (size_t i = 0; i < m->unit_count; i++) {
		free(m->units[i].scopes);
		free(m->units[i].ranges);
	}
	free(m->units);
	free(m->unit_ranges);
	free(m->functions);
	free(m->data);
	free(m->variables);
	if (m->dwfl)
		dwfl_end(m->dwfl);
	free(m);
}

int moca_module_error(struct moca_module *m)
{
	return module_open(m);
}

uint64_t moca_module_mtime(struct moca_module *m)
{
	module_open(m);
	return m->mtime_ns;
}

/* The i-th program header if it is of that type: 1, 0, -ENOENT at the end. */
static int segment(struct moca_module *m, size_t i, uint32_t type,
		   GElf_Phdr *out)
{
	size_t n;

	if (module_open(m) < 0 || elf_getphdrnum(m->elf, &n) < 0 || i >= n ||
	    !gelf_getphdr(m->elf, (int)i, out))
		return -ENOENT;
	return out->p_type == type && out->p_vaddr + out->p_memsz >=
	       out->p_vaddr && out->p_offset + out->p_filesz >= out->p_offset;
}

int module_loads(struct moca_module *m, uint64_t vaddr, uint32_t flags)
{
	GElf_Phdr ph;
	int rc;

	for (size_t i = 0; (rc = segment(m, i, PT_LOAD, &ph)) >= 0; i++)
		if (rc && vaddr >= ph.p_vaddr &&
		    vaddr - ph.p_vaddr < ph.p_memsz && (ph.p_flags & flags))
			return 1;
	return 0;
}

/*
 * A page of the file may be mapped by two segments: it holds the end of one and
 * the begin of the next. A page's first byte stands for the mapping that
 * begins there; any other byte for the segment that it is really in.
 */
int moca_module_vaddr(struct moca_module *m, uint64_t offset, uint64_t *vaddr)
{
	uint64_t begin, end, best = 0;
	GElf_Phdr ph;
	int rc, rank, found = 0;

	for (size_t i = 0; (rc = segment(m, i, PT_LOAD, &ph)) >= 0; i++) {
		if (!rc || !ph.p_filesz)
			continue;
		begin = ph.p_offset & ~(uint64_t)(PAGE - 1);
		end = (ph.p_offset + ph.p_filesz + PAGE - 1) &
		      ~(uint64_t)(PAGE - 1);
		if (offset < begin || offset >= end)
			continue;
		rank = 1;
		if (offset >= ph.p_offset &&
		    offset - ph.p_offset < ph.p_filesz)
			rank = 2;
		if (offset == begin)
			rank = 3;
		if (rank > found) {
			found = rank;
			best = ph.p_vaddr - ph.p_offset + offset;
		}
	}
	if (!found)
		return -ENOENT;
	*vaddr = best;
	return 0;
}

int moca_module_span(struct moca_module *m, uint64_t *low, uint64_t *high)
{
	uint64_t lo = UINT64_MAX, hi = 0;
	GElf_Phdr ph;
	int rc;

	for (size_t i = 0; (rc = segment(m, i, PT_LOAD, &ph)) >= 0; i++) {
		if (!rc || !ph.p_memsz)
			continue;
		if (ph.p_vaddr < lo)
			lo = ph.p_vaddr;
		if (ph.p_vaddr + ph.p_memsz > hi)
			hi = ph.p_vaddr + ph.p_memsz;
	}
	if (lo >= hi || hi > UINT64_MAX - PAGE)
		return -ENOENT;
	*low = lo & ~(uint64_t)(PAGE - 1);
	*high = (hi + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	return 0;
}

int module_tls(struct moca_module *m, GElf_Phdr *out)
{
	int rc;

	for (size_t i = 0; (rc = segment(m, i, PT_TLS, out)) >= 0; i++)
		if (rc)
			return 0;
	return -ENOENT;
}

void moca_module_tls(struct moca_module *m, uint64_t *size, uint64_t *align)
{
	GElf_Phdr ph;
	int none = module_tls(m, &ph) < 0;

	*size = none ? 0 : ph.p_memsz;
	*align = none || !ph.p_align ? 1 : ph.p_align;
}

int moca_module_is_arm64(struct moca_module *m)
{
	GElf_Ehdr head;

	return !module_open(m) && gelf_getehdr(m->elf, &head) &&
	       head.e_machine == EM_AARCH64;
}

const char *moca_module_section(struct moca_module *m, uint64_t vaddr)
{
	const char *name;
	GElf_Shdr sh;
	size_t names;

	if (module_open(m) < 0 || elf_getshdrstrndx(m->elf, &names) < 0)
		return "";
	for (Elf_Scn *s = NULL; (s = elf_nextscn(m->elf, s));) {
		if (!gelf_getshdr(s, &sh) || !(sh.sh_flags & SHF_ALLOC))
			continue;
		/* .tbss takes no room where it seems to be. */
		if ((sh.sh_flags & SHF_TLS) && sh.sh_type == SHT_NOBITS)
			continue;
		if (vaddr < sh.sh_addr || vaddr - sh.sh_addr >= sh.sh_size)
			continue;
		name = elf_strptr(m->elf, names, sh.sh_name);
		return name ? name : "";
	}
	return "";
}

int moca_module_has_section(struct moca_module *m, const char *name)
{
	const char *is;
	GElf_Shdr sh;
	size_t names;

	if (module_open(m) < 0 || elf_getshdrstrndx(m->elf, &names) < 0)
		return 0;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(m->elf, s));) {
		is = gelf_getshdr(s, &sh) ?
			     elf_strptr(m->elf, names, sh.sh_name) : NULL;
		if (is && !strcmp(is, name))
			return 1;
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* What is put into programs: the agent, and the decoder that it needs. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#include "collect/exact/collector.h"
#include "lib/code/embedded.h"

extern const uint8_t moca_exact_agent[], moca_exact_agent_end[];

/* Is it a 64-bit image whose segments lie within the file? */
static int check(struct exact_image *im)
{
	const Elf64_Ehdr *e = (const void *)im->file;
	const Elf64_Phdr *p;

	if (im->len < sizeof(*e) || memcmp(e->e_ident, ELFMAG, SELFMAG) ||
	    e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_type != ET_DYN ||
	    e->e_phentsize != sizeof(*p) || e->e_phoff > im->len ||
	    e->e_phnum > (im->len - e->e_phoff) / sizeof(*p))
		return -ENOEXEC;
	p = (const void *)(im->file + e->e_phoff);
	im->span = 0;
	for (int i = 0; i < e->e_phnum; i++) {
		if (p[i].p_type != PT_LOAD)
			continue;
		if (p[i].p_offset > im->len ||
		    p[i].p_filesz > im->len - p[i].p_offset ||
		    p[i].p_memsz < p[i].p_filesz ||
		    p[i].p_vaddr > 1u << 30 || p[i].p_memsz > 1u << 30)
			return -ENOEXEC;
		if (im->span < PAGE_UP(p[i].p_vaddr + p[i].p_memsz))
			im->span = PAGE_UP(p[i].p_vaddr + p[i].p_memsz);
	}
	im->entry = e->e_entry;
	return im->span ? 0 : -ENOEXEC;
}

static int map_file(struct exact_image *im, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	struct stat st;
	void *p;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_size <= 0)
		err = -ENOEXEC;
	p = err ? MAP_FAILED :
		  mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (!err && p == MAP_FAILED)
		err = -errno;
	close(fd);
	if (err)
		return err;
	im->file = p;
	im->len = st.st_size;
	return check(im);
}

int exact_image_agent(struct exact_image *im)
{
	static struct exact_image agent;
	/* For the tests of this side: another agent, of tests/exact/. */
	const char *other = getenv("MOCA_EXACT_AGENT");
	int err = 0;

	if (!agent.file && other) {
		err = map_file(&agent, other);
	} else if (!agent.file) {
		agent.file = moca_exact_agent;
		agent.len = moca_exact_agent_end - moca_exact_agent;
		err = check(&agent);
	}
	if (err)
		agent.file = NULL;
	*im = agent;
	return err;
}

int exact_image_zydis(struct exact_image *im)
{
	static struct exact_image zydis;
	Dl_info info;
	int err = 0;

	if (!zydis.file && moca_embedded_zydis) {
		zydis.file = moca_embedded_zydis;
		zydis.len = (size_t)(moca_embedded_zydis_end -
				     moca_embedded_zydis);
		err = check(&zydis);
	} else if (!zydis.file) {
		err = dladdr((void *)ZydisGetVersion, &info) &&
				      info.dli_fname ?
			      map_file(&zydis, info.dli_fname) : -ELIBACC;
	}
	if (err)
		zydis.file = NULL;
	*im = zydis;
	return err;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/code/zydis.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/code/embedded.h"
#include "lib/code/link.h"

#define PAGE 4096ul
#define SEGMENTS 16		/* more than any linker makes */
#define LONGEST (64ul << 20)	/* of the library in memory, bytes */

static const char *const folders[] = {
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/local/lib",
	"/usr/local/lib64", "/lib64", "/usr/lib64", "/usr/lib", "/lib",
};

static int try_folder(const char *folder, size_t len)
{
	char path[4096];
	int n;

	/* The structures differ between versions; the file's name says which. */
	n = snprintf(path, sizeof(path), "%.*s/libZydis.so.%u.%u", (int)len,
		     folder,
		     (unsigned int)ZYDIS_VERSION_MAJOR(ZYDIS_VERSION),
		     (unsigned int)ZYDIS_VERSION_MINOR(ZYDIS_VERSION));
	if (n >= (int)sizeof(path))
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int find_file(void)
{
	const char *at = getenv("LD_LIBRARY_PATH");
	unsigned int i;
	int fd = -1;

	if (moca_embedded_zydis_open)
		return moca_embedded_zydis_open();
	while (fd < 0 && at && *at) {
		size_t len = strcspn(at, ":;");

		if (len && len < 4000)
			fd = try_folder(at, len);
		at += len + (at[len] != 0);
	}
	for (i = 0; fd < 0 && i < sizeof(folders) / sizeof(*folders); i++)
		fd = try_folder(folders[i], strlen(folders[i]));
	return fd;
}

/* The segments of an open library. 0, -ELIBBAD or -errno. */
static int segments_of(int fd, Elf64_Phdr *p, unsigned int *count, size_t *len)
{
	unsigned int i, n = 0;
	Elf64_Ehdr e;

	if (pread(fd, &e, sizeof(e), 0) != sizeof(e) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_machine != EM_X86_64 ||
	    e.e_type != ET_DYN || e.e_phentsize != sizeof(*p) ||
	    !e.e_phnum || e.e_phnum > SEGMENTS)
		return -ELIBBAD;
	if (pread(fd, p, e.e_phnum * sizeof(*p), (off_t)e.e_phoff) !=
	    (ssize_t)(e.e_phnum * sizeof(*p)))
		return -ELIBBAD;
	*len = 0;
	for (i = 0; i < e.e_phnum; i++) {
		if (p[i].p_type != PT_LOAD)
			continue;
		if (p[i].p_vaddr > LONGEST || p[i].p_memsz > LONGEST ||
		    p[i].p_filesz > p[i].p_memsz ||
		    (p[i].p_vaddr - p[i].p_offset) % PAGE)
			return -ELIBBAD;
		if (*len < p[i].p_vaddr + p[i].p_memsz)
			*len = p[i].p_vaddr + p[i].p_memsz;
		p[n++] = p[i];
	}
	*len = (*len + PAGE - 1) & -PAGE;
	*count = n;
	return n ? 0 : -ELIBBAD;
}

/* Writable until it is linked; what is shared with other programs stays so. */
static int lay_out(struct moca_zydis *z, int fd, const Elf64_Phdr *p,
		   unsigned int count)
{
	unsigned int i;

	z->base = mmap(NULL, z->len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (z->base == MAP_FAILED)
		return -errno;
	for (i = 0; i < count; i++) {
		uint64_t from = p[i].p_vaddr & -PAGE;
		uint64_t more = p[i].p_vaddr - from;
		uint64_t end = p[i].p_vaddr + p[i].p_filesz;
		char *at = (char *)z->base + from;

		if (!p[i].p_filesz)
			continue;
		if (mmap(at, p[i].p_filesz + more, PROT_READ |
			 (p[i].p_flags & PF_W ? PROT_WRITE : 0) |
			 (p[i].p_flags & PF_X ? PROT_EXEC : 0),
			 MAP_PRIVATE | MAP_FIXED, fd,
			 (off_t)(p[i].p_offset - more)) == MAP_FAILED)
			return -errno;
		/* The file goes on where the segment's zeros begin. */
		if (p[i].p_memsz > p[i].p_filesz && end % PAGE)
			memset((char *)z->base + end, 0, PAGE - end % PAGE);
	}
	return 0;
}

static void failed(void)
{
	abort();
}

static int start(struct moca_zydis *z)
{
	ZyanU64 (*version)(void);
	ZyanStatus (*init)(ZydisDecoder *decoder, ZydisMachineMode mode,
			   ZydisStackWidth width);
	struct moca_linked l;

	if (moca_link(&l, (uint64_t)z->base, failed))
		return -ELIBBAD;
	version = moca_link_find(&l, "ZydisGetVersion");
	init = moca_link_find(&l, "ZydisDecoderInit");
	z->decode = moca_link_find(&l, "ZydisDecoderDecodeInstruction");
	if (version && init && z->decode &&
	    version() >> 32 == ZYDIS_VERSION >> 32 &&
	    ZYAN_SUCCESS(init(&z->decoder, ZYDIS_MACHINE_MODE_LONG_64,
			      ZYDIS_STACK_WIDTH_64)))
		return 0;
	return -ELIBBAD;
}

int moca_zydis_open(struct moca_zydis *z)
{
	Elf64_Phdr p[SEGMENTS];
	unsigned int count;
	int fd = find_file(), err;

	z->base = MAP_FAILED;
	if (fd < 0)
		return -ELIBACC;
	err = segments_of(fd, p, &count, &z->len);
	if (!err)
		err = lay_out(z, fd, p, count);
	close(fd);
	if (!err)
		err = start(z);
	if (err)
		moca_zydis_close(z);
	return err;
}

void moca_zydis_close(struct moca_zydis *z)
{
	if (z->base != MAP_FAILED)
		munmap(z->base, z->len);
	z->base = MAP_FAILED;
}

int moca_zydis_decode(const struct moca_zydis *z, const uint8_t *code,
		      size_t len, ZydisDecodedInstruction *insn)
{
	return ZYAN_SUCCESS(z->decode(&z->decoder, NULL, code, len, insn)) ?
		       0 : -EILSEQ;
}

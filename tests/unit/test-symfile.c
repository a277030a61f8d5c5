// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader of symbol tables, on a program's file and on broken ones. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/code/symfile.h"

#define TURNS 3000

static uint32_t state = 1;

static uint32_t pick(uint32_t n)
{
	state = state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)state * n >> 32);
}

struct seen {
	unsigned int functions, mains;
	size_t letters;
	uint64_t main_size;
};

static void visit(void *arg, const char *name, size_t len, const Elf64_Sym *sym)
{
	struct seen *s = arg;

	s->functions++;
	for (size_t i = 0; i < len; i++)	/* all of it can be read */
		s->letters += name[i] != 0;
	if (len == 4 && !memcmp(name, "main", 4)) {
		s->mains++;
		s->main_size = sym->st_size;
	}
}

static int read_all(const char *path, struct seen *s)
{
	struct moca_symfile f;
	int err = moca_symfile_open(&f, path);

	memset(s, 0, sizeof(*s));
	if (err)
		return err;
	err = moca_symfile_walk(&f, visit, s);
	moca_symfile_close(&f);
	return err;
}

/* Headers, or what one of the sections' descriptions says. */
static void damage(uint8_t *image, size_t len, const Elf64_Ehdr *h)
{
	static const uint8_t bytes[] = { 0, 1, 0x7f, 0x80, 0xff };
	size_t at, from = h->e_shoff, size = h->e_shnum * sizeof(Elf64_Shdr);

	switch (pick(4)) {
	case 0:
		at = pick(sizeof(*h));
		break;
	case 1:
		at = pick((uint32_t)len);
		break;
	default:
		at = from + pick((uint32_t)size);
	}
	image[at] = pick(2) ? bytes[pick(5)] : (uint8_t)pick(256);
}

static const char *broken(const char *self)
{
	char path[64];
	int fd = open(self, O_RDONLY), to = memfd_create("broken", 0);
	off_t len = lseek(fd, 0, SEEK_END);
	uint8_t *image = malloc((size_t)len), *copy = malloc((size_t)len);
	unsigned int refused = 0;
	struct seen s;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", to);
	if (pread(fd, image, (size_t)len, 0) != len)
		return "cannot read itself";
	for (unsigned int turn = 0; turn < TURNS; turn++) {
		unsigned int n = 1 + pick(8);
		size_t part = pick(8) ? (size_t)len : pick((uint32_t)len);

		memcpy(copy, image, (size_t)len);
		while (n--)
			damage(copy, (size_t)len, (const Elf64_Ehdr *)image);
		if (ftruncate(to, 0) ||
		    pwrite(to, copy, part, 0) != (ssize_t)part)
			return "cannot write";
		refused += read_all(path, &s) != 0;
	}
	free(image);
	free(copy);
	close(fd);
	close(to);
	return refused < TURNS / 20 || refused > TURNS - TURNS / 20 ?
		       "it takes all or none" : NULL;
}

static void result(const char *name, const char *why)
{
	printf(why ? "not ok %s: %s\n" : "ok %s\n", name, why);
}

int main(void)
{
	struct seen s;
	const char *self = "/proc/self/exe";

	result("functions of a program",
	       read_all(self, &s) || s.mains != 1 || !s.main_size ||
			       s.functions < 8 ? "not as expected" : NULL);
	result("no file", read_all("/no/such", &s) == -ENOENT ? NULL : "taken");
	result("not an ELF file",
	       read_all("/proc/self/maps", &s) == -ENOEXEC ? NULL : "taken");
	result("a directory", read_all("/", &s) == -ENOEXEC ? NULL : "taken");
	result("broken files", broken(self));
	return 0;
}

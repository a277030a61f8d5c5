// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory and files of the program's own that are called as Moca's are: 40 pages
 * of each, all of them written to. It prints the names.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGES 40

static int use(int fd, const char *name, int how)
{
	volatile char *p;

	if (fd < 0 || ftruncate(fd, PAGES * 4096))
		return 1;
	p = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, how, fd, 0);
	if (p == MAP_FAILED)
		return 1;
	for (int i = 0; i < PAGES; i++)
		p[i * 4096] = 1;
	puts(name);
	return 0;
}

static int file(const char *name, int how)
{
	char folder[256];

	for (const char *p = name; (p = strchr(p, '/')); p++) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(p - name), name);
		mkdir(folder, 0700);
	}
	return use(open(name, O_RDWR | O_CREAT, 0600), name, how);
}

int main(void)
{
	return use(memfd_create("moca-cache", 0), "moca-cache", MAP_SHARED) |
	       use(memfd_create("moca-exact", 0), "moca-exact", MAP_SHARED) |
	       file("moca/registry", MAP_SHARED) |
	       file("moca-7/0123456789abcdef/stream-0", MAP_SHARED) |
	       file("moca-7/registry", MAP_PRIVATE) |
	       file("libmoca-alloc.so", MAP_SHARED) |
	       file("libmocatrace.so.0", MAP_PRIVATE) |
	       file("libmoca-exact (translated code)", MAP_SHARED);
}

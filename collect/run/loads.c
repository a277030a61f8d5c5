// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/loads.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collect/run/sanitizer.h"
#include "lib/base/arch.h"
#include "lib/code/symfile.h"

#define MEMORY_MIN (256u << 20)

static int pread_all(int fd, void *buf, size_t len, uint64_t offset)
{
	return offset > INT64_MAX ||
	       pread(fd, buf, len, offset) != (ssize_t)len;
}

const char loads_static[] = "a static program";
const char loads_sanitized[] = "it has a sanitizer's allocator, which must be "
			       "the first library";

/* NULL, or why this file's program loads no library of ours. */
static const char *check_headers(const struct moca_symfile *f)
{
	const Elf64_Phdr *interp = NULL, *dynamic = NULL, *ph = f->phdrs;
	char loader[256] = "", *base;
	size_t i;

	for (i = 0; i < f->head.e_phnum; i++) {
		if (ph[i].p_type == PT_INTERP)
			interp = &ph[i];
		if (ph[i].p_type == PT_DYNAMIC)
			dynamic = &ph[i];
	}
	if (!interp || !dynamic)
		return loads_static;
	if (interp->p_filesz >= sizeof(loader) ||
	    pread_all(f->fd, loader, interp->p_filesz, interp->p_offset))
		return "its file cannot be understood";
	base = strrchr(loader, '/');
	if (strcmp(base ? base + 1 : loader, MOCA_LOADER))
		return "its loader is not glibc's";
	if (sanitizer_in(f))
		return loads_sanitized;
	return NULL;
}

const char *loads_refusal_of(const char *path)
{
	struct moca_symfile f;
	const char *why;
	int err;

	err = moca_symfile_open(&f, path);
	if (err)
		return err == -ENOEXEC ? "its file cannot be understood" :
					 "its file cannot be read";
	why = check_headers(&f);
	moca_symfile_close(&f);
	return why;
}

/*
 * The library has 20 MB of tables, and 0.5 MB for each thread. Where the loader
 * has no room for them it says so on stderr; or the program has less later.
 */
int loads_is_limited(pid_t tid)
{
	struct rlimit as, data;

	return !prlimit(tid, RLIMIT_AS, NULL, &as) &&
	       !prlimit(tid, RLIMIT_DATA, NULL, &data) &&
	       (as.rlim_cur < MEMORY_MIN || data.rlim_cur < MEMORY_MIN);
}

/* The interpreter that the first line of a script names; else path itself. */
static const char *interpreter(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	char *name = NULL;

	if (f && fgets(buf, (int)size, f) && !strncmp(buf, "#!", 2)) {
		name = buf + 2 + strspn(buf + 2, " \t");
		name[strcspn(name, " \t\n")] = 0;
	}
	if (f)
		fclose(f);
	return name && *name ? name : path;
}

const char *loads_refusal(const char *path)
{
	char line[256];

	if (loads_is_limited(getpid()))
		return "it may have little memory only (ulimit -v or -d)";
	return loads_refusal_of(interpreter(path, line, sizeof(line)));
}

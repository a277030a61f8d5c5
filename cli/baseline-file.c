// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/baseline-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cmdline/unfinished.h"

/* 0 or an error number; f is closed. */
static int write_all(FILE *f, int (*fill)(FILE *f, const void *ctx),
		     const void *ctx)
{
	int err;

	errno = 0;
	err = -fill(f, ctx);
	if (!err && (fflush(f) || ferror(f)))
		err = errno ? errno : EIO;
	if (f != stdout && fclose(f) && !err)
		err = errno;
	return err;
}

/* mode: of the file that it replaces, or 0 */
static int replace(const char *path, mode_t mode,
		   int (*fill)(FILE *f, const void *ctx), const void *ctx)
{
	mode_t mask = umask(0);
	char *temporary;
	FILE *f = NULL;
	int fd, err;

	umask(mask);
	fd = unfinished_beside(path, &temporary);
	if (fd < 0)
		return -fd;
	if (!fchmod(fd, mode ? mode : 0666 & ~mask))
		f = fdopen(fd, "w");
	err = f ? write_all(f, fill, ctx) : errno;
	if (!f)
		close(fd);
	if (!err)
		err = -unfinished_replace(temporary, path);
	if (err)
		unfinished_remove();
	free(temporary);
	return err;
}

int baseline_file_write(const char *path, int (*fill)(FILE *f, const void *ctx),
			const void *ctx)
{
	struct stat st;
	FILE *f;
	int err;

	if (!strcmp(path, "-")) {
		err = write_all(stdout, fill, ctx);
	} else if (lstat(path, &st)) {
		err = replace(path, 0, fill, ctx);
	} else if (S_ISREG(st.st_mode)) {
		err = replace(path, st.st_mode & 0777, fill, ctx);
	} else {
		f = fopen(path, "we");
		err = f ? write_all(f, fill, ctx) : errno;
	}
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/record-unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "collect/run/own.h"
#include "lib/base/err.h"
#include "lib/code/embedded.h"

struct file {
	const char *name;
	const uint8_t *bytes, *end;
};

/* Of the bytes of both: FNV-1a. */
static uint64_t version_of(const struct file *f, size_t count)
{
	uint64_t hash = 14695981039346656037ull;

	for (size_t i = 0; i < count; i++)
		for (const uint8_t *b = f[i].bytes; b < f[i].end; b++)
			hash = (hash ^ *b) * 1099511628211ull;
	return hash;
}

/* Is it ours alone to write, and may what lies there be executed? */
static int usable(const char *dir)
{
	struct statvfs fs;
	struct stat st;

	return !lstat(dir, &st) && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid() && !(st.st_mode & 022) &&
	       !statvfs(dir, &fs) && !(fs.f_flag & ST_NOEXEC);
}

/* May nobody but us and root put something else in its place, or into it? */
static int trusted(const char *dir)
{
	struct stat st;

	return !stat(dir, &st) && S_ISDIR(st.st_mode) &&
	       (!st.st_uid || st.st_uid == geteuid()) &&
	       (!(st.st_mode & 022) || st.st_mode & S_ISVTX);
}

static int trusted_parent(const char *dir)
{
	char parent[PATH_MAX];
	char *slash;

	if (snprintf(parent, sizeof(parent), "%s", dir) >= (int)sizeof(parent))
		return 0;
	slash = strrchr(parent, '/');
	if (slash)
		slash[slash == parent] = 0;
	return slash && trusted(parent);
}

/* Is it there with these bytes? */
static int present(const char *path, const struct file *f)
{
	size_t len = (size_t)(f->end - f->bytes);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), same = 0;
	struct stat st;
	void *p;

	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size == (off_t)len) {
		p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p != MAP_FAILED) {
			same = !memcmp(p, f->bytes, len);
			munmap(p, len);
		}
	}
	close(fd);
	return same;
}

/* A limit of the size of files (ulimit -f) is an error. 0 or -errno. */
static int write_all(int fd, const struct file *f)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	const uint8_t *at = f->bytes;
	struct sigaction was;
	int err = 0;
	ssize_t n;

	sigaction(SIGXFSZ, &ignore, &was);
	for (; !err && at < f->end; at += n > 0 ? n : 0) {
		n = write(fd, at, (size_t)(f->end - at));
		if (!n)
			err = -ENOSPC;
		else if (n < 0 && errno != EINTR)
			err = -errno;
	}
	sigaction(SIGXFSZ, &was, NULL);
	return err;
}

/* Under another name first: others may want it at the same time. 0 or -errno. */
static int put(const char *dir, const struct file *f)
{
	char path[PATH_MAX], made[PATH_MAX + 16];
	int fd, err = 0;

	if (snprintf(path, sizeof(path), "%s/%s", dir, f->name) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	if (!present(path, f)) {
		snprintf(made, sizeof(made), "%s.XXXXXX", path);
		fd = mkostemp(made, O_CLOEXEC);
		if (fd < 0)
			return -errno;
		err = write_all(fd, f);
		/* For programs of other users, too. */
		if (!err && (fchmod(fd, 0644) || rename(made, path)))
			err = -errno;
		close(fd);
		if (err)
			unlink(made);
	}
	if (!err)
		own_file(path);
	return err;
}

/* Ours in base may have to be made; base itself only if it is the user's. */
static int put_below(const char *base, int users, const struct file *f,
		     size_t count, char *dir, size_t size)
{
	char real[PATH_MAX];
	int err = 0;

	if (base[0] != '/' || !trusted_parent(base))
		return -EACCES;
	if (users)
		mkdir(base, 0700);
	if (!realpath(base, real))
		return -errno;
	if (!trusted(real) || !trusted_parent(real))
		return -EACCES;
	/* Blanks and colons part the entries of LD_PRELOAD. */
	if (strpbrk(real, " :;") ||
	    snprintf(dir, size, "%s/moca-%u-%016llx", real,
		     (unsigned int)geteuid(),
		     (unsigned long long)version_of(f, count)) >= (int)size)
		return -EINVAL;
	if (mkdir(dir, 0755) && errno != EEXIST)
		return -errno;
	if (!usable(dir))
		return -EACCES;
	for (size_t i = 0; i < count && !err; i++)
		err = put(dir, &f[i]);
	return err;
}

char *record_unpack(void)
{
	const struct file files[] = {
		{ "libmocatrace.so.0", moca_embedded_trace,
		  moca_embedded_trace_end },
		{ "libmoca-alloc.so", moca_embedded_alloc,
		  moca_embedded_alloc_end },
	};
	char home[PATH_MAX], dir[PATH_MAX - 32], *path;
	/* A container image may have no /tmp; container engines mount /dev/shm. */
	const char *bases[] = { getenv("XDG_CACHE_HOME"), NULL, "/tmp",
				"/dev/shm" };
	int err = -ENOENT;

	if (!moca_embedded_alloc || !moca_embedded_trace)
		return NULL;
	if (getenv("HOME")) {
		snprintf(home, sizeof(home), "%s/.cache", getenv("HOME"));
		bases[1] = home;
	}
	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++) {
		if (!bases[i])
			continue;
		err = put_below(bases[i], i < 2, files, 2, dir, sizeof(dir));
		if (!err && asprintf(&path, "%s/%s", dir, files[1].name) > 0)
			return path;
	}
	moca_warn("cannot unpack libmoca-alloc.so for the program into "
		  "$XDG_CACHE_HOME, ~/.cache, /tmp or /dev/shm: %s. Allocations "
		  "of programs that are linked with libraries are not recorded; name a "
		  "folder of yours by XDG_CACHE_HOME from which programs may be "
		  "executed, or say --no-allocs", strerror(-err));
	return NULL;
}

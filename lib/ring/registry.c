// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/ring/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/write.h"

#define SEQ_TRIES 1000
#define DECIMAL 11		/* an unsigned int, as text */

/* Ours, not a link. Another user's XDG_RUNTIME_DIR comes with su and sudo. */
static int is_own_dir(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid();
}

/* By hand: printf is 1,600 instructions more to translate in each program, in exact mode. */
static int put_path(char *path, size_t size, const char *a, const char *b,
		    const char *c)
{
	size_t la = strlen(a), lb = strlen(b), lc = strlen(c);

	if (la + lb + lc >= size)
		return -ENAMETOOLONG;
	memcpy(path, a, la);
	memcpy(path + la, b, lb);
	memcpy(path + la + lb, c, lc + 1);
	return 0;
}

static const char *decimal(char text[DECIMAL], unsigned int v)
{
	char *p = text + DECIMAL - 1;

	*p = 0;
	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	return p;
}

int moca_registry_dir(char *path, size_t size)
{
	const char *own = secure_getenv("MOCA_RUNTIME_DIR");
	const char *xdg = secure_getenv("XDG_RUNTIME_DIR");
	char run[64], text[DECIMAL];
	const char *uid = decimal(text, geteuid());
	struct stat st;

	if (own && own[0] == '/')
		return put_path(path, size, own, "", "");
	if (xdg && xdg[0] == '/' && is_own_dir(xdg))
		return put_path(path, size, xdg, "/moca", "");
	put_path(run, sizeof(run), "/run/user/", uid, "");
	if (is_own_dir(run))
		return put_path(path, size, run, "/moca", "");
	/* A container image may have no /tmp; container engines mount /dev/shm. */
	return put_path(path, size, lstat("/tmp", &st) ? "/dev/shm" : "/tmp",
			"/moca-", uid);
}

int moca_registry_open_dir(const char *path)
{
	struct stat st;
	int fd, ret;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = fstat(fd, &st) ? -errno : 0;
	if (!ret && (st.st_uid != geteuid() || st.st_mode & 077))
		ret = -EPERM;
	if (ret) {
		close(fd);
		return ret;
	}
	return fd;
}

/*
 * Programs may come at the same time: each writes a whole registry aside, and
 * the first to link it to its name wins. All of it is written, so that no one
 * who maps it finds a hole on a full file system (SIGBUS).
 */
static int create_registry(int dirfd)
{
	static const struct moca_registry fresh = {
		.magic = MOCA_REGISTRY_MAGIC,
		.version = MOCA_REGISTRY_VERSION,
		.generation = 1,
	};
	char aside[64], text[DECIMAL];
	int fd, ret;

	put_path(aside, sizeof(aside), MOCA_REGISTRY_FILE, ".",
		 decimal(text, (unsigned int)getpid()));
	unlinkat(dirfd, aside, 0);	/* of an earlier process */
	fd = openat(dirfd, aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC |
				  O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	ret = moca_write_all(fd, &fresh, sizeof(fresh));
	close(fd);
	if (!ret && linkat(dirfd, aside, dirfd, MOCA_REGISTRY_FILE, 0) &&
	    errno != EEXIST)
		ret = -errno;
	unlinkat(dirfd, aside, 0);
	return ret;
}

static int open_registry(int dirfd, int writable)
{
	int flags = (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW;
	int fd, ret;

	fd = openat(dirfd, MOCA_REGISTRY_FILE, flags);
	if (fd >= 0 || errno != ENOENT)
		return fd < 0 ? -errno : fd;
	ret = create_registry(dirfd);
	if (ret)
		return ret;
	fd = openat(dirfd, MOCA_REGISTRY_FILE, flags);
	return fd < 0 ? -errno : fd;
}

int moca_registry_map(int dirfd, int writable, struct moca_registry **out,
		      int *fd)
{
	struct moca_registry *r;
	struct stat st;
	int f = open_registry(dirfd, writable), ret;

	if (f < 0)
		return f;
	ret = fstat(f, &st) ? -errno : 0;
	if (!ret && (st.st_uid != geteuid() || !S_ISREG(st.st_mode)))
		ret = -EPERM;
	if (!ret && (size_t)st.st_size < sizeof(*r))
		ret = -EPROTO;
	if (ret)
		goto err_close;
	r = mmap(NULL, sizeof(*r), PROT_READ | (writable ? PROT_WRITE : 0),
		 MAP_SHARED, f, 0);
	if (r == MAP_FAILED) {
		ret = -errno;
		goto err_close;
	}
	if (r->magic != MOCA_REGISTRY_MAGIC ||
	    r->version != MOCA_REGISTRY_VERSION) {
		munmap(r, sizeof(*r));
		ret = -EPROTO;
		goto err_close;
	}
	*out = r;
	if (fd)
		*fd = f;
	else
		close(f);
	return 0;
err_close:
	close(f);
	return ret;
}

int moca_registry_read_slot(const struct moca_registry *r, unsigned i,
			    struct moca_registry_slot *out)
{
	const struct moca_registry_slot *s = &r->slots[i];
	unsigned tries;
	uint32_t seq;

	for (tries = 0; tries < SEQ_TRIES; tries++) {
		/* Pairs with the collector's writes of seq around its own. */
		seq = __atomic_load_n(&s->seq, __ATOMIC_ACQUIRE);
		if (seq & 1)
			continue;
		memcpy(out, s, sizeof(*out));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&s->seq, __ATOMIC_RELAXED) == seq) {
			out->name[sizeof(out->name) - 1] = 0;
			out->filter[MOCA_FILTER_MAX] = 0;
			return 0;
		}
	}
	return -EAGAIN;
}

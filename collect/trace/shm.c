// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/trace/shm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"

#define DOORBELL_SIZE 4096
#define NOTE "directory"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

static const char *base_dir(void)
{
	const char *dir = getenv("MOCA_SHM_DIR");

	return dir && *dir ? dir : "/dev/shm";
}

/* Is it a directory of ours that nobody else may enter? */
static int check_own(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return st.st_uid == geteuid() && !(st.st_mode & 077) ? 0 : -EPERM;
}

static int open_dir_at(int at, const char *name)
{
	int fd = openat(at, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err;

	if (fd < 0)
		return errno == ELOOP || errno == ENOTDIR ? -EPERM : -errno;
	err = check_own(fd);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

/* moca-UID, made when it is not there. */
static int open_parent(char *path, size_t size)
{
	tracer_shm_parent(path, size);
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	return open_dir_at(AT_FDCWD, path);
}

static int make_folder(struct tracer_shm *m)
{
	int tries, err;

	/* The last collector to end removes moca-UID, maybe just now. */
	for (tries = 0; tries < 100; tries++) {
		m->parent = open_parent(m->path, sizeof(m->path) - 32);
		if (m->parent == -ENOENT && tries && !access(base_dir(), X_OK))
			continue;
		if (m->parent < 0)
			return m->parent;
		if (!mkdirat(m->parent, m->session, 0700))
			break;
		err = -errno;
		close(m->parent);
		if (err != -ENOENT)
			return err;
	}
	m->dirfd = open_dir_at(m->parent, m->session);
	if (m->dirfd < 0) {
		err = m->dirfd;
		unlinkat(m->parent, m->session, AT_REMOVEDIR);
		close(m->parent);
		return err;
	}
	strcat(m->path, "/");
	strcat(m->path, m->session);
	return 0;
}

static void complain(struct tracer_shm *m, int err)
{
	if (err == -EPERM)
		moca_error("cannot use %s for the buffers: it is another "
			   "user's, a link, or open to others; remove it, or "
			   "set MOCA_SHM_DIR to a directory of your own",
			   m->path);
	else if (err == -ENOSPC)
		moca_error("cannot begin the trace: %s is full; remove what is "
			   "not needed there, enlarge it (mount -o "
			   "remount,size=SIZE), or set MOCA_SHM_DIR to a "
			   "directory with room", base_dir());
	else if (err == -EMFILE || err == -ENFILE || err == -ENOMEM)
		moca_error("cannot make %s for the buffers: %s; %s", m->path,
			   strerror(-err), tracer_shm_advice(err));
	else
		moca_error("cannot make %s for the buffers: %s; set "
			   "MOCA_SHM_DIR to a directory that you can write to",
			   m->path, strerror(-err));
}

static int allocate(int fd, size_t size)
{
	int err;

	do
		err = posix_fallocate(fd, 0, (off_t)size);
	while (err == EINTR);
	return -err;
}

/*
 * All programs write to it: it is sealed, so that none can cut it short under
 * the others. Nobody looks for it when the collector is dead.
 */
static int make_doorbell(struct tracer_shm *m)
{
	void *base;
	int fd, err;

	fd = memfd_create("moca-doorbell", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)	/* before 6.3 */
		fd = memfd_create("moca-doorbell",
				  MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	err = allocate(fd, DOORBELL_SIZE);
	if (!err && fcntl(fd, F_ADD_SEALS,
			  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		err = -errno;
	if (!err) {
		base = mmap(NULL, DOORBELL_SIZE, PROT_READ | PROT_WRITE,
			    MAP_SHARED, fd, 0);
		err = base == MAP_FAILED ? -errno : 0;
	}
	if (err) {
		close(fd);
		return err;
	}
	m->doorbell = base;
	m->doorbell_fd = fd;
	return 0;
}

int tracer_shm_create(struct tracer_shm *m, uint64_t session)
{
	int err;

	memset(m, 0, sizeof(*m));
	m->parent = m->dirfd = m->doorbell_fd = m->note_fd = -1;
	snprintf(m->session, sizeof(m->session), "%016llx",
		 (unsigned long long)session);
	err = make_folder(m);
	if (err) {
		complain(m, err);
		return err;
	}
	err = make_doorbell(m);
	if (err) {
		complain(m, err);
		tracer_shm_remove(m);
	}
	return err;
}

/* Removing takes neither a descriptor nor memory: there may be none left. */
static void remove_files(int dirfd)
{
	_Alignas(struct dirent64) char buf[4096];
	struct dirent64 *e;
	ssize_t n, at;

	lseek(dirfd, 0, SEEK_SET);
	while ((n = getdents64(dirfd, buf, sizeof(buf))) > 0)
		for (at = 0; at < n; at += e->d_reclen) {
			e = (struct dirent64 *)(buf + at);
			if (e->d_name[0] != '.')
				unlinkat(dirfd, e->d_name, 0);
		}
}

void tracer_shm_remove(struct tracer_shm *m)
{
	char path[PATH_MAX];

	if (m->dirfd < 0)
		return;
	if (m->doorbell)
		munmap(m->doorbell, DOORBELL_SIZE);
	if (m->doorbell_fd >= 0)
		close(m->doorbell_fd);
	remove_files(m->dirfd);
	unlinkat(m->parent, m->session, AT_REMOVEDIR);
	/* The folder above stays when another trace is in it. */
	strcpy(path, m->path);
	*strrchr(path, '/') = 0;
	rmdir(path);
	if (m->note_fd >= 0)
		close(m->note_fd);
	close(m->dirfd);
	close(m->parent);
	m->dirfd = m->parent = m->doorbell_fd = m->note_fd = -1;
	m->doorbell = NULL;
}

static int lock_note(int fd)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (!fcntl(fd, F_OFD_SETLK, &l))
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
}

int tracer_shm_note_directory(struct tracer_shm *m, const char *dir)
{
	int err;

	m->note_fd = openat(m->dirfd, NOTE,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
			    O_CLOEXEC, 0600);
	if (m->note_fd < 0)
		return -errno;
	err = lock_note(m->note_fd);
	if (write(m->note_fd, dir, strlen(dir)) != (ssize_t)strlen(dir))
		err = -ENOSPC;
	return err;
}

void tracer_shm_noted_directory(uint64_t session, char *buf, size_t size)
{
	char path[PATH_MAX];
	ssize_t n = 0;
	int fd;

	tracer_shm_path(path, sizeof(path), session);
	strncat(path, "/" NOTE, sizeof(path) - strlen(path) - 1);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, buf, size - 1);
		close(fd);
	}
	buf[n > 0 ? n : 0] = 0;
}

int tracer_shm_lock(struct tracer_shm *m)
{
	if (m->note_fd < 0)
		m->note_fd = openat(m->dirfd, NOTE, O_WRONLY | O_NOFOLLOW |
						    O_NONBLOCK | O_CLOEXEC);
	/* Who ended before making its note is dead. */
	if (m->note_fd < 0)
		return errno == ENOENT ? 0 : -errno;
	return lock_note(m->note_fd);
}

int tracer_shm_file(struct tracer_shm *m, const char *name, size_t size,
		    void **base)
{
	int err, fd = openat(m->dirfd, name,
			     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			     0600);

	if (fd < 0)
		return -errno;
	err = allocate(fd, size);
	if (!err) {
		*base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			     0);
		if (*base == MAP_FAILED)
			err = -errno;
	}
	if (err) {
		unlinkat(m->dirfd, name, 0);
		close(fd);
		return err;
	}
	return fd;
}

int tracer_shm_prove(struct tracer_shm *m, size_t size)
{
	void *base;
	int fd = tracer_shm_file(m, "proof", size, &base);

	if (fd < 0)
		return fd;
	munmap(base, size);
	unlinkat(m->dirfd, "proof", 0);
	close(fd);
	return 0;
}

const char *tracer_advice(int err, const char *usual)
{
	if (err == -EMFILE)
		return "raise the limit of open files (ulimit -n) where the "
		       "trace is started";
	if (err == -ENFILE)
		return "raise the system's limit of open files (sysctl "
		       "fs.file-max)";
	return usual;
}

const char *tracer_shm_advice(int err)
{
	switch (err) {
	case -ENOSPC:
	case -EDQUOT:
		return "take smaller or fewer buffers (--subbuf, --subbufs), "
		       "or enlarge that file system (mount -o "
		       "remount,size=SIZE)";
	case -EFBIG:
		return "take smaller or fewer buffers (--subbuf, --subbufs), "
		       "or raise the limit of files' sizes (ulimit -f) where "
		       "the trace is started";
	case -ENOMEM:
		return "take smaller or fewer buffers (--subbuf, --subbufs), "
		       "or give the collector more memory (ulimit -v, its "
		       "cgroup's memory.max, sysctl vm.max_map_count)";
	default:
		return tracer_advice(err, "see that the folder is there and "
					  "can be written to");
	}
}

void tracer_shm_parent(char *path, size_t size)
{
	snprintf(path, size, "%s/moca-%u", base_dir(), geteuid());
}

void tracer_shm_path(char *path, size_t size, uint64_t session)
{
	snprintf(path, size, "%s/moca-%u/%016llx", base_dir(), geteuid(),
		 (unsigned long long)session);
}

void tracer_shm_stream_name(char name[32], uint32_t stream)
{
	snprintf(name, 32, "stream-%u", stream);
}

int tracer_shm_stream_number(const char *name, uint32_t *stream)
{
	int len = 0;

	return sscanf(name, "stream-%u%n", stream, &len) == 1 &&
	       (!name[len] || name[len] == ' ') ? 0 : -ENOENT;
}

/* The last two parts of path are moca-UID, of ours, and a session. */
static int split(struct tracer_shm *m, const char *path, char *parent)
{
	char want[32];
	size_t len;
	char *slash;

	if (path[0] != '/' || strlen(path) >= sizeof(m->path))
		return -EINVAL;
	strcpy(m->path, path);
	strcpy(parent, path);
	slash = strrchr(parent, '/');
	if (strlen(slash + 1) != 16 ||
	    strspn(slash + 1, "0123456789abcdef") != 16)
		return -EINVAL;
	strcpy(m->session, slash + 1);
	*slash = 0;
	snprintf(want, sizeof(want), "/moca-%u", geteuid());
	len = strlen(want);
	if (strlen(parent) <= len || strcmp(slash - len, want))
		return -EINVAL;
	return 0;
}

int tracer_shm_open(struct tracer_shm *m, const char *path)
{
	char parent[PATH_MAX];
	int err;

	memset(m, 0, sizeof(*m));
	m->parent = m->dirfd = m->doorbell_fd = m->note_fd = -1;
	err = split(m, path, parent);
	if (err)
		return err;
	m->parent = open_dir_at(AT_FDCWD, parent);
	if (m->parent < 0)
		return m->parent;
	m->dirfd = open_dir_at(m->parent, m->session);
	if (m->dirfd < 0) {
		err = m->dirfd;
		close(m->parent);
		m->parent = -1;
		return err;
	}
	return 0;
}

int tracer_shm_is_orphan(const char *dir)
{
	struct stat st;

	return dir[0] == '/' && stat(dir, &st) && errno == ENOENT;
}

int tracer_shm_drop(uint64_t session)
{
	char path[PATH_MAX];
	struct tracer_shm m;
	int err;

	tracer_shm_path(path, sizeof(path), session);
	err = tracer_shm_open(&m, path);
	if (err)
		return err;
	err = tracer_shm_lock(&m);
	if (!err || err == -ENOENT) {
		tracer_shm_remove(&m);
		return 0;
	}
	if (m.note_fd >= 0)
		close(m.note_fd);
	close(m.dirfd);
	close(m.parent);
	return err;
}

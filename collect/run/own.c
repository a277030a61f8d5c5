// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/own.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/identity.h"
#include "lib/base/vec.h"

#define MEMFD "/memfd:"

struct known {
	char *path;
	int is_folder;
};

struct memory {
	uint64_t dev, ino;
};

/*
 * Files that were found to be ours: each process maps the same few. Another file may
 * get the number of one that is gone; it begins later.
 */
#define FOUND 16u

static struct found {
	dev_t dev;
	ino_t ino;
	uint64_t changed_ns;
} found_files[FOUND];
static size_t found_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known *known;
static struct memory *memories;
static size_t known_count, known_room, memory_count, memory_room;

static void add_path(const char *path, int is_folder)
{
	struct known *k;
	char *copy = strdup(path);

	pthread_mutex_lock(&lock);
	k = copy ? moca_vec_add(known, known_count, known_room) : NULL;
	if (k)
		*k = (struct known){ copy, is_folder };
	pthread_mutex_unlock(&lock);
	if (k)
		return;
	free(copy);
	moca_warn("out of memory: %s counts as the program's own", path);
}

void own_file(const char *path)
{
	add_path(path, 0);
}

void own_folder(const char *path)
{
	add_path(path, 1);
}

/* Under the lock. */
static struct memory *find_memory(uint64_t dev, uint64_t ino)
{
	for (size_t i = 0; i < memory_count; i++)
		if (memories[i].dev == dev && memories[i].ino == ino)
			return &memories[i];
	return NULL;
}

static int memory_of(int fd, struct memory *out)
{
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	out->dev = moca_identity_dev(major(st.st_dev), minor(st.st_dev));
	out->ino = st.st_ino;
	return 0;
}

void own_memory(int fd)
{
	struct memory new, *m;

	if (memory_of(fd, &new))
		return;
	pthread_mutex_lock(&lock);
	m = find_memory(new.dev, new.ino);
	if (!m)
		m = moca_vec_add(memories, memory_count, memory_room);
	if (m)
		*m = new;
	pthread_mutex_unlock(&lock);
}

void own_memory_forget(int fd)
{
	struct memory old, *m;

	if (memory_of(fd, &old))
		return;
	pthread_mutex_lock(&lock);
	m = find_memory(old.dev, old.ino);
	if (m)
		*m = memories[--memory_count];
	pthread_mutex_unlock(&lock);
}

static int is_memory(uint64_t dev, uint64_t ino)
{
	int found;

	pthread_mutex_lock(&lock);
	found = find_memory(dev, ino) != NULL;
	pthread_mutex_unlock(&lock);
	return found;
}

size_t own_files(uint64_t (*out)[2], size_t max)
{
	struct stat st;
	size_t n = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < known_count && n < max; i++) {
		if (known[i].is_folder || stat(known[i].path, &st))
			continue;
		out[n][0] = st.st_dev;
		out[n++][1] = st.st_ino;
	}
	pthread_mutex_unlock(&lock);
	return n;
}

static int is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The folder of the folder that the file of that path is in. */
static int stat_above(const char *path, struct stat *out)
{
	char above[PATH_MAX + 8];
	char *slash;

	snprintf(above, sizeof(above), "%s", path);
	for (int i = 0; i < 2; i++) {
		slash = strrchr(above, '/');
		if (!slash)
			return -1;
		*slash = 0;
	}
	return stat(above, out);
}

/* Under the lock. */
static int was_found(const struct stat *file)
{
	for (size_t i = 0; i < found_count && i < FOUND; i++)
		if (found_files[i].dev == file->st_dev &&
		    found_files[i].ino == file->st_ino &&
		    found_files[i].changed_ns == moca_timespec_ns(file->st_ctim))
			return 1;
	return 0;
}

/* The file of that path: is it the one that is mapped, and is it ours? */
static int is_known(const char *path, uint64_t ino)
{
	struct stat file, above, one;
	int found, has_above;

	/* A file system may tell another device of a mapping (btrfs, overlay). */
	if (stat(path, &file) || (ino && file.st_ino != ino))
		return 0;
	pthread_mutex_lock(&lock);
	found = was_found(&file);
	pthread_mutex_unlock(&lock);
	if (found)
		return 1;
	has_above = !stat_above(path, &above);
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < known_count && !found; i++) {
		const struct known *k = &known[i];

		found = (!k->is_folder || has_above) && !stat(k->path, &one) &&
			is_same(&one, k->is_folder ? &above : &file);
	}
	if (found)
		found_files[found_count++ % FOUND] = (struct found){
			file.st_dev, file.st_ino, moca_timespec_ns(file.st_ctim),
		};
	pthread_mutex_unlock(&lock);
	return found;
}

int own_is(pid_t pid, const char *name, uint64_t dev, uint64_t ino)
{
	char path[PATH_MAX + 64];

	if (!moca_identity_maybe_own(name))
		return 0;
	if (!strncmp(name, MEMFD, sizeof(MEMFD) - 1))
		return is_memory(dev, ino);
	if (is_known(name, ino))
		return 1;
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, name);
	return is_known(path, ino);
}

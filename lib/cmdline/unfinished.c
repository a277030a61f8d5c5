// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The handler removes what is in the list itself. Who changes the list holds the
 * lock and has the signals blocked: the handler waits for another thread only, and
 * not for long. It never gives the lock back, so that nothing is made behind it.
 */
#include "lib/cmdline/unfinished.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/vec.h"

static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
#define ENDS (sizeof(ends) / sizeof(ends[0]))

/* Of the kernel's struct linux_dirent64. */
#define LENGTH_AT 16
#define NAME_AT 19

struct begun {
	int dirfd;
	char *name;
	int folder, shared, whole;
};

static struct begun *list;
static size_t count, room;
static char said[2][128];	/* what was begun is removed; or is left */
/* Its test-and-set (acquire) pairs with its clear (release). */
static atomic_flag lock = ATOMIC_FLAG_INIT;

static void take(void)
{
	while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
		sched_yield();
}

static void hold(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ENDS; i++)
		sigaddset(&set, ends[i]);
	pthread_sigmask(SIG_BLOCK, &set, before);
	take();
}

static void release(const sigset_t *before)
{
	atomic_flag_clear_explicit(&lock, memory_order_release);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

/*
 * All files of a folder. In a handler: opendir() allocates, the kernel's call does not.
 * Only who holds the lock comes here, so that there is one buffer.
 */
static void empty(const struct begun *b)
{
	static _Alignas(8) char entries[4096];
	int fd = openat(b->dirfd, b->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned short len;
	size_t removed = 1;
	long n;

	/* Names may be skipped where others are removed: until none is. */
	while (fd >= 0 && removed) {
		removed = 0;
		lseek(fd, 0, SEEK_SET);
		while ((n = syscall(SYS_getdents64, fd, entries,
				    sizeof(entries))) > 0)
			for (long at = 0; at < n; at += len) {
				memcpy(&len, entries + at + LENGTH_AT, sizeof(len));
				removed += !unlinkat(fd, entries + at + NAME_AT, 0);
			}
	}
	if (fd >= 0)
		close(fd);
}

/* The last first: files before their folders. How many are left. */
static int take_away(void)
{
	int left = 0;

	for (size_t i = count; i--;) {
		const struct begun *b = &list[i];

		if (b->whole)
			empty(b);
		if (unlinkat(b->dirfd, b->name, b->folder ? AT_REMOVEDIR : 0) &&
		    errno != ENOENT &&
		    !(b->shared && (errno == ENOTEMPTY || errno == EEXIST)))
			left++;
	}
	return left;
}

static void forget(void)
{
	while (count)
		free(list[--count].name);
}

static void end(int sig)
{
	const char *text;
	sigset_t set;

	take();
	text = said[take_away() != 0];
	/* Nobody can be told that this fails. */
	if (count && write(STDERR_FILENO, text, strlen(text)) < 0)
		errno = 0;
	signal(sig, SIG_DFL);
	raise(sig);
	sigemptyset(&set);
	sigaddset(&set, sig);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	_exit(128 + sig);
}

void unfinished_signals(const char *command)
{
	struct sigaction sa = { .sa_handler = end }, old;
	size_t i;

	snprintf(said[0], sizeof(said[0]),
		 "moca: %s: interrupted: what was begun is removed\n", command);
	snprintf(said[1], sizeof(said[1]),
		 "moca: %s: interrupted: what was begun could not be removed\n",
		 command);
	sigemptyset(&sa.sa_mask);
	for (i = 0; i < ENDS; i++)
		sigaddset(&sa.sa_mask, ends[i]);
	for (i = 0; i < ENDS; i++)
		if (!sigaction(ends[i], NULL, &old) &&
		    old.sa_handler != SIG_IGN)
			sigaction(ends[i], &sa, NULL);
	signal(SIGXFSZ, SIG_IGN);
}

/* Room and a name for one more; the lock is held. 0 or -ENOMEM. */
static int prepare(const char *name)
{
	if (moca_vec_fit(list, room, count + 1))
		return -ENOMEM;
	list[count] = (struct begun){ .name = strdup(name) };
	return list[count].name ? 0 : -ENOMEM;
}

int unfinished_file(int dirfd, const char *name, mode_t mode)
{
	sigset_t before;
	int fd;

	hold(&before);
	fd = prepare(name);
	if (!fd) {
		fd = openat(dirfd, name,
			    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		list[count].dirfd = dirfd;
		if (fd < 0) {
			fd = -errno;
			free(list[count].name);
		} else {
			count++;
		}
	}
	release(&before);
	return fd;
}

static int make_folder(const char *path, mode_t mode, int shared, int whole)
{
	sigset_t before;
	int err;

	hold(&before);
	err = prepare(path);
	if (!err) {
		list[count].dirfd = AT_FDCWD;
		list[count].folder = 1;
		list[count].shared = shared;
		list[count].whole = whole;
		if (mkdir(path, mode)) {
			err = -errno;
			free(list[count].name);
		} else {
			count++;
		}
	}
	release(&before);
	return err;
}

int unfinished_folder(const char *path, mode_t mode, int shared)
{
	return make_folder(path, mode, shared, 0);
}

int unfinished_folder_whole(const char *path, mode_t mode)
{
	return make_folder(path, mode, 0, 1);
}

int unfinished_beside(const char *path, char **name)
{
	char *made = NULL;
	sigset_t before;
	int fd;

	if (asprintf(&made, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	hold(&before);
	fd = prepare(made);
	if (!fd) {
		list[count].dirfd = AT_FDCWD;
		fd = mkostemp(list[count].name, O_CLOEXEC);
		if (fd < 0) {
			fd = -errno;
			free(list[count].name);
		} else {
			strcpy(made, list[count].name);
			count++;
		}
	}
	release(&before);
	if (fd < 0)
		free(made);
	else
		*name = made;
	return fd;
}

int unfinished_replace(const char *name, const char *path)
{
	sigset_t before;
	int err = 0;

	hold(&before);
	if (rename(name, path))
		err = -errno;
	for (size_t i = 0; !err && i < count; i++)
		if (!strcmp(list[i].name, name)) {
			free(list[i].name);
			list[i] = list[--count];
		}
	release(&before);
	return err;
}

void unfinished_keep(void)
{
	sigset_t before;

	hold(&before);
	forget();
	release(&before);
}

int unfinished_remove(void)
{
	sigset_t before;
	int left;

	hold(&before);
	left = take_away();
	forget();
	release(&before);
	return left;
}

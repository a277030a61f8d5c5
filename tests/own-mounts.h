// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A mount namespace of one's own, of which no mount is seen outside. Unlike
 * unshare -m it works below a root that is no mount point (chroots), which
 * cannot be made private by its path.
 */
#ifndef TESTS_OWN_MOUNTS_H
#define TESTS_OWN_MOUNTS_H

#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mount.h>
#include <unistd.h>

/* 0, or -1 with errno set; root and working directory stay what they were. */
static inline int own_mounts(void)
{
	int root, cwd, ns, err = -1;

	if (unshare(CLONE_NEWNS))
		return -1;
	/* From here on: what was opened before lies on the old mounts. */
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cwd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	/* Entering a mount namespace leads to its own root: setns(2). */
	if (root >= 0 && cwd >= 0 && ns >= 0 && !setns(ns, CLONE_NEWNS) &&
	    !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	    !fchdir(root) && !chroot(".") && !fchdir(cwd))
		err = 0;
	close(ns);
	close(root);
	close(cwd);
	return err;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command has begun to write: files, and the directories that it made for
 * them. It is removed when the command fails, and when a signal ends it, at once and
 * wherever the command is: its work looks for no signal.
 *
 * Any thread may call these. Paths are copied, and must stay where they are: no
 * chdir() meanwhile.
 */
#ifndef MOCA_CMDLINE_UNFINISHED_H
#define MOCA_CMDLINE_UNFINISHED_H

#include <sys/types.h>

/*
 * From now on SIGINT, SIGTERM and SIGHUP, unless they were ignored, remove what was
 * begun, say so in the name of the command and end the process as they would have.
 * A limit on files (ulimit -f) is an error like a full disk.
 */
void unfinished_signals(const char *command);

/*
 * Make what does not exist yet, below dirfd or AT_FDCWD, and remember it. A
 * descriptor, 0, or -errno. A shared directory may stay when others put files into it.
 */
int unfinished_file(int dirfd, const char *name, mode_t mode);
int unfinished_folder(const char *path, mode_t mode, int shared);
/*
 * A folder that is its own, at an absolute or relative path: what it holds when it is
 * removed is removed with it, folders in it apart.
 */
int unfinished_folder_whole(const char *path, mode_t mode);
/* As mkstemp(): a file beside path, whose name the caller frees. */
int unfinished_beside(const char *path, char **name);

/* Renames the file that unfinished_beside() made to path. 0 or -errno. */
int unfinished_replace(const char *name, const char *path);

/* All of it is as it should be. */
void unfinished_keep(void);
/* Remove all of it: 0, or how much could not be removed. */
int unfinished_remove(void);

#endif

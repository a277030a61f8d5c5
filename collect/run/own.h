/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Moca itself has made and programs map: its libraries, the registry, the
 * buffers of its sessions, memory without a name. It is known by device and
 * inode: a program may call its own files and memfds as it likes. Any thread.
 */
#ifndef MOCA_RUN_OWN_H
#define MOCA_RUN_OWN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Whoever makes it, or knows where it is, tells it before programs map it. What
 * cannot be noted for want of memory counts as the program's. path need not
 * exist yet.
 */
void own_file(const char *path);
/* All that lies in the folders of this one: sessions (collect/trace/shm.h). */
void own_folder(const char *path);
/* The memfd behind our descriptor fd; forget: it is about to be closed, and
 * nobody maps it. */
void own_memory(int fd);
void own_memory_forget(int fd);
/*
 * st_dev and st_ino of the files that own_file() told, as far as they exist: at
 * most max pairs. Returns how many.
 */
size_t own_files(uint64_t (*out)[2], size_t max);

/*
 * Is what a process has mapped Moca's own? name, dev (moca_identity_dev) and ino
 * as the kernel tells them of the mapping; ino 0: not of this one, as its memory
 * was moved since.
 */
int own_is(pid_t pid, const char *name, uint64_t dev, uint64_t ino);

#endif

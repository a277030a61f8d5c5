/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/maps. */
#ifndef MOCA_PTRACE_MAPS_H
#define MOCA_PTRACE_MAPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/identity.h"

struct vma {
	uint64_t start, end;	/* bytes, end exclusive */
	uint64_t offset;
	uint64_t ino;
	uint32_t major, minor;	/* of the device */
	int prot;		/* PROT_* */
	int shared;
	char *name;		/* "" when anonymous */
};

struct vma_list {
	struct vma *items;
	size_t count;
};

/* 0 or -errno. */
int maps_read(pid_t pid, struct vma_list *out);
/* The same of fd, /proc/PID/maps that is open: of the memory that PID had when it
 * was opened, though it has executed another program since. -ESRCH: it is gone. */
int maps_read_again(int fd, struct vma_list *out);
/* The mapping at addr, or NULL. */
const struct vma *maps_at(const struct vma_list *l, uint64_t addr);
void maps_free(struct vma_list *l);
/* The mapping that holds addr; the caller frees out->name. 0, -ENOENT, -errno. */
int maps_find(pid_t pid, uint64_t addr, struct vma *out);
/* What it is of. */
struct moca_identity maps_identity(const struct vma *v);
/* What is mapped at addr now; MOCA_MEMORY_UNKNOWN: that could not be read. */
struct moca_identity maps_identity_at(pid_t pid, uint64_t addr);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The executable file mappings of address spaces: what a process that is gone
 * had as its code can still be read from its files. Collector thread only.
 */
#ifndef MOCA_FAULT_TEXT_H
#define MOCA_FAULT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct text;

/* Zero-initialised table: NULL when there is no memory. */
struct text *text_new(void);
void text_free(struct text *t);

/* Space maps len bytes of the file at path, from offset on, at addr. */
void text_map(struct text *t, int space, uint64_t addr, uint64_t len,
	      uint64_t offset, const char *path);
/* Space is a fork's copy of parent. */
void text_fork(struct text *t, int space, int parent);
void text_forget(struct text *t, int space);

/*
 * Read len bytes of code at addr from the file that was mapped there last.
 * How many, to the end of the mapping at most; -ENOENT: no file was.
 */
ssize_t text_read(const struct text *t, int space, uint64_t addr, void *buf,
		  size_t len);

#endif

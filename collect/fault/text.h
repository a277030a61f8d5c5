/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file mappings of address spaces that are not written to: what a process
 * that is gone had as its code can still be read from its files, and where their
 * pages are can still be asked. Collector thread only.
 */
#ifndef MOCA_FAULT_TEXT_H
#define MOCA_FAULT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <moca/types.h>

struct text;

/* Zero-initialised table: NULL when there is no memory. */
struct text *text_new(void);
void text_free(struct text *t);

/* Space maps what the event, MOCA_CHANGE_MMAP, tells; if that is a file. */
void text_map(struct text *t, int space, const struct moca_change *e);
/* Space is a fork's copy of parent. */
void text_fork(struct text *t, int space, int parent);
void text_forget(struct text *t, int space);

/*
 * Read len bytes of code at addr from the file that was mapped there last.
 * How many, to the end of the mapping at most; -ENOENT: no file was.
 */
ssize_t text_read(const struct text *t, int space, uint64_t addr, void *buf,
		  size_t len);

/* Some pages of a file that is mapped. */
struct text_range {
	uint64_t start, end;	/* addresses of the mapping, end exclusive */
	uint64_t offset;	/* of start in the file */
	uint64_t dev, ino;	/* which file it is */
	int fd;			/* the caller closes it */
};

/*
 * The file that was mapped at addr last, if it is the same as then: by its
 * number, as its name may be another's. 0, or -ENOENT.
 */
int text_open(const struct text *t, int space, uint64_t addr,
	      struct text_range *out);

#endif

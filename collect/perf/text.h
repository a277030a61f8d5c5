/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file mappings of address spaces that are not written to: what a process
 * had as its code when it made an access can still be read from its files, also
 * when something else is there by now, and where their pages are can still be
 * asked. Collector thread only.
 */
#ifndef MOCA_PERF_TEXT_H
#define MOCA_PERF_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <moca/types.h>

struct text;

/* Zero-initialised table: NULL when there is no memory. */
struct text *text_new(void);
void text_free(struct text *t);

/*
 * What e tells of a mapping of the space: MOCA_CHANGE_MMAP of anything, as it hides
 * what was there; MOCA_CHANGE_GAP, as contents may be others from then on.
 */
void text_note(struct text *t, int space, const struct moca_change *e);
/* Space is a fork's copy of parent. */
void text_fork(struct text *t, int space, int parent);
void text_forget(struct text *t, int space);

enum text_known {
	TEXT_NONE,	/* no file was mapped there last, or it cannot be read */
	TEXT_NAMED,	/* the file of that name: it may be another by now */
	TEXT_CERTAIN,	/* the same file, unchanged since it was mapped */
};

/*
 * Up to len bytes of code at addr, to the end of the mapping at most, from the
 * file that was mapped there last; *n: how many, if the answer is not TEXT_NONE.
 */
enum text_known text_code(const struct text *t, int space, uint64_t addr,
			  void *buf, size_t len, size_t *n);
/*
 * Bytes of a file in one state of it: no two calls that write leave the same. Nothing of
 * a shared mapping has a place; what is written by one may not show in the file's times.
 */
struct text_place {
	uint64_t dev, ino, changed_ns, offset;
};

/*
 * 1: the len bytes at addr are those at *out, which text_code reads if it is certain.
 * The file is asked for its status once for each mapping, and not opened.
 */
int text_place(const struct text *t, int space, uint64_t addr, size_t len,
	       struct text_place *out);
/* Another number when what text_code says of the space may be another. */
uint32_t text_era(const struct text *t, int space);

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

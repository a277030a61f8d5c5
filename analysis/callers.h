/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for the frames of call stacks. Not thread-safe, as symbols are not. */
#ifndef MOCA_CALLERS_H
#define MOCA_CALLERS_H

#include <moca/reader.h>

#include "analysis/objects/objects.h"

struct moca_callers;

/* Of a trace, borrowed; symbols: borrowed, or NULL: its own. 0 or -ENOMEM. */
int moca_callers_open(struct moca_callers **out, struct moca_trace *t,
		      struct moca_symbols *symbols);
void moca_callers_close(struct moca_callers *c);

/* One function of a call stack. Strings live as long as the moca_callers. */
struct moca_caller {
	const char *name;	/* "solve", "libm.so.6+0x11f0" where no function is
				   known, "[unknown]" where no file is */
	const char *file;	/* of the line that runs, or calls; NULL */
	unsigned line;		/* 0 = unknown */
	int inlined;		/* into the function behind it */
};

/* What an address of a file, or of a process, is. */
struct moca_caller_place {
	const struct moca_caller *callers;	/* the innermost first */
	uint32_t count;				/* 1 or more */
	const char *path;	/* of the file; NULL: in none */
	uint64_t address;	/* in the file as it is linked, or in memory */
};

/*
 * The functions of a process at that time whose frame, number i of the stack, has
 * this address: the number of their place, which moca_callers_place() shows. The
 * same place has the same number. -ENOMEM.
 */
int64_t moca_callers_find(struct moca_callers *c, uint32_t pid,
			  uint64_t time_ns, uint64_t address, uint32_t i);
/* The same of a frame of an allocation, of the symbols that c was opened with. */
int64_t moca_callers_site(struct moca_callers *c, uint32_t pid, uint64_t time_ns,
			  const struct moca_site_frame *frame);
/* Valid until moca_callers_find() is called again, or what calls it. */
struct moca_caller_place moca_callers_place(const struct moca_callers *c,
					    uint32_t number);

/*
 * All functions of the stack of that number, the innermost first. How many; 0: the
 * trace has no such stack; -ENOMEM. *cut: the outermost are not known.
 */
int moca_callers_stack(struct moca_callers *c, uint32_t pid, uint64_t time_ns,
		       uint32_t number, const struct moca_caller **out,
		       int *cut);
/* Of an allocation's stack, of a process. The same. */
int moca_callers_heap(struct moca_callers *c, uint32_t pid,
		      const struct moca_heap_stack *s,
		      const struct moca_caller **out, int *cut);

#endif

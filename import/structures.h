/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines 'NAME,ADDRESS,SIZE' of other tools: structures become mappings with their names. */
#ifndef MOCA_IMPORT_STRUCTURES_H
#define MOCA_IMPORT_STRUCTURES_H

#include <stdint.h>

#include "import/lines.h"
#include "import/trace.h"

#define STRUCTURES_ADDRESS_MAX (1ull << 56)

struct structures {
	/* Set by the caller. */
	struct import_trace *trace;	/* it has task 0 */
	uint64_t time_ns;	/* when they are mapped */
	uint64_t page_size;
	/* What came of it. */
	uint64_t odd;		/* those of no size, or beyond all addresses */
};

/*
 * One more, told by the line at hand. Pages whose first byte is in it are its own: one
 * that has no such page is passed over. 0 or -errno; -EBADMSG after lines_wrong().
 */
int structures_map(struct structures *s, struct lines *l, const char *name,
		   uint64_t addr, uint64_t size);
/* The same of the line at hand; its name may have commas itself. */
int structures_line(struct structures *s, struct lines *l);

#endif

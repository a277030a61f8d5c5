/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of locate.c the naming of sites uses. */
#ifndef MOCA_SYMBOLS_LOCATE_H
#define MOCA_SYMBOLS_LOCATE_H

#include "analysis/symbols/tables.h"

/* Source line of an instruction; NULL and 0 where unknown. */
void unit_line(struct moca_module *m, struct unit *u, uint64_t vaddr,
	       const char **file, unsigned *line, unsigned *column);
/* Where in its line an inlined function was called; 0 = unknown. */
unsigned call_column(Dwarf_Die *die);
/*
 * As moca_module_locate, with the unit (NULL: no DWARF) and the scope of each
 * (scopes may be NULL).
 */
size_t module_locate(struct moca_module *m, uint64_t vaddr,
		     struct unit **unit, struct moca_location *out,
		     uint32_t *scopes, size_t max);

#endif

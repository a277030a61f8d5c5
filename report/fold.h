/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In tables for people the sections of one ELF file are one row. */
#ifndef MOCA_REPORT_FOLD_H
#define MOCA_REPORT_FOLD_H

#include "analysis/objects/objects.h"

#define OBJECTS_NOT_FOLDED UINT32_MAX

struct objects_fold {
	/* By file and program; sums of what is folded. id: UINT32_MAX. */
	struct moca_object *rows;
	size_t count, cap;
	uint32_t *into;		/* [row]: index of rows, or OBJECTS_NOT_FOLDED */
};

/* Of n rows; a file's only section stays as it is. 0 or -ENOMEM. */
int objects_fold(const struct moca_object *const *rows, size_t n,
		 struct objects_fold *out);
/*
 * The same, and *rows are then those that are not folded and f's sums, in no order;
 * *n: how many.
 */
int objects_fold_rows(const struct moca_object **rows, size_t *n,
		      struct objects_fold *f);
void objects_fold_free(struct objects_fold *f);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a plan (moca place) could do about a finding, and how it names the structure.
 */
#ifndef MOCA_ADVICE_WISH_H
#define MOCA_ADVICE_WISH_H

#include "analysis/advice/advice.h"

/* What the findings of one structure come to. */
struct moca_wish {
	int huge, interleave, pad;
};

/* Why no plan can follow that finding; NULL: what it takes is added to *w. */
const char *moca_wish_add(struct moca_wish *w, const struct moca_finding *x);

/* Why no plan can name the structure; NULL: one can. */
const char *moca_wish_nameless(const struct moca_object *o);
/*
 * The lines of a plan that name it ("site = ...\nmodule = ...\n"), to be freed. NULL:
 * its name has characters that no plan has, or there is no memory (ENOMEM).
 */
char *moca_wish_name(const struct moca_object *o);

#endif

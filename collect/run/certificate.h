/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The certificate of page accesses, as every way that records them tells it. */
#ifndef MOCA_RUN_CERTIFICATE_H
#define MOCA_RUN_CERTIFICATE_H

#include <stddef.h>

#include <moca/types.h>

struct moca_meta;

/*
 * What holds of a recording that failed (an errno; 0: it did not), as on a full
 * disk: pages were seen whose records were not written, nobody counted which.
 */
struct moca_certificate certificate_after(const struct moca_certificate *k,
					  int failed);
/* Why nothing is certified then. */
#define CERTIFICATE_FAILED "not all that was seen could be written"

/* The keys certificate.*, but pages_blind, for which one needs a witness. */
void certificate_describe(const struct moca_certificate *k,
			  struct moca_meta *m);
/*
 * The first words of a recording's last line: "12 of 12 touched pages seen
 * (100.00 %)". Where pages outside of the program's own memory have no record, each
 * of the two is told with what it is a share of, and both together. Never 100 % when a
 * page is not known of, or there was none; why nothing can be certified, then, or
 * NULL. Returns buf.
 */
const char *certificate_sentence(const struct moca_certificate *k,
				 const char *why, char *buf, size_t size);

#endif

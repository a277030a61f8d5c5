/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What `moca try` measured of changes, in the file `tried` of a trace: a list of
 * "key value" lines with a checksum, as metadata (meta.h), mode 0600. It is written
 * long after the trace, and is no part of its seal. doc/format.md has the keys.
 */
#ifndef MOCA_FORMAT_TRIED_H
#define MOCA_FORMAT_TRIED_H

#include <stddef.h>
#include <stdint.h>

#define MOCA_TRIED_NAME "tried"
#define MOCA_TRIED_DAMAGED "tried.damaged"
#define MOCA_TRIED_MAX 64	/* changes */

/* changed / plain, and the interval of its mean; all above 0 and finite. */
struct moca_tried_ratio {
	double mean, low, high;
};

struct moca_tried_change {
	const char *id;		/* "pad-64" */
	const char *result;	/* "quicker", as moca try --json has it */
	const char *findings;	/* those that it follows: "a,b"; "": none */
	const char *setting;	/* variables of the environment; "": none */
	const char *command;	/* that was run in place of the recorded one; "" */
	const char *plan;	/* as moca place takes it; "": none */
	double predicted;	/* share of the CPU time saved; NAN: not known */
	uint64_t when_ns;	/* Unix time */
	uint64_t rounds;
	double confidence;	/* of the intervals */
	struct moca_tried_ratio wall, cpu;
	uint64_t faults[2];	/* plain, changed: medians */
	uint64_t peak_bytes[2];
};

struct moca_meta;

struct moca_tried {
	struct moca_tried_change *items;
	size_t count;
	struct moca_meta *meta;	/* holds the strings of what was read */
};

/* Whether the change follows a finding of that name. */
int moca_tried_follows(const struct moca_tried_change *c, const char *finding);

/*
 * Add these to what the directory has; of one id the new one counts. 0; 1: as well,
 * but the file there was damaged, and is now MOCA_TRIED_DAMAGED, in place of an older
 * such one; -E2BIG: more than MOCA_TRIED_MAX; -errno.
 */
int moca_tried_write(int dirfd, const struct moca_tried_change *items,
		     size_t count);
/*
 * 0; -ENOENT: nothing was tried; -EBADMSG: the file is damaged, or says what cannot
 * be; -errno. Free it only if this returned 0. Nothing in it has a control character,
 * but the plan's ends of lines.
 */
int moca_tried_read(struct moca_tried *out, int dirfd);
void moca_tried_free(struct moca_tried *t);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Under which id an event is written, and how long it is.
 *
 * babeltrace2 up to 2.0.4, which Debian has, shows an empty string as what the
 * string was in an earlier event of the same id
 * (https://review.lttng.org/c/babeltrace/+/4528). So events in which strings
 * are empty get ids of their own, in which these are empty always: one for
 * each set of strings. Names and fields are the same.
 */
#ifndef MOCA_EXPORT_CTF_TYPE_H
#define MOCA_EXPORT_CTF_TYPE_H

#include <stddef.h>
#include <stdint.h>

#include <moca/reader.h>

#include "lib/ring/layout.h"

#define MOCA_CTF_VARIANTS 4096u		/* beyond, babeltrace2 errs again */
#define MOCA_CTF_VARIANT_FIRST (MOCA_REC_LAST + 1)

struct moca_ctf_types {
	/* Of variant i, whose id is MOCA_CTF_VARIANT_FIRST + i. */
	struct {
		const struct moca_event_type *type;
		uint16_t empty;		/* bit n: string n of the type is */
	} variants[MOCA_CTF_VARIANTS];
	size_t count;
	uint16_t slots[2 * MOCA_CTF_VARIANTS];	/* a hash: index + 1 */
};

/* The id of an event with these strings empty. */
unsigned moca_ctf_type_id(struct moca_ctf_types *t,
			  const struct moca_event_type *type,
			  unsigned empty);

/*
 * The bytes of an event's payload that are its fields, and which of its
 * strings are empty. -EINVAL when the payload is not of its type.
 */
int moca_ctf_event_measure(const struct moca_event *m, size_t *len,
			    unsigned *empty);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The machine to and from the payload of the one chunk of the file `machine`. */
#ifndef MOCA_FORMAT_MACHINE_H
#define MOCA_FORMAT_MACHINE_H

#include <moca/machine.h>

#include "lib/format/stream.h"

#define MOCA_S_MACHINE 1
#define MOCA_S_MACHINE_XML 2
/* Bytes of these, unpacked, at most. */
#define MOCA_MACHINE_RAW_MAX (8u << 20)
#define MOCA_MACHINE_XML_MAX (8u << 20)

/* Make the payload. 0, -ENOMEM, or -EINVAL: m has more than the limits, or contradicts itself. */
int moca_machine_encode(struct moca_stream_out *s,
			const struct moca_machine *m);
/*
 * Make *out of a payload's streams, all lengths, ids and references checked. It
 * is one block of memory: free() it. 0, -EBADMSG or -ENOMEM.
 */
int moca_machine_decode(struct moca_machine **out,
			const struct moca_stream_in *s);

/*
 * Write the file `machine` of a trace directory, which must have none. m's time
 * is begin_ns. 0, -EEXIST, -EINVAL as above, or -errno.
 */
int moca_machine_write(int dirfd, const struct moca_machine *m,
		       uint64_t begin_ns);

#endif

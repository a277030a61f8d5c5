/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a mapping is of, and whether it may be Moca's own: told by the name that
 * /proc/PID/maps has for it.
 */
#ifndef MOCA_BASE_IDENTITY_H
#define MOCA_BASE_IDENTITY_H

#include <stdint.h>

struct moca_identity {
	uint32_t memory;	/* enum moca_memory */
	uint64_t dev;		/* major << 32 | minor */
	uint64_t ino;
};

/* The name of the recorder's own code and data in programs. */
#define MOCA_IDENTITY_STUB "[moca]"

static inline uint64_t moca_identity_dev(uint32_t major, uint32_t minor)
{
	return (uint64_t)major << 32 | minor;
}

/*
 * Of a mapping with that name, device and inode. Without an inode it is private;
 * so it is where ours tells that the recorder has put the memory there.
 */
struct moca_identity moca_identity_of(const char *name, uint64_t dev,
				      uint64_t ino, int ours);

/*
 * May a mapping of that name be Moca's own: a library that is loaded into
 * programs, its buffers, the arena of exact mode? Any program may choose the
 * same: collect/run/own.h knows.
 */
int moca_identity_maybe_own(const char *name);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The registry: one small file per user, that tells every instrumented program
 * of this user, running or yet to come, which traces there are and what they
 * want. Collectors write it; programs map it read-only and look at
 * `generation` at each event site.
 *
 * The folder that holds it (and the collectors' sockets, NAME.sock) is the
 * first of $MOCA_RUNTIME_DIR, $XDG_RUNTIME_DIR/moca, /run/user/UID/moca (if
 * /run/user/UID is there) and /tmp/moca-UID. It is the user's own, mode 0700;
 * what is not is refused.
 */
#ifndef MOCA_RING_REGISTRY_H
#define MOCA_RING_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

#define MOCA_REGISTRY_MAGIC 0x4d6f5265u
#define MOCA_REGISTRY_VERSION 1
#define MOCA_REGISTRY_FILE "registry"
#define MOCA_REGISTRY_SLOTS 16
#define MOCA_SESSION_NAME_MAX 63	/* of [A-Za-z0-9_.-], not "." first */
#define MOCA_FILTER_MAX 959		/* characters */

enum moca_slot_state {
	MOCA_SLOT_FREE = 0,
	MOCA_SLOT_ACTIVE = 1,
	MOCA_SLOT_STOPPED = 2,
};

/*
 * Only programs take part whose environment has MOCA_TRACE=<session, hex>, or
 * whose auxiliary vector has the session: MOCA_AT_SESSION below.
 */
#define MOCA_SLOT_PRIVATE 1u

/* seq is odd while the slot is being written: read, check, else read again. */
struct moca_registry_slot {
	uint32_t seq;
	uint32_t state;		/* enum moca_slot_state */
	uint32_t epoch;		/* counts the sessions in this slot */
	uint32_t flags;
	uint64_t session;	/* random, not 0 */
	uint32_t mask;		/* of facilities: bit moca_facility_bit() */
	uint32_t owner;		/* pid of the collector, for messages only */
	char name[64];
	char filter[MOCA_FILTER_MAX + 1];
};

struct moca_registry {
	uint32_t magic;
	uint32_t version;
	uint32_t reserved[14];
	uint32_t generation __attribute__((aligned(64)));
	struct moca_registry_slot slots[MOCA_REGISTRY_SLOTS]
		__attribute__((aligned(64)));
};

_Static_assert(offsetof(struct moca_registry, generation) == 64, "layout");
_Static_assert(offsetof(struct moca_registry, slots) == 128, "layout");
_Static_assert(offsetof(struct moca_registry_slot, session) == 16, "layout");
_Static_assert(sizeof(struct moca_registry_slot) == 1056, "layout");

/* `generation` is never 0 (events not looked at) nor this (no registry). */
#define MOCA_GENERATION_NONE 0xffffffffu

#define MOCA_TRACE_ENV "MOCA_TRACE"

/*
 * Entries of the auxiliary vector, put there by `moca record` at each execve:
 * the session's lower and upper 32 bits. The kernel's types are below 100.
 */
#define MOCA_AT_SESSION 0x4d4f4341u
#define MOCA_AT_SESSION_HIGH 0x4d4f4342u

/*
 * The folder's path, without making it, as above; environment variables are
 * ignored in set-user-id programs. 0, -ENAMETOOLONG.
 */
int moca_registry_dir(char *path, size_t size);
/*
 * Open the folder, making it when it is not there. A descriptor, or -errno;
 * -EPERM: it is another's or open to others.
 */
int moca_registry_open_dir(const char *path);
/*
 * Open and map the registry in folder dirfd, making it when it is not there.
 * 0, or -errno; -EPROTO: it is of another version.
 */
int moca_registry_map(int dirfd, int writable, struct moca_registry **out,
		      int *fd);

/*
 * A copy of slot i as it was at one moment, strings terminated. 0; -EAGAIN: it
 * is being written, or its writer died meanwhile. Signal-safe.
 */
int moca_registry_read_slot(const struct moca_registry *r, unsigned i,
			    struct moca_registry_slot *out);

/* Which of the 32 bits of a mask a facility has: FNV-1a of its name, mod 32. */
unsigned moca_facility_bit(const char *facility);

/*
 * Does a filter let an event pass? A filter is patterns FACILITY[:EVENT]
 * with * and ?, separated by commas or blanks; -PATTERN takes out. The last
 * that matches decides; an event that none matches passes if the first takes
 * out, or if there is none. Signal-safe.
 */
int moca_filter_match(const char *filter, const char *facility,
		      const char *event);
/* 0, -E2BIG (too long) or -EINVAL (not a pattern: the character at *where). */
int moca_filter_check(const char *filter, size_t *where);

#endif

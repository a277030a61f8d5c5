/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slots of the registry (lib/ring/registry.h), as collectors take them.
 *
 * A collector holds a lock on the first byte of its slot as long as it lives
 * (an open file description lock: the kernel gives it back when the collector
 * dies, however). Slots are looked for and taken under a lock on byte 0.
 */
#ifndef MOCA_TRACE_SLOT_H
#define MOCA_TRACE_SLOT_H

#include <limits.h>
#include <stdint.h>

#include "lib/ring/registry.h"

struct tracer_registry {
	char path[PATH_MAX];	/* of the folder */
	int dirfd;
	int fd;
	struct moca_registry *map;
};

struct tracer_slot {
	struct tracer_registry reg;
	unsigned int index;
	uint64_t session;
	char name[MOCA_SESSION_NAME_MAX + 1];
	uint32_t flags;
};

/* What a slot shall tell. */
struct tracer_wish {
	uint32_t state;		/* enum moca_slot_state */
	uint32_t mask;
	char filter[MOCA_FILTER_MAX + 1];
};

/*
 * Slots that a collector died in, writing, are made free. 0, or -errno after a
 * message.
 */
int tracer_registry_open(struct tracer_registry *r);
void tracer_registry_close(struct tracer_registry *r);

/* Copy slot i. 0; -EAGAIN (being written, or its writer died there). */
int tracer_registry_read(const struct tracer_registry *r, unsigned int i,
			 struct moca_registry_slot *out);
/* Does a collector hold slot i? Not for one's own. */
int tracer_registry_is_held(const struct tracer_registry *r, unsigned int i);
/* Give back the slot of a session whose collector is dead. 0; -EBUSY. */
int tracer_registry_reclaim(struct tracer_registry *r, uint64_t session);

/*
 * Take a slot for a new session; it is stopped until tracer_slot_set.
 * name is "" for one made of our pid; session 0 for a random one. If it was that of
 * a dead one, how to recover that is said, unless quiet. 0, or -errno after a
 * message.
 */
int tracer_slot_take(struct tracer_slot *s, const char *name, uint32_t flags,
		     uint64_t session, int quiet);
uint64_t tracer_random_session(void);
/* Change what programs read; they see it within 10 ms. 0; -EFAULT. */
int tracer_slot_set(struct tracer_slot *s, const struct tracer_wish *w);
/* Give it back. */
void tracer_slot_free(struct tracer_slot *s);

/* Only [A-Za-z0-9_.-], no "." or "-" first, at most MOCA_SESSION_NAME_MAX. */
int tracer_name_is_valid(const char *name);

#endif

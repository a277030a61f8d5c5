/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which traces and profiles a process of a tree sees, in the order of all of them:
 * what another process read is compared with it.
 */
#ifndef MOCA_CLI_REDUCE_SEEN_H
#define MOCA_CLI_REDUCE_SEEN_H

#include <stddef.h>
#include <stdint.h>

/* What there is: its path, and, where it was read by this process, its sum. */
struct reduce_seen_item {
	char *path;
	int profile;
	uint64_t sum;
};

struct reduce_seen {
	struct reduce_seen_item *items;
	size_t count, room;
};

/* 0 or -ENOMEM. */
int reduce_seen_add(struct reduce_seen *s, const char *path, int profile);
/*
 * A checksum of the last part of its path and of its metadata (a profile: of all of
 * it), as they are now. Of what cannot be read: of the path alone.
 */
uint64_t reduce_seen_sum(const struct reduce_seen_item *x);
void reduce_seen_free(struct reduce_seen *s);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file of DHAT, the heap profiler of Valgrind, version 2: where memory was allocated. */
#ifndef MOCA_EXPORT_DHAT_H
#define MOCA_EXPORT_DHAT_H

#include "export/out.h"
#include "lib/base/strings.h"

#define DHAT_FRAMES 3

/* What was allocated at one place. */
struct dhat_point {
	uint64_t bytes, blocks;
	uint64_t life_ns;		/* of all blocks together */
	uint64_t most_bytes, most_blocks;	/* at once */
	uint64_t peak_bytes, peak_blocks;	/* when all places had the most */
	uint64_t end_bytes, end_blocks;		/* that were never freed */
	/* The innermost first. */
	const char *frames[DHAT_FRAMES];
	size_t frame_count;
};

struct dhat {
	struct out *o;
	struct moca_strings frames;
	struct moca_strings places;	/* numbers of the frames of each point */
	uint64_t points;
};

struct dhat_head {
	const char *command;
	uint32_t pid;
	uint64_t end_ns;	/* since the begin, as the next */
	uint64_t peak_ns;
};

void dhat_begin(struct dhat *d, struct out *o, const struct dhat_head *h);
/* 0 or -ENOMEM. */
int dhat_point(struct dhat *d, const struct dhat_point *p);
/* *d is freed. 0, or o's error. */
int dhat_end(struct dhat *d);

#endif

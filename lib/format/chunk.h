/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of a trace, and the header in front of each of their chunks. */
#ifndef MOCA_FORMAT_CHUNK_H
#define MOCA_FORMAT_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "lib/format/writer.h"

#define MOCA_FORMAT_VERSION 1
#define MOCA_MAGIC "\x89MocaC\r\n"	/* survives no text-mode transfer */
#define MOCA_MAGIC_LEN 8

#define MOCA_HEADER_FIXED 88	/* before the CPU mask */
#define MOCA_HEADER_MIN (MOCA_HEADER_FIXED + 8)
#define MOCA_HEADER_MAX 512	/* later versions may add up to here */

#define MOCA_CHUNK_RECORDS_MAX 65536
#define MOCA_PAYLOAD_MAX (16u << 20)
#define MOCA_TASKS_MAX (1u << 22)	/* the kernel's limit of pids */

enum moca_chunk_kind {
	MOCA_KIND_ACCESSES = 1,
	MOCA_KIND_CHANGES = 2,
	MOCA_KIND_EVENTS = 3,
	MOCA_KIND_TYPES = 4,
	MOCA_KIND_COUNTS = 5,
	MOCA_KIND_MACHINE = 6,
	MOCA_KIND_STACKS = 7,
	MOCA_KIND_JIT = 8,
	MOCA_KINDS,
};

/* The files that are made of chunks. */
enum moca_file_type {
	MOCA_FILE_TASK,		/* task-N */
	MOCA_FILE_EVENT,	/* marker-N */
	MOCA_FILE_TYPES,	/* marker-types */
	MOCA_FILE_MACHINE,	/* machine */
	MOCA_FILE_SHARED,	/* task-shared: chunks of many tasks */
	MOCA_FILE_STACKS,	/* stacks */
	MOCA_FILE_JIT,		/* jit */
	MOCA_FILES,
};

#define MOCA_FILE_NAME_MAX 32

void moca_file_name(char buf[MOCA_FILE_NAME_MAX], enum moca_file_type type,
		    uint32_t number);
/*
 * What file it is by its name: 1; 0 = none of these; -EINVAL = it looks like
 * one of these, but no writer would make it.
 */
int moca_file_name_parse(const char *name, enum moca_file_type *type,
			 uint32_t *number);

#define MOCA_CHUNK_MORE 1u
#define MOCA_CHUNK_WEIGHTS 2u	/* not all records weigh 1: the header tells */

/* What the records of a chunk weigh; in the header behind the CPU mask. */
struct moca_weights {
	uint64_t all;
	uint64_t reads;		/* and instruction fetches */
	uint64_t writes;
	uint64_t top;		/* the highest */
};

struct moca_header {
	uint16_t header_len;
	uint8_t version;
	uint8_t kind;
	uint32_t flags;
	uint32_t task;
	uint32_t payload_len;
	uint64_t number;
	uint64_t interval;	/* of events: torn */
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t lost;
	uint32_t records;
	uint32_t reads;
	uint32_t writes;
	uint64_t payload_sum;
	uint32_t cpu_words;
	uint64_t cpumask[MOCA_CPUMASK_WORDS];	/* of counts: their own */
	struct moca_weights weights;	/* of accesses, also without the flag */
	uint64_t header_sum;	/* its own checksum, once parsed */
};

/*
 * Serialise h to buf of MOCA_HEADER_MAX bytes; header_len and version are
 * filled in. The length.
 */
size_t moca_header_put(struct moca_header *h, uint8_t *buf);

/*
 * Parse what may be a header at the start of buf. 0; -EAGAIN when len is too
 * short to tell; -EBADMSG when there is none.
 */
int moca_header_get(struct moca_header *h, const uint8_t *buf, size_t len);

/* Add a record. */
void moca_weights_add(struct moca_weights *w, const struct moca_access *a);
/* Could records be like that, by the header? */
int moca_weights_valid(const struct moca_header *h);

/* The checksum of a payload that lies in two pieces. */
uint64_t moca_payload_sum(const void *a, size_t a_len, const void *b,
			  size_t b_len);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a program writes, as a hash: as it is, and but for its numbers. */
#ifndef MOCA_TRY_OUTPUT_H
#define MOCA_TRY_OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* Of a longer one numbers are not looked for: a program that writes much would wait. */
#define TRY_REST_MAX (1ull << 20)

struct try_stream {
	uint64_t bytes, hash;	/* XXH64 */
	uint64_t rest;		/* of all but numbers and blanks */
};

/* How much of two streams differs. */
enum try_difference { TRY_EQUAL, TRY_NUMBERS, TRY_TEXT };

struct try_hash {
	uint64_t bytes;
	XXH64_state_t all, rest;
	enum { TRY_NO_NUMBER, TRY_ZERO, TRY_NUMBER, TRY_HEX } in;
};

/* The end of what was written, of which the last line may tell why a program failed. */
#define TRY_TAIL 200
struct try_tail {
	char text[TRY_TAIL];	/* not ended by 0 */
	size_t n;
};

void try_tail_add(struct try_tail *t, const char *buf, size_t n);
/* Its last line that is not empty, in buf: of a long one the end. "": there is none. */
const char *try_tail_line(const struct try_tail *t, char buf[TRY_TAIL + 1]);

void try_hash_begin(struct try_hash *h);
void try_hash_add(struct try_hash *h, const char *buf, size_t n);
struct try_stream try_hash_end(const struct try_hash *h);

enum try_difference try_stream_compare(const struct try_stream *a,
				       const struct try_stream *b);

#endif

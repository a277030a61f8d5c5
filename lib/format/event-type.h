/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What events are made of: descriptions as text, in files, and parsed. */
#ifndef MOCA_FORMAT_EVENT_TYPE_H
#define MOCA_FORMAT_EVENT_TYPE_H

#include <moca/reader.h>

#include "lib/format/file.h"
#include "lib/ring/layout.h"

#define MOCA_S_TYPES 1			/* stream of a chunk of descriptions */
#define MOCA_FIELDS_MAX 16
#define MOCA_IDENT_MAX 63		/* characters of a name */
#define MOCA_LABEL_MAX 255
#define MOCA_FIELDS_TEXT_MAX 16384
#define MOCA_TYPES_RAW_MAX (1u << 20)	/* bytes of one chunk, unpacked */
#define MOCA_TYPES_TEXT_MAX (16u << 20)	/* of all descriptions of a trace */
#define MOCA_ARRAY_BYTES (8 * MOCA_REC_WORDS_MAX)	/* no record holds more */

/* A description as it is on disk. */
struct moca_type_text {
	uint32_t id;
	const char *facility;
	const char *name;
	const char *fields;
};

/* What counts for MOCA_TYPES_TEXT_MAX. */
size_t moca_type_text_len(const struct moca_type_text *t);

/* Append a description to b. 0 or -ENOMEM. */
int moca_type_encode(struct moca_buf *b, const struct moca_type_text *t);
/* Take one from *p, pointing into the bytes. 0 or -EBADMSG. */
int moca_type_decode(struct moca_type_text *t, const uint8_t **p,
		     const uint8_t *end);

/* One allocation; free() ends it. */
struct moca_type {
	struct moca_event_type type;
	const char *fields;	/* the text */
	size_t fixed_len;	/* of each payload, if it is the same */
	int is_fixed;
};

/* Parse what anyone may have written. 0, -EINVAL (no description), -ENOMEM. */
int moca_type_parse(struct moca_type **out, const struct moca_type_text *t);

/* All types of a trace. Zero-initialise. */
struct moca_types {
	struct moca_type **by_id;	/* MOCA_REC_LAST + 1, or NULL */
	const struct moca_event_type **list;	/* by id */
	size_t count;
	uint64_t text_bytes;
};

void moca_types_free(struct moca_types *t);
/* The type with that id, or NULL. */
const struct moca_type *moca_types_find(const struct moca_types *t,
					uint32_t id);
/*
 * Add one. 0, also when it was there; -EINVAL (not a description, too many, or
 * another than the one with that id), -ENOMEM.
 */
int moca_types_add(struct moca_types *t, const struct moca_type_text *text);
/* Take one out again. */
void moca_types_remove(struct moca_types *t, uint32_t id);
/* Sort what was added into list. 0 or -ENOMEM. */
int moca_types_finish(struct moca_types *t);

/*
 * Call each for every description of a chunk. 0; -EBADMSG (not to be read, or
 * each said so of some); another error of each, which ends it; -ENOMEM.
 */
int moca_decoder_types(struct moca_decoder *d, const struct moca_file *f,
		       const struct moca_header *h, uint64_t pos,
		       int (*each)(void *arg, const struct moca_type_text *t),
		       void *arg);

#endif

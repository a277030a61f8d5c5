/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The trace's metadata file: an ordered list of "key value" lines, written
 * anew (temporary file + rename) whenever it changes, so that a reader finds
 * a whole one at any moment; its last line is a checksum of all before. Keys are [a-z0-9_.]+; a value is UTF-8 without
 * newline (escaped as \n, \\ in the file). doc/format.md lists the keys.
 */
#ifndef MOCA_FORMAT_META_H
#define MOCA_FORMAT_META_H

#include <stddef.h>
#include <stdint.h>

#include <moca/reader.h>

struct moca_meta;

/* NULL with errno set to ENOMEM. */
struct moca_meta *moca_meta_new(void);
void moca_meta_free(struct moca_meta *m);

/* Set or replace a key. 0, -ENOMEM, or -EINVAL for a bad key. */
int moca_meta_set(struct moca_meta *m, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Add a line for a key that may occur several times ("note"). */
int moca_meta_add(struct moca_meta *m, const char *key, const char *value);
/*
 * A note of something that was to be recorded and is not in the trace, or of a
 * recording that ended early: keys "note" and "loss", with the same text.
 */
int moca_meta_add_loss(struct moca_meta *m, const char *text);

/* Take a key out, all of its lines. */
void moca_meta_unset(struct moca_meta *m, const char *key);

/* What the checksum of the file says that it was read from. */
enum moca_metadata moca_meta_checked(const struct moca_meta *m);

/* The first value of the key, or NULL. Lives as long as m is unchanged. */
const char *moca_meta_get(const struct moca_meta *m, const char *key);
/* The n-th (from 0) value of a repeated key, or NULL. */
const char *moca_meta_nth(const struct moca_meta *m, const char *key,
			  unsigned n);
/* The lines in their order: how many, and the key and *value of line i. */
size_t moca_meta_count(const struct moca_meta *m);
const char *moca_meta_line(const struct moca_meta *m, size_t i,
			   const char **value);
/* A number, or dflt where the key is missing or no number. */
uint64_t moca_meta_u64(const struct moca_meta *m, const char *key,
		       uint64_t dflt);

/* Write dirfd/metadata atomically, mode 0600. 0 or -errno. */
int moca_meta_write(const struct moca_meta *m, int dirfd);
/* Read dirfd/metadata; at most 1 MiB is believed. 0 or -errno. */
int moca_meta_read(struct moca_meta **out, int dirfd);
/* The same under another name, of less than 60 characters. */
int moca_meta_write_as(const struct moca_meta *m, int dirfd, const char *name);
int moca_meta_read_as(struct moca_meta **out, int dirfd, const char *name);

/* Of the trace of events beside accesses, while it is recorded. */
#define MOCA_META_SESSION "marker-session"

#endif

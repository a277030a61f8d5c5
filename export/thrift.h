/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Thrift's compact protocol, as far as Parquet's headers and footer need it. */
#ifndef MOCA_EXPORT_THRIFT_H
#define MOCA_EXPORT_THRIFT_H

#include "lib/base/bytes.h"

#define THRIFT_DEPTH 8

enum thrift_type {
	THRIFT_TRUE = 1, THRIFT_FALSE = 2, THRIFT_BYTE = 3, THRIFT_I32 = 5,
	THRIFT_I64 = 6, THRIFT_BINARY = 8, THRIFT_LIST = 9, THRIFT_STRUCT = 12,
};

/* Begun with all zeros. buf.error: there was no memory. */
struct thrift {
	struct moca_buf buf;
	int depth;
	int last[THRIFT_DEPTH];	/* field of each struct that is open */
};

/* A struct that is no field: the outermost, or an element of a list. */
void thrift_begin(struct thrift *t);
void thrift_end(struct thrift *t);
/* Fields of the struct that was begun last, by rising number. */
void thrift_bool(struct thrift *t, int field, int value);
void thrift_byte(struct thrift *t, int field, int value);
void thrift_i32(struct thrift *t, int field, int32_t value);
void thrift_i64(struct thrift *t, int field, int64_t value);
void thrift_binary(struct thrift *t, int field, const void *p, size_t len);
void thrift_string(struct thrift *t, int field, const char *s);
void thrift_struct(struct thrift *t, int field);	/* thrift_end() */
/* count elements follow: structs, or what thrift_element_...() writes. */
void thrift_list(struct thrift *t, int field, enum thrift_type type,
		 size_t count);
void thrift_element_i32(struct thrift *t, int32_t value);
void thrift_element_string(struct thrift *t, const char *s);

#endif

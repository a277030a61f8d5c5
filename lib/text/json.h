/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A JSON writer. It closes nothing by itself: each open needs its close. key
 * is NULL inside arrays. Strings may be any bytes: invalid UTF-8 becomes
 * U+FFFD.
 */
#ifndef MOCA_TEXT_JSON_H
#define MOCA_TEXT_JSON_H

#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *f;
	int depth;
	int filled;	/* the object or array at hand has a member */
};

void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);
void json_string(struct json *j, const char *key, const char *value);
/* At most max bytes of it, 4 to JSON_CUT: what is longer ends in "...". */
#define JSON_CUT 1000
void json_cut(struct json *j, const char *key, const char *value, size_t max);
void json_uint(struct json *j, const char *key, uint64_t value);
void json_int(struct json *j, const char *key, int64_t value);
void json_bool(struct json *j, const char *key, int value);
void json_null(struct json *j, const char *key);
/* NaN and infinities, which JSON lacks, become null. */
void json_double(struct json *j, const char *key, double value);

#endif

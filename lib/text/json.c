// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/text/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/utf8.h"

static void quote(FILE *f, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;
	int len;

	putc('"', f);
	for (; *s; s += len) {
		len = moca_utf8_length(s);
		if (!len) {
			fputs("\\ufffd", f);
			len = 1;
		} else if (*s == '"' || *s == '\\') {
			fprintf(f, "\\%c", *s);
		} else if (*s < 0x20 || *s == 0x7f) {
			fprintf(f, "\\u%04x", *s);
		} else {
			fwrite(s, 1, len, f);
		}
	}
	putc('"', f);
}

static void begin_value(struct json *j, const char *key)
{
	if (j->filled)
		putc(',', j->f);
	if (j->depth)
		fprintf(j->f, "\n%*s", 2 * j->depth, "");
	if (key) {
		quote(j->f, key);
		fputs(": ", j->f);
	}
	j->filled = 1;
}

void json_open(struct json *j, const char *key, char bracket)
{
	begin_value(j, key);
	putc(bracket, j->f);
	j->depth++;
	j->filled = 0;
}

void json_close(struct json *j, char bracket)
{
	j->depth--;
	if (j->filled)
		fprintf(j->f, "\n%*s", 2 * j->depth, "");
	putc(bracket, j->f);
	j->filled = 1;
	if (!j->depth)
		putc('\n', j->f);
}

void json_string(struct json *j, const char *key, const char *value)
{
	begin_value(j, key);
	if (value)
		quote(j->f, value);
	else
		fputs("null", j->f);
}

void json_cut(struct json *j, const char *key, const char *value, size_t max)
{
	char buf[JSON_CUT + 1];

	if (value && strlen(value) > max && max <= JSON_CUT) {
		snprintf(buf, sizeof(buf), "%.*s...", (int)max - 3, value);
		value = buf;
	}
	json_string(j, key, value);
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
	begin_value(j, key);
	fprintf(j->f, "%" PRIu64, value);
}

void json_int(struct json *j, const char *key, int64_t value)
{
	begin_value(j, key);
	fprintf(j->f, "%" PRId64, value);
}

void json_bool(struct json *j, const char *key, int value)
{
	begin_value(j, key);
	fputs(value ? "true" : "false", j->f);
}

void json_null(struct json *j, const char *key)
{
	json_string(j, key, NULL);
}

void json_double(struct json *j, const char *key, double value)
{
	begin_value(j, key);
	if (isfinite(value))
		fprintf(j->f, "%.6g", value);
	else
		fputs("null", j->f);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * profile.proto of pprof. What a sample refers to (strings, functions, places) is
 * written when it is met first: fields of a message may have any order.
 */
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "export/stacks.h"
#include "lib/base/strings.h"
#include "lib/base/table.h"
#include "lib/base/utf8.h"
#include "lib/base/vec.h"

/* Fields of Profile; those of its parts are where they are written. */
enum {
	SAMPLE_TYPE = 1, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING_TABLE,
	TIME_NANOS = 9, DURATION_NANOS, DEFAULT_SAMPLE_TYPE = 14,
};

/* Locations that are no places of code: places' numbers follow. */
enum { LOCATION_NONE = 1, LOCATION_CUT, LOCATION_FIRST };

struct bytes {
	uint8_t *data;
	size_t len, room;
};

struct function {
	uint64_t name, file;	/* strings */
};

struct pprof {
	struct out *o;
	struct samples *s;
	z_stream z;
	uint8_t packed[1 << 16];
	struct bytes plain;	/* for z */
	struct bytes message, part;	/* that are being made */
	struct moca_strings strings;
	struct function *functions;
	size_t function_count, function_room;
	struct moca_index function_index;
	uint64_t *mappings;	/* strings: paths */
	size_t mapping_count, mapping_room;
	uint8_t *known;		/* locations, by id */
	size_t known_room;
	int error;
};

/* --- bytes -------------------------------------------------------------- */

static uint8_t *grow(struct pprof *x, struct bytes *b, size_t n)
{
	if (moca_vec_fit(b->data, b->room, b->len + n)) {
		x->error = -ENOMEM;
		return NULL;
	}
	b->len += n;
	return b->data + b->len - n;
}

static void put_varint(struct pprof *x, struct bytes *b, uint64_t v)
{
	uint8_t buf[10], *p;
	size_t n = 0;

	do {
		buf[n++] = (uint8_t)((v & 127) | (v > 127 ? 128 : 0));
		v >>= 7;
	} while (v);
	p = grow(x, b, n);
	if (p)
		memcpy(p, buf, n);
}

static void put_bytes(struct pprof *x, struct bytes *b, unsigned int field,
		      const void *data, size_t len)
{
	uint8_t *p;

	put_varint(x, b, field << 3 | 2);
	put_varint(x, b, len);
	p = grow(x, b, len);
	if (p && len)
		memcpy(p, data, len);
}

/* 0 is what a field is that is not there. */
static void put_uint(struct pprof *x, struct bytes *b, unsigned int field,
		     uint64_t v)
{
	if (!v)
		return;
	put_varint(x, b, field << 3);
	put_varint(x, b, v);
}

/* Pack what there is. flush: as of deflate(). */
static void pack(struct pprof *x, int flush)
{
	int ret;

	x->z.next_in = x->plain.data;
	x->z.avail_in = (uInt)x->plain.len;
	do {
		x->z.next_out = x->packed;
		x->z.avail_out = sizeof(x->packed);
		ret = deflate(&x->z, flush);
		if (ret == Z_STREAM_ERROR) {
			x->error = -ENOMEM;
			return;
		}
		out_bytes(x->o, x->packed,
			  sizeof(x->packed) - x->z.avail_out);
	} while (!x->z.avail_out);
	x->plain.len = 0;
}

static void end_message(struct pprof *x, unsigned int field)
{
	put_bytes(x, &x->plain, field, x->message.data, x->message.len);
	x->message.len = 0;
}

static void end_part(struct pprof *x, unsigned int field)
{
	put_bytes(x, &x->message, field, x->part.data, x->part.len);
	x->part.len = 0;
}

/* --- what is written once ----------------------------------------------- */

/* A string of protobuf is UTF-8. NULL: no memory. */
static char *as_utf8(const char *s)
{
	char *out = malloc(3 * strlen(s) + 1), *p = out;

	while (out && *s) {
		int n = moca_utf8_length((const unsigned char *)s);

		memcpy(p, n ? s : "\xef\xbf\xbd", n ? (size_t)n : 3);
		p += n ? n : 3;
		s += n ? n : 1;
	}
	if (out)
		*p = 0;
	return out;
}

/* A string's number; "" is 0, and NULL the same. */
static uint64_t number_string(struct pprof *x, const char *s)
{
	char *copy = as_utf8(s ? s : "");
	size_t before = x->strings.count;
	int64_t n = copy ? moca_strings_number(&x->strings, copy) : -ENOMEM;

	if (n < 0)
		x->error = -ENOMEM;
	else if (x->strings.count > before)
		put_bytes(x, &x->plain, STRING_TABLE, copy, strlen(copy));
	free(copy);
	return n < 0 ? 0 : (uint64_t)n;
}

static uint64_t number_function(struct pprof *x, const char *name,
				const char *file)
{
	struct function f = { number_string(x, name), number_string(x, file) };
	uint64_t hash = moca_mix(f.name << 32 ^ f.file);
	uint32_t i;

	moca_index_each(i, &x->function_index, hash)
		if (x->functions[i].name == f.name &&
		    x->functions[i].file == f.file)
			return i + 1;
	if (moca_vec_fit(x->functions, x->function_room,
			 x->function_count + 1) ||
	    moca_index_add(&x->function_index, hash,
			   (uint32_t)x->function_count)) {
		x->error = -ENOMEM;
		return 0;
	}
	x->functions[x->function_count++] = f;
	put_uint(x, &x->message, 1, x->function_count);	/* id */
	put_uint(x, &x->message, 2, f.name);
	put_uint(x, &x->message, 3, f.name);		/* system_name */
	put_uint(x, &x->message, 4, f.file);
	end_message(x, FUNCTION);
	return x->function_count;
}

/* Few files have code: they are looked through. */
static uint64_t number_mapping(struct pprof *x, const char *path)
{
	uint64_t name;
	size_t i;

	if (!path)
		return 0;
	name = number_string(x, path);
	for (i = 0; i < x->mapping_count; i++)
		if (x->mappings[i] == name)
			return i + 1;
	if (moca_vec_fit(x->mappings, x->mapping_room, x->mapping_count + 1)) {
		x->error = -ENOMEM;
		return 0;
	}
	x->mappings[x->mapping_count++] = name;
	put_uint(x, &x->message, 1, x->mapping_count);	/* id */
	put_uint(x, &x->message, 5, name);
	/* Functions, files, lines and inlined functions are there. */
	for (unsigned int has = 7; has <= 10; has++)
		put_uint(x, &x->message, has, 1);
	end_message(x, MAPPING);
	return x->mapping_count;
}

static void put_location(struct pprof *x, uint64_t id,
			 const struct samples_place *p)
{
	uint64_t mapping = number_mapping(x, p->path), *functions;

	functions = calloc(p->count, sizeof(*functions));
	if (!functions) {
		x->error = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < p->count; i++)
		functions[i] = number_function(x, p->lines[i].function,
					       p->lines[i].file);
	put_uint(x, &x->message, 1, id);
	put_uint(x, &x->message, 2, mapping);
	put_uint(x, &x->message, 3, p->address);
	for (uint32_t i = 0; i < p->count; i++) {
		put_uint(x, &x->part, 1, functions[i]);
		put_uint(x, &x->part, 2, p->lines[i].line);
		end_part(x, 4);
	}
	end_message(x, LOCATION);
	free(functions);
}

/* place: NULL: of the samples. */
static void need_location(struct pprof *x, uint64_t id,
			  const struct samples_place *place)
{
	struct samples_place p;

	if (moca_vec_fit_zeroed(x->known, x->known_room, id + 1)) {
		x->error = -ENOMEM;
		return;
	}
	if (x->known[id])
		return;
	x->known[id] = 1;
	p = place ? *place :
		    x->s->place(x->s, (uint32_t)(id - LOCATION_FIRST));
	put_location(x, id, &p);
}

static void need_special(struct pprof *x, uint64_t id, const char *name)
{
	const struct samples_line line = { .function = name };

	need_location(x, id, &(struct samples_place){ &line, 1, NULL, 0 });
}

/* --- samples ------------------------------------------------------------ */

static void put_label(struct pprof *x, uint64_t key, uint64_t text,
		      uint64_t number)
{
	put_uint(x, &x->part, 1, key);
	put_uint(x, &x->part, 2, text);
	put_uint(x, &x->part, 3, number);
	end_part(x, 3);
}

static void put_sample(struct pprof *x)
{
	struct samples *s = x->s;
	/* Strings are written before the message begins. */
	uint64_t thread = number_string(x, s->thread);
	uint64_t process = number_string(x, s->process);
	uint64_t keys[] = { number_string(x, "thread"), number_string(x, "tid"),
			    number_string(x, "process"),
			    number_string(x, "pid") };

	for (size_t i = 0; i < s->count; i++)
		need_location(x, s->places[i] + (uint64_t)LOCATION_FIRST, NULL);
	if (!s->count)
		need_special(x, LOCATION_NONE, STACKS_NONE);
	if (s->cut)
		need_special(x, LOCATION_CUT, STACKS_CUT);
	for (size_t i = 0; i < s->count; i++)
		put_varint(x, &x->part, s->places[i] + (uint64_t)LOCATION_FIRST);
	if (!s->count || s->cut)
		put_varint(x, &x->part, s->cut ? LOCATION_CUT : LOCATION_NONE);
	end_part(x, 1);
	for (size_t i = 0; i < s->kind_count; i++)
		put_varint(x, &x->part, s->values[i]);
	end_part(x, 2);
	put_label(x, keys[0], thread, 0);
	put_label(x, keys[1], 0, s->tid);
	put_label(x, keys[2], process, 0);
	put_label(x, keys[3], 0, s->pid);
	end_message(x, SAMPLE);
}

static void put_kinds(struct pprof *x)
{
	uint64_t units[2];

	number_string(x, "");	/* 0 */
	units[0] = number_string(x, "count");
	units[1] = number_string(x, "bytes");
	for (size_t i = 0; i < x->s->kind_count; i++) {
		uint64_t kind = number_string(x, x->s->kinds[i]);

		put_uint(x, &x->message, 1, kind);
		put_uint(x, &x->message, 2, units[x->s->kind_bytes[i]]);
		end_message(x, SAMPLE_TYPE);
	}
	put_uint(x, &x->plain, DEFAULT_SAMPLE_TYPE,
		 number_string(x, x->s->kinds[0]));
	put_uint(x, &x->plain, TIME_NANOS, x->s->begin_ns);
	put_uint(x, &x->plain, DURATION_NANOS, x->s->length_ns);
}

static void free_pprof(struct pprof *x)
{
	moca_strings_free(&x->strings);
	free(x->functions);
	free(x->mappings);
	free(x->known);
	free(x->plain.data);
	free(x->message.data);
	free(x->part.data);
	moca_index_free(&x->function_index);
	deflateEnd(&x->z);
	free(x);
}

int stacks_pprof(struct out *o, struct samples *s, uint64_t *count)
{
	struct pprof *x = calloc(1, sizeof(*x));
	int ret = 0;

	*count = 0;
	/* 15 + 16: gzip. */
	if (!x || deflateInit2(&x->z, 6, Z_DEFLATED, 15 + 16, 9,
			       Z_DEFAULT_STRATEGY) != Z_OK) {
		free(x);
		return -ENOMEM;
	}
	x->o = o;
	x->s = s;
	put_kinds(x);
	while (!x->error && !o->error && (ret = s->next(s)) > 0) {
		put_sample(x);
		++*count;
		if (x->plain.len >= sizeof(x->packed))
			pack(x, Z_NO_FLUSH);
	}
	if (!x->error && ret >= 0)
		pack(x, Z_FINISH);
	if (x->error)
		ret = x->error;
	free_pprof(x);
	return ret < 0 ? ret : o->error;
}

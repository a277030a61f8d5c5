// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/parquet-column.h"

#include <math.h>
#include <stdio.h>

#include "export/parquet-encode.h"
#include "export/parquet.h"
#include "lib/base/utf8.h"

enum { PLAIN = 0, RLE = 3, DELTA = 5, RLE_DICTIONARY = 8 };
enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2 };
#define ZSTD 6			/* the codec */
#define LEVEL 1

void parquet_column_free(struct parquet_column *c)
{
	free(c->memory);
	free(c->levels);
	moca_buf_free(&c->texts);
	free(c->known);
	moca_index_free(&c->index);
	free(c->by_id);
}

static void clear(struct parquet_column *c)
{
	c->rows = c->count = c->puts = 0;
	free(c->levels);
	c->levels = NULL;
	c->texts.len = 0;
	c->known_count = 0;
	moca_index_clear(&c->index);
	if (c->id_count)
		memset(c->by_id, 0, c->id_count * sizeof(*c->by_id));
}

/*
 * All columns are filled at once. Were their cells at the same place of a page, they
 * would drive each other out of the caches.
 */
static void *cells_memory(struct parquet_column *c, size_t size)
{
	c->memory = malloc(PARQUET_ROWS * size + c->shift);
	return c->memory ? (uint8_t *)c->memory + c->shift : NULL;
}

/* --- texts -------------------------------------------------------------- */

/* To the end of b: what is no UTF-8 becomes U+FFFD. s ends with a NUL. */
static void put_utf8(struct moca_buf *b, const char *s, size_t len)
{
	size_t from = 0, i = 0;

	while (i < len) {
		int n = s[i] ? moca_utf8_length((const uint8_t *)s + i) : 1;

		if (n && i + (size_t)n <= len) {
			i += (size_t)n;
			continue;
		}
		moca_buf_add(b, s + from, i - from);
		moca_buf_add(b, "\xef\xbf\xbd", 3);
		from = ++i;
	}
	moca_buf_add(b, s + from, i - from);
}

/* The number of a text in the dictionary. 0 or -ENOMEM. */
static int find_text(struct parquet_column *c, const char *s, size_t len,
		     uint32_t *number)
{
	struct moca_buf *b = &c->texts;
	size_t begin = b->len, at = begin + 4;
	uint8_t prefix[4] = { 0 };
	struct parquet_text *k;
	uint64_t hash;
	uint32_t i;

	/* It is made at the end, and taken back if it is known. */
	moca_buf_add(b, prefix, 4);
	put_utf8(b, s, len);
	if (b->error)
		return b->error;
	len = b->len - at;
	moca_put32(b->data + begin, (uint32_t)len);
	hash = moca_hash_bytes(0, b->data + at, len);
	moca_index_each(i, &c->index, hash)
		if (c->known[i].len == len &&
		    !memcmp(b->data + c->known[i].at, b->data + at, len))
			break;
	if (i != MOCA_INDEX_NONE) {
		b->len = begin;
		*number = i;
		return 0;
	}
	k = moca_vec_add(c->known, c->known_count, c->known_room);
	if (!k)
		return -ENOMEM;
	*k = (struct parquet_text){ at, (uint32_t)len };
	*number = (uint32_t)(c->known_count - 1);
	return moca_index_add(&c->index, hash, *number);
}

static int number_of(struct parquet_column *c, const struct rows_text *x,
		     uint32_t *number)
{
	int err;

	if (!x->id)
		return find_text(c, x->s, x->len, number);
	if (x->id >= c->id_count) {
		err = moca_vec_fit(c->by_id, c->id_room, (size_t)x->id + 1);
		if (err)
			return err;
		memset(c->by_id + c->id_count, 0,
		       (x->id + 1 - c->id_count) * sizeof(*c->by_id));
		c->id_count = x->id + 1;
	}
	if (!c->by_id[x->id]) {
		err = find_text(c, x->s, x->len, number);
		if (err)
			return err;
		c->by_id[x->id] = *number + 1;
	}
	*number = c->by_id[x->id] - 1;
	return 0;
}

/* SQLite's columns have cells of any type: enumerations without a label. */
static int add_text(struct parquet_column *c, const struct rows_cell *cell)
{
	const struct rows_text *x = cell->text;
	uint32_t number;
	char buf[40];
	int err;

	if (!c->numbers)
		c->numbers = cells_memory(c, sizeof(*c->numbers));
	if (!c->numbers)
		return -ENOMEM;
	if (cell->type == ROWS_TEXT) {
		err = number_of(c, x, &number);
	} else {
		if (cell->type == ROWS_INTEGER)
			snprintf(buf, sizeof(buf), "%lld",
				 (long long)cell->integer);
		else
			snprintf(buf, sizeof(buf), "%.17g", cell->real);
		err = find_text(c, buf, strlen(buf), &number);
	}
	if (!err)
		c->numbers[c->count++] = number;
	return err;
}

/* --- cells -------------------------------------------------------------- */

static int add_null(struct parquet_column *c)
{
	if (c->levels)
		return 0;
	c->levels = malloc(PARQUET_ROWS * sizeof(*c->levels));
	if (!c->levels)
		return -ENOMEM;
	for (size_t i = 0; i < c->rows; i++)
		c->levels[i] = 1;
	return 0;
}

static int add_number(struct parquet_column *c, const struct rows_cell *cell)
{
	double real;

	if (!c->values)
		c->values = cells_memory(c, sizeof(*c->values));
	if (!c->values)
		return -ENOMEM;
	if (c->type == ROWS_INTEGER && cell->type == ROWS_INTEGER) {
		c->values[c->count++] = (uint64_t)cell->integer;
		return 0;
	}
	if (c->type != ROWS_REAL || cell->type == ROWS_TEXT)
		return -EDOM;
	real = cell->type == ROWS_REAL ? cell->real : (double)cell->integer;
	memcpy(&c->values[c->count++], &real, sizeof(real));
	return 0;
}

int parquet_column_add(struct parquet_column *c, const struct rows_cell *cell)
{
	int err;

	if (cell->type == ROWS_NULL)
		err = add_null(c);
	else if (c->type == ROWS_TEXT)
		err = add_text(c, cell);
	else
		err = add_number(c, cell);
	if (c->levels)
		c->levels[c->rows] = cell->type != ROWS_NULL;
	c->rows++;
	return err;
}

void parquet_column_repeat(struct parquet_column *c, size_t rows)
{
	size_t n = rows - c->rows, last = c->count - 1;
	uint32_t level = c->levels && c->rows ? c->levels[c->rows - 1] : 1;

	for (; c->levels && c->rows < rows; c->rows++)
		c->levels[c->rows] = level;
	c->rows = rows;
	if (!level)
		return;
	for (; n && c->type == ROWS_TEXT; n--)
		c->numbers[c->count++] = c->numbers[last];
	for (; n; n--)
		c->values[c->count++] = c->values[last];
}

/* --- pages -------------------------------------------------------------- */

/* A page of p->plain; what it takes is added to. 0 or -ENOMEM. */
static int write_page(struct parquet_packer *p, struct out *o, int type,
		      size_t values, int encoding, uint64_t *plain,
		      uint64_t *packed)
{
	struct thrift *t = &p->head;
	size_t n = ZSTD_compressBound(p->plain.len);
	int err = p->plain.error;

	p->packed.len = 0;
	if (!err)
		err = moca_buf_reserve(&p->packed, n);
	if (err)
		return err;
	n = ZSTD_compressCCtx(p->zstd, p->packed.data, p->packed.cap,
			      p->plain.data, p->plain.len, LEVEL);
	if (ZSTD_isError(n))
		return -ENOMEM;
	t->buf.len = 0;
	thrift_begin(t);
	thrift_i32(t, 1, type);
	thrift_i32(t, 2, (int32_t)p->plain.len);
	thrift_i32(t, 3, (int32_t)n);
	thrift_struct(t, type == DATA_PAGE ? 5 : 7);
	thrift_i32(t, 1, (int32_t)values);
	thrift_i32(t, 2, encoding);
	if (type == DATA_PAGE) {
		thrift_i32(t, 3, RLE);
		thrift_i32(t, 4, RLE);
	}
	thrift_end(t);
	thrift_end(t);
	if (t->buf.error)
		return t->buf.error;
	out_bytes(o, t->buf.data, t->buf.len);
	out_bytes(o, p->packed.data, n);
	*plain += t->buf.len + p->plain.len;
	*packed += t->buf.len + n;
	return 0;
}

/* Are all cells the first one? There is one of each then, but for c->rows and c->count. */
static int is_same(const struct parquet_column *c)
{
	return c->puts == 1 && c->rows > 1;
}

/* Which rows are NULL, behind the length of that. */
static void put_levels(struct moca_buf *b, const struct parquet_column *c)
{
	uint8_t length[4] = { 0 };
	size_t at = b->len;

	moca_buf_add(b, length, 4);
	if (c->levels && is_same(c))
		parquet_run(b, 0, c->rows, 1);
	else if (c->levels)
		parquet_hybrid(b, c->levels, c->rows, 1);
	else
		parquet_run(b, 1, c->rows, 1);
	if (!b->error)
		moca_put32(b->data + at, (uint32_t)(b->len - at - 4));
}

static int put_values(struct moca_buf *b, const struct parquet_column *c)
{
	uint8_t width;

	if (c->type == ROWS_INTEGER) {
		parquet_delta(b, c->values, c->count, is_same(c));
		return DELTA;
	}
	if (c->type == ROWS_REAL) {
		for (size_t i = 0; i < c->count; i++) {
			uint8_t bytes[8];

			moca_put64(bytes, c->values[is_same(c) ? 0 : i]);
			moca_buf_add(b, bytes, 8);
		}
		return PLAIN;
	}
	width = (uint8_t)parquet_width((uint32_t)(c->known_count ?
						  c->known_count - 1 : 0));
	moca_buf_add(b, &width, 1);
	if (c->count && is_same(c))
		parquet_run(b, c->numbers[0], c->count, width);
	else
		parquet_hybrid(b, c->numbers, c->count, width);
	return RLE_DICTIONARY;
}

/* Least and most let readers pass row groups by. Signed, but of unsigned columns. */
static void put_statistics(struct thrift *t, const struct parquet_column *c)
{
	uint64_t flip = c->is_unsigned ? 1ull << 63 : 0;
	int64_t least = INT64_MAX, most = INT64_MIN;
	uint8_t bytes[8];

	thrift_struct(t, 12);
	thrift_i64(t, 3, (int64_t)(c->rows - c->count));
	if (c->type == ROWS_INTEGER && c->count) {
		size_t n = is_same(c) ? 1 : c->count;

		for (size_t i = 0; i < n; i++) {
			int64_t v = (int64_t)(c->values[i] ^ flip);

			least = v < least ? v : least;
			most = v > most ? v : most;
		}
		moca_put64(bytes, (uint64_t)most ^ flip);
		thrift_binary(t, 5, bytes, 8);
		moca_put64(bytes, (uint64_t)least ^ flip);
		thrift_binary(t, 6, bytes, 8);
	}
	thrift_end(t);
}

/* Where pages are, and how long. */
struct place {
	uint64_t dictionary, data, plain, packed;
	int encoding;
};

static void put_chunk(struct thrift *t, const struct parquet_column *c,
		      const struct place *at)
{
	int text = c->type == ROWS_TEXT;

	thrift_begin(t);
	thrift_i64(t, 2, 0);	/* no copy of what follows is in the file */
	thrift_struct(t, 3);
	thrift_i32(t, 1, text ? PARQUET_BYTE_ARRAY :
			 c->type == ROWS_REAL ? PARQUET_DOUBLE : PARQUET_INT64);
	thrift_list(t, 2, THRIFT_I32, text ? 3 : 2);
	thrift_element_i32(t, RLE);
	thrift_element_i32(t, at->encoding);
	if (text)
		thrift_element_i32(t, PLAIN);
	thrift_list(t, 3, THRIFT_BINARY, 1);
	thrift_element_string(t, c->name);
	thrift_i32(t, 4, ZSTD);
	thrift_i64(t, 5, (int64_t)c->rows);
	thrift_i64(t, 6, (int64_t)at->plain);
	thrift_i64(t, 7, (int64_t)at->packed);
	thrift_i64(t, 9, (int64_t)at->data);
	if (text)
		thrift_i64(t, 11, (int64_t)at->dictionary);
	put_statistics(t, c);
	thrift_end(t);
	thrift_end(t);
}

int parquet_column_write(struct parquet_column *c, size_t rows,
			 struct parquet_packer *p, struct out *o,
			 struct thrift *t, uint64_t *plain, uint64_t *packed)
{
	struct place at = { .dictionary = o->written };
	int err = 0;

	if (c->puts == 1) {
		c->rows = rows;
		c->count = c->levels ? 0 : rows;
	} else {
		parquet_column_repeat(c, rows);
	}
	if (c->type == ROWS_TEXT) {
		p->plain.len = 0;
		moca_buf_add(&p->plain, c->texts.data, c->texts.len);
		err = write_page(p, o, DICTIONARY_PAGE, c->known_count, PLAIN,
				 &at.plain, &at.packed);
	}
	at.data = o->written;
	p->plain.len = 0;
	put_levels(&p->plain, c);
	at.encoding = put_values(&p->plain, c);
	if (!err)
		err = write_page(p, o, DATA_PAGE, c->rows, at.encoding,
				 &at.plain, &at.packed);
	put_chunk(t, c, &at);
	*plain += at.plain;
	*packed += at.packed;
	clear(c);
	return err ? err : t->buf.error;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/parquet.h"

#include "export/parquet-column.h"

#define MAGIC "PAR1"
/* Texts that make a row group shorter: of one column. */
#define TEXTS_MAX ((size_t)16 << 20)
/* Of enums in the definition of the format. */
enum { OPTIONAL = 1, CONVERTED_UTF8 = 0, CONVERTED_UINT64 = 14 };
enum { LOGICAL_STRING = 1, LOGICAL_INTEGER = 10 };

struct parquet {
	struct rows *r;
	struct out *o;
	struct parquet_packer packer;
	struct parquet_column *columns;
	struct thrift groups;	/* elements of the footer's list */
	size_t group_count;
	uint64_t rows;
};

static int has_long_texts(const struct parquet *x)
{
	for (size_t i = 0; i < x->r->count; i++)
		if (x->columns[i].texts.len > TEXTS_MAX)
			return 1;
	return 0;
}

static int write_group(struct parquet *x, size_t rows)
{
	uint64_t plain = 0, packed = 0, at = x->o->written;
	struct thrift *t = &x->groups;
	int err = 0;

	if (!rows)
		return 0;
	thrift_begin(t);
	thrift_list(t, 1, THRIFT_STRUCT, x->r->count);
	for (size_t i = 0; i < x->r->count && !err; i++)
		err = parquet_column_write(&x->columns[i], rows, &x->packer,
					   x->o, t, &plain, &packed);
	thrift_i64(t, 2, (int64_t)plain);
	thrift_i64(t, 3, (int64_t)rows);
	thrift_i64(t, 5, (int64_t)at);
	thrift_i64(t, 6, (int64_t)packed);
	thrift_end(t);
	x->rows += rows;
	x->group_count++;
	return err ? err : t->buf.error;
}

static void put_column(struct thrift *t, const struct rows_column *c)
{
	int text = c->type == ROWS_TEXT;

	thrift_begin(t);
	thrift_i32(t, 1, text ? PARQUET_BYTE_ARRAY :
			 c->type == ROWS_REAL ? PARQUET_DOUBLE : PARQUET_INT64);
	thrift_i32(t, 3, OPTIONAL);
	thrift_string(t, 4, c->name);
	if (text || c->is_unsigned)
		thrift_i32(t, 6, text ? CONVERTED_UTF8 : CONVERTED_UINT64);
	if (text) {
		thrift_struct(t, 10);
		thrift_struct(t, LOGICAL_STRING);
		thrift_end(t);
		thrift_end(t);
	} else if (c->is_unsigned) {
		thrift_struct(t, 10);
		thrift_struct(t, LOGICAL_INTEGER);
		thrift_byte(t, 1, 64);
		thrift_bool(t, 2, 0);
		thrift_end(t);
		thrift_end(t);
	}
	thrift_end(t);
}

static int write_footer(struct parquet *x)
{
	const struct rows *r = x->r;
	struct thrift t = { 0 };
	uint8_t length[4];
	size_t i;
	int err;

	thrift_begin(&t);
	thrift_i32(&t, 1, 2);
	thrift_list(&t, 2, THRIFT_STRUCT, r->count + 1);
	thrift_begin(&t);
	thrift_string(&t, 4, "schema");
	thrift_i32(&t, 5, (int32_t)r->count);
	thrift_end(&t);
	for (i = 0; i < r->count; i++)
		put_column(&t, &r->columns[i]);
	thrift_i64(&t, 3, (int64_t)x->rows);
	thrift_list(&t, 4, THRIFT_STRUCT, x->group_count);
	moca_buf_add(&t.buf, x->groups.buf.data, x->groups.buf.len);
	thrift_list(&t, 5, THRIFT_STRUCT, 1);
	thrift_begin(&t);
	thrift_string(&t, 1, "moca.table");
	thrift_string(&t, 2, r->name);
	thrift_end(&t);
	thrift_string(&t, 6, "moca version " MOCA_VERSION);
	thrift_list(&t, 7, THRIFT_STRUCT, r->count);
	for (i = 0; i < r->count; i++) {
		thrift_begin(&t);
		thrift_struct(&t, 1);	/* statistics are by the column's type */
		thrift_end(&t);
		thrift_end(&t);
	}
	thrift_end(&t);
	err = t.buf.error;
	if (!err && t.buf.len > INT32_MAX)
		err = -EFBIG;
	if (!err) {
		moca_put32(length, (uint32_t)t.buf.len);
		out_bytes(x->o, t.buf.data, t.buf.len);
		out_bytes(x->o, length, 4);
		out_string(x->o, MAGIC);
	}
	moca_buf_free(&t.buf);
	return err;
}

/* The row at hand, of so many before it in the group: the cells that changed. */
static int add_row(struct parquet *x, size_t before)
{
	uint64_t changed = before ? x->r->changed : UINT64_MAX;
	int err = 0;

	for (size_t i = 0; i < x->r->count && !err; i++) {
		uint64_t rest = changed >> (i < 63 ? i : 63);

		if (!rest)
			break;
		if (i < 63)
			i += (size_t)__builtin_ctzll(rest);
		if (i < x->r->count)
			err = parquet_column_put(&x->columns[i], before,
						 &x->r->cells[i]);
	}
	return err;
}

static int write_rows(struct parquet *x)
{
	struct rows *r = x->r;
	size_t in_group = 0;
	int ret, err = 0;

	while (!err && !x->o->error && (ret = r->next(r)) != 0) {
		if (ret < 0)
			return ret;
		err = add_row(x, in_group++);
		/* Lengths of texts are looked at now and then: it takes time. */
		if (!err && (in_group == PARQUET_ROWS ||
			     (in_group % 256 == 0 && has_long_texts(x)))) {
			err = write_group(x, in_group);
			in_group = 0;
		}
	}
	if (!err && !x->o->error)
		err = write_group(x, in_group);
	return err ? err : x->o->error;
}

int parquet_write(struct out *o, struct rows *r, uint64_t *count)
{
	struct parquet x = { .r = r, .o = o };
	int err = -ENOMEM;

	x.columns = calloc(r->count + 1, sizeof(*x.columns));
	x.packer.zstd = ZSTD_createCCtx();
	if (!x.columns || !x.packer.zstd)
		goto out;
	for (size_t i = 0; i < r->count; i++) {
		x.columns[i].name = r->columns[i].name;
		x.columns[i].type = r->columns[i].type;
		x.columns[i].is_unsigned = r->columns[i].is_unsigned;
		x.columns[i].shift = i % 32 * 128;
	}
	out_string(o, MAGIC);
	err = write_rows(&x);
	if (!err)
		err = write_footer(&x);
	*count = x.rows;
out:
	for (size_t i = 0; x.columns && i < r->count; i++)
		parquet_column_free(&x.columns[i]);
	free(x.columns);
	ZSTD_freeCCtx(x.packer.zstd);
	moca_buf_free(&x.packer.plain);
	moca_buf_free(&x.packer.packed);
	moca_buf_free(&x.packer.head.buf);
	moca_buf_free(&x.groups.buf);
	return err;
}

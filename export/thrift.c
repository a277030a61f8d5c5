// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/thrift.h"

static void put_byte(struct thrift *t, unsigned int b)
{
	uint8_t byte = (uint8_t)b;

	moca_buf_add(&t->buf, &byte, 1);
}

static void put_signed(struct thrift *t, int64_t v)
{
	moca_buf_varint(&t->buf, moca_zigzag((uint64_t)v));
}

static void put_field(struct thrift *t, int field, unsigned int type)
{
	int *last = &t->last[t->depth - 1];
	int step = field - *last;

	if (step > 0 && step < 16) {
		put_byte(t, (unsigned int)step << 4 | type);
	} else {
		put_byte(t, type);
		put_signed(t, field);
	}
	*last = field;
}

void thrift_begin(struct thrift *t)
{
	if (t->depth == THRIFT_DEPTH)
		t->buf.error = -E2BIG;
	else
		t->last[t->depth++] = 0;
}

void thrift_end(struct thrift *t)
{
	put_byte(t, 0);
	t->depth--;
}

void thrift_bool(struct thrift *t, int field, int value)
{
	put_field(t, field, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_byte(struct thrift *t, int field, int value)
{
	put_field(t, field, THRIFT_BYTE);
	put_byte(t, (unsigned int)value);
}

void thrift_i32(struct thrift *t, int field, int32_t value)
{
	put_field(t, field, THRIFT_I32);
	put_signed(t, value);
}

void thrift_i64(struct thrift *t, int field, int64_t value)
{
	put_field(t, field, THRIFT_I64);
	put_signed(t, value);
}

static void put_bytes(struct thrift *t, const void *p, size_t len)
{
	moca_buf_varint(&t->buf, len);
	moca_buf_add(&t->buf, p, len);
}

void thrift_binary(struct thrift *t, int field, const void *p, size_t len)
{
	put_field(t, field, THRIFT_BINARY);
	put_bytes(t, p, len);
}

void thrift_string(struct thrift *t, int field, const char *s)
{
	thrift_binary(t, field, s, strlen(s));
}

void thrift_struct(struct thrift *t, int field)
{
	put_field(t, field, THRIFT_STRUCT);
	thrift_begin(t);
}

void thrift_list(struct thrift *t, int field, enum thrift_type type,
		 size_t count)
{
	put_field(t, field, THRIFT_LIST);
	if (count < 15) {
		put_byte(t, (unsigned int)count << 4 | type);
	} else {
		put_byte(t, 0xf0 | type);
		moca_buf_varint(&t->buf, count);
	}
}

void thrift_element_i32(struct thrift *t, int32_t value)
{
	put_signed(t, value);
}

void thrift_element_string(struct thrift *t, const char *s)
{
	put_bytes(t, s, strlen(s));
}

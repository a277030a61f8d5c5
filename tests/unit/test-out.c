// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What moca export writes: numbers, and tables whose rows say which cells changed, which
 * are the same files as of rows that say nothing.
 */
#include <inttypes.h>
#include <sys/mman.h>

#include "export/out.h"
#include "export/parquet.h"
#include "export/table.h"
#include "tests/unit/trace-util.h"

static uint64_t seed = 88172645463325252ull;

static uint64_t draw(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 20) % n;
}

static int is_number(uint64_t n)
{
	static struct out_near near;
	char wanted[32];
	uint8_t got[32];
	size_t len = (size_t)snprintf(wanted, sizeof(wanted), "%" PRIu64, n);

	CHECK(out_put_u64(got, n) == len && !memcmp(got, wanted, len));
	len = (size_t)snprintf(wanted, sizeof(wanted), "%" PRId64, (int64_t)n);
	CHECK(out_put_i64(got, (int64_t)n) == len && !memcmp(got, wanted, len));
	for (int i = 0; i < 2; i++)
		CHECK(out_put_near(got, (int64_t)n, &near) == len &&
		      !memcmp(got, wanted, len));
	return 0;
}

static int numbers(void)
{
	uint64_t ten = 1;

	for (int digits = 0; digits < 20; digits++, ten *= 10)
		for (uint64_t i = 0; i < 10; i++)
			CHECK(!is_number(i * ten - 1) && !is_number(i * ten) &&
			      !is_number(i * ten + 1));
	for (uint64_t i = 0; i < 20000; i++)
		CHECK(!is_number(i) && !is_number(0 - i) &&
		      !is_number(INT64_MAX - 10000 + i) &&
		      !is_number(1000000000000 + i * 12345) &&
		      !is_number(draw(UINT64_MAX) << 20 >> i % 64));
	return 0;
}

/* --- tables -------------------------------------------------------------- */

#define COLUMNS 70u		/* more than have a bit of their own */
#define TEXTS 40u

struct table {
	struct rows rows;	/* first */
	struct rows_column columns[COLUMNS];
	struct rows_cell cells[COLUMNS];
	size_t left;
	int tells;		/* what changed */
};

static char names[COLUMNS][8];
static char bytes[TEXTS][600];
static struct rows_text texts[TEXTS];

/* Short and long ones; with what CSV quotes, what JSON escapes, what is no UTF-8. */
static void make_texts(void)
{
	for (uint32_t i = 0; i < TEXTS; i++) {
		size_t len = i < TEXTS / 2 ? i : i * 14;

		memset(bytes[i], 'a' + (int)(i % 26), len);
		if (len > 2 && i % 3 == 1)
			bytes[i][len / 2] = "\",\n\t\xff"[i % 5];
		texts[i] = (struct rows_text){ bytes[i], (uint32_t)len,
					       i % 7 ? i : 0 };
	}
}

static void draw_cell(struct rows_cell *c, size_t column)
{
	switch (column % 5) {
	case 0:
		c->type = ROWS_INTEGER;
		c->integer = (int64_t)draw(3);
		break;
	case 1:
		c->type = ROWS_INTEGER;
		c->integer = (int64_t)(139637981267800 + draw(200000000));
		break;
	case 2:
		c->type = draw(3) ? ROWS_TEXT : ROWS_NULL;
		c->text = &texts[draw(TEXTS / 2)];
		break;
	case 3:
		c->type = draw(2) ? ROWS_INTEGER : ROWS_NULL;
		c->integer = -(int64_t)draw(1ull << 40);
		break;
	default:
		c->type = ROWS_TEXT;
		c->text = &texts[draw(column > 60 ? TEXTS : TEXTS / 2)];
	}
}

static int next_row(struct rows *r)
{
	struct table *t = (struct table *)r;
	uint64_t often = draw(4);

	if (!t->left--)
		return 0;
	r->changed = t->tells ? 0 : UINT64_MAX;
	for (size_t i = 0; i < r->count; i++) {
		/* Some never change, and some for a while. */
		if (t->cells[i].type && (i % 11 == 4 || draw(8) > often))
			continue;
		draw_cell(&t->cells[i], i);
		r->changed |= 1ull << (i < 63 ? i : 63);
	}
	return 1;
}

static int write_table(int (*write)(struct out *o, struct rows *r,
				    uint64_t *count),
		       size_t columns, size_t rows, int tells, int fd)
{
	struct table *t = calloc(1, sizeof(*t));
	uint64_t count = 0;
	struct out o;

	CHECK(t && !out_open(&o, fd));
	seed = 4711 + rows;
	t->left = rows;
	t->tells = tells;
	t->rows = (struct rows){ .name = "table", .columns = t->columns,
				 .count = columns, .cells = t->cells,
				 .next = next_row };
	for (size_t i = 0; i < columns; i++) {
		snprintf(names[i], sizeof(names[i]), "c%zu", i);
		t->columns[i].name = names[i];
		t->columns[i].type = i % 5 == 2 || i % 5 == 4 ? ROWS_TEXT :
								ROWS_INTEGER;
	}
	CHECK(!write(&o, &t->rows, &count) && count == rows);
	CHECK(!out_close(&o));
	free(t);
	return 0;
}

/* 0: they are the same, and not empty. */
static int compare_files(int a, int b)
{
	off_t len = lseek(a, 0, SEEK_END);
	void *x, *y;

	CHECK(len > 0 && len == lseek(b, 0, SEEK_END));
	x = mmap(NULL, (size_t)len, PROT_READ, MAP_SHARED, a, 0);
	y = mmap(NULL, (size_t)len, PROT_READ, MAP_SHARED, b, 0);
	CHECK(x != MAP_FAILED && y != MAP_FAILED);
	CHECK(!memcmp(x, y, (size_t)len));
	munmap(x, (size_t)len);
	munmap(y, (size_t)len);
	return 0;
}

/* Files of many buffers, and of more than one row group. */
static int rows_that_tell(void)
{
	static const struct {
		size_t columns, rows;
	} sizes[] = { { COLUMNS, 6000 }, { 5, PARQUET_ROWS + 1000 }, { 4, 1 } };
	int (*const writers[])(struct out *o, struct rows *r,
			       uint64_t *count) = {
		table_csv, table_json, parquet_write };

	make_texts();
	for (size_t i = 0; i < 9; i++) {
		size_t columns = sizes[i % 3].columns, rows = sizes[i % 3].rows;
		int a = memfd_create("table", MFD_CLOEXEC);
		int b = memfd_create("table", MFD_CLOEXEC);

		CHECK(a >= 0 && b >= 0);
		CHECK(!write_table(writers[i / 3], columns, rows, 0, a));
		CHECK(!write_table(writers[i / 3], columns, rows, 1, b));
		CHECK(!compare_files(a, b));
		close(a);
		close(b);
	}
	return 0;
}

int main(void)
{
	run("export: numbers", numbers);
	run("export: rows that tell what changed", rows_that_tell);
	return failures != 0;
}

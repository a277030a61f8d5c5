// SPDX-License-Identifier: GPL-2.0-or-later
/* CTF: the description of events (TSDL), and packets. */
#include "tests/unit/trace-util.h"

#include "export/ctf-metadata.h"
#include "export/ctf-stream.h"
#include "export/ctf-type.h"
#include "lib/base/bytes.h"

static char *text;
static size_t text_len;

static const char *describe(const struct moca_event_type *type)
{
	FILE *f;

	free(text);
	f = open_memstream(&text, &text_len);
	if (!f || moca_ctf_write_type(f, type, type->id) || fclose(f))
		abort();
	return text;
}

static const char *describe_fields(const struct moca_field *f, size_t n)
{
	struct moca_event_type type = { .id = 16, .facility = "f",
					 .name = "e", .field_count = n,
					 .fields = f };

	return describe(&type);
}

static int t_kinds(void)
{
	static const struct {
		struct moca_field field;
		const char *text;
	} cases[] = {
		{ { .name = "a", .kind = MOCA_FIELD_UNSIGNED, .size = 1 },
		  "\t\tinteger { size = 8; align = 8; signed = false; base = 10; } _a;\n" },
		{ { .name = "a", .kind = MOCA_FIELD_SIGNED, .size = 8 },
		  "\t\tinteger { size = 64; align = 8; signed = true; base = 10; } _a;\n" },
		{ { .name = "a", .kind = MOCA_FIELD_HEX, .size = 2 },
		  "\t\tinteger { size = 16; align = 8; signed = false; base = 16; } _a;\n" },
		{ { .name = "a", .kind = MOCA_FIELD_FLOAT, .size = 4 },
		  "\t\tfloating_point { exp_dig = 8; mant_dig = 24; align = 8; } _a;\n" },
		{ { .name = "a", .kind = MOCA_FIELD_FLOAT, .size = 8 },
		  "\t\tfloating_point { exp_dig = 11; mant_dig = 53; align = 8; } _a;\n" },
		{ { .name = "struct", .kind = MOCA_FIELD_STRING, .size = 1 },
		  "\t\tstring { encoding = UTF8; } _struct;\n" },
		{ { .name = "a", .kind = MOCA_FIELD_HEX, .size = 4,
		    .shape = MOCA_FIELD_ARRAY, .count = 3 },
		  "\t\tinteger { size = 32; align = 8; signed = false; base = 16; } _a[3];\n" },
		{ { .name = "a", .kind = MOCA_FIELD_SIGNED, .size = 2,
		    .shape = MOCA_FIELD_SEQUENCE },
		  "\t\tu32 __a_length;\n\t\tinteger { size = 16; align = 8; signed = true; base = 10; } _a[__a_length];\n" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		describe_fields(&cases[i].field, 1);
		snprintf(why, sizeof(why), "case %zu", i);
		if (!strstr(text, cases[i].text))
			return 1;
	}
	return 0;
}

static int t_labels(void)
{
	static const struct moca_field_label l[] = {
		{ 0, "plain" }, { 1, "a \"b\\\"" }, { 1, "plain" },
		{ -2147483648ll, "_x" }, { 2147483648ll, "too much" },
		{ 2, "\xc3\xa9\xff\n\xc2\x9b" }, { 3, "" },
	};
	struct moca_field f = { .name = "a", .kind = MOCA_FIELD_ENUM,
				.size = 4, .label_count = 7, .labels = l };

	describe_fields(&f, 1);
	CHECK(strstr(text, "enum : integer { size = 32; align = 8; signed = true; base = 10; } { \"plain\" = 0, \"a \\\"b\\\\\\\"\" = 1, \"plain\" = 1, \"_x\" = -2147483648, \"\xc3\xa9\\\\xff\\\\x0a\\\\x9b\" = 2, \"\" = 3 } _a;\n"));
	/* Labels none of which can be are no labels. */
	f.labels = l + 4;
	f.label_count = 1;
	CHECK(!strstr(describe_fields(&f, 1), "enum"));
	CHECK(strstr(text, "signed = true"));
	f.label_count = 0;
	CHECK(!strstr(describe_fields(&f, 1), "enum"));
	return 0;
}

static int t_names(void)
{
	struct moca_field f[4] = {
		{ .name = "_a_length", .kind = MOCA_FIELD_HEX, .size = 4 },
		{ .name = "a", .kind = MOCA_FIELD_HEX, .size = 4,
		  .shape = MOCA_FIELD_SEQUENCE },
		{ .name = "a", .kind = MOCA_FIELD_HEX, .size = 4 },
		{ .name = "b-\xff", .kind = MOCA_FIELD_HEX, .size = 4 },
	};
	struct moca_event_type type = { .id = 7, .facility = "f\"",
					 .name = "x\n" };

	describe_fields(f, 4);
	CHECK(strstr(text, "} __a_length;\n"));
	CHECK(strstr(text, "u32 __a_length_;\n"));
	CHECK(strstr(text, "} _a[__a_length_];\n"));
	CHECK(strstr(text, "} _a_;\n"));
	CHECK(strstr(text, "} _b__;\n"));
	CHECK(!strcmp(describe(&type),
		      "\nevent {\n\tid = 7;\n\tstream_id = 0;\n\tname = \"f\\\":x\\\\x0a\";\n\tfields := struct {\n\t};\n};\n"));
	return 0;
}

static int t_measure(void)
{
	static const struct moca_field f[] = {
		{ .name = "a", .kind = MOCA_FIELD_STRING, .size = 1 },
		{ .name = "b", .kind = MOCA_FIELD_HEX, .size = 4,
		  .shape = MOCA_FIELD_ARRAY, .count = 2 },
		{ .name = "c", .kind = MOCA_FIELD_SIGNED, .size = 2,
		  .shape = MOCA_FIELD_SEQUENCE },
		{ .name = "d", .kind = MOCA_FIELD_STRING, .size = 1 },
	};
	static const struct moca_event_type type = { .id = 16,
						      .field_count = 4,
						      .fields = f };
	static const struct {
		const char *payload;
		size_t len, want;
		unsigned empty;
	} cases[] = {
		{ "\0" "bbbbbbbb" "\0\0\0\0" "\0", 14, 14, 3 },
		{ "a\0" "bbbbbbbb" "\2\0\0\0ccCC" "\0pad", 22, 19, 2 },
		{ "\0" "bbbbbbbb" "\0\0\0\0" "dd\0", 16, 16, 1 },
		{ "\0" "bbbbbbbb" "\0\0\0\0" "dd", 15, 0, 0 },
		{ "\0" "bbbbbbbb" "\1\0\0\0" "d", 14, 0, 0 },
		{ "\0" "bbbbbbbb" "\377\377\377\377" "d", 14, 0, 0 },
		{ "\0" "bbbbbbbb" "\0\0\0", 12, 0, 0 },
		{ "\0" "bbbbbbb", 8, 0, 0 },
		{ "", 0, 0, 0 },
	};
	unsigned empty;
	size_t i, len;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct moca_event m = {
			.type = &type, .len = cases[i].len,
			.payload = (const uint8_t *)cases[i].payload,
		};
		int err = moca_ctf_event_measure(&m, &len, &empty);

		snprintf(why, sizeof(why), "case %zu", i);
		if (cases[i].want ? err || len != cases[i].want ||
					    empty != cases[i].empty :
				    err != -EINVAL)
			return 1;
	}
	return 0;
}

static int t_variants(void)
{
	static struct moca_event_type types[2] = { { .id = 16 },
						    { .id = 16383 } };
	struct moca_ctf_types *t = calloc(1, sizeof(*t));
	unsigned i, k, round;

	CHECK(t && moca_ctf_type_id(t, &types[1], 0) == 16383 && !t->count);
	for (round = 0; round < 2; round++)
		for (i = 1; i <= MOCA_CTF_VARIANTS / 2; i++)
			for (k = 0; k < 2; k++)
				CHECK(moca_ctf_type_id(t, &types[k], i) ==
				      16384 + 2 * (i - 1) + k);
	CHECK(t->count == MOCA_CTF_VARIANTS);
	CHECK(moca_ctf_type_id(t, &types[0], 0xffff) == 16);
	CHECK(t->variants[5].type == &types[1] && t->variants[5].empty == 3);
	free(t);
	return 0;
}

static int put(struct moca_ctf_stream *s, uint64_t time, size_t len)
{
	uint8_t *p;
	int err = moca_ctf_stream_event(s, 16, time, len, &p);

	if (!err)
		memset(p, 0x55, len);
	return err;
}

/* Packet n of the file: where it is, or NULL. */
static const uint8_t *packet(const uint8_t *p, size_t len, unsigned n)
{
	const uint8_t *end = p + len;

	while (p < end) {
		uint64_t size = moca_get64(p + 56) / 8;

		if (!n--)
			return p;
		if (!size || size > (size_t)(end - p))
			return NULL;
		p += size;
	}
	return NULL;
}

static int t_packets(void)
{
	struct moca_task task = { .id = 3, .pid = 4, .tid = 5, .name = "n" };
	struct moca_ctf_stream s;
	const uint8_t *p;
	uint8_t *file;
	size_t len;
	int i;

	dir_new();
	CHECK(!moca_ctf_stream_init(&s, dirfd_));
	moca_ctf_stream_begin(&s, &task);
	CHECK(!moca_ctf_stream_end(&s) && !s.packets);
	moca_ctf_stream_begin(&s, &task);
	for (i = 0; i < 9; i++)
		CHECK(!put(&s, 100 + i, 32000));
	CHECK(put(&s, 109, MOCA_CTF_PACKET) == -E2BIG);
	CHECK(!moca_ctf_stream_lost(&s, 7, 110));
	CHECK(!put(&s, 50, 1) && s.moved == 1);	/* never back in time */
	CHECK(!put(&s, 120, 0));
	CHECK(!moca_ctf_stream_settle(&s));
	CHECK(!put(&s, 130, 0));
	CHECK(!moca_ctf_stream_end(&s));
	CHECK(s.packets == 4);
	moca_ctf_stream_free(&s);
	file = slurp("task-3", &len);
	CHECK(len == s.bytes);
	for (i = 0; i < 4; i++) {
		static const uint64_t begin[] = { 100, 108, 108, 130 };
		static const uint64_t end[] = { 107, 108, 120, 130 };

		p = packet(file, len, (unsigned)i);
		CHECK(p && moca_get32(p) == 0xc1fc1fc1);
		CHECK(moca_get64(p + 24) == 3 && moca_get64(p + 64) == (uint64_t)i);
		CHECK(moca_get64(p + 32) == begin[i]);
		CHECK(moca_get64(p + 40) == end[i]);
		CHECK(moca_get64(p + 48) == moca_get64(p + 56));
		CHECK(moca_get64(p + 56) <= 8 * MOCA_CTF_PACKET);
		CHECK(moca_get64(p + 72) == (i < 2 ? 0 : 7));
		CHECK(moca_get32(p + 80) == 4 && moca_get32(p + 84) == 5);
		CHECK(!strcmp((const char *)p + 88, "n"));
	}
	CHECK(!packet(file, len, 4));
	free(file);
	return 0;
}

/* Readers do not count what the first packet tells: it must tell nothing. */
static int t_lost_first(void)
{
	struct moca_task task = { .id = 0, .name = "" };
	struct moca_ctf_stream s;
	uint8_t *file;
	size_t len;

	dir_new();
	CHECK(!moca_ctf_stream_init(&s, dirfd_));
	moca_ctf_stream_begin(&s, &task);
	CHECK(!moca_ctf_stream_lost(&s, 0, 5) && !s.packets);
	CHECK(!moca_ctf_stream_lost(&s, 2, 10));
	CHECK(!moca_ctf_stream_lost(&s, UINT64_MAX, 20));
	CHECK(!moca_ctf_stream_end(&s) && s.packets == 2);
	moca_ctf_stream_free(&s);
	file = slurp("task-0", &len);
	CHECK(!moca_get64(packet(file, len, 0) + 72));
	CHECK(moca_get64(packet(file, len, 1) + 72) == UINT64_MAX);
	CHECK(moca_get64(packet(file, len, 1) + 32) == 10);
	CHECK(moca_get64(packet(file, len, 1) + 40) == 20);
	free(file);
	return 0;
}

int main(void)
{
	run("ctf/kinds", t_kinds);
	run("ctf/labels", t_labels);
	run("ctf/names", t_names);
	run("ctf/measure", t_measure);
	run("ctf/variants", t_variants);
	run("ctf/packets", t_packets);
	run("ctf/lost-first", t_lost_first);
	free(text);
	dir_remove();
	return failures != 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/ctf-metadata.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"

#define NAME_MAX_ 128

#define FIELD(n, k, s) { .name = n, .kind = MOCA_FIELD_##k, .size = s }
#define ENUM(n, l)                                                     \
	{ .name = n, .kind = MOCA_FIELD_ENUM, .size = 1,               \
	  .label_count = sizeof(l) / sizeof((l)[0]), .labels = l }
#define TYPE(i, n, f)                                                  \
	{ .id = i, .facility = "moca", .name = n,                      \
	  .field_count = sizeof(f) / sizeof((f)[0]), .fields = f }

static const struct moca_field_label access_types[] = {
	{ MOCA_ACCESS_UNKNOWN, "unknown" },
	{ MOCA_ACCESS_READ, "read" },
	{ MOCA_ACCESS_WRITE, "write" },
	{ MOCA_ACCESS_EXEC, "exec" },
};

static const struct moca_field_label modes[] = {
	{ MOCA_MODE_USER, "user" },
	{ MOCA_MODE_KERNEL, "kernel" },
};

/* export/ctf.c writes the fields, in this order. */
static const struct moca_field access_fields[] = {
	FIELD("addr", HEX, 8),	    FIELD("ip", HEX, 8),
	FIELD("phys", HEX, 8),	    FIELD("cpu", UNSIGNED, 2),
	FIELD("node", SIGNED, 2),   ENUM("type", access_types),
	ENUM("mode", modes),
};

/* The same, where sweeps took samples. */
static const struct moca_field weighed_fields[] = {
	FIELD("addr", HEX, 8),	    FIELD("ip", HEX, 8),
	FIELD("phys", HEX, 8),	    FIELD("cpu", UNSIGNED, 2),
	FIELD("node", SIGNED, 2),   ENUM("type", access_types),
	ENUM("mode", modes),	    FIELD("weight", UNSIGNED, 2),
};

#define IDS FIELD("pid", UNSIGNED, 4), FIELD("tid", UNSIGNED, 4)
#define RANGE FIELD("addr", HEX, 8), FIELD("len", HEX, 8)
#define NAME FIELD("name", STRING, 1)

static const struct moca_field start_fields[] = {
	IDS, FIELD("parent", SIGNED, 4), FIELD("flags", HEX, 4), NAME
};
static const struct moca_field end_fields[] = { IDS,
						FIELD("status", SIGNED, 4) };
static const struct moca_field name_fields[] = { IDS, NAME };
static const struct moca_field mmap_fields[] = {
	IDS, RANGE, FIELD("prot", HEX, 4), FIELD("flags", HEX, 4),
	FIELD("offset", HEX, 8), NAME
};
static const struct moca_field range_fields[] = { IDS, RANGE };
static const struct moca_field gap_fields[] = { IDS, RANGE, NAME };

static const struct moca_event_type own[] = {
	/* By id. */
	TYPE(MOCA_CTF_ACCESS, "access", access_fields),
	TYPE(MOCA_CHANGE_TASK_START, "task_start", start_fields),
	TYPE(MOCA_CHANGE_TASK_END, "task_end", end_fields),
	TYPE(MOCA_CHANGE_EXEC, "exec", name_fields),
	TYPE(MOCA_CHANGE_NAME, "name", name_fields),
	TYPE(MOCA_CHANGE_MMAP, "mmap", mmap_fields),
	TYPE(MOCA_CHANGE_MUNMAP, "munmap", range_fields),
	TYPE(MOCA_CHANGE_DISCARD, "discard", range_fields),
	TYPE(MOCA_CHANGE_GAP, "gap", gap_fields),
	TYPE(MOCA_CHANGE_SEGV, "segv", range_fields),
};

static const struct moca_event_type weighed =
	TYPE(MOCA_CTF_ACCESS, "access", weighed_fields);

const struct moca_event_type *moca_ctf_own_type(unsigned id, int weights)
{
	return weights && id == MOCA_CTF_ACCESS ? &weighed : &own[id];
}

/* The inside of a literal. What is not text is shown as \xHH, as in dump. */
static void write_text(FILE *f, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	int len;

	for (; *s; s += len) {
		len = moca_utf8_length(s);
		if (!len || moca_utf8_is_control(s)) {
			/* Two bytes are a C1 control: its code is the second. */
			fprintf(f, "\\\\x%02x", len == 2 ? s[1] : *s);
			len = len ? len : 1;
		} else {
			if (*s == '"' || *s == '\\')
				putc('\\', f);
			fwrite(s, 1, len, f);
		}
	}
}

static void write_env(FILE *f, const char *key, const char *value)
{
	if (!value)
		return;
	fprintf(f, "\t%s = \"", key);
	write_text(f, value);
	fputs("\";\n", f);
}

static void write_uuid(FILE *f, const uint8_t *u)
{
	unsigned i;

	for (i = 0; i < 16; i++)
		fprintf(f, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
}

static const char layout[] =
	"typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := clock_t;\n"
	"\n"
	"stream {\n"
	"\tid = 0;\n"
	"\tevent.header := struct {\n"
	"\t\tu16 id;\n"
	"\t\tclock_t timestamp;\n"
	"\t};\n"
	"\tpacket.context := struct {\n"
	"\t\tclock_t timestamp_begin;\n"
	"\t\tclock_t timestamp_end;\n"
	"\t\tu64 content_size;\n"
	"\t\tu64 packet_size;\n"
	"\t\tu64 packet_seq_num;\n"
	"\t\tu64 events_discarded;\n"
	"\t\tu32 pid;\n"
	"\t\tu32 tid;\n"
	"\t\tstring { encoding = UTF8; } name;\n"
	"\t};\n"
	"};\n";

void moca_ctf_write_head(FILE *f, const struct moca_ctf_info *info)
{
	unsigned bits;

	fputs("/* CTF 1.8 */\n\n", f);
	for (bits = 8; bits <= 64; bits *= 2)
		fprintf(f, "typealias integer { size = %u; align = 8; signed = false; } := u%u;\n",
			bits, bits);
	fputs("\ntrace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"", f);
	write_uuid(f, info->uuid);
	fputs("\";\n\tbyte_order = le;\n\tpacket.header := struct {\n"
	      "\t\tu32 magic;\n\t\tu8 uuid[16];\n\t\tu32 stream_id;\n"
	      "\t\tu64 stream_instance_id;\n\t};\n};\n\nenv {\n", f);
	write_env(f, "hostname", info->host ? info->host : "");
	write_env(f, "domain", "ust");
	write_env(f, "tracer_name", "moca");
	fprintf(f, "\ttracer_major = %u;\n\ttracer_minor = %u;\n", info->major,
		info->minor);
	write_env(f, "kernel_release", info->kernel);
	write_env(f, "command", info->command);
	fprintf(f, "};\n\nclock {\n\tname = monotonic;\n"
		"\tdescription = \"CLOCK_MONOTONIC\";\n"
		"\tfreq = 1000000000;\n\toffset_s = %" PRIu64 ";\n"
		"\toffset = %" PRIu64 ";\n\tabsolute = %s;\n};\n\n",
		info->offset_ns / 1000000000, info->offset_ns % 1000000000,
		info->absolute ? "true" : "false");
	fputs(layout, f);
}

static int is_taken(char (*names)[NAME_MAX_], size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return 1;
	return 0;
}

/*
 * The name of member n. What comes first must be an underscore: readers take
 * it off, and names such as "struct" or "event" are reserved.
 */
static void make_name(char (*names)[NAME_MAX_], size_t n, const char *prefix,
		      const char *name, const char *suffix)
{
	char *to = names[n];
	size_t len;
	char *c;

	/* Room for one more character for each name that it may clash with. */
	snprintf(to, NAME_MAX_ - 48, "%s%s%s", prefix, name, suffix);
	for (c = to; *c; c++)
		if (!isalnum((unsigned char)*c) || (unsigned char)*c > 127)
			*c = '_';
	len = strlen(to);
	while (is_taken(names, n, to) && len + 1 < NAME_MAX_) {
		to[len++] = '_';
		to[len] = 0;
	}
}

static int fits(int64_t value, unsigned size)
{
	int64_t most = size < 8 ? (1ll << (8 * size - 1)) - 1 : INT64_MAX;

	return value <= most && value >= -most - 1;
}

static void write_integer(FILE *f, const struct moca_field *field)
{
	fprintf(f, "integer { size = %u; align = 8; signed = %s; base = %u; }",
		8u * field->size,
		field->kind == MOCA_FIELD_SIGNED ||
				field->kind == MOCA_FIELD_ENUM ?
			"true" :
			"false",
		field->kind == MOCA_FIELD_HEX ? 16 : 10);
}

static void write_enum(FILE *f, const struct moca_field *field)
{
	const struct moca_field_label *l;
	const char *between = "enum : ";
	size_t i;

	for (i = 0; i < field->label_count; i++) {
		l = &field->labels[i];
		/* A value that cannot occur would make the type invalid. */
		if (!fits(l->value, field->size))
			continue;
		fputs(between, f);
		if (*between == 'e') {
			write_integer(f, field);
			fputs(" { ", f);
		}
		between = ", ";
		putc('"', f);
		write_text(f, l->label);
		fprintf(f, "\" = %" PRId64, l->value);
	}
	/* An enumeration without labels is no valid one. */
	if (*between == 'e')
		write_integer(f, field);
	else
		fputs(" }", f);
}

static void write_field_type(FILE *f, const struct moca_field *field)
{
	switch (field->kind) {
	case MOCA_FIELD_FLOAT:
		fprintf(f, "floating_point { exp_dig = %u; mant_dig = %u; align = 8; }",
			field->size == 4 ? 8 : 11, field->size == 4 ? 24 : 53);
		break;
	case MOCA_FIELD_STRING:
		fputs("string { encoding = UTF8; }", f);
		break;
	case MOCA_FIELD_ENUM:
		write_enum(f, field);
		break;
	default:
		write_integer(f, field);
	}
}

static void write_fields(FILE *f, const struct moca_event_type *type,
			 char (*names)[NAME_MAX_])
{
	size_t i, n = type->field_count;
	const struct moca_field *field;

	for (i = 0; i < n; i++) {
		field = &type->fields[i];
		if (field->shape == MOCA_FIELD_SEQUENCE)
			fprintf(f, "\t\tu32 %s;\n", names[n + i]);
		fputs("\t\t", f);
		write_field_type(f, field);
		fprintf(f, " %s", names[i]);
		if (field->shape == MOCA_FIELD_ARRAY)
			fprintf(f, "[%" PRIu32 "]", field->count);
		if (field->shape == MOCA_FIELD_SEQUENCE)
			fprintf(f, "[%s]", names[n + i]);
		fputs(";\n", f);
	}
}

int moca_ctf_write_type(FILE *f, const struct moca_event_type *type,
			unsigned id)
{
	size_t i, n = type->field_count;
	char (*names)[NAME_MAX_];

	/* The fields' names, then those of the sequences' lengths. */
	names = calloc(2 * n + 1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		make_name(names, i, "_", type->fields[i].name, "");
	for (i = 0; i < n; i++)
		make_name(names, n + i, "__", type->fields[i].name, "_length");
	fprintf(f, "\nevent {\n\tid = %u;\n\tstream_id = 0;\n\tname = \"", id);
	write_text(f, type->facility);
	putc(':', f);
	write_text(f, type->name);
	fputs("\";\n\tfields := struct {\n", f);
	write_fields(f, type, names);
	fputs("\t};\n};\n", f);
	free(names);
	return 0;
}

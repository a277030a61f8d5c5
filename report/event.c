// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/event.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/text/text.h"

/* As few digits as tell the value from all others. */
static void print_float(FILE *f, const struct moca_value *v, size_t i)
{
	double d = moca_value_float(v, i);
	int is_float = v->field->size == 4, digits;
	char buf[40];

	for (digits = is_float ? 6 : 15; digits <= (is_float ? 9 : 17);
	     digits++) {
		snprintf(buf, sizeof(buf), "%.*g", digits, d);
		if (is_float ? strtof(buf, NULL) == (float)d :
			       strtod(buf, NULL) == d)
			break;
	}
	fputs(buf, f);
}

static void print_enum(FILE *f, const struct moca_field *field, int64_t x)
{
	size_t i;

	for (i = 0; i < field->label_count; i++)
		if (field->labels[i].value == x)
			break;
	if (i == field->label_count) {
		fprintf(f, "%" PRId64, x);
		return;
	}
	text_name(f, field->labels[i].label, 0);
	fprintf(f, "(%" PRId64 ")", x);
}

static void print_element(FILE *f, const struct moca_value *v, size_t i)
{
	uint64_t x = moca_value_integer(v, i);

	switch (v->field->kind) {
	case MOCA_FIELD_SIGNED:
		fprintf(f, "%" PRId64, (int64_t)x);
		break;
	case MOCA_FIELD_HEX:
		fprintf(f, "0x%" PRIx64, x);
		break;
	case MOCA_FIELD_FLOAT:
		print_float(f, v, i);
		break;
	case MOCA_FIELD_ENUM:
		print_enum(f, v->field, (int64_t)x);
		break;
	default:
		fprintf(f, "%" PRIu64, x);
	}
}

static void print_value(FILE *f, const struct moca_value *v, int csv)
{
	size_t i;

	if (v->field->kind == MOCA_FIELD_STRING) {
		/* A NUL ends it in the payload as well. */
		text_string(f, (const char *)v->data, csv);
		return;
	}
	if (v->field->shape == MOCA_FIELD_SCALAR) {
		print_element(f, v, 0);
		return;
	}
	putc('[', f);
	for (i = 0; i < v->count; i++) {
		if (i)
			putc(',', f);
		print_element(f, v, i);
	}
	putc(']', f);
}

void event_print(FILE *f, const struct moca_event *m, int csv)
{
	struct moca_value v;
	size_t i;

	fprintf(f, "%s:%s", m->type->facility, m->type->name);
	for (i = 0; i < m->type->field_count; i++) {
		if (moca_event_value(m, i, &v))
			return;
		fprintf(f, " %s=", v.field->name);
		print_value(f, &v, csv);
	}
}

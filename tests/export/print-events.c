// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Print the events of a trace, one JSON array a line, as the reader returns
 * them: [task, pid, tid, time, "facility:name", [[name, value], ...]]. A
 * string is {"s": hexadecimal bytes}, an enumeration {"e": value, "l": labels
 * in hexadecimal}, a float {"f": text}.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <moca/reader.h>

static void print_hex(const uint8_t *p, size_t n)
{
	putchar('"');
	while (n--)
		printf("%02x", *p++);
	putchar('"');
}

static void print_element(const struct moca_value *v, size_t i)
{
	const struct moca_field *f = v->field;
	const char *between = "";
	uint64_t n;
	size_t l;

	if (f->kind == MOCA_FIELD_FLOAT) {
		printf("{\"f\": \"%.17g\"}", moca_value_float(v, i));
		return;
	}
	n = moca_value_integer(v, i);
	if (f->kind == MOCA_FIELD_UNSIGNED || f->kind == MOCA_FIELD_HEX) {
		printf("%" PRIu64, n);
		return;
	}
	if (f->kind != MOCA_FIELD_ENUM) {
		printf("%" PRId64, (int64_t)n);
		return;
	}
	printf("{\"e\": %" PRId64 ", \"l\": [", (int64_t)n);
	for (l = 0; l < f->label_count; l++) {
		if (f->labels[l].value != (int64_t)n)
			continue;
		fputs(between, stdout);
		print_hex((const uint8_t *)f->labels[l].label,
			  strlen(f->labels[l].label));
		between = ", ";
	}
	fputs("]}", stdout);
}

static int print_field(const struct moca_event *m, size_t i)
{
	struct moca_value v;
	size_t k;

	if (moca_event_value(m, i, &v))
		return 1;
	printf("%s[\"%s\", ", i ? ", " : "", v.field->name);
	if (v.field->kind == MOCA_FIELD_STRING) {
		printf("{\"s\": ");
		print_hex(v.data, v.count);
		putchar('}');
	} else if (v.field->shape == MOCA_FIELD_SCALAR) {
		print_element(&v, 0);
	} else {
		putchar('[');
		for (k = 0; k < v.count; k++) {
			fputs(k ? ", " : "", stdout);
			print_element(&v, k);
		}
		putchar(']');
	}
	putchar(']');
	return 0;
}

static const struct moca_task *find_task(const struct moca_trace *t,
					 uint32_t id)
{
	size_t i, n = moca_trace_task_count(t);

	for (i = 0; i < n; i++)
		if (moca_trace_task(t, i)->id == id)
			return moca_trace_task(t, i);
	return NULL;
}

int main(int argc, char **argv)
{
	const struct moca_event *m;
	const struct moca_task *task;
	struct moca_cursor *c;
	struct moca_trace *t;
	uint32_t id;
	size_t i;
	int ret;

	if (argc < 2 || moca_trace_open(&t, argv[1]) ||
	    moca_cursor_open(&c, t, NULL))
		return 2;
	while ((ret = moca_cursor_event(c, &m, &id)) > 0) {
		task = find_task(t, id);
		if (!task)
			return 1;
		printf("[%" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu64
		       ", \"%s:%s\", [",
		       id, task->pid, task->tid, m->time_ns, m->type->facility,
		       m->type->name);
		for (i = 0; i < m->type->field_count; i++)
			if (print_field(m, i))
				return 1;
		puts("]]");
	}
	moca_cursor_close(c);
	moca_trace_close(t);
	return ret != 0;
}

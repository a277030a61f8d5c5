// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/baseline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fields.h"

#define BEGIN "moca-baseline\t"
#define LARGEST (16 << 20)
#define FIELDS (DIFF_METRICS + 5)

/* --- writing ------------------------------------------------------------ */

static void put_line(FILE *f, const char *key, const char *text)
{
	fprintf(f, "%s\t", key);
	fields_put(f, text);
	fputc('\n', f);
}

static void put_values(FILE *f, const char *key, const struct comparison_pair *p)
{
	fputs(key, f);
	for (int m = 0; m < DIFF_METRICS; m++)
		fprintf(f, "\t%.17g", p->value[1][m]);
	fprintf(f, "\t%.17g", p->node_unknown[1]);
}

void moca_baseline_write(FILE *f, const struct comparison *c, const char *of,
			 const char *machine)
{
	size_t i, objects = 0;

	fputs(BEGIN MOCA_BASELINE_VERSION "\n", f);
	put_line(f, "of", of);
	put_line(f, "way", c->profile[1]->counts ? "counts" : "pages");
	put_line(f, "machine", machine);
	for (i = 0; i < c->advice[1]->count; i++)
		put_line(f, "finding", c->advice[1]->findings[i].title);
	put_values(f, "total", &c->all);
	fputc('\n', f);
	for (i = 0; i < c->count; i++) {
		const struct comparison_pair *p = &c->pairs[i];

		if (!p->in[1])
			continue;
		objects++;
		put_values(f, "object", p);
		fputc('\t', f);
		fields_put(f, p->name);
		if (p->function) {
			fputc('\t', f);
			fields_put(f, p->function);
			fputc('\t', f);
			fields_put(f, p->file);
		}
		fputc('\n', f);
	}
	fprintf(f, "end\t%zu\n", objects);
}

/* --- reading ------------------------------------------------------------ */

int moca_baseline_is(const char *path)
{
	return fields_begin(path, BEGIN);
}

static int read_text(const char *path, char **out)
{
	FILE *f = fopen(path, "re");
	size_t len;
	int err;

	if (!f)
		return -errno;
	err = fields_read(f, LARGEST, out, &len);
	fclose(f);
	return err;
}

/* fields: METRICS UNKNOWN */
static int read_values(struct moca_baseline_row *r, char *const *fields)
{
	for (int m = 0; m <= DIFF_METRICS; m++) {
		char *end;
		double v = strtod(fields[m], &end);

		if (end == fields[m] || *end || !isfinite(v) || v < 0 ||
		    (m < DIFF_METRICS && v > 1 &&
		     condition_metric_is_share((enum condition_metric)m)))
			return -EBADMSG;
		*(m < DIFF_METRICS ? &r->value[m] : &r->unknown) = v;
	}
	return 0;
}

/* The array has room for as many as there are lines. */
static int read_object(struct moca_baseline *b, char **fields, size_t n)
{
	struct moca_baseline_row *r = &b->rows[b->count];

	if (n != DIFF_METRICS + 3 && n != DIFF_METRICS + 5)
		return -EBADMSG;
	if (read_values(r, fields + 1))
		return -EBADMSG;
	for (size_t i = DIFF_METRICS + 2; i < n; i++)
		if (fields_plain(fields[i]) || !*fields[i])
			return -EBADMSG;
	r->name = fields[DIFF_METRICS + 2];
	if (n == DIFF_METRICS + 5) {
		r->function = fields[DIFF_METRICS + 3];
		r->file = fields[DIFF_METRICS + 4];
	}
	b->count++;
	return 0;
}

/* What the last line must say. */
static int is_count(const struct moca_baseline *b, const char *text)
{
	char count[24];

	snprintf(count, sizeof(count), "%zu", b->count);
	return !strcmp(text, count);
}

static int read_line(struct moca_baseline *b, char *line, int *total)
{
	char *fields[FIELDS];
	size_t n = fields_split(line, fields, FIELDS);

	if (b->whole || !n)
		return -EBADMSG;
	if (!strcmp(fields[0], "object"))
		return read_object(b, fields, n);
	if (!strcmp(fields[0], "total")) {
		if ((*total)++ || n != DIFF_METRICS + 2)
			return -EBADMSG;
		return read_values(&b->all, fields + 1);
	}
	if (n != 2 || fields_plain(fields[1]))
		return -EBADMSG;
	if (!strcmp(fields[0], "finding"))
		b->findings[b->finding_count++] = fields[1];
	else if (!strcmp(fields[0], "of") && !b->of)
		b->of = fields[1];
	else if (!strcmp(fields[0], "machine") && !b->machine)
		b->machine = fields[1];
	else if (!strcmp(fields[0], "end") && is_count(b, fields[1]))
		b->whole = 1;
	else if (!strcmp(fields[0], "way") && b->counts < 0)
		b->counts = !strcmp(fields[1], "counts") ? 1 :
			    !strcmp(fields[1], "pages") ? 0 : -1;
	else
		return -EBADMSG;
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	return strcmp(((const struct moca_baseline_row *)a)->name,
		      ((const struct moca_baseline_row *)b)->name);
}

int moca_baseline_read(struct moca_baseline *b, const char *path, size_t *line)
{
	size_t lines = 0, i;
	int err, total = 0;
	char *rest, *at;

	memset(b, 0, sizeof(*b));
	b->counts = -1;
	*line = 0;
	err = read_text(path, &b->text);
	if (err)
		return err;
	for (rest = b->text; (rest = strchr(rest, '\n')); rest++)
		lines++;
	b->rows = calloc(lines, sizeof(*b->rows));
	b->findings = calloc(lines, sizeof(*b->findings));
	if (!b->rows || !b->findings)
		return -ENOMEM;
	rest = b->text;
	for (i = 0; i < lines; i++) {
		at = strsep(&rest, "\n");
		*line = i + 1;
		if (!i && strncmp(at, BEGIN, strlen(BEGIN)))
			return -EBADMSG;
		if (!i && strcmp(at + strlen(BEGIN), MOCA_BASELINE_VERSION))
			return -EPROTO;
		if (i && read_line(b, at, &total))
			return -EBADMSG;
	}
	if (!b->whole)
		return -ENODATA;
	if (!total || !b->of || !b->machine || b->counts < 0)
		return -EBADMSG;
	/* A comparison has one pair of each name. */
	qsort(b->rows, b->count, sizeof(*b->rows), compare_rows);
	for (i = 1; i < b->count; i++)
		if (!compare_rows(&b->rows[i - 1], &b->rows[i]))
			return -EBADMSG;
	return 0;
}

void moca_baseline_free(struct moca_baseline *b)
{
	free(b->text);
	free(b->rows);
	free(b->findings);
}

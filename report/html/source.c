// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The source around the lines that code.c tells, as the blob "source": of files
 * that are readable when the page is made. Debugging information is not ours, and
 * pages are sent to others: only source files by their name, only a few lines.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text/json.h"
#include "report/html/report.h"

#define AROUND 3u		/* lines before and behind each */
#define FILES 64u
#define BYTES_MAX 49152u	/* of text, in all */
#define BYTES_OF_FILE 12288u
#define LINE_MAX_BYTES 240u

struct file {
	const char *path;
	uint64_t built_ns;	/* the first of the programs made of it */
	char *text;
	uint64_t mtime_ns;
	const char **line;	/* where each begins; and the end */
	size_t lines;
	unsigned char *shown;	/* by line, from 0 */
};

static int split(struct file *f)
{
	size_t n = 2;
	char *p;

	for (p = f->text; (p = strchr(p, '\n')); p++)
		n++;
	f->line = malloc(n * sizeof(*f->line));
	f->shown = calloc(n, 1);
	if (!f->line || !f->shown)
		return -ENOMEM;
	for (p = f->text; *p; p++) {
		f->line[f->lines++] = p;
		p = strchrnul(p, '\n');
		if (!*p)
			break;
	}
	f->line[f->lines] = *p ? p + 1 : p;
	return 0;
}

/* Without its end; a longer one than anybody reads is cut. */
static size_t length(const struct file *f, size_t i)
{
	size_t n = strcspn(f->line[i], "\r\n");

	return n < LINE_MAX_BYTES ? n : LINE_MAX_BYTES;
}

/* What is wanted of it, the most important first, while there is room. */
static void choose(const struct report *r, struct file *f, size_t *room)
{
	size_t own = *room < BYTES_OF_FILE ? *room : BYTES_OF_FILE, i, k, n;
	const struct report_wanted *w;

	for (w = r->wanted; w < r->wanted + r->wanted_count; w++) {
		if (strcmp(w->file, f->path) || w->line > f->lines)
			continue;
		k = w->line > AROUND ? w->line - AROUND - 1 : 0;
		for (i = k, n = 0; i < w->line + AROUND && i < f->lines; i++)
			n += f->shown[i] ? 0 : length(f, i) + 8;
		if (n > own)
			return;
		own -= n;
		*room -= n;
		for (i = k; i < w->line + AROUND && i < f->lines; i++)
			f->shown[i] = 1;
	}
}

static void put_ranges(struct json *j, const struct file *f)
{
	char buf[LINE_MAX_BYTES + 1];
	size_t i;

	json_open(j, "ranges", '[');
	for (i = 0; i < f->lines; i++) {
		if (!f->shown[i])
			continue;
		json_open(j, NULL, '{');
		json_uint(j, "first", i + 1);
		json_open(j, "text", '[');
		for (; i < f->lines && f->shown[i]; i++) {
			snprintf(buf, sizeof(buf), "%.*s", (int)length(f, i),
				 f->line[i]);
			json_string(j, NULL, buf);
		}
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
}

static int put_file(struct json *j, const struct report *r, struct file *f,
		    size_t *room)
{
	int err = moca_source_read(f->path, &f->text, &f->mtime_ns);

	json_open(j, NULL, '{');
	json_string(j, "file", f->path);
	json_string(j, "state", err ? "missing" :
		    f->built_ns && f->mtime_ns > f->built_ns ? "changed" :
							       "read");
	if (err != -ENOMEM)
		err = err ? 0 : split(f);
	if (!err && f->line)
		choose(r, f, room);
	put_ranges(j, f);
	json_close(j, '}');
	free(f->text);
	free(f->line);
	free(f->shown);
	return err;
}

/* Lists the files of r->wanted, each once, in that order; how many there are. */
static size_t list_files(const struct report *r, struct file *out)
{
	const struct report_wanted *w;
	size_t n = 0, i;

	for (w = r->wanted; w < r->wanted + r->wanted_count; w++) {
		for (i = 0; i < n && strcmp(out[i].path, w->file); i++)
			;
		if (i == FILES)
			continue;
		if (i == n)
			out[n++] = (struct file){ .path = w->file };
		if (w->built_ns && (!out[i].built_ns ||
				    w->built_ns < out[i].built_ns))
			out[i].built_ns = w->built_ns;
	}
	return n;
}

int report_source(struct report *r)
{
	struct file files[FILES];
	size_t i, n = list_files(r, files), room = BYTES_MAX;
	struct report_json x;
	int err = 0;

	if (r->no_source)
		return 0;
	if (report_json_begin(&x))
		return -ENOMEM;
	json_open(&x.j, NULL, '{');
	json_open(&x.j, "files", '[');
	for (i = 0; !err && i < n; i++)
		if (files[i].path[0] == '/')
			err = put_file(&x.j, r, &files[i], &room);
	json_close(&x.j, ']');
	json_close(&x.j, '}');
	return report_json_end(r, &x, "source", err);
}

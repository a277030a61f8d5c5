// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/advice/wish.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE 64			/* bytes of a cache line */

/* Objects that lie in lines with others are of one thread each. */
static int is_small(const struct moca_object *o)
{
	return (o->kind == MOCA_OBJECT_HEAP && o->instances > 1 &&
		o->size <= 4 * LINE) ||
	       o->kind == MOCA_OBJECT_SMALL;
}

const char *moca_wish_add(struct moca_wish *w, const struct moca_finding *x)
{
	switch (x->kind) {
	case MOCA_FINDING_SERIAL_TOUCH:
	case MOCA_FINDING_OTHER_TOUCH:
	case MOCA_FINDING_MOVING_PARTS:
	case MOCA_FINDING_ONE_NODE:
	case MOCA_FINDING_SCATTERED:
		w->interleave = 1;
		return NULL;
	case MOCA_FINDING_HUGE_PAGES:
		w->huge = 1;
		return NULL;
	case MOCA_FINDING_SHARED_LINES:
		if (!is_small(x->object->object))
			return "threads meet within one block or variable, which a plan cannot take apart";
		w->pad = LINE;
		return NULL;
	default:
		return "no plan does that ('moca try' may)";
	}
}

const char *moca_wish_nameless(const struct moca_object *o)
{
	if (o->kind == MOCA_OBJECT_STATIC && !o->section && o->module)
		return NULL;
	if (o->kind != MOCA_OBJECT_HEAP && o->kind != MOCA_OBJECT_SMALL)
		return "it is neither allocated nor a static variable";
	if (!o->alloc || !o->alloc->module ||
	    (!(o->alloc->file && o->alloc->line) && !o->alloc->function))
		return "the trace does not tell who allocates it";
	if (!o->alloc->through)
		return "it is allocated by another library's doing";
	return NULL;
}

/* A string of TOML; 0: it has characters that none may have there. */
static int put_string(FILE *f, const char *key, const char *text)
{
	const unsigned char *c;

	for (c = (const unsigned char *)text; *c; c++)
		if (*c < ' ' || *c == 127)
			return 0;
	fprintf(f, "%s = \"", key);
	for (; *text; text++)
		fprintf(f, "%s%c", *text == '"' || *text == '\\' ? "\\" : "",
			*text);
	fputs("\"\n", f);
	return 1;
}

static int put_name(FILE *f, const struct moca_object *o)
{
	const struct moca_site *s = o->alloc;
	char text[512];
	const char *base;
	int n;

	if (o->kind == MOCA_OBJECT_STATIC)
		return put_string(f, "object", o->name) &&
		       put_string(f, "module", o->module);
	base = s->file ? strrchr(s->file, '/') : NULL;
	base = base ? base + 1 : s->file;
	n = s->file && s->line ?
	    snprintf(text, sizeof(text), "%s:%u", base, s->line) :
	    snprintf(text, sizeof(text), "%s", s->function);
	return n < (int)sizeof(text) && put_string(f, "site", text) &&
	       (!*s->through || put_string(f, "through", s->through)) &&
	       put_string(f, "module", s->module);
}

char *moca_wish_name(const struct moca_object *o)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int is_named;

	if (!f)
		return NULL;
	is_named = put_name(f, o);
	errno = 0;
	if (!fclose(f) && is_named)
		return text;
	free(text);
	return NULL;
}

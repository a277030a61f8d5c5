// SPDX-License-Identifier: GPL-2.0-or-later
/* The findings of moca summary as a plan that moca place follows. */
#include <math.h>
#include <string.h>

#include "lib/text/text.h"
#include "report/advice.h"

#define LINE 64			/* bytes of a cache line */

/* What the findings of one structure come to. */
struct wish {
	int huge, interleave, pad;
};

static void comment(FILE *f, const char *before, const char *text,
		    const char *behind)
{
	fprintf(f, "# %s", before);
	text_name(f, text, 0);
	fprintf(f, "%s\n", behind);
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

/* Objects that lie in lines with others are of one thread each. */
static int is_small(const struct moca_object *o)
{
	return (o->kind == MOCA_OBJECT_HEAP && o->instances > 1 &&
		o->size <= 4 * LINE) ||
	       o->kind == MOCA_OBJECT_SMALL;
}

/* Why nothing can be done about that finding; NULL: it is in *w. */
static const char *add_wish(struct wish *w, const struct moca_finding *x)
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
		w->pad = 1;
		return NULL;
	default:
		return "no plan does that ('moca try' may)";
	}
}

/* Who makes it, or where it is; NULL, or why a plan cannot name it. */
static const char *why_nameless(const struct moca_object *o)
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

static void put_remote(FILE *f, const struct moca_finding *x)
{
	double now = x->remote[MOCA_POLICY_FIRST_TOUCH];
	double then = x->remote[MOCA_POLICY_INTERLEAVE];

	if (!isnan(now) && !isnan(then))
		fprintf(f, "# remote now: %.0f %%, interleaved: %.0f %% (on all nodes evenly)\n",
			100 * now, 100 * then);
}

static int is_first(const struct moca_advice *a, size_t i)
{
	size_t k;

	for (k = 0; k < i; k++)
		if (a->findings[k].object == a->findings[i].object)
			return 0;
	return 1;
}

/* All findings of the i-th one's structure, in one table. */
static int put_object(FILE *f, const struct moca_advice *a, size_t i)
{
	const struct moca_profile_object *o = a->findings[i].object;
	const char *why, *nameless = why_nameless(o->object);
	struct wish w = { 0 };

	fputc('\n', f);
	for (size_t k = i; k < a->count; k++) {
		const struct moca_finding *x = &a->findings[k];

		if (x->object != o)
			continue;
		comment(f, "", x->title, "");
		why = nameless ? nameless : add_wish(&w, x);
		if (why)
			comment(f, "  not in this plan: ", why, "");
		else if (w.interleave && x->kind != MOCA_FINDING_HUGE_PAGES)
			put_remote(f, x);
	}
	if (!w.huge && !w.interleave && !w.pad)
		return 0;
	fputs("[[place]]\n", f);
	if (!put_name(f, o->object)) {
		fputs("# its name has characters that a plan cannot have\n", f);
		return 0;
	}
	if (w.huge)
		fputs("huge = true\n", f);
	if (w.interleave)
		fputs("memory = \"interleave\"\n", f);
	if (w.pad)
		fprintf(f, "pad = %d\n", LINE);
	return 1;
}

void advice_plan_print(FILE *f, const struct advice_view *v)
{
	const struct moca_advice *a = v->advice;
	size_t i, n = 0;

	comment(f, "A plan for moca place, made by: moca summary --plan ",
		v->path, "");
	comment(f, "Run it: moca place --plan FILE -- ", "PROGRAM",
		"   (moca-place(1) has all keys)");
	for (i = 0; i < a->count; i++) {
		if (a->findings[i].object) {
			if (is_first(a, i))
				n += (size_t)put_object(f, a, i);
			continue;
		}
		fputc('\n', f);
		comment(f, "", a->findings[i].title, "");
		comment(f, "  not in this plan: ",
			"it is about the program as a whole", "");
	}
	if (!n)
		fprintf(f, "\n# No finding has something that a plan can do.\n");
}

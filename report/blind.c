// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/blind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "analysis/trace.h"
#include "lib/text/json.h"
#include "lib/text/text.h"

/* Pages that the kernel maps at a fault in a file, if it has them: fault_around_bytes. */
#define AROUND 16

/* One mapping, or all of a name. */
struct spot {
	uint64_t pages, seen;
	const char *name;
};

/* The n-th of the metadata. 1, or 0 behind the last. */
static int nth(const struct moca_trace *t, unsigned n, struct spot *s)
{
	const char *line = moca_trace_meta_nth(t, "blind", n);
	char *end;

	if (!line)
		return 0;
	s->pages = strtoull(line, &end, 10);
	s->seen = strtoull(end, &end, 10);
	s->name = *end == ' ' ? end + 1 : end;
	return 1;
}

int blind_altogether(const struct moca_trace *t, const char **why)
{
	struct moca_certificate c;

	moca_trace_certificate(t, &c);
	*why = moca_trace_meta(t, "certificate.reason");
	if (*why && moca_trace_meta(t, META_IMPORT))
		return 1;
	if (!*why && moca_trace_truncated(t))
		*why = "the recorder was cut off, or is still at work: it has not written what it has seen";
	else if (!*why && !c.pages_touched)
		*why = "no page of the program's own memory was touched while it was recorded";
	else if (!*why && !c.records)
		*why = "none of the touched pages was reported: the kernel tells nothing of a program that has gained rights, or whose file may not be read";
	return !(c.records ? c.pages_touched : 0) && !c.loads && !c.stores && !c.gaps &&
	       moca_trace_meta(t, "certificate.pages_touched");
}

int blind_is_known(const struct moca_trace *t)
{
	return moca_trace_meta(t, "certificate.pages_blind") != NULL;
}

void blind_print(const struct moca_trace *t, const char *indent)
{
	uint64_t unwitnessed = trace_meta_u64(t, "certificate.unwitnessed", 0);
	char a[TEXT_MAX], b[TEXT_MAX];
	struct spot s;

	for (unsigned n = 0; nth(t, n, &s); n++) {
		printf("%s%s page%s (%s) of ", indent, text_count(a, s.pages),
		       PLURAL(s.pages),
		       text_size(b, s.pages << trace_page_shift(t)));
		text_name(stdout, s.name, 0);
		printf("; %s other%s of it ha%s a record\n",
		       text_count(a, s.seen), s.seen == 1 ? "" : "s",
		       s.seen == 1 ? "s" : "ve");
	}
	if (unwitnessed)
		printf("%swhat existed in %s process%s that ended suddenly, as by a signal\n",
		       indent, text_count(a, unwitnessed),
		       unwitnessed == 1 ? "" : "es");
}

/* Does nobody write to what has that name? */
static int is_read_only(const struct moca_mapping *m, size_t n,
			const char *name)
{
	size_t i, found = 0;

	for (i = 0; i < n; i++) {
		if (strcmp(m[i].name, name))
			continue;
		if (m[i].prot & PROT_WRITE || !(m[i].flags & MOCA_MAP_FILE))
			return 0;
		found++;
	}
	return found != 0;
}

int blind_is_around(struct moca_trace *t)
{
	const struct moca_mapping *m;
	struct spot s;
	unsigned i;
	size_t n;

	if (trace_meta_u64(t, "certificate.unwitnessed", 0) ||
	    moca_trace_mappings(t, &m, &n))
		return 0;
	for (i = 0; nth(t, i, &s); i++)
		if (!s.seen || s.pages > AROUND || !is_read_only(m, n, s.name))
			return 0;
	return i != 0;
}

void blind_json(struct json *j, const struct moca_trace *t)
{
	struct spot s;

	json_open(j, "blind", '[');
	for (unsigned n = 0; nth(t, n, &s); n++) {
		json_open(j, NULL, '{');
		json_string(j, "mapping", s.name);
		json_uint(j, "pages", s.pages);
		json_uint(j, "pages_seen", s.seen);
		json_close(j, '}');
	}
	json_close(j, ']');
}

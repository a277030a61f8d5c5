// SPDX-License-Identifier: GPL-2.0-or-later
/* What came of a plan. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/plural.h"
#include "lib/text/text.h"
#include "place/setup.h"

static const struct moca_place_policy *policy(const struct place_setup *s,
					      size_t i)
{
	return s->policies + i;
}

static const struct moca_place_module *module(const struct place_setup *s,
					      size_t i)
{
	return s->placed + s->found[i].module;
}

/* --- all of it ---------------------------------------------------------------- */

static void print_sum(FILE *f, const char *what,
		      const struct moca_place_sum *sum)
{
	char count[TEXT_MAX], size[TEXT_MAX];

	fprintf(f, "  %s: %s, %s\n", what, text_count(count, sum->count),
		text_size(size, sum->bytes));
}

static void print_entry(FILE *f, const struct place_setup *s, size_t i)
{
	const struct place_entry *e = &s->plan->items[i];
	const struct moca_place_policy *p = policy(s, i);
	char count[TEXT_MAX];

	fprintf(f, "%s ", e->site ? "site" : "object");
	text_name(f, e->site ? e->site : e->object, 0);
	fputc('\n', f);
	if (s->found[i].why_not) {
		fputs("  not found: ", f);
		text_name(f, s->found[i].why_not, 0);
		fputc('\n', f);
		return;
	}
	print_sum(f, "matched", &p->matched);
	if (p->align || p->pad)
		print_sum(f, "aligned", &p->aligned);
	if (p->memory)
		print_sum(f, "memory policy", &p->memory_done);
	if (p->huge)
		print_sum(f, "huge pages asked for", &p->huge_done);
	if (p->prefault)
		print_sum(f, "prefaulted", &p->prefault_done);
	if (p->loose)
		fprintf(f, "  not aligned: %s\n", text_count(count, p->loose));
	if (p->small)
		fprintf(f, "  without a whole page: %s\n",
			text_count(count, p->small));
	if (p->refused)
		fprintf(f, "  refused by the kernel: %s (%s)\n",
			text_count(count, p->refused), strerror((int)p->error));
}

void place_report(FILE *f, const struct place_setup *s)
{
	size_t i;

	fprintf(f, "processes %u\n", s->head->processes);
	for (i = 0; i < s->plan->count; i++)
		print_entry(f, s, i);
}

/* --- what went otherwise ---------------------------------------------------------- */

#define SAY(...) (snprintf(buf, size, __VA_ARGS__), 1)

/* Why an entry has matched nothing. */
static int unmatched(const struct place_setup *s, size_t i, const char *name,
		     char *buf, size_t size)
{
	const struct moca_place_module *m = module(s, i);
	const char *path = s->modules[s->found[i].module];

	if (s->found[i].why_not)
		return SAY("%s: %s", name, s->found[i].why_not);
	if (!m->loads)
		return SAY("%s: no process loaded '%s'", name, path);
	if (s->plan->items[i].object)
		return SAY("%s: '%s' was loaded, and has no such memory", name,
			   path);
	if (!m->slots && m->pointers)
		return SAY("%s: '%s' calls its allocators by pointers that it may compare (built with -fno-plt?): these are left alone",
			   name, path);
	if (!m->slots)
		return SAY("%s: '%s' calls no allocator of another library", name,
			   path);
	return SAY("%s: nothing was allocated there (a site is who calls malloc, new or mmap itself: of a wrapper the line in the wrapper, of a tail call the line of its caller)",
		   name);
}

static int missed(const struct place_setup *s, size_t i, char *buf, size_t size)
{
	const struct moca_place_policy *p = policy(s, i);
	char name[200];

	place_entry_name(&s->plan->items[i], name, sizeof(name));
	if (!p->matched.count)
		return unmatched(s, i, name, buf, size);
	if (p->refused)
		return SAY("%s: the kernel refused %" PRIu64 " of its blocks what was asked: %s",
			   name, p->refused, strerror((int)p->error));
	if (p->loose)
		return SAY("%s: %" PRIu64 " of %" PRIu64 " blocks could not be aligned",
			   name, p->loose, p->matched.count);
	if (p->small == p->matched.count)
		return SAY("%s: none of its %" PRIu64 " blocks has a whole %s of its own",
			   name, p->small, p->huge ? "huge page" : "page");
	return 0;
}

static int wants_memory(const struct place_setup *s)
{
	size_t i;

	for (i = 0; i < s->plan->count; i++)
		if (s->plan->items[i].memory)
			return 1;
	return 0;
}

/* Of the run as a whole, from 0; 0: there is no such one. */
static int general(const struct place_setup *s, size_t i, char *buf, size_t size)
{
	const struct moca_place_head *h = s->head;

	switch (i) {
	case 0:
		return !h->processes &&
		       SAY("no process loaded libmoca-place.so (a static program, another user's?): the plan had no effect");
	case 1:
		return s->nodes == 1 && wants_memory(s) &&
		       SAY("the program may use one node of memory: 'memory' has no effect here");
	case 2:
		return h->crowded &&
		       SAY("%s had too many mappings: some blocks were left as they are",
			   h->crowded > 1 ? "some processes" : "a process");
	default:
		return h->unread &&
		       SAY("some tables of libraries could not be read or changed: some calls were not seen");
	}
}

#define GENERAL 4

int place_complaint(const struct place_setup *s, size_t i, char *buf,
		    size_t size)
{
	size_t k, total = GENERAL + (s->head->processes ? s->plan->count : 0);

	for (k = 0; k < total; k++)
		if ((k < GENERAL ? general(s, k, buf, size) :
				   missed(s, k - GENERAL, buf, size)) && !i--)
			return 1;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/certificate.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <moca/reader.h>

#include "analysis/trace.h"
#include "lib/base/plural.h"
#include "lib/text/text.h"
#include "report/blind.h"
#include "report/exact.h"

/* From the begin to the moment when the recorder wrote the metadata. */
static const char *written(const struct moca_trace *t, char *buf, size_t size)
{
	uint64_t begin = trace_meta_u64(t, META_START, 0);
	uint64_t end = trace_meta_u64(t, trace_failure(t) ? META_FAILED :
								META_END, 0);
	char a[TEXT_MAX];

	if (!end || end < begin)
		snprintf(buf, size, "before its first second was over");
	else
		snprintf(buf, size, "%s after its begin",
			 text_duration(a, end - begin));
	return buf;
}

const char *certificate_unfinished(const struct moca_trace *t, char *buf,
				   size_t size)
{
	const char *state = moca_trace_meta(t, "state");
	char when[TEXT_MAX + 40];

	if (!moca_trace_truncated(t))
		return NULL;
	written(t, when, sizeof(when));
	if (trace_failure(t))
		snprintf(buf, size, "the recording failed %s (%s): what the program did from then on is not in it",
			 when, strerror(trace_failure(t)));
	else if (state && !strcmp(state, "failed"))
		snprintf(buf, size, "the recording failed and ended %s", when);
	else
		snprintf(buf, size, "the recording goes on, or its recorder was killed or had no room to write its end; the recorder last wrote its sums %s",
			 when);
	return buf;
}

void certificate_print_state(struct moca_trace *t)
{
	if (moca_trace_truncated(t))
		printf("  All that follows is of what its files held when they were read.\n");
	if (trace_half_filtered(t))
		printf("  The recorder was killed while --object took accesses out: some are missing, some are not.\n");
}

static int is_damaged(const struct moca_trace *t)
{
	struct moca_damage damage;

	moca_trace_damage(t, &damage);
	return trace_damaged(&damage);
}

void certificate_print_damage(const struct moca_trace *t)
{
	if (is_damaged(t))
		printf("\nDamaged: parts of the trace are missing, or cannot be read: 'moca check' says which.\n");
}

static void print_unfinished(const struct moca_trace *t)
{
	char text[200];

	if (certificate_unfinished(t, text, sizeof(text)))
		printf("\nNot finished: %s.\n", text);
}

void certificate_print_exact(struct moca_trace *t)
{
	int whole = !moca_trace_truncated(t);
	char a[TEXT_MAX], b[TEXT_MAX], p[TEXT_MAX];
	struct moca_certificate c;
	const char *why;

	moca_trace_certificate(t, &c);
	print_unfinished(t);
	if (moca_trace_meta(t, META_IMPORT)) {
		blind_altogether(t, &why);
		printf("\nNothing can be certified: %s.\n  %s load%s and %s store%s are told.\n",
		       why, text_count(a, c.loads), PLURAL(c.loads),
		       text_count(b, c.stores), PLURAL(c.stores));
		return;
	}
	if (c.gaps)
		printf("\nCounted, but not all: %s load%s and %s store%s; %s time%s something was not counted:\n",
		       text_count(a, c.loads), PLURAL(c.loads),
		       text_count(b, c.stores), PLURAL(c.stores),
		       text_count(p, c.gaps), PLURAL(c.gaps));
	else if (whole && is_damaged(t))
		printf("  Its recorder had counted %s load%s and %s store%s.\n",
		       text_count(a, c.loads), PLURAL(c.loads),
		       text_count(b, c.stores), PLURAL(c.stores));
	else if (whole)
		printf("\nExact: %s load%s and %s store%s, all that were executed.\n",
		       text_count(a, c.loads), PLURAL(c.loads),
		       text_count(b, c.stores), PLURAL(c.stores));
	else
		printf("  Until then %s load%s and %s store%s had been taken from the threads' counters.\n",
		       text_count(a, c.loads), PLURAL(c.loads),
		       text_count(b, c.stores), PLURAL(c.stores));
	exact_print_gaps(t, "  - ");
	exact_print_natives(t, "  ");
	if (c.pages_touched)
		printf("  They went to %s page%s.\n",
		       text_count(a, c.pages_touched), PLURAL(c.pages_touched));
}

static void print_seen(struct moca_trace *t, const struct moca_certificate *c)
{
	char a[TEXT_MAX], b[TEXT_MAX], p[TEXT_MAX];
	const char *why;

	/* While it goes on, memory in use has not been compared. */
	if (moca_trace_truncated(t)) {
		print_unfinished(t);
		if (c->pages_touched)
			printf("  Of %s touched page%s that it had counted by then, %s had a record. Of others nothing is certified: memory counts when it is given back.\n",
			       text_count(a, c->pages_touched),
			       PLURAL(c->pages_touched),
			       text_count(b, c->pages_seen));
		else
			printf("  Nothing is certified.\n");
	} else if (blind_altogether(t, &why)) {
		printf("\nNothing can be certified: %s.\n", why);
	} else if (is_damaged(t)) {
		printf("  Its recorder had a record of %s of %s page%s that %s touched.\n",
		       text_count(b, c->pages_seen),
		       text_count(a, c->pages_touched),
		       PLURAL(c->pages_touched),
		       c->pages_touched == 1 ? "was" : "were");
	} else if (!c->pages_touched) {
		printf("\nCompleteness: the recorder left no count of the pages that were touched.\n");
	} else if (c->pages_seen >= c->pages_touched) {
		printf("\nComplete%s: all %s page%s that %s touched %s a record.\n",
		       c->pages_blind ? " for the program's own memory" : "",
		       text_count(a, c->pages_touched), PLURAL(c->pages_touched),
		       c->pages_touched == 1 ? "was" : "were",
		       c->pages_touched == 1 ? "has" : "have");
	} else {
		printf("\nIncomplete: of %s pages that were touched, %s have a record (%s).\n",
		       text_count(a, c->pages_touched),
		       text_count(b, c->pages_seen),
		       text_percent(p, c->pages_seen, c->pages_touched));
		/* Samples that were lost, which are told below, tell of pages as well. */
		if (!c->lost)
			puts("  No page fault told of the others. The kernel fills memory without one for direct I/O (O_DIRECT), io_uring and\n"
			     "  calls of other processes; of what system calls touch only root is told (moca doctor).");
	}
}

void certificate_print(struct moca_trace *t)
{
	char a[TEXT_MAX], b[TEXT_MAX], p[TEXT_MAX];
	struct moca_certificate c;

	moca_trace_certificate(t, &c);
	print_seen(t, &c);
	if (c.pages_other && blind_is_known(t))
		printf("  %s more page%s seen outside of it: of files, shared memory, stacks.\n",
		       text_count(a, c.pages_other),
		       c.pages_other == 1 ? " was" : "s were");
	else if (c.pages_other)
		printf("  %s more page%s seen where touched pages cannot be counted.\n",
		       text_count(a, c.pages_other),
		       c.pages_other == 1 ? " was" : "s were");
	if (c.pages_blind)
		printf("  Of %s page%s nothing is known: page tables have %s, no record tells of %s:\n",
		       text_count(a, c.pages_blind), PLURAL(c.pages_blind),
		       c.pages_blind == 1 ? "it" : "them",
		       c.pages_blind == 1 ? "it" : "them");
	blind_print(t, "  - ");
	if (c.lost || c.lossy_chunks)
		printf("  Lost: %s sample%s, in %s of %s chunk%s, which show too little.\n",
		       text_count(a, c.lost), PLURAL(c.lost),
		       text_count(b, c.lossy_chunks),
		       text_count(p, c.chunks), PLURAL(c.chunks));
	else if (!moca_trace_meta(t, META_IMPORT) && !is_damaged(t))
		printf("  No sample was lost.\n");
}

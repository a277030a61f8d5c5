// SPDX-License-Identifier: GPL-2.0-or-later
/* False sharing: what the named sites allocate gets cache lines of its own. */
#include <stddef.h>

#include "try/findings.h"

static void fill_64(const struct try_subject *s, const struct moca_finding *f,
		    const struct moca_wish *w, struct try_wish *want)
{
	want->pad = w->pad ? 64 : 0;
}

static void fill_128(const struct try_subject *s, const struct moca_finding *f,
		     const struct moca_wish *w, struct try_wish *want)
{
	want->pad = w->pad ? 128 : 0;
}

static const char *note(const struct try_subject *s)
{
	if (s->cores == 1)
		return "All CPUs that the program may use here are of one core, whose threads share all caches: lines do not move between caches. On another machine it may gain";
	if (s->is_virtual)
		return "This is a virtual machine, whose CPUs may be threads of one core, whatever it tells: lines do not move between caches then. On another machine it may gain";
	return NULL;
}

const char *try_pad_64(const struct try_subject *s, struct try_made *out)
{
	out->title = "blocks that share cache lines begin at multiples of 64 bytes";
	out->note = note(s);
	return try_findings(s, out, 1u << MOCA_FINDING_SHARED_LINES, fill_64);
}

/* Some CPUs fetch lines by twos. */
const char *try_pad_128(const struct try_subject *s, struct try_made *out)
{
	out->title = "blocks that share cache lines begin at multiples of 128 bytes";
	out->note = note(s);
	return try_findings(s, out, 1u << MOCA_FINDING_SHARED_LINES, fill_128);
}

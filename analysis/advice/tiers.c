// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A little memory that is used all the time, and much that is used seldom, but
 * again and again: what would fit into a small fast tier.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/advice/rules.h"
#include "lib/text/text.h"

#define HOT_MIN 256		/* pages, 1 MiB: less is in a core's cache */
#define COLD_MIN 16384		/* 64 MiB: less is not worth a tier */
/*
 * Bytes per second that slow memory (CXL, persistent) gives with ease, at random, too.
 * What a program takes is a small part of what is estimated, where it uses a line of
 * a page at a time.
 */
#define SLOW_BANDWIDTH 2e9
#define NAMED 3
/* Bytes allocated per byte of their pages, of blocks that come and go, and more. */
#define PASSING 2
#define PASSING_MOST 0.25
/* Of data: what was not looked at in each interval may be hot. */
#define WATCHED_MIN 0.9
/* MiB that code, libraries and page tables take besides. */
#define BESIDES 16

struct tiers {
	/* Most cold pages, and most hot ones. */
	const struct moca_profile_object *cold_top[NAMED], *hot_top[NAMED];
	uint64_t passing;	/* cold pages of blocks that come and go */
};

/*
 * Blocks that are freed and allocated again, or by one process after the other, have
 * used more pages than they ever had at one time: each of these looks seldom used.
 */
static int comes_and_goes(const struct moca_object *o, uint64_t pages)
{
	return o->kind == MOCA_OBJECT_HEAP && o->instances > 1 &&
	       o->bytes / 4096 > PASSING * pages;
}

static void add(const struct moca_profile_object *top[NAMED],
		const struct moca_profile_object *o, int hot)
{
	size_t i;

	for (i = 0; i < NAMED && top[i]; i++)
		if (hot ? o->hot_pages > top[i]->hot_pages :
			  o->cold_pages > top[i]->cold_pages)
			break;
	if (i == NAMED || !(hot ? o->hot_pages : o->cold_pages))
		return;
	memmove(top + i + 1, top + i, (NAMED - 1 - i) * sizeof(*top));
	top[i] = o;
}

static void gather(const struct rules *r, struct tiers *t)
{
	size_t i;

	for (i = 0; i < r->p->count; i++) {
		const struct moca_profile_object *o = &r->p->rows[i];

		if (!o->data)
			continue;
		add(t->hot_top, o, 1);
		add(t->cold_top, o, 0);
		if (comes_and_goes(o->object, o->pages))
			t->passing += o->cold_pages;
	}
}

static double mib(uint64_t pages)
{
	return pages * 4096. / (1 << 20);
}

/* "used once in 29 ms or more often: a 4.0 MiB (from 0.0 to 4.0 of ...), b ..." */
static void say_top(struct rules *r, struct moca_finding *f, const char *how,
		    uint64_t once_in_ns,
		    const struct moca_profile_object *const top[NAMED], int hot)
{
	char text[NAMED * 200], once_in[TEXT_MAX];
	size_t i, at = 0;

	for (i = 0; i < NAMED && top[i] && at < sizeof(text); i++) {
		const struct moca_profile_object *o = top[i];
		uint64_t span = o->hot_last - o->hot_first + 1;

		/* Only what matters beside the first. */
		if (20 * (hot ? o->hot_pages : o->cold_pages) <
		    (hot ? top[0]->hot_pages : top[0]->cold_pages))
			break;
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "%s%s %.1f MiB", i ? ", " : "",
				       name_text(r, o),
				       mib(hot ? o->hot_pages : o->cold_pages));
		/* One range of it, not here and there. */
		if (hot && o->cold_pages && o->object->instances == 1 &&
		    4 * span <= 5 * o->hot_pages && at < sizeof(text))
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       " (from %.1f to %.1f of the %.1f MiB of it that are used)",
					       mib(o->hot_first),
					       mib(o->hot_last + 1), mib(o->pages));
	}
	finding_line(r, f->evidence, "used once in %s or %s often: %s",
		     text_duration(once_in, once_in_ns), how, text);
}

int rule_tiers(struct rules *r)
{
	const struct moca_profile *p = r->p;
	double seconds = moca_profile_seconds(p), rate;
	struct tiers t = { 0 };
	struct moca_finding *f;

	gather(r, &t);
	/* Of each touch in an interval, the whole page at most. */
	rate = seconds > 0 ? p->cold_accesses * 4096. / seconds : 0;

	const struct condition needed[] = {
		AT_LEAST("of all data, what was looked at in each interval", SHARE,
			 p->pages ? (double)p->watched_pages / p->pages : 0,
			 WATCHED_MIN),
		AT_LEAST("size of what is used seldom", PAGES, p->cold_pages, COLD_MIN),
		AT_LEAST("of all data, what is used seldom", SHARE,
			 p->pages ? (double)p->cold_pages / p->pages : 0, 0.5),
		AT_LEAST("size of what is used all the time", PAGES,
			 p->hot_pages, HOT_MIN),
		AT_MOST("of what is used seldom, what is used all the time",
			SHARE, p->cold_pages ? (double)p->hot_pages / p->cold_pages : 1, 0.25),
		AT_LEAST("uses of a page that is used seldom", NUMBER,
			 p->cold_pages ? (double)p->cold_accesses / p->cold_pages : 0, 2),
		AT_MOST("of what is used seldom, blocks that come and go", SHARE,
			p->cold_pages ? (double)t.passing / p->cold_pages : 0,
			PASSING_MOST),
		AT_MOST("bytes per second that slow memory would have to give",
			NUMBER, rate, SLOW_BANDWIDTH),
		AT_LEAST("seconds", NUMBER, seconds, SECONDS_MIN),
		AT_LEAST("intervals", NUMBER, (double)p->intervals,
			 INTERVALS_MIN),
	};

	if (!CONDITIONS(r, MOCA_FINDING_TIERS, NULL, needed))
		return 0;
	f = finding_add(r, MOCA_FINDING_TIERS, t.cold_top[0],
			GAIN_MIN * p->cold_pages / p->pages);
	if (!f)
		return 0;
	f->confidence = MOCA_CONFIDENCE_MEDIUM;
	f->after = NAN;
	finding_set(r, &f->title, "%.0f MiB are used all the time, %.0f MiB seldom: a small fast memory would do",
		    mib(p->hot_pages), mib(p->cold_pages));
	say_top(r, f, "more", p->hot_ns, t.hot_top, 1);
	say_top(r, f, "less", p->cold_ns, t.cold_top, 0);
	finding_line(r, f->evidence,
		     "a page of the latter is used %.1f times in %.1f s: at most %.0f MB a second would come from it, as the whole of a page is read each time at most",
		     (double)p->cold_accesses / p->cold_pages, seconds, rate / 1e6);
	finding_set(r, &f->cause,
		    "The one and the other lie in the same memory%s.",
		    t.hot_top[0] == t.cold_top[0] ?
			    ", and in one data structure" : "");
	finding_set(r, &f->fix,
		    "Where memory is scarce or has tiers: keep %.0f MiB in the fast one, and let the rest go to a slower or compressed one. Apart from each other, what is used all the time can have huge pages.",
		    ceil(mib(p->hot_pages + (p->pages - p->hot_pages - p->cold_pages))));
	finding_line(r, f->try_,
		     "systemd-run --scope -p MemoryHigh=%.0fM ./program   # with swap, zswap or a demotion target (/sys/kernel/mm/numa/demotion_enabled)",
		     BESIDES + ceil(1.2 * mib(p->pages - p->cold_pages)));
	/* There is no slow one where there is one. */
	if (p->topology.assumed == MOCA_ASSUMED_ONE_NODE || !advice_takes_c(r, f))
		return 1;
	finding_line(r, f->try_,
		     "mbind(%s, ..., MPOL_PREFERRED, slow node)   /* of the part that is used seldom, in an allocation of its own */",
		     name_in_code(r, t.cold_top[0]));
	return 1;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory that is given back to the kernel and taken again: each page is cleared
 * and mapped anew at its next first touch. What that costs is the number of such
 * touches times what one takes on this machine, as measured when the recording
 * began.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/rules.h"

/* Fewer first touches take no time that one would notice: some 20 ms. */
#define TOUCHES_MIN 10000
/* Of them, what must be explained by allocations that were made again. */
#define EXPLAINED_MIN 0.5
#define NAMED 4
/*
 * What a fault in a program takes more than one in the loop that measured the price:
 * caches and page tables are cold. As collect/run/calibrate.c has it of other faults.
 */
#define COLD_NS 350.0
/* Bytes of the blocks that prices are of: collect/run/calibrate-churn.h. */
#define CHURN_SMALL (256. * 1024)
#define CHURN_LARGE (8. * 1024 * 1024)
/*
 * Of a first touch's price, that of one 4 KiB of a huge page at most. More, and there
 * was no huge page when the prices were measured.
 */
#define HUGE_DEAR 0.5
/* glibc takes no larger threshold for mmap, but in its later versions. */
#define MMAP_THRESHOLD_MAX (32ull << 20)
#define KEEP_MIN (64ull << 20)

struct churn {
	uint64_t touches, again;	/* first touches; of pages had before */
	/* The same, were no more pages needed than the largest block of each site. */
	uint64_t again_most;
	double price_ns;		/* of one, with giving it back */
	int measured;			/* price_ns: what keeping such a page spares */
	double renew_ns;		/* CPU time of one by the kernel; 0: not known */
	double huge_ns;			/* less, where huge pages were asked for */
	int huge_known;			/* there was one to be measured */
	uint64_t huge;			/* of again, at most */
	double cpu_ns;			/* of the program, without the recorder */
	double explained;		/* of again */
	double mapped;			/* of explained: by the program's own mmap */
	/* Sites that allocate again and again, most pages first. */
	const struct moca_profile_object *top[NAMED];
	size_t sites;
	uint64_t largest, together;	/* bytes: of one; of one of each site */
	uint64_t pages;			/* that all of these sites' blocks were on */
};

/* Pages that were allocated at this site more often than they exist. */
static uint64_t allocated_again(const struct moca_object *o)
{
	uint64_t most = o->size > 4096 * o->pages ? o->size : 4096 * o->pages;

	return o->kind == MOCA_OBJECT_HEAP && o->instances > 1 &&
	       o->bytes > most ? (o->bytes - most) / 4096 : 0;
}

static void add_site(struct churn *x, const struct moca_profile_object *o)
{
	size_t i = x->sites < NAMED ? x->sites : NAMED;

	for (; i && allocated_again(x->top[i - 1]->object) <
			    allocated_again(o->object); i--)
		if (i < NAMED)
			x->top[i] = x->top[i - 1];
	if (i < NAMED)
		x->top[i] = o;
	x->sites++;
	x->pages += o->pages;
	x->together += o->object->size;
	if (o->object->size > x->largest)
		x->largest = o->object->size;
}

static void find_sites(const struct rules *r, struct churn *x)
{
	const struct moca_profile *p = r->p;
	uint64_t sum = 0, mapped = 0, n;
	size_t i;

	for (i = 0; i < p->count; i++) {
		n = allocated_again(p->rows[i].object);
		sum += n;
		/* A site calls the one or the other. */
		if (2 * p->rows[i].object->mapped > p->rows[i].object->instances)
			mapped += n;
		/* Who has little part in it is not named. */
		if (n && 50 * n >= x->again)
			add_site(x, &p->rows[i]);
	}
	/* Blocks that come to other addresses each time have more than they need. */
	n = x->pages < p->distinct ? x->pages : p->distinct;
	x->again_most = x->again + (n > x->together / 4096 ?
				    n - x->together / 4096 : 0);
	x->explained = x->again ? (double)sum / x->again : 0;
	x->mapped = sum ? (double)mapped / sum : 0;
}

/* Prices of blocks of so many bytes, by those of small and of large ones; 0: none. */
static double price_of(const struct rules *r, const char *small,
		       const char *large, double bytes)
{
	double a = advice_meta(r, small), b = advice_meta(r, large), at;

	if (!(a > 0) || !(b > 0))
		return fmax(fmax(a, b), 0);
	at = log2(fmax(bytes, 1) / CHURN_SMALL) / log2(CHURN_LARGE / CHURN_SMALL);
	return a + (b - a) * fmin(fmax(at, 0), 1);
}

/*
 * What was measured with blocks of the size that the program has, once it had ended,
 * in place of single pages when the recording began.
 */
static void measure_blocks(const struct rules *r, struct churn *x)
{
	double bytes = (double)x->together;
	double spared = price_of(r, "cost.price.spared_small_ns",
				 "cost.price.spared_large_ns", bytes);
	double again = (double)(x->again + x->again_most) / 2, least;

	if (!(spared > 0))
		return;
	x->measured = 1;
	x->price_ns = spared + COLD_NS;
	x->renew_ns = COLD_NS + price_of(r, "cost.price.renew_small_ns",
					 "cost.price.renew_large_ns", bytes);
	x->huge_ns = fmax(x->price_ns - advice_meta(r, "cost.price.native_huge_ns"), 0);
	/* Recording keeps pages that are given back, so that the program alone takes
	 * longer than what is left without recording's own. */
	least = advice_meta(r, "cost.program_user_ns") +
		fmax(again - (double)x->huge, 0) * x->renew_ns;
	if (x->cpu_ns > 0)
		x->cpu_ns = fmax(x->cpu_ns, least);
}

static void measure(const struct rules *r, struct churn *x)
{
	const struct moca_profile *p = r->p;
	double slower = advice_meta(r, "cost.cpu_estimate");
	double touch_ns = advice_meta(r, "cost.price.native_touch_ns");
	double huge_ns = advice_meta(r, "cost.price.native_huge_ns");
	struct moca_certificate c;

	moca_trace_certificate(r->trace, &c);
	x->touches = c.pages_touched;
	/* What was not looked at page by page may be any page. */
	x->again = !p->left_out && c.pages_touched > p->distinct ?
		   c.pages_touched - p->distinct : 0;
	x->price_ns = touch_ns + advice_meta(r, "cost.price.native_free_ns");
	if (x->price_ns > 0)
		x->price_ns += COLD_NS;
	x->huge_ns = touch_ns + COLD_NS - huge_ns;
	x->huge_known = huge_ns < HUGE_DEAR * touch_ns;
	x->huge = (uint64_t)fmin(advice_meta(r, "cost.huge_asked"),
				 (double)x->again);
	/* A ratio below 1: the program took less CPU time recorded than by itself. */
	x->cpu_ns = slower > 0 ? advice_meta(r, "cost.cpu_ns") / slower : 0;
}

enum allocator { GLIBC, JEMALLOC, TCMALLOC, MIMALLOC };

static enum allocator allocator_of(const struct rules *r)
{
	static const struct {
		const char *name;
		enum allocator which;
	} names[] = { { "/libjemalloc", JEMALLOC }, { "/libtcmalloc", TCMALLOC },
		      { "/libmimalloc", MIMALLOC } };
	const struct moca_mapping *m;
	size_t i, k, n;

	if (moca_trace_mappings(r->trace, &m, &n))
		return GLIBC;
	for (i = 0; i < n; i++)
		for (k = 0; k < sizeof(names) / sizeof(*names); k++)
			if (strstr(m[i].name, names[k].name))
				return names[k].which;
	return GLIBC;
}

static uint64_t power_of_two(uint64_t least)
{
	uint64_t x = KEEP_MIN;

	while (x < least && x < 1ull << 62)
		x *= 2;
	return x;
}

/* What keeps the memory without a change of the program. */
static void try_environment(struct rules *r, struct moca_finding *f,
			    const struct churn *x)
{
	/* What may be free at the top: all of it, and as much between. */
	uint64_t keep = power_of_two(4 * x->together);

	switch (allocator_of(r)) {
	case JEMALLOC:
		finding_set(r, &f->setting,
			    "MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1");
		break;
	case TCMALLOC:
		finding_set(r, &f->setting,
			    "TCMALLOC_RELEASE_RATE=0 TCMALLOC_AGGRESSIVE_DECOMMIT=0");
		break;
	case MIMALLOC:
		finding_set(r, &f->setting, "MIMALLOC_PURGE_DELAY=-1");
		break;
	case GLIBC:
		if (x->largest < MMAP_THRESHOLD_MAX)
			finding_set(r, &f->setting,
				    "GLIBC_TUNABLES=glibc.malloc.trim_threshold=%" PRIu64 ":glibc.malloc.mmap_threshold=%llu",
				    keep, MMAP_THRESHOLD_MAX);
		else
			finding_set(r, &f->setting,
				    "GLIBC_TUNABLES=glibc.malloc.trim_threshold=%" PRIu64 ":glibc.malloc.mmap_max=0",
				    keep);
		break;
	}
	if (!f->setting)
		return;
	finding_line(r, f->try_, "%s ./program%s", f->setting,
		     allocator_of(r) != MIMALLOC ? "" :
		     "   # before 2.1: MIMALLOC_RESET_DELAY, MIMALLOC_DECOMMIT_DELAY");
	if (allocator_of(r) != GLIBC || !advice_takes_c(r, f))
		return;
	keep = keep > INT32_MAX ? (uint64_t)INT32_MAX : keep;
	if (x->largest < MMAP_THRESHOLD_MAX)
		finding_line(r, f->try_,
			     "mallopt(M_TRIM_THRESHOLD, %" PRIu64 "); mallopt(M_MMAP_THRESHOLD, %llu);   /* the same, first in main() */",
			     keep, MMAP_THRESHOLD_MAX);
	else
		finding_line(r, f->try_,
			     "mallopt(M_TRIM_THRESHOLD, %" PRIu64 "); mallopt(M_MMAP_MAX, 0);   /* the same, first in main() */",
			     keep);
}

static void say_sites(struct rules *r, struct moca_finding *f,
		      const struct churn *x)
{
	char text[NAMED * 300], name[80];
	size_t i, at = 0;

	for (i = 0; i < x->sites && i < NAMED && at < sizeof(text); i++) {
		const struct moca_object *o = x->top[i]->object;
		double each = (double)o->bytes / o->instances;
		int large = each >= 1 << 20;

		snprintf(name, sizeof(name), "%s", name_text(r, x->top[i]));
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "%s%s %" PRIu64 " times %.1f %s%s%.160s",
				       i ? ", " : "", name, o->instances,
				       each / (large ? 1 << 20 : 1 << 10),
				       large ? "MiB" : "KiB", *o->site ? " in " : "", o->site);
	}
	if (x->sites > NAMED && at < sizeof(text))
		snprintf(text + at, sizeof(text) - at, " and %zu more sites",
			 x->sites - NAMED);
	finding_line(r, f->evidence, "allocated: %s", text);
}

/* What these touches take in all, ns: at least, and at most. */
static double least_ns(const struct churn *x)
{
	double ns = x->again * x->price_ns -
		    x->huge * (x->huge_known ? x->huge_ns : x->price_ns);

	return ns > 0 ? ns : 0;
}

static double most_ns(const struct churn *x)
{
	double ns = x->again_most * x->price_ns -
		    (x->huge_known ? x->huge * x->huge_ns : 0);

	return ns > 0 ? ns : 0;
}

static double taken_ns(const struct churn *x)
{
	return (least_ns(x) + most_ns(x)) / 2;
}

/* Were faults dearer when the price was measured than in the program? */
static int is_beyond(const struct churn *x)
{
	return taken_ns(x) >= x->cpu_ns;
}

static void say(struct rules *r, struct moca_finding *f, const struct churn *x)
{
	double least = least_ns(x) / 1e9, most = most_ns(x) / 1e9;
	double all = x->cpu_ns / 1e9;
	char pages[64], seconds[64];

	if (is_beyond(x)) {
		f->confidence = MOCA_CONFIDENCE_LOW;
		finding_set(r, &f->title,
			    "memory is given back to the kernel and taken again %" PRIu64 " times; what its page faults take is not known",
			    x->again);
	} else {
		f->seconds = taken_ns(x) / 1e9;
		f->confidence = x->huge && !x->huge_known ? MOCA_CONFIDENCE_LOW :
				x->explained >= 0.9 ? MOCA_CONFIDENCE_HIGH :
						      MOCA_CONFIDENCE_MEDIUM;
		finding_set(r, &f->title,
			    "memory is given back to the kernel and taken again: %.0f %% of the CPU time goes to its page faults",
			    100 * f->gain);
	}
	snprintf(pages, sizeof(pages), "%" PRIu64, x->again);
	if (x->again_most - x->again > x->again / 10)
		snprintf(pages, sizeof(pages), "%" PRIu64 " to %" PRIu64,
			 x->again, x->again_most);
	snprintf(seconds, sizeof(seconds), "%.2f s", least);
	if (most - least > least / 20)
		snprintf(seconds, sizeof(seconds), "%.2f to %.2f s", least, most);
	finding_line(r, f->evidence,
		     "of %" PRIu64 " first touches of %" PRIu64 " pages, %s gave the program memory again that it had given back",
		     x->touches, r->p->distinct, pages);
	if (is_beyond(x))
		finding_line(r, f->evidence,
			     "the price of a first touch that was measured when the recording %s, %.0f ns, was not the program's: all of them would take longer than its %.2f s of CPU time. Record on an idle machine to know",
			     x->measured ? "ended" : "began", x->price_ns, all);
	else if (x->measured)
		finding_line(r, f->evidence,
			     "writing a page of blocks of this size takes %.0f ns of CPU time more where they are given back than where they are kept: %.0f as measured on this machine when the program had ended, and %.0f as caches are cold in a program: %s of the program's %.2f s",
			     x->price_ns, x->price_ns - COLD_NS, COLD_NS,
			     seconds, all);
	else
		finding_line(r, f->evidence,
			     "a first touch, and giving the page back, takes %.0f ns of CPU time on this machine: %.0f as measured when the recording began, and %.0f as caches are cold in a program: %s of the program's %.2f s",
			     x->price_ns, x->price_ns - COLD_NS, COLD_NS,
			     seconds, all);
	if (x->huge && !x->huge_known)
		finding_line(r, f->evidence,
			     "up to %" PRIu64 " of these pages lie where the program asked for huge pages, of which none was to be had when the recording began: those that it has without the recorder take next to nothing",
			     x->huge);
	else if (x->huge)
		finding_line(r, f->evidence,
			     "up to %" PRIu64 " of these pages lie where the program asked for huge pages: without the recorder, which needs small ones, one of them takes %.0f ns less, which is taken off",
			     x->huge, x->huge_ns);
	say_sites(r, f, x);
	if (x->mapped > 0.5) {
		finding_set(r, &f->cause,
			    "The program maps memory and unmaps it again; the kernel clears each page and maps it at its next first touch.");
		finding_set(r, &f->fix,
			    "Map the memory once and use it again. No setting of malloc changes what the program maps by itself.");
		return;
	}
	finding_set(r, &f->cause,
		    "malloc gives large blocks, and what is free at the end of its heap, back to the kernel when they are freed; the kernel clears each page and maps it again at its next first touch.");
	finding_set(r, &f->fix,
		    "Allocate the memory once and use it again; or, without a change of the program, tell malloc to keep it.");
	try_environment(r, f, x);
}

int rule_churn(struct rules *r)
{
	struct churn x = { 0 };
	struct moca_finding *f;
	double share;

	measure(r, &x);
	find_sites(r, &x);
	measure_blocks(r, &x);
	share = x.cpu_ns > 0 ? taken_ns(&x) / x.cpu_ns : 0;
	const struct condition needed[] = {
		HOLDS("the trace has the prices of faults, and CPU time",
		      x.price_ns > 0 && x.cpu_ns > 0),
		AT_LEAST("first touches of memory that was given back", NUMBER,
			 x.again, TOUCHES_MIN),
		AT_LEAST("CPU time of these", SHARE, share, GAIN_MIN),
		AT_LEAST("of these, what allocations explain", SHARE,
			 x.explained, EXPLAINED_MIN),
		AT_LEAST("sites that have a part in it", NUMBER, x.sites, 1),
	};

	if (!CONDITIONS(r, MOCA_FINDING_CHURN, NULL, needed))
		return 0;
	f = finding_add(r, MOCA_FINDING_CHURN, x.top[0],
			is_beyond(&x) ? GAIN_MIN : share);
	if (f)
		say(r, f, &x);
	return f != NULL;
}

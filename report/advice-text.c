// SPDX-License-Identifier: GPL-2.0-or-later
/* What `moca summary` prints for people. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/counts/counts.h"
#include "analysis/trace.h"
#include "lib/text/terminal.h"
#include "lib/text/text.h"
#include "report/advice.h"
#include "report/objects.h"
#include "report/working-set.h"

#define PHASES_SHOWN 24

double advice_remote(const struct moca_profile_object *o)
{
	return o->accesses ? (double)o->remote[MOCA_POLICY_FIRST_TOUCH] /
				     o->accesses : 0;
}

void advice_topology(const struct moca_profile *p, char *buf, size_t len)
{
	const struct moca_topology *t = &p->topology;

	snprintf(buf, len, "%s%u node%s, %u CPU%s%s%s",
		 t->what_if ? "what-if: " : "", t->nodes, PLURAL(t->nodes),
		 t->cpus, PLURAL(t->cpus),
		 t->what_if ? ", threads dealt out evenly" : "",
		 t->assumed == MOCA_ASSUMED_ONE_NODE ?
			 " (the machine has one node: --topology says which to suppose)" :
		 t->assumed == MOCA_ASSUMED_UNKNOWN ?
			 " (the machine was not recorded: --topology says which to suppose)" :
			 "");
}

static void print_share(const char *before, uint64_t part, uint64_t whole)
{
	printf("%s %.1f %%", before, whole ? 100. * part / whole : 0);
}

static void print_working_set(const struct moca_profile *p)
{
	printf("Working set   ");
	working_set_bars(&p->used);
	printf("\n              ");
	working_set_print(&p->used, 12);
	putchar('\n');
}

/* Of data: how often pages are used, where there are intervals to tell. */
static void print_temperature(const struct moca_profile *p)
{
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], all[TEXT_MAX + 8] = "";
	char often[TEXT_MAX], seldom[TEXT_MAX];
	int watched = p->watched_pages == p->pages;

	if (p->intervals < 10 || !p->pages)
		return;
	if (!p->watched_pages) {
		printf("Temperature   not known: too few of the same pages were looked at in each interval\n");
		return;
	}
	if (!watched)
		snprintf(all, sizeof(all), ", of %s",
			 text_size(a, p->pages * 4096));
	printf("Temperature   used once in %s or more often %s, once in %s or less often %s, of %s%s%s\n",
	       text_duration(often, p->hot_ns),
	       text_size(a, p->hot_pages * 4096),
	       text_duration(seldom, p->cold_ns),
	       text_size(b, p->cold_pages * 4096),
	       text_size(c, p->watched_pages * 4096),
	       watched ? "" : " that were watched", all);
}

static void print_rates(const struct moca_rates *r)
{
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], own[TEXT_MAX + 80] = "";
	char cpu[TEXT_MAX + 40] = "CPU time too short to be sampled";
	double ns;

	if (!r)
		return;
	ns = (double)(r->end_ns - r->begin_ns);
	if (r->has_own)
		snprintf(own, sizeof(own),
			 " (%s repeated by sweeps; the rest has faults of recording, too)",
			 text_count(a, r->total.own));
	if (r->total.cpu_ns)
		snprintf(cpu, sizeof(cpu), "%s of CPU time, %.2f CPUs",
			 text_duration(c, r->total.cpu_ns),
			 ns > 0 ? (double)r->total.cpu_ns / ns : 0);
	printf("Faults, CPU   %s minor%s, %s major; %s\n",
	       text_count(a, r->total.minor), own,
	       text_count(b, r->total.major), cpu);
}

/* "100 accesses"; where records stand for more, "25 records, which stand for about 100 accesses". */
static void print_accesses(const struct moca_profile *p)
{
	char a[TEXT_MAX], b[TEXT_MAX];

	if (p->sampled && p->records != p->unweighed)
		printf("%s records, which stand for about %s accesses",
		       text_count(a, p->records), text_count(b, p->unweighed));
	else
		printf("%s accesses", text_count(a, p->unweighed));
}

/* "1 page", "2 groups of pages". */
static const char *pages_text(char buf[TEXT_MAX + 24],
			      const struct moca_profile *p, uint64_t n)
{
	int grouped = p->counts && p->counts->page_shift;
	char a[TEXT_MAX];

	snprintf(buf, TEXT_MAX + 24, "%s %s%s%s", text_count(a, n),
		 grouped ? "group" : "page", PLURAL(n),
		 grouped ? " of pages" : "");
	return buf;
}

/* What other commands count and this one does not. */
static void print_others(const struct moca_profile *p, int width)
{
	char text[200], a[TEXT_MAX], b[TEXT_MAX + 24];

	if (!p->other_accesses && !p->other_pages)
		return;
	snprintf(text, sizeof(text),
		 "%s access%s to %s without data: code, mapped files, the kernel's, Moca's own",
		 text_count(a, p->other_accesses),
		 p->other_accesses == 1 ? "" : "es",
		 pages_text(b, p, p->other_pages));
	terminal_wrap("Left out      ", text, width);
}

static int is_own_event(const struct moca_event_type *type)
{
	return !trace_is_allocation(type) && !trace_is_rate(type) &&
	       !trace_is_memory(type);
}

/* Events that buffers had no room for; of accesses a note tells. */
static void print_lost(const struct moca_profile *p,
		       const struct moca_trace *trace, int width)
{
	struct moca_objects_totals t;
	char text[200], a[TEXT_MAX];

	moca_objects_totals(p->objects, &t);
	if (!t.lost)
		return;
	snprintf(text, sizeof(text),
		 "%s event%s of allocations%s found no room in a buffer: some data structures are missing, or live too long here",
		 text_count(a, t.lost), PLURAL(t.lost),
		 trace_has_events(trace, is_own_event) ?
			 ", or of the program's own," : "");
	terminal_wrap("Lost          ", text, width);
}

/* "-p 17", and of which program that was the process. */
static void print_command(const struct moca_trace *t, int width)
{
	const char *command = moca_trace_meta(t, META_COMMAND);
	const char *attached = moca_trace_meta(t, META_ATTACHED_COMMAND);
	char text[8192];

	if (!command)
		return;
	snprintf(text, sizeof(text), "%s%s%s", command, attached ? ": " : "",
		 attached ? attached : "");
	terminal_wrap("Command       ", text, width);
}

static void print_head(const struct advice_view *v)
{
	const struct moca_profile *p = v->profile;
	char buf[256], a[TEXT_MAX], b[TEXT_MAX + 24];
	int width = terminal_width(TERMINAL_PIPE);

	terminal_wrap("Trace         ", v->path, width);
	print_command(v->trace, width);
	advice_topology(p, buf, sizeof(buf));
	terminal_wrap("Machine       ", buf, width);
	printf("Data          ");
	print_accesses(p);
	printf(" to %s, %" PRIu64 " %s%s, %u thread%s at a time\n",
	       pages_text(b, p, p->data_pages), p->intervals,
	       p->counts ? "slice" : "interval", PLURAL(p->intervals),
	       p->threads, PLURAL(p->threads));
	print_others(p, width);
	print_lost(p, v->trace, width);
	if (p->weighed)
		terminal_wrap("Weighed       ", "intervals differ in length: in shares of accesses each counts as long as its interval is",
			      width);
	if (p->sampled)
		printf("Sampled       a share of 1/%u of large memory in an interval: shares are estimates; sampling alone gives them a standard error of %.1f points at most\n",
		       p->top_weight, ceil(1000 * moca_profile_most_error(p)) / 10);
	if (p->counts) {
		struct moca_certificate cert;

		moca_trace_certificate(v->trace, &cert);
		printf("Exact         loads and stores%s; granules of %s\n",
		       cert.gaps ? ", but not all of them: see the notes" :
				   ", all that were counted",
		       text_size(a, p->counts->granularity));
	}
	print_share("Remote       ", p->remote[MOCA_POLICY_FIRST_TOUCH],
		    p->accesses);
	print_share(p->topology.what_if ? " by first touch; interleaved" :
					  " as recorded; interleaved",
		    p->remote[1], p->accesses);
	print_share("; bound", p->remote[2], p->accesses);
	print_share("; each page at its user", p->remote[3], p->accesses);
	printf("\n");
	if (p->unknown) {
		print_share("Node unknown ", p->unknown, p->accesses);
		printf(" of the accesses, which are taken to be as the others\n");
	}
	if (!p->counts) {
		print_working_set(p);
		print_temperature(p);
	}
	print_rates(v->rates);
}

static void print_lines(const char *lead, char *const *lines, int width)
{
	int i;

	for (i = 0; i < MOCA_FINDING_LINES && lines[i]; i++)
		terminal_wrap(i ? "                " : lead, lines[i], width);
}

/* Each with a mark, as most of them take several lines. */
static void print_evidence(char *const *lines, int width)
{
	int i;

	for (i = 0; i < MOCA_FINDING_LINES && lines[i]; i++)
		terminal_wrap(i ? "                - " : "     Evidence   - ",
			      lines[i], width);
}

static void print_finding(const struct advice_view *v,
			  const struct moca_finding *f, unsigned n, int width)
{
	char lead[32], numbers[256];

	snprintf(lead, sizeof(lead), "%3u. ", n);
	printf("\n");
	terminal_style(STYLE_WARN);
	terminal_wrap(lead, f->title, width);
	terminal_style(STYLE_NONE);
	print_evidence(f->evidence, width);
	terminal_wrap("     Cause      ", f->cause, width);
	terminal_wrap("     Fix        ", f->fix, width);
	print_lines("     Try        ", f->try_, width);
	advice_tried_print(v, f, width);
	if (!isnan(f->seconds)) {
		snprintf(numbers, sizeof(numbers),
			 "%.2f s of CPU time, %.0f %% of it", f->seconds,
			 100 * f->gain);
		terminal_wrap("     Gain       ", numbers, width);
	}
	if (!isnan(f->after)) {
		snprintf(numbers, sizeof(numbers),
			 "%.0f %% of its accesses as it is, %.0f %% with the fix (interleaved %.0f %%, on one node %.0f %%, first touched in parallel %.0f %%)",
			 100 * f->remote[MOCA_POLICY_FIRST_TOUCH],
			 100 * f->after,
			 100 * f->remote[MOCA_POLICY_INTERLEAVE],
			 100 * f->remote[MOCA_POLICY_BIND],
			 100 * f->remote[MOCA_POLICY_PARALLEL_INIT]);
		terminal_wrap("     Remote     ", numbers, width);
	}
	snprintf(numbers, sizeof(numbers), "%s",
		 moca_confidence_name(f->confidence));
	terminal_wrap("     Confidence ", numbers, width);
}

static void print_findings(const struct advice_view *v)
{
	const struct moca_advice *a = v->advice;
	int width = terminal_width(TERMINAL_PIPE);
	char buf[160];
	size_t i;

	terminal_style(STYLE_STRONG);
	printf("\nFindings\n");
	terminal_style(STYLE_NONE);
	for (i = 0; i < a->count; i++)
		print_finding(v, &a->findings[i], (unsigned)i + 1, width);
	if (!a->count) {
		terminal_style(STYLE_GOOD);
		if (a->undecided)
			snprintf(buf, sizeof(buf),
				 "Nothing can be said of %s: see the notes.",
				 a->undecided);
		terminal_wrap("  ", a->undecided ? buf : !v->profile->accesses ?
			      "Nothing can be said: the trace has no access to data." :
			      "None: no rule found anything worth a change.",
			      width);
		terminal_style(STYLE_NONE);
	}
	if (!a->count)
		advice_checks_print(v, width);
	if (!a->note_count)
		return;
	terminal_style(STYLE_STRONG);
	printf("\nNotes\n");
	terminal_style(STYLE_NONE);
	for (i = 0; i < a->note_count; i++)
		terminal_wrap("  - ", a->notes[i], width);
}

static void print_phase(const struct advice_view *v, const struct moca_phase *x)
{
	uint64_t origin = trace_origin(v->trace);
	char what[512] = "", a[TEXT_MAX], lead[64];
	size_t at = 0;
	int i;

	for (i = 0; i < MOCA_PHASE_TOP && x->top[i].object; i++) {
		uint64_t n = x->top[i].reads + x->top[i].writes;
		const char *name = x->top[i].object->object->name;

		/* What has little of it is not what the phase is about. */
		if (10 * n < x->accesses || at >= sizeof(what) - 120)
			continue;
		at += (size_t)snprintf(what + at, sizeof(what) - at,
				       "%s%.60s%s %.0f %% (%.0f %% writes)",
				       at ? ", " : "", name,
				       strlen(name) > 60 ? "..." : "",
				       100. * n / x->accesses,
				       100. * x->top[i].writes / n);
	}
	if (!at)
		snprintf(what, sizeof(what), "%s", x->accesses ? "many" :
			 "none of the data structures with most accesses");
	snprintf(lead, sizeof(lead), "  %8.3f - %8.3f s %10s page%s  ",
		 x->begin_ns > origin ? (x->begin_ns - origin) / 1e9 : 0,
		 x->end_ns > origin ? (x->end_ns - origin) / 1e9 : 0,
		 text_count(a, x->pages), x->pages == 1 ? " " : "s");
	terminal_wrap(lead, what, terminal_width(TERMINAL_PIPE));
}

static void print_phases(const struct advice_view *v)
{
	const struct moca_phases *x = &v->phases;
	size_t i;

	if (!x->count)
		return;
	terminal_style(STYLE_STRONG);
	printf("\nPhases");
	terminal_style(STYLE_DIM);
	printf(" (detail %.3f)\n", x->p);
	terminal_style(STYLE_NONE);
	for (i = 0; i < x->count && i < PHASES_SHOWN; i++)
		print_phase(v, &x->phases[i]);
	if (i < x->count)
		printf("  ... and %zu more: a higher --detail shows fewer, --json all\n",
		       x->count - i);
}

void advice_print(const struct advice_view *v)
{
	print_head(v);
	print_findings(v);
	advice_objects_print(v);
	advice_lines_print(v);
	advice_counts_print(v);
	print_phases(v);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/trace.h"
#include "cli/commands.h"
#include "cli/info-cost.h"
#include "cli/info.h"
#include "cli/open.h"
#include "cli/reduce-job.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"
#include "lib/text/text.h"
#include "report/blind.h"
#include "report/certificate.h"
#include "report/exact.h"
#include "report/nodes.h"
#include "report/refused.h"
#include "report/thinned.h"
#include "report/working-set.h"

#define TOP 10

static const char *meta(const struct info *in, const char *key)
{
	return moca_trace_meta(in->t, key);
}

/* "a, b" from those values that are there. */
static void print_line(const char *title, const char *a, const char *between,
		       const char *b)
{
	if (!a && !b)
		return;
	printf("%-14s", title);
	if (a)
		text_name(stdout, a, 0);
	if (a && b)
		fputs(between, stdout);
	if (b)
		text_name(stdout, b, 0);
	putchar('\n');
}

uint64_t info_duration(const struct info *in)
{
	uint64_t begin = trace_origin(in->t);
	uint64_t last = in->s.end_ns > in->s.events_end_ns ?
				in->s.end_ns : in->s.events_end_ns;
	uint64_t end = trace_meta_u64(in->t, META_END, last);

	if (!begin)
		begin = in->s.begin_ns;
	return end > begin ? end - begin : 0;
}

static const char *start_date(const struct info *in, char *buf, size_t size)
{
	time_t t = trace_meta_u64(in->t, META_START_TIME, 0) / 1000000000;
	struct tm tm;

	if (!t || !localtime_r(&t, &tm) ||
	    !strftime(buf, size, "%Y-%m-%d %H:%M:%S", &tm))
		return NULL;
	return buf;
}

/* How the program ended: the recorder knows, or else its first task tells. */
static void end_status(const struct info *in, char *buf, size_t size)
{
	const struct moca_task *first = moca_trace_task_count(in->t) ?
						moca_trace_task(in->t, 0) :
						NULL;

	if (meta(in, META_EXIT_STATUS))
		trace_end_status(buf, size, in->t);
	else if (in->events_only || meta(in, META_IMPORT))
		*buf = 0;
	else if (first && first->end_ns)
		trace_status(buf, size, first->status);
	else
		snprintf(buf, size, "still running %s", in->truncated ?
				 "when this was written" : "at the end");
}

/* What the module's looks at accessed bits found, and took. */
static void print_heat(const struct info *in)
{
	uint64_t looks = trace_meta_u64(in->t, "heat.looks", 0);
	uint64_t looked = trace_meta_u64(in->t, "heat.looked", 0);
	uint64_t held = trace_meta_u64(in->t, "heat.held", 0);
	uint64_t lost = trace_meta_u64(in->t, "heat.lost", 0);
	char a[TEXT_MAX], b[TEXT_MAX];

	if (!meta(in, "heat.looks"))
		return;
	printf("%-14s%s look%s at accessed bits, every %s asked for", "Heat",
	       text_count(a, looks), PLURAL(looks),
	       text_duration(b, trace_meta_u64(in->t, "heat.period_ns", 0)));
	printf("; %s time%s that a page was touched between two",
	       text_count(a, trace_meta_u64(in->t, "heat.touched", 0)),
	       PLURAL(trace_meta_u64(in->t, "heat.touched", 0)));
	if (looked)
		printf("; %.1f ns a page",
		       (double)trace_meta_u64(in->t, "heat.look_ns", 0) /
			       (double)looked);
	putchar('\n');
	if (held)
		printf("%-14s%s time%s there was no room to tell of 2 MB: the next "
		       "look told, or the sweep\n", "", text_count(a, held),
		       PLURAL(held));
	if (lost)
		printf("%-14s%s time%s a sweep had no room to tell of 2 MB: what was "
		       "touched there since the look before is not known\n", "",
		       text_count(a, lost), PLURAL(lost));
}

static void print_head(const struct info *in, const char *path)
{
	char a[TEXT_MAX], date[64], status[80], samples[TEXT_SAMPLES_MAX];
	uint64_t interval = trace_meta_u64(in->t, META_INTERVAL, 0);
	const char *budget = meta(in, META_BUDGET);
	uint64_t credit;
	double share;
	char *end;

	print_line("Trace", path, "", NULL);
	print_line("Program", meta(in, META_COMMAND), "", NULL);
	print_line("Recorded", start_date(in, date, sizeof(date)), " on ",
		   meta(in, META_HOST));
	print_line("System", meta(in, META_KERNEL), "", NULL);
	if (in->s.nodes.machine || !in->events_only)
		nodes_print_machine(&in->s.nodes);
	end_status(in, status, sizeof(status));
	if (meta(in, META_IMPORT_TIMES))
		printf("%-14snot known: %s tells no times\n", "Ran for",
		       meta(in, META_COLLECTOR));
	else
		printf("%-14s%s%s%s\n", "Ran for",
		       text_duration(a, info_duration(in)),
		       *status ? ", " : "", status);
	printf("%-14s%s", "Collector",
	       meta(in, META_COLLECTOR) ? meta(in, META_COLLECTOR) : "unknown");
	if (meta(in, "kernel.features")) {
		fputs(" (module moca: ", stdout);
		text_name(stdout, meta(in, "kernel.features"), 0);
		putchar(')');
	}
	credit = trace_meta_u64(in->t, META_CREDIT, 0);
	if (interval && (!in->exact || in->cert.records))
		printf(credit ? ", intervals that grow to %s" : ", interval %s",
		       text_duration(a, interval));
	if (in->exact)
		printf(", %s", exact_describe(in->t, (char[160]){ 0 }));
	share = budget ? strtod(budget, &end) : 0;
	if (share > 0 && !*end) {
		printf(", slowdown budget %g %%", 100 * share);
		if (credit)
			printf(" and %g s", credit / 1e9);
	} else if (budget) {
		fputs(", slowdown budget ", stdout);
		text_name(stdout, budget, 0);
	}
	putchar('\n');
	print_heat(in);
	if (!in->exact)
		resolution_print(&in->resolution);
	if (*text_samples(samples, meta(in, META_SAMPLE_LEVELS)))
		printf("%-14s%s: records of these stand for the rest (their "
		       "weight); first touches are all told\n", "Samples",
		       samples);
	print_line("Read or write", meta(in, META_READ_WRITE), "", NULL);
	print_line("Physical", meta(in, META_PHYS), "", NULL);
	if (in->s.rows)
		printf("%-14s%s, %.2f bytes per row of counts\n", "Size",
		       text_size(a, in->s.bytes),
		       (double)in->s.bytes / in->s.rows);
	else if (in->s.records)
		printf("%-14s%s, %.2f bytes per record\n", "Size",
		       text_size(a, in->s.bytes),
		       (double)in->s.bytes / in->s.records);
}

/* Of events, what certificate_print() says of accesses. */
static void print_event_counts(const struct info *in)
{
	const struct moca_info *s = &in->s;
	char a[TEXT_MAX], b[TEXT_MAX];
	struct refused refused;
	/* What threads without a buffer dropped is told once. */
	int tell = refused_read(in->t, &refused) && !s->has_allocations;

	if (!s->kind_count && !s->events_lost && !s->events_torn && !tell &&
	    !in->events_only)
		return;
	if (in->rates && !in->s.kind_count && !in->s.events_lost && !tell)
		return;
	printf("\nEvents: %s, which programs emitted, of %s kind%s.\n",
	       text_count(a, s->events), text_count(b, s->kind_count),
	       PLURAL(s->kind_count));
	if (s->events_lost)
		printf("  Lost: %s event%s, which found no room in a buffer, or whose process runs as another user by now and may not reach the recorder.\n",
		       text_count(a, s->events_lost), PLURAL(s->events_lost));
	else if (!tell && !trace_damaged(&in->damage))
		printf("  No event was lost.\n");
	if (tell)
		refused_print(in->t);
	if (s->events_torn)
		printf("  Torn: %s event%s, whose thread did not come to finish writing.\n",
		       text_count(a, s->events_torn), PLURAL(s->events_torn));
}

static void print_allocations(const struct info *in)
{
	const struct moca_info *s = &in->s;
	char a[TEXT_MAX];

	if (!s->has_allocations)
		return;
	printf("\nAllocations: %s event%s: 'moca objects' says which data structures were used.\n",
	       text_count(a, s->allocations), PLURAL(s->allocations));
	if (s->thin_level)
		thinned_print(s->thin_level, s->thin_min,
			      s->thin_ns - trace_origin(in->t));
	if (s->allocations_lost)
		printf("  Lost: %s event%s, which found no room in a buffer, or whose process runs as another user by now and may not reach the recorder.\n",
		       text_count(a, s->allocations_lost),
		       PLURAL(s->allocations_lost));
	refused_print(in->t);
}

static void print_samples(const struct info *in)
{
	const struct moca_rates *r = in->rates;
	uint64_t cpu = trace_meta_u64(in->t, "cost.program_cpu_ns", 0);
	char a[TEXT_MAX], b[TEXT_MAX];
	double cpus = 0;

	if (!r)
		return;
	printf("\nFaults and CPU: %s minor and %s major page fault%s",
	       text_count(a, r->total.minor), text_count(b, r->total.major),
	       PLURAL(r->total.major));
	if (r->total.cpu_ns)
		printf(", %s of CPU time", text_duration(a, r->total.cpu_ns));
	if (r->end_ns > r->begin_ns)
		printf(" in %s", text_duration(b, r->end_ns - r->begin_ns));
	if (r->end_ns > r->begin_ns)
		cpus = (double)r->total.cpu_ns /
		       (double)(r->end_ns - r->begin_ns);
	/* Of a program that waits nearly all the time it would be 0.00. */
	if (cpus >= 0.005)
		printf(" (%.2f CPUs)", cpus);
	printf(", %" PRIu64 " sample%s.\n", r->rounds, PLURAL(r->rounds));
	/* A short program may end before a second sample, and one has no CPU time. */
	if (!r->total.cpu_ns && cpu)
		printf("  The samples have no CPU time in them; the program used %s in all.\n",
		       text_duration(a, cpu));
	if (r->has_own)
		printf("  %s of the minor faults repeat%s one that a sweep of page tracing undid. The others have those in, too,\n"
		       "  that recording adds otherwise: Moca's library and its buffers in each program, memory moved or copied for tracing.\n",
		       text_count(a, r->total.own),
		       r->total.own == 1 ? "s" : "");
}

static void print_unseen(const struct info *in)
{
	const char *note;
	char a[TEXT_MAX];
	size_t i;
	unsigned n;

	if (!moca_trace_meta_nth(in->t, META_NOTE, 0) && !in->s.gap_count)
		return;
	printf("  What this recording could not see:\n");
	for (n = 0; (note = moca_trace_meta_nth(in->t, META_NOTE, n)); n++) {
		fputs("  - ", stdout);
		text_name(stdout, note, 0);
		putchar('\n');
	}
	for (i = 0; i < in->s.gap_count; i++) {
		fputs("  - ", stdout);
		text_name(stdout, in->s.gaps[i].name, 0);
		if (in->s.gaps[i].events > 1)
			printf(" (%" PRIu64 " times)", in->s.gaps[i].events);
		if (in->s.gaps[i].bytes)
			printf(": %s", text_size(a, in->s.gaps[i].bytes));
		if (in->s.gaps[i].ns)
			printf(", for %.2f s", in->s.gaps[i].ns / 1e9);
		putchar('\n');
	}
}

static void print_working_set(const struct info *in)
{
	if (!in->s.used.most)
		return;
	printf("\nWorking set: distinct pages observed per interval, over time\n  ");
	working_set_bars(&in->s.used);
	printf("\n  ");
	working_set_print(&in->s.used, trace_page_shift(in->t));
	printf(", %zu interval%s%s\n", in->s.interval_count,
	       PLURAL(in->s.interval_count),
	       moca_trace_top_weight(in->t) != 1 ? ", estimated from samples" :
						   "");
}

static void print_counts(const struct info *in, const struct moca_info_counts *n)
{
	char a[TEXT_MAX], p[TEXT_MAX];

	printf("%12s", text_count(a, n->pages));
	if (in->s.rows) {
		printf(" %20s", text_count(a, n->reads));
		printf(" %20s", text_count(a, n->writes));
		return;
	}
	printf(" %12s", text_count(a, n->reads));
	printf(" %12s", text_count(a, n->writes));
	printf(" %10s", text_count(a, n->unknown));
	printf(" %9s", text_percent(p, n->kernel, n->accesses));
}

static void print_heading(const struct info *in, const char *title,
			  const char *left)
{
	printf("\n%s\n  %-26s%12s ", title, left, "pages");
	if (in->s.rows)
		printf("%20s %20s\n", "loads", "stores");
	else
		printf("%12s %12s %10s %9s\n", "reads", "writes", "unknown",
		       "in kernel");
}

static void pad(int written, int width)
{
	printf("%*s", written < width ? width - written : 1, "");
}

static void print_more(size_t left, const char *what)
{
	if (left)
		printf("  ... and %zu more %s%s: --all shows all\n", left, what,
		       PLURAL(left));
}

static void print_seconds(const struct info *in, uint64_t time_ns)
{
	uint64_t origin = trace_origin(in->t);
	uint64_t ns = time_ns > origin ? time_ns - origin : 0;

	printf(" %9" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

static void print_kinds(const struct info *in)
{
	size_t i, n = in->s.kind_count;
	char a[TEXT_MAX];

	if (!n)
		return;
	printf("\nEvents by kind, most first\n  %-38s%12s %19s %19s\n", "kind",
	       "events", "first (s)", "last (s)");
	for (i = 0; i < n && (in->all || i < TOP); i++) {
		const struct moca_info_kind *k = &in->s.kinds[i];

		pad(printf("  %s:%s", k->type->facility, k->type->name), 40);
		printf("%12s", text_count(a, k->count));
		if (k->count) {
			print_seconds(in, k->first_ns);
			print_seconds(in, k->last_ns);
		}
		putchar('\n');
	}
	print_more(n - i, "kind");
}

/* Indices of tasks. */
static int by_events(const void *a, const void *b, void *info)
{
	const struct info *in = info;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;
	uint64_t x = moca_info_events(&in->s, in->t, i);
	uint64_t y = moca_info_events(&in->s, in->t, j);

	if (x != y)
		return x > y ? -1 : 1;
	return i < j ? -1 : i > j;
}

static int print_event_tasks(const struct info *in)
{
	size_t i, n = 0, shown, *tasks;
	const struct moca_task *t;
	char a[TEXT_MAX];
	int w;

	tasks = calloc(in->s.task_count + 1, sizeof(*tasks));
	if (!tasks)
		return -ENOMEM;
	for (i = 0; i < in->s.task_count; i++) {
		t = moca_trace_task(in->t, i);
		if (moca_info_events(&in->s, in->t, i) ||
		    moca_info_events_lost(&in->s, in->t, i) ||
		    t->events_torn)
			tasks[n++] = i;
	}
	qsort_r(tasks, n, sizeof(*tasks), by_events, (void *)in);
	shown = in->all || n < TOP ? n : TOP;
	if (n)
		printf("\nEvents by task (thread), most first\n  %-26s%12s %12s %12s\n",
		       "task  tid      name", "events", "lost", "torn");
	for (i = 0; i < shown; i++) {
		t = moca_trace_task(in->t, tasks[i]);
		w = printf("  %-5" PRIu32 " %-8" PRIu32 " ", t->id, t->tid);
		w += text_name(stdout, t->name, 28 - w);
		pad(w, 28);
		printf("%12s", text_count(a, moca_info_events(&in->s, in->t,
							     tasks[i])));
		printf(" %12s", text_count(a, moca_info_events_lost(
						      &in->s, in->t,
						      tasks[i])));
		printf(" %12s\n", text_count(a, t->events_torn));
	}
	print_more(n - shown, "task");
	free(tasks);
	return 0;
}

static int by_pages(const void *a, const void *b, void *tasks)
{
	size_t i = *(const size_t *)a, j = *(const size_t *)b;
	const struct moca_info_counts *n = tasks;

	if (n[i].pages != n[j].pages)
		return n[i].pages > n[j].pages ? -1 : 1;
	return i < j ? -1 : i > j;
}

/* The tasks with the most pages, in order of their numbers. */
static int print_tasks(const struct info *in)
{
	size_t n = in->s.task_count, i, shown = 0, *order;
	char *top;

	order = calloc(n + 1, sizeof(*order));
	top = calloc(n + 1, 1);
	if (!order || !top) {
		free(order);
		free(top);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), by_pages, in->s.tasks);
	for (i = 0; i < n && (in->all || i < TOP); i++)
		top[order[i]] = 1;
	print_heading(in, "By task (thread)", "task  tid      name");
	for (i = 0; i < n; i++) {
		const struct moca_task *t = moca_trace_task(in->t, i);
		int w;

		if (!top[i])
			continue;
		w = printf("  %-5" PRIu32 " %-8" PRIu32 " ", t->id, t->tid);
		w += text_name(stdout, t->name, 28 - w);
		pad(w, 28);
		print_counts(in, &in->s.tasks[i]);
		putchar('\n');
		shown++;
	}
	print_more(n - shown, "task");
	free(order);
	free(top);
	return 0;
}

static const char *mapping_name(const struct moca_info_mapping *m)
{
	if (m->of && m->memory == MOCA_MEMORY_ANONYMOUS)
		return "[anonymous, shared]";
	return *m->name ? m->name : "[anonymous]";
}

static void print_mappings(const struct info *in)
{
	size_t i, n = in->s.mapping_count, shown = 0;
	char a[TEXT_MAX], b[TEXT_MAX];

	print_heading(in, "By mapping, largest first", "mapping");
	for (i = 0; i < n; i++) {
		const struct moca_info_mapping *m = &in->s.mappings[i];
		int w;

		if (!in->all && (i >= TOP || !m->n.accesses))
			break;
		fputs("  ", stdout);
		w = text_name(stdout, mapping_name(m), 25);
		pad(w, 26);
		print_counts(in, &m->n);
		if (m->processes > 1) {
			printf("  %" PRIu32 " processes\n", m->processes);
		} else {
			printf("  %" PRIu32 " ", m->pid);
			text_name(stdout, trace_process_name(in->t, m->pid), 0);
			putchar('\n');
		}
		shown++;
	}
	print_more(n - shown, "mapping");
	if (n > 1) {
		printf("  %-24s", "all");
		print_counts(in, &in->s.total);
		putchar('\n');
	}
	if (in->s.own.pages)
		printf("  Not counted: %s access%s to %s page%s of Moca's own in the program%s.\n",
		       text_count(a, in->s.own.accesses),
		       in->s.own.accesses == 1 ? "" : "es",
		       text_count(b, in->s.own.pages), PLURAL(in->s.own.pages),
		       in->s.task_count > 1 ? " and its children" : "");
}

static int print_text(const struct info *in, const char *path)
{
	int err = 0;

	print_head(in, path);
	certificate_print_damage(in->t);
	if (in->exact)
		certificate_print_exact(in->t);
	if (in->events_only)
		print_event_counts(in);
	else if (!in->exact || in->cert.records)
		certificate_print(in->t);
	certificate_print_state(in->t);
	print_unseen(in);
	info_cost_print(in->t);
	if (!in->events_only) {
		print_working_set(in);
		print_mappings(in);
		err = print_tasks(in);
		nodes_print(&in->s.nodes, in->t, in->all);
		print_allocations(in);
		print_event_counts(in);
	}
	print_samples(in);
	print_kinds(in);
	return err ? err : print_event_tasks(in);
}

static int show(struct info *in, const char *path, int as_json)
{
	int err = moca_info_compute(&in->s, in->t);

	if (!err)
		err = resolution_of(&in->resolution, &in->s);
	in->resolution.all = trace_meta_u64(in->t, "intervals", 0);
	if (!err)
		err = moca_rates_compute(&in->rates, in->t, 1);
	if (err) {
		moca_error("info: cannot read the trace '%s': %s", path,
			   strerror(-err));
		return 1;
	}
	moca_trace_certificate(in->t, &in->cert);
	moca_trace_damage(in->t, &in->damage);
	in->truncated = moca_trace_truncated(in->t);
	in->exact = exact_has_counts(in->t);
	in->events_only = !in->exact && trace_events_only(in->t);
	if (as_json)
		info_json(in, path);
	else
		err = print_text(in, path);
	moca_info_free(&in->s);
	moca_rates_free(in->rates);
	if (err)
		moca_error("info: out of memory");
	return err ? 1 : trace_warn_damage("info", in->t, path);
}

int cmd_info(int argc, char **argv)
{
	struct info in = { 0 };
	int json = 0, first, ret;
	const struct option_spec specs[] = {
		OPT_FLAG(0, "json", &json, "print JSON for programs, with everything in it"),
		OPT_FLAG(0, "all", &in.all, "show all tasks and mappings, not the largest ones only"),
		OPT_END
	};
	const char *path;

	first = moca_options_parse_mixed(specs, argc, argv,
		"moca info [OPTIONS] DIR",
		"Summarise a trace: what ran, how complete the recording is, which pages were used by which task and mapping, and which events programs emitted, and when. Of a job of many ranks: rank by rank.");
	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	path = trace_operand(argc, argv, first);
	if (!path)
		return EXIT_USAGE;
	if (reduce_is_job(path))
		return reduce_show(&(struct reduce_options){ .command = "info" },
				   &(struct reduce_shown){
					   .path = path, .json = json,
					   .all = in.all, .print = REDUCE_INFO });
	in.t = trace_open("info", path);
	if (!in.t)
		return EXIT_USAGE;
	ret = show(&in, path, json);
	moca_trace_close(in.t);
	return ret;
}

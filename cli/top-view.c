// SPDX-License-Identifier: GPL-2.0-or-later
/* One picture of `moca top`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"
#include "cli/top.h"
#include "lib/text/terminal.h"
#include "lib/text/text.h"

#define NAME_MIN 20
#define FIXED 56	/* columns of the figures of a row */
#define THREADS_SHOWN 6
#define IDLE 1000		/* less than one part of so many of a CPU */

static const char *const sort_names[TOP_SORTS] = { "accesses", "reads",
						    "writes", "pages" };

struct out {
	const struct top_view *s;
	int lines;
};

/* Ends a line, and what the last picture had behind it. */
static void end_line(struct out *o)
{
	fputs(o->s->is_tty ? "\033[K\n" : "\n", stdout);
	o->lines++;
}

static void print_head(struct out *o, const struct top_window *w)
{
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX];

	terminal_style(STYLE_STRONG);
	fputs("moca top  ", stdout);
	text_name(stdout, o->s->what, o->s->columns / 3);
	terminal_style(STYLE_NONE);
	printf("  %s since the start; the last %s: %s interval%s",
	       text_duration(a, w->end_ns - w->start_ns),
	       text_duration(b, w->end_ns - w->begin_ns),
	       text_count(c, w->intervals), w->intervals == 1 ? "" : "s");
	if (w->sampled)
		fputs(", of samples", stdout);
	if (o->s->paused)
		fputs("  PAUSED", stdout);
	else if (o->s->delay_ns > o->s->wanted_ns + o->s->wanted_ns / 2)
		printf("  a picture each %s: reading takes long",
		       text_duration(a, o->s->delay_ns));
	end_line(o);
}

static void print_sums(struct out *o, const struct top_window *w)
{
	const struct moca_certificate *c = &w->certificate;
	double seconds = (double)w->rates_ns / 1e9;
	char a[TEXT_MAX], b[TEXT_MAX], d[TEXT_MAX];

	if (w->rates_ns) {
		printf("CPUs %.2f  faults/s %s minor", (double)w->cpu_ns /
		       (double)w->rates_ns,
		       text_count(a, (uint64_t)((double)(w->minor - w->own) /
						seconds)));
		if (w->own)
			printf(" and %s by recording",
			       text_count(a, (uint64_t)((double)w->own /
							seconds)));
		printf(", %s major  ",
		       text_count(a, (uint64_t)((double)w->major / seconds)));
	}
	printf("working set %s", text_size(a, w->pages << w->page_shift));
	if (c->pages_touched && w->certified_ns)
		printf("  pages seen %s of %s, %s after the start",
		       text_count(a, c->pages_seen),
		       text_count(b, c->pages_touched),
		       text_duration(d, w->certified_ns > w->start_ns ?
					w->certified_ns - w->start_ns : 0));
	if (w->lost)
		printf("  %s samples LOST", text_count(a, w->lost));
	end_line(o);
}

/* What is no longer, or not, in the picture, and why. */
static void print_trouble(struct out *o, const struct top_window *w)
{
	const char *loss = NULL, *next;
	unsigned n = 0;

	while ((next = moca_trace_meta_nth(w->v.trace, META_LOSS, n++)))
		loss = next;
	if (loss) {
		fputs("NOT SHOWN: ", stdout);
		text_name(stdout, loss, 0);
		end_line(o);
	}
	if (*o->s->said) {
		text_name(stdout, o->s->said, 0);
		end_line(o);
	}
}

static void print_nodes(struct out *o, const struct top_window *w)
{
	uint64_t all = w->node_unknown;
	char a[TEXT_MAX];
	int known = 0, i;

	for (i = 0; i < MOCA_OBJECT_NODES; i++) {
		all += w->nodes[i];
		known += w->nodes[i] != 0;
	}
	if (known < 2)
		return;
	fputs("accesses by node:", stdout);
	for (i = 0; i < MOCA_OBJECT_NODES; i++)
		if (w->nodes[i])
			printf("  %d %s", i, text_percent(a, w->nodes[i], all));
	if (w->node_unknown)
		printf("  not known %s",
		       text_percent(a, w->node_unknown, all));
	end_line(o);
}

static void print_thread_name(const struct top_window *w, uint32_t id, int width)
{
	const struct moca_task *t = objects_task(&w->v, id);

	printf("#%" PRIu32 " ", id);
	text_name(stdout, t && t->name ? t->name : "", width);
}

static void print_threads(struct out *o, const struct top_window *w)
{
	uint64_t all = 0;
	size_t i, used = 0;
	char a[TEXT_MAX];

	for (i = 0; i < w->task_count; i++) {
		all += w->tasks[i].accesses;
		used += w->tasks[i].accesses != 0;
	}
	printf("threads %zu:", used);
	for (i = 0; i < used && i < THREADS_SHOWN; i++) {
		fputs("  ", stdout);
		print_thread_name(w, w->tasks[i].task, 15);
		printf(" %s", text_percent(a, w->tasks[i].accesses, all));
	}
	if (used > THREADS_SHOWN)
		fputs("  ...", stdout);
	end_line(o);
}

static void print_row(struct out *o, const struct top_window *w, size_t i)
{
	const struct moca_object *r = w->v.rows[i];
	char a[TEXT_MAX], sharing[OBJECTS_SHARING_LEN];
	int width = o->s->columns - FIXED, is_selected;

	is_selected = o->s->is_tty && i == o->s->selected;
	if (is_selected)
		fputs("\033[7m", stdout);
	printf("%9s", text_percent(a, r->accesses, w->v.totals.accesses));
	printf("%9s", r->reads + r->writes ?
		       text_percent(a, r->writes, r->reads + r->writes) : "-");
	printf("%11s", text_size(a, r->pages << w->page_shift));
	printf("%5" PRIu32 "  %-17.17s ", r->threads,
	       objects_sharing(r, sharing, sizeof(sharing)));
	if (*r->site && width > 2 * NAME_MIN) {
		terminal_name(r->name, width * 2 / 5);
		fputc(' ', stdout);
		terminal_name(r->site, width - width * 2 / 5 - 1);
	} else {
		terminal_name(r->name, width > NAME_MIN ? width : NAME_MIN);
	}
	if (is_selected)
		fputs("\033[0m", stdout);
	end_line(o);
}

static void print_toucher(struct out *o, const struct top_window *w,
			  const struct objects_toucher *t)
{
	char a[TEXT_MAX], b[TEXT_MAX];

	printf("        %12s reads %12s writes  ", text_count(a, t->reads),
	       text_count(b, t->writes));
	if (t->task) {
		print_thread_name(w, t->task->id, 30);
	} else if (t->function) {
		text_name(stdout, t->function, 40);
		if (t->file) {
			fputs("  ", stdout);
			text_name(stdout, t->file, 40);
			printf(":%u", t->line);
		}
	} else {
		fputs("code without a name", stdout);
	}
	end_line(o);
}

static void print_touchers(struct out *o, const struct top_window *w)
{
	size_t i;

	for (i = 0; i < w->thread_count && i < THREADS_SHOWN; i++)
		print_toucher(o, w, &w->threads[i]);
	for (i = 0; i < w->line_count && i < THREADS_SHOWN; i++)
		print_toucher(o, w, &w->lines[i]);
	if (!w->thread_count && !w->line_count) {
		fputs("        not touched in this time", stdout);
		end_line(o);
	}
}

/* A window without an access is wider, up to all that was recorded. */
static void print_nothing(struct out *o, const struct top_window *w)
{
	char a[TEXT_MAX];

	printf("  no access has a record yet, %s after the start: ",
	       text_duration(a, w->end_ns - w->start_ns));
	if (w->rates_ns && w->cpu_ns < w->rates_ns / IDLE)
		fputs("its threads wait", stdout);
	else
		fputs("what it touches again shows after the next sweep",
		      stdout);
	end_line(o);
}

static void print_rows(struct out *o, const struct top_window *w)
{
	size_t first = 0, room, i;
	int opened;

	terminal_style(STYLE_DIM);
	printf("%9s%9s%11s%5s  %-17s structure, by %s", "accesses", "writes",
	       "used", "thr.", "sharing", sort_names[o->s->sort]);
	terminal_style(STYLE_NONE);
	end_line(o);
	opened = o->s->open ? (int)(w->thread_count < THREADS_SHOWN ?
				    w->thread_count : THREADS_SHOWN) +
			      (int)(w->line_count < THREADS_SHOWN ?
				    w->line_count : THREADS_SHOWN) + 1 : 0;
	room = o->s->rows > o->lines + opened + 2 ?
		       (size_t)(o->s->rows - o->lines - opened - 2) : 1;
	if (o->s->selected >= room)
		first = o->s->selected - room + 1;
	for (i = first; i < w->v.count && i < first + room; i++) {
		print_row(o, w, i);
		if (o->s->open && !strcmp(o->s->open, w->v.rows[i]->name) &&
		    (!i || strcmp(w->v.rows[i - 1]->name, o->s->open)))
			print_touchers(o, w);
	}
	if (!w->v.count)
		print_nothing(o, w);
}

void top_view_show(struct top_view *s, const struct top_window *w)
{
	struct out o = { s, 0 };

	if (s->selected >= w->v.count)
		s->selected = w->v.count ? w->v.count - 1 : 0;
	if (s->is_tty)
		fputs("\033[H", stdout);
	print_head(&o, w);
	print_sums(&o, w);
	print_trouble(&o, w);
	print_nodes(&o, w);
	print_threads(&o, w);
	print_rows(&o, w);
	if (s->is_tty) {
		fputs("\033[J", stdout);
		printf("\033[%d;1H", s->rows);
		terminal_style(STYLE_DIM);
		fputs("q quit  space pause  s sort  up, down, Enter open  + - pace",
		      stdout);
		terminal_style(STYLE_NONE);
	} else {
		fputc('\n', stdout);
	}
	fflush(stdout);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* `moca rate` on the terminal: a picture, or plain lines when it is none. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "cli/rate.h"
#include "lib/text/text.h"

#define LINE_NS 1000000000ull	/* between plain lines */
#define PICTURE_NS 250000000ull
#define LABEL 34		/* columns beside a sparkline */
#define TASKS_MAX 1000u
#define UNPLACED_NS 100000000ull

static void size_of(FILE *f, int *columns, int *rows)
{
	struct winsize w;
	const char *s = getenv("COLUMNS");

	*columns = *rows = 0;
	if (!ioctl(fileno(f), TIOCGWINSZ, &w)) {
		*columns = w.ws_col;
		*rows = w.ws_row;
	}
	if (!*columns)
		*columns = s && atoi(s) > 0 ? atoi(s) : 80;
	if (!*rows)
		*rows = 24;
}

static double per_second(uint64_t n, uint64_t ns)
{
	return ns ? (double)n * 1e9 / (double)ns : 0;
}

static const char *rate_text(char buf[TEXT_MAX], double rate)
{
	/* What happens rarely is not nothing. */
	if (rate > 0 && rate < 9.95)
		snprintf(buf, TEXT_MAX, "%.1f", rate);
	else
		text_count(buf, (uint64_t)(rate + 0.5));
	return buf;
}

static int by_shown(const void *a, const void *b)
{
	const struct rate_task *x = *(const struct rate_task *const *)a;
	const struct rate_task *y = *(const struct rate_task *const *)b;

	if (x->shown.cpu_ns != y->shown.cpu_ns)
		return x->shown.cpu_ns > y->shown.cpu_ns ? -1 : 1;
	return x->shown.minor > y->shown.minor ? -1 :
	       x->shown.minor < y->shown.minor;
}

/* Those that did something, most first. The array is the caller's. */
static struct rate_task **busy(struct rate_view *v, size_t *count)
{
	struct rate_task **list = calloc(v->count + 1, sizeof(*list));
	size_t i, n = 0;

	for (i = 0; list && i < v->count; i++)
		if (v->tasks[i].shown.minor | v->tasks[i].shown.major |
		    v->tasks[i].shown.cpu_ns)
			list[n++] = &v->tasks[i];
	if (list)
		qsort(list, n, sizeof(*list), by_shown);
	*count = n;
	return list;
}

static void print_task(const struct rate_view *v, const struct rate_task *t,
		       uint64_t ns, int columns)
{
	char a[TEXT_MAX], b[TEXT_MAX], name[64], tid[TEXT_MAX] = "process";

	rate_task_name(name, sizeof(name), t);
	if (t->tid == MOCA_RATE_REAPED)
		strcpy(tid, "ended");
	else if (t->tid != MOCA_RATE_PROCESS)
		snprintf(tid, sizeof(tid), "%" PRIu32, t->tid);
	fprintf(v->live, "  %8d %8s %12s %10s %7.3f  ", t->pid, tid,
		rate_text(a, per_second(t->shown.minor, ns)),
		rate_text(b, per_second(t->shown.major, ns)),
		ns ? (double)t->shown.cpu_ns / (double)ns : 0);
	text_name(v->live, name, columns > 70 ? columns - 56 : 14);
	fputc('\n', v->live);
}

static void print_tasks(struct rate_view *v, uint64_t ns, int columns,
			size_t max)
{
	struct rate_task **list;
	size_t n, i;

	list = busy(v, &n);
	for (i = 0; list && i < n && i < max; i++) {
		if (v->is_tty)
			fputs("\033[K", v->live);
		print_task(v, list[i], ns, columns);
	}
	v->lines += (int)i;
	free(list);
}

/* --- a picture ----------------------------------------------------------- */

static void spark(FILE *f, const struct rate_view *v, int what, int width)
{
	static const char *const bars[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆",
					    "▇", "█" };
	size_t n = v->history_count, first, i;
	double max = 0, x;

	if (width > (int)RATE_HISTORY)
		width = RATE_HISTORY;
	first = n > (size_t)width ? n - (size_t)width : 0;
#define VALUE(i) (what == 0 ? v->history[i].minor : \
		  what == 1 ? v->history[i].major : v->history[i].cpu)
	for (i = first; i < n; i++)
		max = VALUE(i) > max ? VALUE(i) : max;
	for (i = first; i < n; i++) {
		x = max > 0 ? VALUE(i) / max : 0;
		/* What is not nothing shows. */
		fputs(bars[x > 0 ? 1 + (int)(x * 7 + 0.5) : 0], f);
	}
#undef VALUE
}

static void remember(struct rate_view *v, uint64_t ns)
{
	if (v->history_count == RATE_HISTORY)
		memmove(v->history, v->history + 1,
			--v->history_count * sizeof(*v->history));
	v->history[v->history_count].minor = per_second(v->shown.minor, ns);
	v->history[v->history_count].major = per_second(v->shown.major, ns);
	v->history[v->history_count++].cpu =
		ns ? (double)v->shown.cpu_ns / (double)ns : 0;
}

static void picture(struct rate_view *v, uint64_t ns)
{
	static const char *const names[] = { "minor faults/s",
					     "major faults/s", "CPUs in use" };
	int columns, rows, i;
	char a[TEXT_MAX];
	double now[3];

	remember(v, ns);
	now[0] = v->history[v->history_count - 1].minor;
	now[1] = v->history[v->history_count - 1].major;
	now[2] = v->history[v->history_count - 1].cpu;
	size_of(v->live, &columns, &rows);
	if (v->lines)
		fprintf(v->live, "\033[%dA", v->lines);
	v->lines = 3;
	for (i = 0; i < 3; i++) {
		if (i == 2)
			snprintf(a, sizeof(a), "%.2f", now[2]);
		else
			rate_text(a, now[i]);
		fprintf(v->live, "\033[K%-14s %13s  ", names[i], a);
		spark(v->live, v, i, columns - LABEL);
		fputc('\n', v->live);
	}
	if (v->per_task && rows > 6)
		print_tasks(v, ns, columns, (size_t)rows - 5);
	/* What the last picture had below. */
	fputs("\033[J", v->live);
}

/* --- lines --------------------------------------------------------------- */

static void line(struct rate_view *v, uint64_t ns)
{
	char a[TEXT_MAX], b[TEXT_MAX];

	fprintf(v->live, "%9.3f s  minor/s %12s  major/s %10s  CPUs %6.3f  "
		"processes %" PRIu32 "  threads %" PRIu32 "\n",
		(double)(v->tick.ns - v->begin_ns) / 1e9,
		rate_text(a, per_second(v->shown.minor, ns)),
		rate_text(b, per_second(v->shown.major, ns)),
		ns ? (double)v->shown.cpu_ns / (double)ns : 0,
		v->tick.processes, v->tick.tasks);
	if (v->per_task)
		print_tasks(v, ns, 80, TASKS_MAX);
}

void rate_live(struct rate_view *v, int last)
{
	uint64_t ns = v->tick.ns - v->shown_ns;
	size_t i;

	if (!v->live || !ns ||
	    (!last && ns < (v->is_tty ? PICTURE_NS : LINE_NS)))
		return;
	/* What is left over is in the sum below. */
	if (last && ns < LINE_NS / 10 && v->shown_ns != v->begin_ns)
		return;
	if (v->is_tty)
		picture(v, ns);
	else
		line(v, ns);
	fflush(v->live);
	v->shown_ns = v->tick.ns;
	memset(&v->shown, 0, sizeof(v->shown));
	for (i = 0; i < v->count; i++)
		memset(&v->tasks[i].shown, 0, sizeof(v->tasks[i].shown));
}

void rate_view_finish(struct rate_view *v)
{
	uint64_t ns = v->ticks ? v->tick.ns - v->begin_ns : 0;
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], d[TEXT_MAX];

	rate_live(v, 1);
	if (!v->live)
		return;
	fprintf(v->live, "moca: %s minor and %s major faults, %s of CPU time in %s (%.3f CPUs)\n",
		text_count(a, v->total.minor), text_count(b, v->total.major),
		text_duration(c, v->total.cpu_ns), text_duration(d, ns),
		ns ? (double)v->total.cpu_ns / (double)ns : 0);
	/* Ticks round: what is below is no news. */
	if (v->tick.unplaced_ns >= UNPLACED_NS)
		fprintf(v->live, "moca: %s of CPU time more, of children that ended and were not seen while they ran, is in no sample: it may be from before\n",
			text_duration(c, v->tick.unplaced_ns));
	fflush(v->live);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cache lines that threads share, line by line and thread by thread: of records
 * of pages by samples, of exact mode by counts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counts/counts.h"
#include "analysis/profile/where.h"
#include "lib/text/json.h"
#include "lib/text/terminal.h"
#include "lib/text/text.h"
#include "report/advice.h"

#define TOP_LINES 8
#define TOP_USERS 6
#define JSON_LINES 200
/* A thread that came so rarely may have come by chance. */
#define SEEN_MIN 2
#define WHAT 30			/* columns */
#define NAME 200

/* --- samples -------------------------------------------------------------- */

struct sampled {
	size_t first, count;	/* of users */
	uint64_t seen;
};

static int by_seen(const void *a, const void *b)
{
	const struct sampled *x = a, *y = b;

	if (x->seen != y->seen)
		return x->seen > y->seen ? -1 : 1;
	return x->first < y->first ? -1 : 1;
}

static const struct moca_object *row(const struct advice_view *v, uint32_t id)
{
	size_t n;
	const struct moca_object *rows;

	rows = moca_objects_rows(v->profile->objects, &n);
	return id < n ? &rows[id] : NULL;
}

static int is_data(const struct advice_view *v,
		   const struct moca_line_user *u)
{
	const struct moca_object *o = row(v, u->key);

	return o && (o->kind == MOCA_OBJECT_HEAP ||
		     o->kind == MOCA_OBJECT_SMALL ||
		     o->kind == MOCA_OBJECT_STATIC ||
		     o->kind == MOCA_OBJECT_ANONYMOUS ||
		     o->kind == MOCA_OBJECT_STACK);
}

/* The lines to tell, most seen first. NULL: no memory. */
static struct sampled *sampled_lines(const struct advice_view *v, size_t *count)
{
	const struct moca_lines *l = &v->profile->lines;
	struct sampled *s = malloc((l->count + 1) * sizeof(*s)), x;
	size_t i, k, several;

	*count = 0;
	for (i = 0; s && i < l->count; i += x.count) {
		x = (struct sampled){ .first = i,
				      .count = moca_line_users(l, i) };
		for (several = 0, k = i; k < i + x.count; k++) {
			x.seen += l->users[k].reads + l->users[k].writes;
			several += l->users[k].reads + l->users[k].writes >=
				   SEEN_MIN;
		}
		if (several > 1 && is_data(v, &l->users[i]))
			s[(*count)++] = x;
	}
	if (s)
		qsort(s, *count, sizeof(*s), by_seen);
	return s;
}

/* The first byte that it writes, or reads. */
static unsigned first_byte(const struct moca_line_user *u)
{
	return (unsigned)__builtin_ctzll(u->write_bytes ? u->write_bytes :
							  u->read_bytes);
}

static const char *what(const struct advice_view *v,
			const struct moca_line_user *u, char *buf, size_t len)
{
	const struct moca_object *o = row(v, u->key);

	if (!o)
		return "";
	return moca_where_byte(o, u->line * MOCA_LINE + first_byte(u), buf,
			       len);
}

static void print_heading(const char *title, const char *reads,
			  const char *writes, const char *where)
{
	terminal_style(STYLE_STRONG);
	printf("\n%s\n", title);
	terminal_style(STYLE_DIM);
	printf("  %-16s %-17s %12s %12s  %s\n", "line", "thread", reads, writes,
	       where);
	terminal_style(STYLE_NONE);
}

static const char *task_name(const struct advice_view *v, uint32_t id)
{
	size_t i, n = moca_trace_task_count(v->trace);

	for (i = 0; i < n; i++)
		if (moca_trace_task(v->trace, i)->id == id)
			return moca_trace_task(v->trace, i)->name;
	return "";
}

static void print_task(const struct advice_view *v, uint32_t id)
{
	char number[16];
	int n = snprintf(number, sizeof(number), "#%" PRIu32, id);

	printf(" %s ", number);
	terminal_name(task_name(v, id), 16 - n > 8 ? 16 - n : 8);
}

static void print_sampled_user(const struct advice_view *v,
			       const struct moca_line_user *u)
{
	char name[NAME], where[NAME];

	print_task(v, u->task);
	printf(" %12" PRIu32 " %12" PRIu32 "  ", u->reads, u->writes);
	terminal_name(what(v, u, name, sizeof(name)), WHAT);
	moca_where_code_text(v->profile, v->trace, u->task, u->ip, u->ip_ns,
			     where, sizeof(where));
	putchar(' ');
	text_name(stdout, where, 48);
	putchar('\n');
}

static void print_sampled(const struct advice_view *v)
{
	const struct moca_lines *l = &v->profile->lines;
	size_t i, k, n;
	struct sampled *s = sampled_lines(v, &n);

	if (s && n)
		print_heading("Cache lines that several threads use: how often each was seen to come first",
			      "reads", "writes",
			      "first byte that it uses        where");
	for (i = 0; s && i < n && (v->all || i < TOP_LINES); i++)
		for (k = 0; k < s[i].count && (v->all || k < TOP_USERS); k++) {
			if (k)
				printf("  %16s", "");
			else
				printf("  0x%014" PRIx64,
				       l->users[s[i].first].line * MOCA_LINE);
			print_sampled_user(v, &l->users[s[i].first + k]);
		}
	if (s && i < n)
		printf("  ... and %zu more: --all lists them\n", n - i);
	if (l->left_out)
		printf("  %" PRIu64 " accesses to further such lines are not counted: there are too many.\n",
		       l->left_out);
	free(s);
}

static void json_sampled_user(struct json *j, const struct advice_view *v,
			      const struct moca_line_user *u)
{
	struct moca_location at = { 0 };
	const char *path;
	char name[NAME];
	uint64_t bytes = u->read_bytes | u->write_bytes;
	unsigned b;

	moca_where_code(v->profile, v->trace, u->task, u->ip, u->ip_ns, &at,
			&path);
	json_open(j, NULL, '{');
	json_uint(j, "task", u->task);
	json_uint(j, "object", u->key);
	json_uint(j, "reads", u->reads);
	json_uint(j, "writes", u->writes);
	json_string(j, "what", what(v, u, name, sizeof(name)));
	json_open(j, "bytes", '[');
	for (b = 0; b < MOCA_LINE; b++)
		if (bytes >> b & 1)
			json_uint(j, NULL, b);
	json_close(j, ']');
	json_string(j, "function", at.function);
	json_string(j, "file", at.file);
	json_uint(j, "line", at.line);
	json_close(j, '}');
}

void advice_lines_json(struct json *j, const struct advice_view *v)
{
	const struct moca_lines *l = &v->profile->lines;
	char address[TEXT_MAX];
	size_t i, k, n;
	struct sampled *s = sampled_lines(v, &n);

	json_open(j, "lines_sampled", '[');
	for (i = 0; s && i < n && (v->all || i < JSON_LINES); i++) {
		json_open(j, NULL, '{');
		snprintf(address, sizeof(address), "0x%" PRIx64,
			 l->users[s[i].first].line * MOCA_LINE);
		json_string(j, "address", address);
		json_uint(j, "seen", s[i].seen);
		json_open(j, "users", '[');
		for (k = 0; k < s[i].count; k++)
			json_sampled_user(j, v, &l->users[s[i].first + k]);
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
	free(s);
}

/* --- counts --------------------------------------------------------------- */

static int by_accesses(const void *a, const void *b)
{
	const struct moca_counts_line *x =
		*(const struct moca_counts_line *const *)a;
	const struct moca_counts_line *y =
		*(const struct moca_counts_line *const *)b;
	uint64_t i = x->loads + x->stores, j = y->loads + y->stores;

	if (x->contended != y->contended)
		return x->contended > y->contended ? -1 : 1;
	if (i != j)
		return i > j ? -1 : 1;
	return x->granule < y->granule ? -1 : x->granule > y->granule;
}

/* Used by several, written, and with some part of all. */
static int is_shared(const struct advice_view *v,
		     const struct moca_counts_line *l)
{
	return l->only == MOCA_COUNTS_MANY && l->contended &&
	       (v->all || 1000 * (l->loads + l->stores) >=
				  v->profile->accesses);
}

static void print_counted_line(const struct advice_view *v,
			       const struct moca_counts_line *l)
{
	const struct moca_counts_table *t = v->profile->counts;
	const struct moca_object *o = row(v, l->object);
	char name[NAME], a[TEXT_MAX];
	const struct moca_counts_user *u;
	uint64_t addr = l->granule * t->granularity;
	unsigned apart;
	size_t i, n;

	u = moca_counts_users(t, l, &n);
	for (i = 0; i < n && (v->all || i < TOP_USERS); i++) {
		if (i)
			printf("  %16s", "");
		else
			printf("  0x%014" PRIx64, addr);
		print_task(v, u[i].task);
		printf(" %12s", text_count(a, u[i].loads));
		printf(" %12s", text_count(a, u[i].stores));
		if (!i && o) {
			moca_where_line(v->profile, o, addr, name,
					sizeof(name), &apart);
			printf("  ");
			text_name(stdout, name, 80);
		}
		putchar('\n');
	}
	if (i < n)
		printf("  %16s ... and %zu more threads: --all lists them\n",
		       "", n - i);
}

static void print_counted(const struct advice_view *v)
{
	const struct moca_counts_table *t = v->profile->counts;
	const struct moca_counts_line **p;
	size_t i, n = 0;

	if (t->granularity != MOCA_COUNTS_LINE)
		return;
	p = malloc((t->line_count + 1) * sizeof(*p));
	for (i = 0; p && i < t->line_count; i++)
		if (is_shared(v, &t->lines[i]))
			p[n++] = &t->lines[i];
	if (p)
		qsort(p, n, sizeof(*p), by_accesses);
	if (n)
		print_heading("Cache lines that several threads use and any writes, by accesses that may have waited",
			      "loads", "stores", "what lies there");
	for (i = 0; i < n && (v->all || i < TOP_LINES); i++)
		print_counted_line(v, p[i]);
	if (i < n)
		printf("  ... and %zu more: --all lists them\n", n - i);
	free(p);
}

void advice_lines_print(const struct advice_view *v)
{
	if (v->profile->counts)
		print_counted(v);
	else
		print_sampled(v);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The rules, what they share, and the order of what they find. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/rules.h"
#include "analysis/counts/counts.h"
#include "analysis/natives.h"
#include "analysis/profile/where.h"
#include "analysis/trace.h"
#include "lib/base/shell.h"
#include "lib/base/vec.h"

#define X(rule) rule,
static const rule_fn placement[] = { ADVICE_PLACEMENT(X) };
static const rule_fn counted[] = { ADVICE_COUNTED(X) };
static const rule_fn others[] = { ADVICE_OTHERS(X) };
static const rule_whole_fn whole[] = { ADVICE_WHOLE(X) };
#undef X

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

const char *moca_finding_id(enum moca_finding_kind k)
{
#define X(kind, id) id,
	static const char *const ids[] = { ADVICE_KINDS(X) };
#undef X

	return ids[k];
}

const char *moca_confidence_name(enum moca_confidence c)
{
	static const char *const names[] = { "low", "medium", "high" };

	return names[c];
}

/* --- text --------------------------------------------------------------- */

static char *text(const char *fmt, va_list ap)
{
	char *s;

	return vasprintf(&s, fmt, ap) < 0 ? NULL : s;
}

void finding_set(struct rules *r, char **to, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	free(*to);
	*to = text(fmt, ap);
	va_end(ap);
	if (!*to)
		r->err = -ENOMEM;
}

void finding_line(struct rules *r, char **lines, const char *fmt, ...)
{
	unsigned i;
	va_list ap;

	for (i = 0; i < MOCA_FINDING_LINES - 1 && lines[i]; i++)
		;
	va_start(ap, fmt);
	free(lines[i]);
	lines[i] = text(fmt, ap);
	va_end(ap);
	if (!lines[i])
		r->err = -ENOMEM;
}

void advice_note(struct rules *r, const char *fmt, ...)
{
	struct moca_advice *a = r->a;
	va_list ap;

	if (moca_vec_fit(a->notes, a->note_cap, a->note_count + 1)) {
		r->err = -ENOMEM;
		return;
	}
	va_start(ap, fmt);
	a->notes[a->note_count] = text(fmt, ap);
	va_end(ap);
	if (a->notes[a->note_count])
		a->note_count++;
	else
		r->err = -ENOMEM;
}

const char *task_text(const struct rules *r, uint32_t task, char *buf,
		      size_t len)
{
	size_t i, n = moca_trace_task_count(r->trace);
	const struct moca_task *t;

	snprintf(buf, len, "one thread");
	for (i = 0; i < n; i++) {
		t = moca_trace_task(r->trace, i);
		if (t->id == task)
			snprintf(buf, len, "thread #%" PRIu32 " (%s)", task,
				 t->name);
	}
	return buf;
}

const char *command_text(const struct rules *r)
{
	const char *command = moca_trace_meta(r->trace, META_ATTACHED_COMMAND);

	if (!command)
		command = moca_trace_meta(r->trace, META_COMMAND);
	/* No program begins with a dash: "-p PID" of one that was attached to. */
	return command && *command != '-' && moca_shell_is_plain(command) ?
	       command : "COMMAND";
}

const char *name_text(struct rules *r, const struct moca_profile_object *o)
{
	const char *s = o->object->name;
	size_t n = strlen(s);

	if (n < sizeof(r->name)) {
		strcpy(r->name, s);
		return r->name;
	}
	/* Not within a character. */
	n = sizeof(r->name) - 4;
	while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	memcpy(r->name, s, n);
	strcpy(r->name + n, "...");
	return r->name;
}

/* --- rows ---------------------------------------------------------------- */

int is_of_system(const struct moca_object *o)
{
	static const char *const folders[] = { "/lib", "/usr/lib" };
	size_t i, n;

	for (i = 0; o->module && i < COUNT(folders); i++) {
		n = strlen(folders[i]);
		/* /lib/..., /lib64/...: not the program itself. */
		if (!strncmp(o->module, folders[i], n))
			return strcmp(o->module, o->program) != 0;
	}
	return 0;
}

const struct moca_profile_object *advice_row(struct rules *r, uint32_t id)
{
	const struct moca_profile *p = r->p;
	size_t i;

	if (id >= p->count)
		return NULL;
	if (!r->by_id) {
		r->by_id = calloc(p->count, sizeof(*r->by_id));
		if (!r->by_id) {
			r->err = -ENOMEM;
			return NULL;
		}
		for (i = 0; i < p->count; i++)
			r->by_id[p->rows[i].object->id] = &p->rows[i];
	}
	return r->by_id[id];
}

const char *name_in_code(struct rules *r, const struct moca_profile_object *o)
{
	const char *name = o->object->name;
	size_t n = strlen(name);

	if ((o->object->alloc && !o->object->alloc->is_variable) ||
	    n >= sizeof(r->in_code) - 1)
		return "p";
	strcpy(r->in_code, name);
	if (n > 2 && !strcmp(name + n - 2, "[]"))
		strcpy(r->in_code + n - 1, "i]");
	return r->in_code;
}

/* --- findings ----------------------------------------------------------- */

double share_remote(const struct moca_profile_object *o, enum moca_policy p)
{
	return o->accesses ? (double)o->remote[p] / o->accesses : 0;
}

struct moca_finding *finding_add(struct rules *r, enum moca_finding_kind kind,
				 const struct moca_profile_object *o,
				 double gain)
{
	struct moca_advice *a = r->a;
	struct moca_finding *f;
	int i;

	f = moca_vec_add(a->findings, a->count, a->cap);
	if (!f) {
		r->err = -ENOMEM;
		return NULL;
	}
	*f = (struct moca_finding){ .kind = kind, .object = o, .gain = gain,
				    .after = NAN, .seconds = NAN };
	for (i = 0; i < MOCA_POLICIES; i++)
		f->remote[i] = share_remote(o, (enum moca_policy)i);
	return f;
}

unsigned nodes_using(const struct moca_profile *p,
		     const struct moca_profile_object *o, double least)
{
	uint64_t on[MOCA_TOPOLOGY_NODES] = { 0 };
	unsigned i, n = 0;

	for (i = 0; i < p->lanes; i++)
		on[moca_profile_node(p, i)] += o->use[i];
	for (i = 0; i < p->topology.nodes; i++)
		n += on[i] && on[i] >= least * o->accesses;
	return n;
}

unsigned home_node(const struct moca_profile *p,
		   const struct moca_profile_object *o, double *share)
{
	unsigned i, best = 0;

	for (i = 1; i < p->topology.nodes; i++)
		if (o->homes[i] > o->homes[best])
			best = i;
	*share = o->pages ? (double)o->homes[best] / o->pages : 0;
	return best;
}

int all_users_write(const struct moca_profile *p,
		    const struct moca_profile_object *o)
{
	unsigned lane, node, writers = 0, last = UINT_MAX;

	for (lane = 0; lane < p->lanes; lane++) {
		if (!moca_profile_uses(p, o, lane))
			continue;
		if (20 * o->written[lane] < o->use[lane])
			return 0;
		node = moca_profile_node(p, lane);
		writers += node != last;
		last = node;
	}
	return writers > 1;
}

const char *touch_text(struct rules *r, struct moca_finding *f, char *buf,
		       size_t len)
{
	const struct moca_profile_object *o = f->object;
	struct moca_location at;
	const char *path;

	*buf = 0;
	if (moca_where_code(r->p, r->trace, o->touch_task, o->touch_ip,
			    o->touch_ns, &at, &path))
		return buf;
	f->function = at.function;
	/* memset, say: where it was called from is not recorded. */
	if (strcmp(path, o->object->program)) {
		snprintf(buf, len, "%s() of %s", f->function,
			 strrchr(path, '/') + 1);
		return buf;
	}
	f->file = at.file;
	f->line = at.line;
	if (f->file && f->line)
		snprintf(buf, len, "%s() at %s:%u", f->function,
			 strrchr(f->file, '/') ? strrchr(f->file, '/') + 1 :
						 f->file, f->line);
	else
		snprintf(buf, len, "%s()", f->function);
	return buf;
}

void evidence_use(struct rules *r, struct moca_finding *f)
{
	const struct moca_profile_object *o = f->object;

	finding_line(r, f->evidence,
		     "%" PRIu64 " pages, %s%" PRIu64 " accesses, %.0f %% of all to data, by %u thread%s",
		     o->pages, r->p->sampled ? "about " : "", o->object->accesses,
		     100. * o->accesses / r->p->accesses, o->object->threads,
		     o->object->threads == 1 ? "" : "s");
	if (!o->watched_pages)
		return;
	/* Page mode may not see a second thread; exact counts do. */
	finding_line(r, f->evidence, r->p->counts ?
		     "%.0f %% of its pages are used by one thread only, %.0f %% by one thread and then by another, %.0f %% by threads in turn" :
		     "at most %.0f %% of its pages are used by one thread only, %.0f %% by one thread and then by another, at least %.0f %% by threads in turn",
		     100. * o->private_pages / o->pages,
		     100. * o->migratory_pages / o->pages,
		     100. * o->shared_pages / o->pages);
}

double advice_meta(const struct rules *r, const char *key)
{
	const char *s = moca_trace_meta(r->trace, key);

	return s ? strtod(s, NULL) : 0;
}

/* --- notes -------------------------------------------------------------- */

/* What a task must have come to a line for to use it again and again. */
#define OFTEN 3

/* Did two tasks come to one line of it often, as far as samples tell? */
static int has_line(const struct rules *r, const struct moca_object *o)
{
	const struct moca_lines *l = &r->p->lines;
	const struct moca_line_user *u;
	size_t i, k, n, often;

	for (i = 0; i < l->count; i += n) {
		n = moca_line_users(l, i);
		for (often = k = 0; k < n; k++) {
			u = &l->users[i + k];
			often += u->key == o->id &&
				 u->reads + u->writes >= OFTEN;
		}
		if (often >= 2)
			return 1;
	}
	return 0;
}

static int has_finding(const struct rules *r, const struct moca_object *o)
{
	size_t i;

	for (i = 0; i < r->a->count; i++)
		if (r->a->findings[i].kind == MOCA_FINDING_SHARED_LINES &&
		    r->a->findings[i].object->object == o)
			return 1;
	return 0;
}

/* Small, shared, written again and again: what a page cannot tell. */
static void note_hot_spots(struct rules *r)
{
	const struct moca_profile *p = r->p;
	unsigned told = 0;
	size_t i;

	for (i = 0; i < p->count && told < 3; i++) {
		const struct moca_profile_object *o = &p->rows[i];

		/* What is the program's own, and written as much as read. */
		if ((o->object->kind != MOCA_OBJECT_HEAP &&
		     o->object->kind != MOCA_OBJECT_STATIC) ||
		    is_of_system(o->object) ||
		    !(o->patterns & MOCA_PATTERN_HOT_SPOT) ||
		    4 * o->late_writes < o->accesses ||
		    !has_line(r, o->object) || has_finding(r, o->object))
			continue;
		told++;
		advice_note(r,
			    "%s (%" PRIu64 " page%s) is written by several threads in turn all the time, and they come to one cache line (see the table of lines). How often they meet there a trace of pages cannot tell: that needs a trace of exact addresses: moca record --exact --granularity 64 --slice 100ms -- %s",
			    o->object->name, o->pages, o->pages == 1 ? "" : "s",
			    command_text(r));
	}
}

#define NATIVES_NOTED 3

/* What counts do not show, and how they would. */
static void add_counts_notes(struct rules *r)
{
	const struct moca_counts_table *t = r->p->counts;
	uint64_t shared = 0, accesses = 0;
	struct moca_certificate c;
	struct moca_native native;
	char text[1024];
	size_t i;

	moca_trace_certificate(r->trace, &c);
	if (!r->p->accesses)
		advice_note(r, "Nothing was counted.");
	if (c.gaps)
		advice_note(r,
			    "%" PRIu64 " times something was not counted: moca info says what.",
			    c.gaps);
	for (i = 0; i < NATIVES_NOTED &&
		    moca_native_nth(r->trace, (unsigned)i, &native); i++)
		advice_note(r, "%s.", moca_native_text(r->trace, &native, text,
						       sizeof(text)));
	if (t->granularity > MOCA_COUNTS_LINE)
		advice_note(r,
			    "Counted were granules of %" PRIu64 " bytes: whether threads meet in a cache line cannot be told. Record with --granularity 64 --slice 100ms.",
			    t->granularity);
	for (i = 0; i < t->line_count && !moca_counts_sliced(t); i++)
		if (t->lines[i].contended) {
			shared++;
			accesses += t->lines[i].contended;
		}
	if (t->granularity == MOCA_COUNTS_LINE &&
	    accesses >= GAIN_MIN * r->p->accesses && accesses)
		r->a->undecided = "whether threads wait for each other's cache lines";
	if (shared && t->granularity == MOCA_COUNTS_LINE)
		advice_note(r,
			    "%" PRIu64 " cache line%s used by several threads and written, with up to %" PRIu64 " accesses by others than the main user; whether at the same time was not recorded. Record with --slice 100ms.",
			    shared, shared == 1 ? " is" : "s are", accesses);
	if (!moca_counts_sliced(t) && r->p->accesses)
		advice_note(r,
			    "There are no time slices: what happened when is known from first touches only, phases and idle threads are not. Record with --slice 100ms.");
	if (t->page_shift)
		advice_note(r,
			    "Pages are looked at in groups of %u: there are too many for each.",
			    1u << t->page_shift);
	if (t->lines_left_out)
		advice_note(r,
			    "%" PRIu64 " rows are of granules beyond those that are looked at one by one.",
			    t->lines_left_out);
	for (i = 0; t->heavy && i < MOCA_COUNTS_HEAVY; i++)
		if (t->heavy[i].accesses &&
		    100 * t->heavy[i].accesses >= r->p->accesses)
			advice_note(r,
				    "The granule at 0x%" PRIx64 ", with at least %.1f %% of all accesses, is one of these: who meets there is not known. A shorter run has fewer.",
				    t->heavy[i].granule * t->granularity,
				    100. * t->heavy[i].accesses /
					    r->p->accesses);
}

static void add_notes(struct rules *r)
{
	struct moca_objects_totals totals;
	const struct moca_profile *p = r->p;
	struct moca_certificate c;

	moca_objects_totals(p->objects, &totals);
	moca_trace_certificate(r->trace, &c);
	if (p->counts)
		add_counts_notes(r);
	else if (!p->accesses)
		advice_note(r, "The trace has no accesses to data.");
	if (trace_failure(r->trace))
		note_failure(r);
	else if (p->accesses && are_few(r))
		note_resolution(r);
	if (c.lost)
		advice_note(r, "%" PRIu64 " samples were lost while recording.",
			    c.lost);
	if (p->left_out)
		advice_note(r,
			    "%" PRIu64 " accesses went to pages beyond what is looked at page by page, and are not in any finding.",
			    p->left_out);
	if (totals.without_agent && totals.accesses &&
	    4 * totals.named < 3 * totals.accesses)
		advice_note(r,
			    "Allocations of %" PRIu64 " of %" PRIu64 " programs were not recorded: their heap objects have no names.",
			    totals.without_agent, totals.processes);
	if (totals.no_identities && totals.processes > 1)
		advice_note(r,
			    "What mappings are of was not recorded, as by older versions: memory that several processes share counts once for each of them, and as private.");
	if (!p->writes_known && p->accesses)
		advice_note(r,
			    "Writes are at least so many: a write after a read in the same interval is not told by the kernel module. What is only read, or read mostly, cannot be told.");
	note_hot_spots(r);
}

/* --- what nodes are not known ---------------------------------------------- */

#define UNKNOWN_SOME 0.05	/* of an object's accesses: less sure */
#define UNKNOWN_MANY 0.2
#define UNKNOWN_MOST 0.5	/* nothing is said of where it lies */

/* A finding about nodes is no surer than the nodes are. */
static void doubt(struct rules *r, struct moca_finding *f)
{
	const struct moca_profile_object *o = f->object;
	double share = o->accesses ? (double)o->unknown / o->accesses : 0;
	enum moca_confidence most = MOCA_CONFIDENCE_HIGH;

	if (share >= UNKNOWN_MANY ||
	    r->p->topology.assumed == MOCA_ASSUMED_UNKNOWN)
		most = MOCA_CONFIDENCE_LOW;
	else if (share >= UNKNOWN_SOME)
		most = MOCA_CONFIDENCE_MEDIUM;
	if (f->confidence > most)
		f->confidence = most;
	if (share >= UNKNOWN_SOME)
		finding_line(r, f->evidence,
			     "the node of %.0f %% of its accesses is not known",
			     100 * share);
}

/* Nor is any finding surer than what was seen. */
static void doubt_lost(struct rules *r, struct moca_finding *f, double share)
{
	enum moca_confidence most = share >= UNKNOWN_MANY ?
		MOCA_CONFIDENCE_LOW : MOCA_CONFIDENCE_MEDIUM;

	if (share < UNKNOWN_SOME)
		return;
	if (f->confidence > most)
		f->confidence = most;
	finding_line(r, f->evidence, "%.0f %% of the samples were lost",
		     100 * share);
}

static void finding_free(struct moca_finding *f)
{
	size_t k;

	free(f->title);
	free(f->cause);
	free(f->fix);
	free(f->setting);
	for (k = 0; k < MOCA_FINDING_LINES; k++) {
		free(f->evidence[k]);
		free(f->try_[k]);
	}
}

static void doubt_all(struct rules *r)
{
	const struct moca_profile *p = r->p;
	struct moca_advice *a = r->a;
	struct moca_certificate c;
	size_t i, kept = 0;
	double lost;

	moca_trace_certificate(r->trace, &c);
	lost = c.lost ? (double)c.lost / ((double)c.lost + (double)c.records) : 0;
	for (i = 0; i < a->count; i++) {
		struct moca_finding *f = &a->findings[i];

		doubt_lost(r, f, lost);
		if (!isnan(f->after) && f->object->accesses &&
		    (double)f->object->unknown >=
			    UNKNOWN_MOST * (double)f->object->accesses) {
			finding_free(f);
			continue;
		}
		if (!isnan(f->after))
			doubt(r, f);
		a->findings[kept++] = *f;
	}
	a->count = kept;
	if (p->topology.assumed == MOCA_ASSUMED_UNKNOWN && !p->counts)
		advice_note(r,
			    "The machine was not recorded: which node a CPU or a page was on is not known, and what is said of nodes is of a supposed machine (--topology chooses it).");
	if (p->accesses && (double)p->unknown >= UNKNOWN_SOME * p->accesses)
		advice_note(r,
			    "The node is unknown for %.0f %% of the accesses to data: less is said of where pages lie, and with less confidence.",
			    100. * p->unknown / p->accesses);
}

/* --- the interface ------------------------------------------------------ */

static int by_gain(const void *a, const void *b)
{
	const struct moca_finding *x = a, *y = b;

	if (x->gain != y->gain)
		return x->gain > y->gain ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->object->object->id < y->object->object->id ? -1 : 1;
}

static void find_most_remote(struct rules *r)
{
	const struct moca_profile *p = r->p;
	const struct moca_profile_object *o, **most = &r->a->most_remote;
	size_t i;

	for (i = 0; i < p->count; i++) {
		o = &p->rows[i];
		if (o->data && o->remote[MOCA_POLICY_FIRST_TOUCH] >
		    (*most ? (*most)->remote[MOCA_POLICY_FIRST_TOUCH] : 0))
			*most = o;
	}
}

static void apply(struct rules *r, const struct moca_profile_object *o)
{
	size_t i;

	for (i = 0; i < COUNT(counted) && r->p->counts && !r->err; i++)
		counted[i](r, o);
	if (r->p->counts)
		return;
	if (are_few(r)) {
		if (r->p->intervals >= INTERVALS_FEW && is_used(r, o) &&
		    !rule_serial_touch(r, o))
			rule_replicate(r, o);
		return;
	}
	for (i = 0; i < COUNT(placement) && !r->err && is_used(r, o); i++)
		if (placement[i](r, o))
			break;
	for (i = 0; i < COUNT(others) && !r->err; i++)
		others[i](r, o);
}

int moca_advice_compute(struct moca_advice **out, struct moca_trace *t,
			const struct moca_profile *p)
{
	struct rules r = { .trace = t, .p = p };
	size_t i;

	r.a = calloc(1, sizeof(*r.a));
	if (!r.a)
		return -ENOMEM;
	for (i = 0; i < p->count; i++)
		if (p->rows[i].data && p->rows[i].pages)
			apply(&r, &p->rows[i]);
	find_most_remote(&r);
	for (i = 0; i < COUNT(whole) && !p->counts && !r.err; i++)
		whole[i](&r);
	doubt_all(&r);
	evidence_callers(&r);
	conditions_tell(&r);
	add_notes(&r);
	if (r.a->count)
		qsort(r.a->findings, r.a->count, sizeof(*r.a->findings),
		      by_gain);
	free(r.by_id);
	if (r.err) {
		moca_advice_free(r.a);
		return r.err;
	}
	*out = r.a;
	return 0;
}

void moca_advice_free(struct moca_advice *a)
{
	size_t i;

	if (!a)
		return;
	for (i = 0; i < a->count; i++)
		finding_free(&a->findings[i]);
	for (i = 0; i < a->note_count; i++)
		free(a->notes[i]);
	free(a->again);
	free(a->failed);
	for (i = 0; i < a->check_count; i++)
		free(a->checks[i].missed);
	free(a->findings);
	free(a->checks);
	free(a->notes);
	free(a);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/check/meaning.h"
#include "analysis/machine-xml.h"
#include "analysis/trace.h"
#include "cli/check-seal.h"
#include "cli/commands.h"
#include "cli/open.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"
#include "lib/format/trace.h"
#include "lib/text/text.h"
#include "report/blind.h"
#include "report/certificate.h"
#include "report/exact.h"
#include "report/refused.h"

/* Contradictions told one by one; the rest is only counted. */
#define TOLD_MAX 10

enum {
	EXIT_DAMAGED = 1,
	EXIT_DOUBTFUL = 3,
};

struct check {
	struct moca_trace *t;
	struct meaning *meaning;
	uint64_t chunks;
	uint64_t records;
	uint64_t lost;
	uint64_t lossy_chunks;
	uint64_t changes;
	uint64_t events;
	uint64_t events_lost;
	uint64_t events_torn;
	uint64_t rows;		/* of counts */
	uint64_t loads;
	uint64_t stores;
	uint64_t contradictions;
	uint64_t doubts;	/* records that make no sense together */
	enum check_seal seal;
	/* Of the present task. */
	uint32_t task;
	uint64_t next_number;
	uint64_t time_ns;	/* of the last chunk or change */
};

static void contradiction(struct check *k, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void contradiction(struct check *k, const char *fmt, ...)
{
	va_list ap;

	if (k->contradictions++ >= TOLD_MAX)
		return;
	fputs("contradiction: ", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* Of those the rules themselves tell the first few. */
static void tell_meaning(void *arg, const char *text)
{
	struct check *k = arg;

	k->doubts++;
	fputs("doubtful: ", stdout);
	text_name(stdout, text, 0);
	putchar('\n');
}

static void check_accesses(struct check *k, const struct moca_chunk *c)
{
	const struct moca_machine *m = moca_trace_machine(k->t);
	uint64_t last = c->begin_ns;
	size_t i;

	for (i = 0; i < c->count; i++) {
		const struct moca_access *a = &c->accesses[i];

		if (a->time_ns < last || a->time_ns > c->end_ns) {
			contradiction(k, "task %" PRIu32 ", chunk %" PRIu64 ": the time of access %zu is %s",
				      c->task, c->number, i,
				      a->time_ns > c->end_ns ?
					      "after the chunk's end" :
				      i ? "before the one ahead of it" :
					  "before the chunk's begin");
			return;
		}
		last = a->time_ns;
		if (a->cpu / 64 < 16 &&
		    !(c->cpumask[a->cpu / 64] >> (a->cpu % 64) & 1)) {
			contradiction(k, "task %" PRIu32 ", chunk %" PRIu64 ": CPU %u is not in the chunk's mask",
				      c->task, c->number, a->cpu);
			return;
		}
		if (m && m->node_count && a->node >= 0 &&
		    moca_machine_node(m, a->node) < 0) {
			contradiction(k, "task %" PRIu32 ", chunk %" PRIu64 ": the machine has no node %d",
				      c->task, c->number, a->node);
			return;
		}
	}
}

static void check_chunk(struct check *k, const struct moca_chunk *c)
{
	if (c->task != k->task) {
		k->task = c->task;
		k->next_number = 0;
		k->time_ns = 0;
	}
	k->chunks++;
	k->records += c->count;
	k->lost += c->lost;
	k->lossy_chunks += c->lost != 0;
	if (c->number != k->next_number)
		contradiction(k, "task %" PRIu32 ": chunk %" PRIu64 " follows where %" PRIu64 " should be",
			      c->task, c->number, k->next_number);
	k->next_number = c->number + 1;
	if (c->end_ns < c->begin_ns)
		contradiction(k, "task %" PRIu32 ", chunk %" PRIu64 ": it ends before it begins",
			      c->task, c->number);
	if (c->begin_ns < k->time_ns)
		contradiction(k, "task %" PRIu32 ", chunk %" PRIu64 ": it begins before the chunk ahead of it",
			      c->task, c->number);
	k->time_ns = c->begin_ns;
	check_accesses(k, c);
	if (k->meaning)
		meaning_chunk(k->meaning, c);
}

static int check_chunks(struct check *k)
{
	const struct moca_chunk *c;
	struct moca_cursor *cursor;
	int ret;

	ret = moca_cursor_open(&cursor, k->t, NULL);
	if (ret)
		return ret;
	k->task = MOCA_NO_TASK;
	while ((ret = moca_cursor_chunk(cursor, &c)) > 0)
		check_chunk(k, c);
	moca_cursor_close(cursor);
	return ret;
}

/* Sums are compared with the certificate in the end. */
static int check_counts(struct check *k)
{
	uint64_t granularity = exact_granularity(k->t), begin = 0;
	const struct moca_counts *c;
	struct moca_cursor *cursor;
	int ret;

	ret = moca_cursor_open(&cursor, k->t, NULL);
	if (ret)
		return ret;
	k->task = MOCA_NO_TASK;
	while ((ret = moca_cursor_counts(cursor, &c)) > 0) {
		if (c->task != k->task)
			k->next_number = 0;
		if (c->number != k->next_number)
			contradiction(k, "task %" PRIu32 ": counts %" PRIu64 " follow where %" PRIu64 " should be",
				      c->task, c->number, k->next_number);
		if (c->task == k->task && c->begin_ns < begin)
			contradiction(k, "task %" PRIu32 ", counts %" PRIu64 ": they begin before those ahead of them",
				      c->task, c->number);
		if (granularity && c->granularity != granularity)
			contradiction(k, "task %" PRIu32 ", counts %" PRIu64 ": granules have %" PRIu64 " bytes, not %" PRIu64,
				      c->task, c->number, c->granularity,
				      granularity);
		k->task = c->task;
		k->next_number = c->number + 1;
		begin = c->begin_ns;
		k->rows += c->count;
		k->loads += c->loads;
		k->stores += c->stores;
		if (k->meaning)
			meaning_counts(k->meaning, c);
	}
	moca_cursor_close(cursor);
	return ret;
}

static int check_changes(struct check *k)
{
	const struct moca_change *e;
	struct moca_cursor *cursor;
	uint32_t task;
	int ret;

	ret = moca_cursor_open(&cursor, k->t, NULL);
	if (ret)
		return ret;
	k->task = MOCA_NO_TASK;
	while ((ret = moca_cursor_change(cursor, &e, &task)) > 0) {
		if (task != k->task)
			k->time_ns = 0;
		k->task = task;
		k->changes++;
		if (e->time_ns < k->time_ns)
			contradiction(k, "task %" PRIu32 ": a change is earlier than the one ahead of it",
				      task);
		k->time_ns = e->time_ns;
		if (e->type >= MOCA_CHANGE_MMAP && e->addr + e->len < e->addr)
			contradiction(k, "task %" PRIu32 ": a change's addresses wrap around",
				      task);
	}
	moca_cursor_close(cursor);
	return ret;
}

/* What one task's events are, against what its files' headers tell. */
static void compare_events(struct check *k, uint32_t task, uint64_t found)
{
	size_t i = trace_task_index(k->t, task);
	const struct moca_task *t = i == SIZE_MAX ? NULL :
						    moca_trace_task(k->t, i);
	struct moca_damage damage;

	moca_trace_damage(k->t, &damage);
	if (t && !damage.chunks && t->events != found)
		contradiction(k, "task %" PRIu32 ": its chunks tell of %" PRIu64 " events and hold %" PRIu64,
			      task, t->events, found);
}

static int check_events(struct check *k)
{
	const struct moca_event *m;
	const struct moca_task *t;
	struct moca_cursor *cursor;
	uint64_t found = 0;
	uint32_t task;
	size_t i;
	int ret;

	for (i = 0; i < moca_trace_task_count(k->t); i++) {
		t = moca_trace_task(k->t, i);
		k->events_lost += t->events_lost;
		k->events_torn += t->events_torn;
	}
	ret = moca_cursor_open(&cursor, k->t, NULL);
	if (ret)
		return ret;
	k->task = MOCA_NO_TASK;
	while ((ret = moca_cursor_event(cursor, &m, &task)) > 0) {
		if (task != k->task) {
			compare_events(k, k->task, found);
			k->time_ns = found = 0;
		}
		k->task = task;
		k->events++;
		found++;
		if (m->time_ns < k->time_ns)
			contradiction(k, "task %" PRIu32 ": an event is earlier than the one ahead of it",
				      task);
		k->time_ns = m->time_ns;
	}
	compare_events(k, k->task, found);
	moca_cursor_close(cursor);
	return ret;
}

static void check_tasks(struct check *k)
{
	size_t i, n = moca_trace_task_count(k->t);
	uint32_t next = 0;

	for (i = 0; i < n; i++) {
		uint32_t id = moca_trace_task(k->t, i)->id;

		/* When the disk is full, later files may have found room. */
		if (id != next && !moca_trace_truncated(k->t))
			contradiction(k, "the file of task %" PRIu32 "%s missing",
				      next, id - next > 1 ?
						    " and of others are" :
						    " is");
		next = id + 1;
	}
}

static void compare(struct check *k, const char *what, uint64_t said,
		    uint64_t found)
{
	char a[TEXT_MAX], b[TEXT_MAX];

	if (said != found)
		contradiction(k, "the recorder counted %s %s, the files hold %s",
			      text_count(a, said), what, text_count(b, found));
}

/* Only a recording that ended properly has final counts. */
static void check_certificate(struct check *k)
{
	struct moca_certificate c;
	uint64_t events;

	moca_trace_certificate(k->t, &c);
	/* record --object has taken some out. */
	compare(k, "records", c.records, k->records +
		trace_meta_u64(k->t, "filter.dropped", 0));
	compare(k, "chunks", c.chunks, k->chunks);
	compare(k, "loads", c.loads, k->loads);
	compare(k, "stores", c.stores, k->stores);
	compare(k, "lost samples", c.lost, k->lost);
	compare(k, "chunks with losses", c.lossy_chunks, k->lossy_chunks);
	/* Of a batch that the disk had no room for, a part may be there. */
	events = trace_meta_u64(k->t, META_TRACE_EVENTS, 0);
	if (events > k->events)
		compare(k, "events", events, k->events);
	if (c.pages_seen > c.pages_touched)
		contradiction(k, "more pages were seen (%" PRIu64 ") than touched (%" PRIu64 ")",
			      c.pages_seen, c.pages_touched);
}

static void tell_damage(const struct check *k, const struct moca_damage *d)
{
	char a[TEXT_MAX];
	/* Metadata, launch and what the seal tells of are told of already. */
	uint64_t files = d->files - k->t->unsealed -
			 (k->t->launch_error != 0) -
			 (moca_trace_metadata(k->t) == MOCA_METADATA_DAMAGED);

	if (files)
		printf("damaged: %s file%s cannot be read or not of a trace\n",
		       text_count(a, files), PLURAL(files));
	if (d->chunks)
		printf("damaged: %s chunk%s with a wrong checksum or contents, left out\n",
		       text_count(a, d->chunks), PLURAL(d->chunks));
	if (d->tail_bytes)
		printf("damaged: %s after the last whole chunk of a file\n",
		       text_size(a, d->tail_bytes));
}

static void tell_coverage(const struct check *k)
{
	struct moca_certificate c;
	char a[TEXT_MAX], b[TEXT_MAX], p[TEXT_MAX];
	struct refused refused;
	const char *why, *loss;
	unsigned i;

	moca_trace_certificate(k->t, &c);
	if (blind_altogether(k->t, &why))
		printf("uncertified: nothing can be certified: %s\n", why);
	if (c.pages_blind) {
		printf("blind: %s page%s existed that no record tells of:\n",
		       text_count(a, c.pages_blind), PLURAL(c.pages_blind));
		blind_print(k->t, "  ");
		if (blind_is_around(k->t))
			puts("  The kernel maps them with their neighbours, which were read (fault-around).");
	}
	if (k->lost)
		printf("lossy: while recording, %s sample%s lost, in %s chunk%s\n",
		       text_count(a, k->lost),
		       k->lost == 1 ? " was" : "s were",
		       text_count(b, k->lossy_chunks), PLURAL(k->lossy_chunks));
	if (k->events_lost)
		printf("lossy: while recording, %s event%s lost\n",
		       text_count(a, k->events_lost),
		       k->events_lost == 1 ? " was" : "s were");
	if (refused_read(k->t, &refused))
		printf("lossy: while recording, %s event%s dropped by %s thread%s without a buffer\n",
		       text_count(a, refused.events),
		       refused.events == 1 ? " was" : "s were",
		       text_count(b, refused.threads),
		       PLURAL(refused.threads));
	if (k->events_torn)
		printf("lossy: %s event%s begun but never finished\n",
		       text_count(a, k->events_torn),
		       k->events_torn == 1 ? " was" : "s were");
	for (i = 0; (loss = moca_trace_meta_nth(k->t, META_LOSS, i)); i++) {
		fputs("incomplete: ", stdout);
		text_name(stdout, loss, 0);
		putchar('\n');
	}
	if (c.gaps) {
		printf("incomplete: %s time%s something was not counted\n",
		       text_count(a, c.gaps), PLURAL(c.gaps));
		exact_print_gaps(k->t, "  ");
		exact_print_natives(k->t, "  ");
	}
	if (c.pages_seen < c.pages_touched)
		printf("incomplete: %s of %s touched pages have a record (%s)\n",
		       text_count(a, c.pages_seen),
		       text_count(b, c.pages_touched),
		       text_percent(p, c.pages_seen, c.pages_touched));
}

static const char *judge(const struct check *k, int truncated,
			 const struct moca_damage *damage)
{
	struct moca_certificate cert;
	struct refused refused;
	const char *why;
	int sealed = k->seal != CHECK_SEAL_NONE;

	moca_trace_certificate(k->t, &cert);
	if (trace_damaged(damage) || k->contradictions ||
	    k->seal == CHECK_SEAL_WRONG)
		return "DAMAGED";
	if (truncated)
		return "TRUNCATED";
	if (k->doubts)
		return "DOUBTFUL: the files are whole, and their records contradict each other";
	if (blind_altogether(k->t, &why))
		return "sound, but nothing can be certified";
	if ((cert.pages_blind && !blind_is_around(k->t)) || k->lost || k->events_lost || k->events_torn || cert.gaps ||
	    refused_read(k->t, &refused) || moca_trace_meta(k->t, META_LOSS) ||
	    cert.pages_seen < cert.pages_touched)
		return sealed ? "sound, but it does not show everything" :
				"sound as far as can be known, but it does not show everything";
	if (cert.pages_blind)
		return sealed ? "sound; complete but for a few pages of files that are only read" :
				"sound as far as can be known; complete but for a few pages of files that are only read";
	return sealed ? "sound and complete" :
			"sound and complete as far as can be known";
}

static void tell_found(const struct check *k)
{
	size_t tasks = moca_trace_task_count(k->t), types;
	char a[TEXT_MAX], b[TEXT_MAX];

	moca_trace_event_types(k->t, &types);
	printf("%s task%s", text_count(a, tasks), PLURAL(tasks));
	if (k->rows)
		printf(", %s row%s of counts (%s loads, %s stores)",
		       text_count(a, k->rows), PLURAL(k->rows),
		       text_count(b, k->loads),
		       text_count((char[TEXT_MAX]){ 0 }, k->stores));
	if (!trace_events_only(k->t) && (k->chunks || !k->rows))
		printf(", %s record%s in %s chunk%s", text_count(a, k->records),
		       PLURAL(k->records), text_count(b, k->chunks),
		       PLURAL(k->chunks));
	if (types || k->events)
		printf(", %s event%s", text_count(a, k->events),
		       PLURAL(k->events));
	printf(" and %s change%s of tasks and mappings",
	       text_count(a, k->changes), PLURAL(k->changes));
}

/* The machine against the metadata and hwloc's drawing of it. */
static void check_machine(struct check *k)
{
	const struct moca_machine *m = moca_trace_machine(k->t);
	uint64_t nodes = trace_meta_u64(k->t, META_NODES, UINT64_MAX);
	int err;

	if (!m)
		return;
	if (nodes != UINT64_MAX && nodes != m->node_count)
		contradiction(k, "the machine: %zu nodes, but the metadata says %" PRIu64,
			      m->node_count, nodes);
	err = machine_xml_check(m);
	if (err == -EBADMSG)
		contradiction(k, "the machine: hwloc cannot read its XML, or it has other nodes");
	else if (err && err != -ENOENT)
		moca_warn("check: cannot start a process that reads the machine's XML: %s",
			  strerror(-err));
}

static int verdict(struct check *k, const char *path)
{
	int truncated = moca_trace_truncated(k->t);
	int damaged, half = trace_half_filtered(k->t), bad;
	struct moca_damage damage;
	char unfinished[200];
	const char *why;
	unsigned i;

	k->seal = check_seal(k->t);
	check_tasks(k);
	check_machine(k);
	moca_trace_damage(k->t, &damage);
	tell_damage(k, &damage);
	damaged = trace_damaged(&damage) || k->seal == CHECK_SEAL_WRONG;
	if (truncated)
		printf("truncated: %s\n",
		       certificate_unfinished(k->t, unfinished, sizeof(unfinished)));
	else if (trace_half_filtered(k->t))
		printf("half filtered: the recorder was killed while --object took accesses out\n");
	else if (!damaged)
		check_certificate(k);
	truncated |= k->seal == CHECK_SEAL_MISSING;
	if (k->contradictions > TOLD_MAX)
		printf("contradiction: and %" PRIu64 " more\n",
		       k->contradictions - TOLD_MAX);
	for (i = 0; k->meaning && (why = meaning_left_out(k->meaning, i)); i++)
		printf("unverified: %s\n", why);
	tell_coverage(k);
	bad = truncated || half || damaged || k->contradictions;
	text_name(stdout, path, 0);
	printf(": %s; ", judge(k, truncated || half, &damage));
	tell_found(k);
	puts(bad ? " are readable" : " were verified");
	return bad ? EXIT_DAMAGED : k->doubts ? EXIT_DOUBTFUL : 0;
}

int cmd_check(int argc, char **argv)
{
	int meaning = 0, plain = 0;
	const struct option_spec specs[] = {
		OPT_FLAG(0, "no-meaning", &plain,
			 "verify the files alone, not whether records make sense together: two thirds of the time"),
		OPT_FLAG(0, "meaning", &meaning,
			 "verify both, as without options"),
		OPT_END
	};
	struct check k = { 0 };
	const char *path;
	int first, err;

	first = moca_options_parse_mixed(specs, argc, argv,
		"moca check DIR",
		"Verify a trace: read all of it, compare what it holds with what the recorder counted, and its records with each other.\n"
		"Exit code: 0 when the trace is sound (it says so when the recording itself lost samples), 1 when it is damaged or was cut off, 2 when DIR is no trace or cannot be read, 3 when its files are whole and records contradict each other.");
	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	path = trace_operand(argc, argv, first);
	if (!path)
		return EXIT_USAGE;
	k.t = trace_open("check", path);
	if (!k.t)
		return EXIT_USAGE;
	/* What explains a record may not have been written any more. */
	meaning = (meaning || !plain) && !moca_trace_truncated(k.t);
	err = meaning ? meaning_new(&k.meaning, k.t, tell_meaning, &k) : 0;
	if (!err)
		err = check_chunks(&k);
	if (!err)
		err = check_counts(&k);
	if (!err)
		err = check_changes(&k);
	if (!err)
		err = check_events(&k);
	if (!err && meaning)
		err = meaning_end(k.meaning);
	if (err)
		moca_error("check: cannot read the trace '%s': %s", path,
			   strerror(-err));
	err = err ? EXIT_DAMAGED : verdict(&k, path);
	meaning_free(k.meaning);
	moca_trace_close(k.t);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What moca query makes of accesses beside SQL: the object of each, though some come
 * late; and rows in order, though there are too many kinds of them.
 */
#include "query/alike.h"
#include "query/table.h"
#include "tests/unit/objects-trace.h"

#define THREADS 2u
#define EACH 4096u		/* accesses of a thread: a block of keys is full */
#define SITES 5u

/* What the walk of all that moca objects tells says of an access. */
static char *sites[THREADS][EACH];
static uint32_t keys[THREADS][EACH];
static size_t key_count[THREADS];

static uint64_t seed;

static uint64_t draw(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 20) % n;
}

/*
 * Accesses to known blocks, and writes to memory that is told to be a block up to
 * 2,000 accesses later, or never.
 */
static void put_late(void)
{
	uint64_t next = HEAP + 16 * PAGE, waits[THREADS] = { 0 };
	unsigned left[THREADS] = { 0 };

	start_program();
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	for (uint32_t i = 1; i <= SITES; i++)
		put_stack(0, i, i);
	for (uint64_t i = 0; i < 8; i++)
		put_alloc(0, HEAP + i * PAGE, PAGE, 1 + i % SITES,
			  MOCA_ALLOC_MALLOC);
	for (unsigned i = 0; i < THREADS * EACH; i++) {
		uint32_t task = i % THREADS;

		if (!waits[task] && !draw(20)) {
			waits[task] = next;
			next += PAGE;
			left[task] = (unsigned)draw(draw(4) ? 20 : 2000);
			put_access(task, waits[task], MOCA_ACCESS_WRITE);
			continue;
		}
		put_access(task, HEAP + draw(8) * PAGE, MOCA_ACCESS_WRITE);
		if (!waits[task] || left[task]--)
			continue;
		if (draw(8))
			put_alloc(task, waits[task], PAGE,
				  (uint32_t)(1 + draw(SITES)),
				  MOCA_ALLOC_CALLOC);
		waits[task] = 0;
	}
	/* Behind all accesses, in a block of keys that was closed. */
	for (uint32_t task = 0; task < THREADS; task++)
		if (waits[task])
			put_alloc(task, waits[task], PAGE, 1,
				  MOCA_ALLOC_CALLOC);
	trace_end();
}

static void note(void *arg, uint32_t task, const struct moca_access *a,
		 uint32_t key)
{
	if (task < THREADS && key_count[task] < EACH)
		keys[task][key_count[task]++] = key;
}

static int walk_whole(void)
{
	const struct moca_objects_options opt = { .size = sizeof(opt),
						  .each = note };

	memset(key_count, 0, sizeof(key_count));
	CHECK(!moca_objects_compute(&objects, trace, &opt));
	for (unsigned t = 0; t < THREADS; t++) {
		CHECK(key_count[t] == EACH);
		for (size_t i = 0; i < EACH; i++) {
			free(sites[t][i]);
			sites[t][i] = strdup(moca_objects_row_of(
						objects, keys[t][i])->site);
		}
	}
	return 0;
}

static int late_keys(void)
{
	size_t late = 0;

	for (uint64_t round = 1; round <= 8; round++) {
		struct moca_query window = { .size = sizeof(window) };
		struct query_keys_view *v;
		struct query_keys *k;
		struct query *q;

		seed = round * 0x9e3779b97f4a7c15ull;
		put_late();
		CHECK(!moca_trace_open(&trace, dir));
		CHECK(!walk_whole());
		CHECK(!query_open(&q, trace));
		CHECK(!query_keys_of(q, &window, &k));
		v = query_keys_view_new(k);
		CHECK(v);
		for (unsigned t = 0; t < THREADS; t++)
			for (size_t i = 0; i < EACH; i++) {
				const struct moca_object *o =
					query_keys_object(v, t, i);

				CHECK(o && !strcmp(o->site, sites[t][i]));
				late += told[t].accesses[i].addr >=
						HEAP + 16 * PAGE &&
					*o->site;
			}
		free(v);
		query_keys_put(k);
		query_close(q);
		objects_done();
	}
	CHECK(late > 100);
	return 0;
}

/* --- many kinds of rows -------------------------------------------------- */

#define CHUNKS 17u
#define CHUNK 65536u		/* so many CPUs in each of so many nodes */

static int write_kinds(void)
{
	static struct moca_access a[CHUNK];
	const struct moca_change e = start_of(100, 100, 1);
	struct moca_writer *w;

	dir_new();
	put_meta("complete");
	CHECK(!moca_writer_create(&w, dirfd_));
	CHECK(!moca_writer_changes(w, 0, &e, 1));
	for (unsigned c = 0; c < CHUNKS; c++) {
		struct moca_chunk_info info = { .begin_ns = 10 + c * CHUNK,
						.end_ns = 9 + (c + 1) * CHUNK,
						.interval = c };

		/* Against the order that is asked for. */
		for (unsigned i = 0; i < CHUNK; i++)
			a[i] = (struct moca_access){
				.addr = HEAP, .time_ns = info.begin_ns + i,
				.cpu = (uint16_t)(CHUNK - 1 - i),
				.node = (int16_t)(CHUNKS - 1 - c),
				.type = MOCA_ACCESS_READ, .weight = 1,
			};
		CHECK(!moca_writer_accesses(w, &info, a, CHUNK));
	}
	moca_writer_destroy(w);
	return 0;
}

static int too_many_kinds(void)
{
	int64_t node = -1, cpu = CHUNK - 1, n = 0;
	struct query *q;
	sqlite3_stmt *s;

	CHECK(!write_kinds());
	CHECK(!moca_trace_open(&trace, dir));
	CHECK(!query_open(&q, trace));
	CHECK(!sqlite3_prepare_v2(query_database(q),
				  "SELECT node, cpu, count(*) FROM accesses "
				  "GROUP BY node, cpu", -1, &s, NULL));
	while (sqlite3_step(s) == SQLITE_ROW) {
		cpu = cpu + 1 < (int64_t)CHUNK ? cpu + 1 : 0;
		node += !cpu;
		CHECK(sqlite3_column_int64(s, 0) == node);
		CHECK(sqlite3_column_int64(s, 1) == cpu);
		CHECK(sqlite3_column_int64(s, 2) == 1);
		n++;
	}
	CHECK(n == CHUNKS * CHUNK);
	CHECK(!query_failure(q));
	sqlite3_finalize(s);
	query_close(q);
	moca_trace_close(trace);
	trace = NULL;
	return 0;
}

/* --- many accesses as one row ------------------------------------------- */

/* NULL: it stays as it is. */
static const struct {
	const char *sql, *other;
} statements[] = {
	{ "SELECT type, count(*) FROM accesses GROUP BY type",
	  "SELECT type, sum(_alike) AS \"count(*)\" FROM accesses GROUP BY type" },
	{ "select  Object, Count( * )  c from ACCESSES group by 1 order by 2;",
	  "SELECT Object, sum(_alike)  c from ACCESSES group by 1 order by 2" },
	{ "SELECT sum(weight) / count(node) FROM accesses WHERE type = 'a(''' "
	  "GROUP BY cpu HAVING count(*) > 1",
	  "SELECT sum((weight) * _alike) / sum((node IS NOT NULL) * _alike) AS "
	  "\"sum(weight) / count(node)\" FROM accesses WHERE type = 'a(''' "
	  "GROUP BY cpu HAVING sum(_alike) > 1" },
	{ "SELECT sum(type = 'write') AS w, max(cpu), round(count(*)) FROM accesses "
	  "GROUP BY task",
	  "SELECT sum((type = 'write') * _alike) AS w, max(cpu), "
	  "round(sum(_alike)) AS \"round(count(*))\" FROM accesses "
	  "GROUP BY task" },
	{ "SELECT count(*) FROM accesses", NULL },
	{ "SELECT type FROM accesses GROUP BY type", NULL },
	{ "SELECT type, count(*) FROM tasks GROUP BY type", NULL },
	{ "SELECT type, count(*) FROM accesses, tasks GROUP BY type", NULL },
	{ "SELECT type, count(*) FROM accesses JOIN tasks GROUP BY type", NULL },
	{ "SELECT type, count(*) FROM accesses a GROUP BY type", NULL },
	{ "SELECT type, count(*) FROM (SELECT * FROM accesses) GROUP BY type",
	  NULL },
	{ "SELECT type, count(*) FROM accesses WHERE cpu IN (SELECT 1) GROUP BY 1",
	  NULL },
	{ "SELECT type, count(*) FROM accesses GROUP BY 1 UNION SELECT 1, 2", NULL },
	{ "SELECT DISTINCT type, count(*) FROM accesses GROUP BY type", NULL },
	{ "SELECT type, count(DISTINCT cpu) FROM accesses GROUP BY type", NULL },
	{ "SELECT type, avg(cpu), count(*) FROM accesses GROUP BY type", NULL },
	{ "SELECT type, random(), count(*) FROM accesses GROUP BY type", NULL },
	{ "SELECT type, group_concat(cpu), count(*) FROM accesses GROUP BY 1",
	  NULL },
	{ "SELECT type, sum(weight * 2) FROM accesses GROUP BY type", NULL },
	{ "SELECT type, sum(time_ns) FROM accesses GROUP BY type", NULL },
	{ "SELECT type, sum(weight = node) FROM accesses GROUP BY type", NULL },
	{ "SELECT type, sum(-1) FROM accesses GROUP BY type", NULL },
	{ "SELECT type, count(*) FILTER (WHERE cpu = 0) FROM accesses GROUP BY 1",
	  NULL },
	{ "SELECT type, count(*) OVER () FROM accesses GROUP BY type", NULL },
	{ "SELECT type, \"count(*)\", count(*) FROM accesses GROUP BY type", NULL },
	{ "SELECT type, count(*) FROM accesses GROUP BY type -- or", NULL },
	{ "SELECT type, count(*) FROM accesses /* or */ GROUP BY type", NULL },
	{ "SELECT type, count(*) FROM accesses GROUP BY type; SELECT 1", NULL },
	{ "SELECT type, count(*) FROM accesses WHERE type = 'a GROUP BY type", NULL },
	{ "SELECT type, count(* FROM accesses GROUP BY type", NULL },
	{ "SELECT type, CASE WHEN count(*) > 1 THEN 1 END FROM accesses GROUP BY 1",
	  NULL },
	{ "WITH a AS (SELECT 1) SELECT type, count(*) FROM accesses GROUP BY 1",
	  NULL },
	{ "EXPLAIN SELECT type, count(*) FROM accesses GROUP BY type", NULL },
	{ "SELECT , count(*) FROM accesses GROUP BY type", NULL },
	{ "SELECT", NULL }, { "", NULL }, { ";", NULL }, { "SELECT FROM", NULL },
};

static int statements_that_count(void)
{
	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++) {
		const char *wanted = statements[i].other;
		char *got = query_alike(statements[i].sql);
		int same = got && wanted ? !strcmp(got, wanted) :
					   !got == !wanted;

		if (!same)
			printf("# %s\n#  is %s\n", statements[i].sql,
			       got ? got : "left as it is");
		free(got);
		CHECK(same);
	}
	return 0;
}

int main(void)
{
	run("query: keys that come late", late_keys);
	run("query: statements that count what is alike", statements_that_count);
	run("query: more kinds of rows than fit", too_many_kinds);
	dir_remove();
	for (unsigned t = 0; t < THREADS; t++)
		for (size_t i = 0; i < EACH; i++)
			free(sites[t][i]);
	return failures != 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hand-made traces for the rules that look at the whole program or at memory's
 * history: of each one that has it, and one that only looks like it.
 */
#include "analysis/advice/rules.h"
#include "tests/unit/advice-trace.h"

/* --- threads that move ------------------------------------------------------ */

/* Each of two threads uses its half of what lies on node 4. */
static int moving(unsigned intervals_on_a_cpu)
{
	unsigned i;
	int err;

	begin(THREADS, BIG);
	for (i = 0; i < 40; i++) {
		sweep(0, 0, BIG / 2, MOCA_ACCESS_WRITE);
		sweep(1, BIG / 2, BIG, MOCA_ACCESS_WRITE);
		next();
	}
	recorded_node = 4;
	stays = intervals_on_a_cpu;
	err = look(NULL);
	recorded_node = MOCA_NODE_UNKNOWN;
	stays = 0;
	return err;
}

static int threads_move(void)
{
	const struct moca_finding *f;

	CHECK(!moving(4));
	f = finding(MOCA_FINDING_MIGRATION);
	CHECK(f && near(f->gain, 0.5));
	CHECK(has_line(f->evidence, "on node 0, 50 % elsewhere, moved 9 times"));
	/* Each stays on its node, of which one is far away. */
	CHECK(!moving(0));
	CHECK(!finding(MOCA_FINDING_MIGRATION));
	/* Once, halfway, is no wandering. */
	CHECK(!moving(20));
	CHECK(!finding(MOCA_FINDING_MIGRATION));
	return 0;
}

/* --- structures with one cause ---------------------------------------------- */

#define MANY 24u
#define EACH 400u

/*
 * 24 objects, prepared by `first` and then used by the other thread; allocated so often
 * in the same memory, or in parts that are all kept.
 */
static int many_of(uint32_t first, unsigned again, unsigned parts)
{
	uint64_t at, size = EACH / parts;
	unsigned i, k;

	begin(THREADS, 1);
	for (i = 0; i < MANY; i++) {
		put_stack(0, 2 + i, 2 + i);
		for (k = 0; k < again * parts; k++) {
			at = HEAP + (1 + i * EACH + k % parts * size) * PAGE;
			if (k >= parts)
				put_free(0, at, MOCA_ALLOC_MALLOC);
			put_alloc(0, at, size * PAGE, 2 + i,
				  MOCA_ALLOC_MALLOC);
		}
	}
	sweep(first, 1, 1 + MANY * EACH, MOCA_ACCESS_WRITE);
	for (i = 0; i < 20; i++) {
		next();
		sweep(1, 1, 1 + MANY * EACH, MOCA_ACCESS_WRITE);
		/* Or there are no two threads. */
		sweep(0, 0, 1, MOCA_ACCESS_WRITE);
		for (k = 0; k < 2000; k++)
			touch(0, 10000 + k, MOCA_ACCESS_WRITE);
	}
	return look("2x1");
}

static int many(uint32_t first, unsigned again)
{
	return many_of(first, again, 1);
}

static int misplaced(void)
{
	const struct moca_finding *f;

	/* Each has 1.6 MiB and 3 % of the accesses: no rule about one holds. */
	CHECK(!many(0, 1));
	CHECK(advice->count == 1);
	f = finding(MOCA_FINDING_MISPLACED);
	CHECK(f && strstr(f->title, "24 structures are placed by the thread"));
	CHECK(near(f->remote[MOCA_POLICY_FIRST_TOUCH], 20. / 21));
	CHECK(f->after < 0.1 && f->gain > 0.6);
	CHECK(has_line(f->evidence, "and 18 more"));
	/* Allocated again and again: another cause, another cure. */
	CHECK(!many(0, 8));
	f = finding(MOCA_FINDING_MISPLACED);
	CHECK(advice->count == 1 && f);
	CHECK(strstr(f->title, "allocated again and again"));
	CHECK(strstr(f->fix, "Allocate them once"));
	/* As often, but all are kept: where they were made is what matters. */
	CHECK(!many_of(0, 1, 8));
	f = finding(MOCA_FINDING_MISPLACED);
	CHECK(advice->count == 1 && f && f->object->object->instances == 8);
	CHECK(strstr(f->title, "24 structures are placed by the thread"));
	/* Each at its user. */
	CHECK(!many(1, 1));
	CHECK(!advice->count);
	CHECK(check(MOCA_FINDING_MISPLACED) &&
	      !check(MOCA_FINDING_MISPLACED)->object);
	return 0;
}

/* Filled by thread 0; of each twelfth three uses, by thread 1 or by chance. */
static int passed_on(int chance)
{
	unsigned i, k, part = BIG / 12;

	begin(THREADS, BIG);
	sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
	next();
	for (i = 0; i < 36; i++) {
		for (k = i / 3 * part; k < (i / 3 + 1) * part; k++)
			touch(chance ? rnd() % 2 : 1, k, MOCA_ACCESS_READ);
		next();
	}
	return look("2x1");
}

static int misplaced_once(void)
{
	const struct moca_finding *f;

	CHECK(!passed_on(0));
	f = finding(MOCA_FINDING_MISPLACED);
	CHECK(f && strstr(f->title, "filled on one node and used on another"));
	CHECK(f->confidence == MOCA_CONFIDENCE_LOW && f->gain > 0.4);
	/* The best place of each page would spare a third of it as well. */
	CHECK(!passed_on(1));
	CHECK(!finding(MOCA_FINDING_MISPLACED));
	return 0;
}

/* --- memory with an earlier owner ------------------------------------------- */

/* Its memory goes back to the kernel, and is mapped once more. */
static void map_again(uint64_t addr, uint64_t len)
{
	struct moca_change *e = put_change(0, MOCA_CHANGE_MUNMAP);

	e->addr = addr;
	e->len = len;
	put_map(1, addr, len, "");
}

static int remapped;	/* thread 0's own array was, after an interval */

/* At `page`: an array of thread 1, after thread 0's at 0 was freed. */
static int after(uint64_t page, int with_user, int given_back)
{
	unsigned i;

	begin(THREADS, BIG);
	first_ns = clock_ns + 1000;
	for (i = 0; i < 2; i++) {
		sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
		next();
		if (i || !remapped)
			continue;
		clock_ns = first_ns + interval * INTERVAL_NS - 10000;
		map_again(HEAP, BIG * PAGE);
		put_alloc(0, HEAP, BIG * PAGE, 1, MOCA_ALLOC_MALLOC);
	}
	clock_ns = first_ns + interval * INTERVAL_NS - 10000;
	put_free(0, HEAP, MOCA_ALLOC_MALLOC);
	if (given_back)
		map_again(HEAP, BIG * PAGE);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP + page * PAGE, BIG * PAGE, 2, MOCA_ALLOC_MALLOC);
	for (i = 0; i < 20; i++) {
		sweep(with_user ? 1 : 0, page, page + BIG, MOCA_ACCESS_WRITE);
		touch(1, 2 * BIG + 5, MOCA_ACCESS_WRITE);
		next();
	}
	return look("2x1");
}

static int recycled(void)
{
	const struct moca_finding *f;

	CHECK(!after(0, 1, 0));
	f = finding(MOCA_FINDING_RECYCLED);
	CHECK(advice->count == 1 && f);
	CHECK(object()->inherited_pages == BIG);
	CHECK(near(f->remote[MOCA_POLICY_FIRST_TOUCH], 1) && near(f->after, 0));
	/* Both owners, and where they were allocated. */
	CHECK(has_line(f->evidence, "0x400010") &&
	      has_line(f->evidence, "0x400020"));
	/* What the kernel gave the first owner last is what it left. */
	remapped = 1;
	CHECK(!after(0, 1, 0));
	remapped = 0;
	CHECK(finding(MOCA_FINDING_RECYCLED) && object()->inherited_pages == BIG);
	/* Memory of its own. */
	CHECK(!after(BIG, 1, 0));
	CHECK(!advice->count && !object()->inherited_pages);
	/* The same memory, but the same user. */
	CHECK(!after(0, 0, 0));
	CHECK(!advice->count && object()->inherited_pages == BIG);
	/* The same place, but malloc did not keep what was there. */
	CHECK(!after(0, 1, 1));
	CHECK(!advice->count && !object()->inherited_pages);
	return 0;
}

/* --- memory that begins anew ------------------------------------------------- */

enum how { UNMAPPED, DISCARDED, ALLOCATED, KEPT };

/* Thread 0 has an array for two intervals, or both have; then thread 1 alone. */
static int anew(enum how how, int both)
{
	struct moca_change *e;
	unsigned i;

	begin(THREADS, BIG);
	first_ns = clock_ns + 1000;
	for (i = 0; i < 2; i++) {
		sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
		if (both)
			sweep(1, 0, BIG, MOCA_ACCESS_WRITE);
		next();
	}
	clock_ns = first_ns + interval * INTERVAL_NS - 10000;
	if (how == DISCARDED) {
		e = put_change(0, MOCA_CHANGE_DISCARD);
		e->addr = HEAP;
		e->len = BIG * PAGE;
	} else if (how != KEPT) {
		put_free(0, HEAP, MOCA_ALLOC_MALLOC);
	}
	if (how == UNMAPPED)
		map_again(HEAP, BIG * PAGE);
	/* By the same site: one row. */
	if (how == UNMAPPED || how == ALLOCATED)
		put_alloc(0, HEAP, BIG * PAGE, 1, MOCA_ALLOC_MALLOC);
	for (i = 0; i < 20; i++) {
		sweep(1, 0, BIG, MOCA_ACCESS_WRITE);
		next();
	}
	return look("2x1");
}

static uint64_t touched_pages(const struct moca_profile_object *o)
{
	uint64_t sum = 0;
	unsigned w;

	for (w = 0; w < profile->windows; w++)
		sum += o->touches_in[w];
	return sum;
}

static int begins_anew(void)
{
	const struct moca_profile_object *o;
	enum how how;

	for (how = UNMAPPED; how < KEPT; how++) {
		CHECK(!anew(how, 0));
		o = object();
		CHECK(advice->count == (how == ALLOCATED));
		CHECK(o->object->sharing == MOCA_SHARING_PRIVATE &&
		      !o->object->pages_shared);
		CHECK(o->patterns & MOCA_PATTERN_PRIVATE);
		CHECK(o->pages == BIG && o->object->pages == BIG);
		CHECK(o->private_pages == BIG && touched_pages(o) == BIG);
		CHECK(!o->remote[MOCA_POLICY_PARALLEL_INIT]);
		/* malloc kept it: it is where the first thread placed it. */
		CHECK(o->remote[MOCA_POLICY_FIRST_TOUCH] ==
		      (how == ALLOCATED ? 20 * BIG : 0));
		/* Most accesses are of the second: that one is told. */
		CHECK(!o->first[0] && o->accesses == 22 * BIG);
		CHECK(o->late_pages == BIG && o->touch_task == 0);
	}
	return 0;
}

static int only_looks_anew(void)
{
	const struct moca_profile_object *o;

	/* The same array all the time. */
	CHECK(!anew(KEPT, 0));
	o = object();
	CHECK(advice->count == 1 && finding(MOCA_FINDING_SERIAL_TOUCH));
	CHECK(o->object->sharing == MOCA_SHARING_WRITE);
	CHECK(o->first[0] == BIG && o->migratory_pages == BIG);
	CHECK(remote(MOCA_POLICY_FIRST_TOUCH) > 0.9);
	/* What was shared before it was given back stays told. */
	CHECK(!anew(UNMAPPED, 1));
	o = object();
	CHECK(o->object->sharing == MOCA_SHARING_WRITE);
	CHECK(o->object->pages_shared == BIG &&
	      o->object->shared_written == BIG);
	return 0;
}

/* Thread 0 fills it while it grows in its place; then thread 1 reads it. */
static int grows_in_place(void)
{
	unsigned i;

	begin(THREADS, BIG / 4);
	first_ns = clock_ns + 1000;
	sweep(0, 0, BIG / 4, MOCA_ACCESS_WRITE);
	next();
	clock_ns = first_ns + interval * INTERVAL_NS - 10000;
	put_free(0, HEAP, MOCA_FREE_REALLOC);
	put_alloc(0, HEAP, BIG * PAGE, 1, MOCA_ALLOC_REALLOC);
	sweep(0, BIG / 4, BIG, MOCA_ACCESS_WRITE);
	for (i = 0; i < 20; i++) {
		next();
		sweep(1, 0, BIG, MOCA_ACCESS_READ);
	}
	CHECK(!look("2x1"));
	CHECK(object()->first[0] == BIG && object()->migratory_pages == BIG);
	CHECK(object()->object->pages_shared == BIG);
	CHECK(finding(MOCA_FINDING_SERIAL_TOUCH));
	return 0;
}

/* --- written all over ------------------------------------------------------- */

/* Random accesses of both to what both have prepared, each its half. */
static int scatter(int type)
{
	unsigned i, k;

	begin(THREADS, BIG);
	sweep(0, 0, BIG / 2, MOCA_ACCESS_WRITE);
	sweep(1, BIG / 2, BIG, MOCA_ACCESS_WRITE);
	for (i = 0; i < 20; i++) {
		next();
		for (k = 0; k < BIG; k++)
			touch(k & 1, rnd() % BIG, type);
	}
	return look("2x1");
}

static int scattered(void)
{
	const struct moca_finding *f;

	CHECK(!scatter(MOCA_ACCESS_WRITE));
	f = finding(MOCA_FINDING_SCATTERED);
	CHECK(advice->count == 1 && f && f->object == object());
	CHECK(f->gain > 0.4 && strstr(f->fix, "partition by owner"));
	/* A table that is read: each cache has it. */
	CHECK(!scatter(MOCA_ACCESS_READ));
	CHECK(!advice->count);
	return 0;
}

/* --- in the program's own words --------------------------------------------- */

/* Serial initialisation in a program with these libraries. */
static int serial(const char *one, const char *other)
{
	unsigned i;

	begin(THREADS, BIG);
	put_map(0, CODE + (16 << 20), PAGE, one);
	put_map(0, CODE + (17 << 20), PAGE, other);
	sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
	for (i = 0; i < 20; i++) {
		next();
		sweep(0, 0, BIG / 2, MOCA_ACCESS_WRITE);
		sweep(1, BIG / 2, BIG, MOCA_ACCESS_WRITE);
	}
	return look("2x1");
}

static int model(void)
{
	CHECK(!serial("/lib/libgomp.so.1", "/lib/libgfortran.so.5"));
	CHECK(advice->count == 1);
	CHECK(has_line(advice->findings[0].try_, "!$omp parallel do"));
	CHECK(!serial("/lib/libgomp.so.1", "/lib/libc.so.6"));
	CHECK(has_line(advice->findings[0].try_, "#pragma omp parallel for"));
	CHECK(!serial("/lib/libtbb.so.12", "/lib/libstdc++.so.6"));
	CHECK(has_line(advice->findings[0].try_, "tbb::parallel_for"));
	/* std::thread: nothing of OpenMP. */
	CHECK(!serial("/lib/libc.so.6", "/lib/libstdc++.so.6"));
	CHECK(has_line(advice->findings[0].try_, "native_handle()"));
	CHECK(!has_line(advice->findings[0].try_, "omp") &&
	      !has_line(advice->findings[0].try_, "OMP"));
	CHECK(!serial("/lib/libc.so.6", "/lib/libm.so.6"));
	CHECK(has_line(advice->findings[0].try_, "pthread_setaffinity_np"));
	/* Fortran with threads of its own: no line of C. */
	CHECK(!serial("/lib/libgfortran.so.5", "/lib/libm.so.6"));
	CHECK(has_line(advice->findings[0].try_, "do i = first(t)") &&
	      !has_line(advice->findings[0].try_, "for ("));
	return 0;
}

/* Java has a setting of its own, of what an interpreter runs nothing is known. */
static int runtimes(void)
{
	char *const *lines;
	int i;

	program_path = "/usr/lib/jvm/17/bin/java";
	i = serial("/lib/libjvm.so", "/lib/libstdc++.so.6");
	program_path = "/usr/bin/python3.11";
	CHECK(!i && advice->count == 1);
	lines = advice->findings[0].try_;
	CHECK(has_line(lines, "-XX:+UseNUMA"));
	CHECK(!has_line(lines, "native_handle") && !has_line(lines, "for ("));
	i = serial("/lib/libpython3.11.so", "/lib/libstdc++.so.6");
	CHECK(!i && advice->count == 1);
	lines = advice->findings[0].try_;
	CHECK(!has_line(lines, "native_handle") && !has_line(lines, "for ("));
	/* A program that has only the name's begin. */
	program_path = "/bin/node-solver";
	i = serial("/lib/libc.so.6", "/lib/libm.so.6");
	program_path = "/bin/prog";
	CHECK(!i && has_line(advice->findings[0].try_, "for ("));
	return 0;
}

/* --- lines that threads take turns at ---------------------------------------- */

/* In each interval of 60 one of two threads comes first, to a byte of its own. */
static uint64_t turns_pages = 1;
/* A thread first touches memory of the heap in which there is no object. */
static int turns_wait;

static int turns(unsigned a, int a_type, unsigned b, int b_type, unsigned every)
{
	unsigned i;

	begin(THREADS, turns_pages);
	sweep(0, 0, turns_pages > 1 ? turns_pages : 0, MOCA_ACCESS_WRITE);
	if (turns_wait)
		touch(0, 100, MOCA_ACCESS_WRITE);
	for (i = 0; i < 60; i++) {
		if (i % every < 2) {
			touch(i & 1, 0, i & 1 ? b_type : a_type);
			touches[touch_count - 1].addr = HEAP + (i & 1 ? b : a);
		}
		next();
	}
	return look("2x1");
}

static void put_command(struct moca_meta *m)
{
	if (moca_meta_set(m, "command", "./a ; rm -r ."))
		abort();
}

static void put_attached(struct moca_meta *m)
{
	if (moca_meta_set(m, "command", "-p 17") ||
	    moca_meta_set(m, "attached_command", "serve -f serve.cfg"))
		abort();
}

/* As older recorders describe a process that they attach to. */
static void put_pid(struct moca_meta *m)
{
	if (moca_meta_set(m, "command", "-p 17"))
		abort();
}

/* Of a page of both, one has a line for 30 intervals; then the other one gets it. */
static int one_after_the_other(void)
{
	unsigned i;

	begin(THREADS, 1);
	first_ns = clock_ns + 1000;
	for (i = 0; i < 2; i++) {
		touch(i, 0, MOCA_ACCESS_READ);
		touches[touch_count - 1].addr = HEAP + 1024 * (i + 1);
		next();
	}
	for (i = 0; i < 60; i++) {
		if (i == 30) {
			clock_ns = first_ns + interval * INTERVAL_NS - 10000;
			put_free(0, HEAP, MOCA_ALLOC_MALLOC);
			put_alloc(1, HEAP, PAGE, 1, MOCA_ALLOC_MALLOC);
		}
		touch(i >= 30, 0, MOCA_ACCESS_WRITE);
		touches[touch_count - 1].addr = HEAP + (i >= 30 ? 16 : 40);
		next();
	}
	return look("2x1");
}

static int line_turns(void)
{
	const struct moca_finding *f;

	CHECK(!turns(16, MOCA_ACCESS_WRITE, 40, MOCA_ACCESS_WRITE, 2));
	f = finding(MOCA_FINDING_SHARED_LINES);
	CHECK(advice->count == 1 && f && f->object == object());
	CHECK(f->confidence == MOCA_CONFIDENCE_MEDIUM);
	CHECK(has_line(f->evidence, "#0 writes") &&
	      has_line(f->evidence, "(byte 16)") &&
	      has_line(f->evidence, "#1 writes") &&
	      has_line(f->evidence, "(byte 40)"));
	CHECK(has_line(f->evidence, "seen 60 times in 61 intervals"));
	CHECK(has_line(f->try_, "moca record --exact --granularity 64"));
	CHECK(profile->lines.count == 2 && !profile->lines.left_out);
	CHECK(!noted("exact addresses"));
	/* What the one does is looked at when all of the other's is. */
	turns_wait = 1;
	CHECK(!turns(16, MOCA_ACCESS_WRITE, 40, MOCA_ACCESS_WRITE, 2));
	turns_wait = 0;
	CHECK(finding(MOCA_FINDING_SHARED_LINES));
	/* A command that a shell would divide is not one to be copied. */
	put_more = put_command;
	CHECK(!turns(16, MOCA_ACCESS_WRITE, 40, MOCA_ACCESS_WRITE, 2));
	put_more = NULL;
	f = finding(MOCA_FINDING_SHARED_LINES);
	CHECK(f && has_line(f->try_, "-- COMMAND") && !has_line(f->try_, "rm"));
	/* --exact starts its program. */
	put_more = put_attached;
	CHECK(!turns(16, MOCA_ACCESS_WRITE, 40, MOCA_ACCESS_WRITE, 2));
	f = finding(MOCA_FINDING_SHARED_LINES);
	CHECK(f && has_line(f->try_, "-- serve -f serve.cfg"));
	put_more = put_pid;
	CHECK(!turns(16, MOCA_ACCESS_WRITE, 40, MOCA_ACCESS_WRITE, 2));
	put_more = NULL;
	f = finding(MOCA_FINDING_SHARED_LINES);
	CHECK(f && has_line(f->try_, "-- COMMAND") && !has_line(f->try_, "-p"));
	return 0;
}

static int no_line_turns(void)
{
	/* The same bytes: a lock, or a counter that all need. */
	CHECK(!turns(16, MOCA_ACCESS_WRITE, 16, MOCA_ACCESS_WRITE, 2));
	CHECK(!advice->count && profile->lines.count == 2);
	CHECK(strstr(check(MOCA_FINDING_SHARED_LINES)->missed,
		     "they use different bytes"));
	CHECK(noted("exact addresses"));
	/* Lines of their own. */
	CHECK(!turns(16, MOCA_ACCESS_WRITE, 72, MOCA_ACCESS_WRITE, 2));
	CHECK(!advice->count && !profile->lines.count);
	CHECK(!noted("exact addresses"));
	/* One hands on what the other reads. */
	CHECK(!turns(16, MOCA_ACCESS_WRITE, 40, MOCA_ACCESS_READ, 2));
	CHECK(!advice->count);
	/* Where two parts of an array meet. */
	turns_pages = 100;
	CHECK(!turns(16, MOCA_ACCESS_WRITE, 40, MOCA_ACCESS_WRITE, 2));
	turns_pages = 1;
	CHECK(!finding(MOCA_FINDING_SHARED_LINES));
	CHECK(!profile->lines.count);
	/* Nobody has it at the time of another. */
	CHECK(!one_after_the_other());
	CHECK(!finding(MOCA_FINDING_SHARED_LINES) && !profile->lines.count);
	/* Now and then. */
	CHECK(!turns(16, MOCA_ACCESS_WRITE, 40, MOCA_ACCESS_WRITE, 10));
	CHECK(!advice->count);
	return 0;
}

/* What all threads are to write: no name of the program's is taken for it. */
static int locks(void)
{
	CHECK(advice_synchronizes("___pthread_barrier_wait"));
	CHECK(advice_synchronizes("pthread_mutex_unlock"));
	CHECK(advice_synchronizes("__lll_lock_wait"));
	CHECK(advice_synchronizes("gomp_team_barrier_wait_end"));
	CHECK(!advice_synchronizes("main") && !advice_synchronizes(NULL));
	CHECK(!advice_synchronizes("semantics") && !advice_synchronizes("_"));
	CHECK(!advice_synchronizes("my_pthread_work"));
	CHECK(advice_is_one_lock("__pthread_mutex_lock",
				 "___pthread_mutex_unlock", 0x1ull << 8));
	/* Two mutexes; a mutex beside what the program writes. */
	CHECK(!advice_is_one_lock("__pthread_mutex_lock",
				  "__pthread_mutex_lock", 1 | 1ull << 40));
	CHECK(!advice_is_one_lock("__pthread_mutex_lock", "main",
				  1 | 1ull << 8));
	CHECK(!advice_is_one_lock(NULL, "__pthread_mutex_lock", 1));
	/* A mutex and its condition variable, as pigz has them. */
	CHECK(advice_is_one_lock("__condvar_dec_grefs",
				 "__GI___pthread_mutex_unlock_usercnt",
				 1ull << 8 | 1ull << 56));
	CHECK(advice_is_one_lock("pthread_mutex_lock", "pthread_cond_signal",
				 1 | 1ull << 48));
	return 0;
}

/* --- what came near --------------------------------------------------------- */

/* Serial initialisation of so many pages: that share of what it takes. */
static int closest_of(unsigned pages, double share, const char *missed)
{
	const struct moca_check *c;
	unsigned i;

	begin(THREADS, pages);
	sweep(0, 0, pages, MOCA_ACCESS_WRITE);
	for (i = 0; i < 20; i++) {
		next();
		sweep(0, 0, pages / 2, MOCA_ACCESS_WRITE);
		sweep(1, pages / 2, pages, MOCA_ACCESS_WRITE);
	}
	CHECK(!look("2x1") && !advice->count);
	c = check(MOCA_FINDING_SERIAL_TOUCH);
	CHECK(c && c->object == object() && near(c->near, share));
	CHECK(!strcmp(c->missed, missed));
	CHECK(advice->most_remote == object());
	return 0;
}

static int closest(void)
{
	if (closest_of(512, 0.5, "size 2.0 MiB, not 4.0 MiB at least"))
		return 1;
	/* More digits where fewer would say "4.0 MiB, not 4.0 MiB". */
	return closest_of(1020, 1020. / 1024,
			  "size 3.98 MiB, not 4.00 MiB at least");
}

/* What of so many seconds, of which one is needed, is told. */
static int told_seconds(double seconds, const char *missed)
{
	struct moca_advice a = { 0 };
	struct rules of = { .a = &a };
	struct condition table[] = { AT_LEAST("seconds", NUMBER, seconds, 1) };

	CHECK(!CONDITIONS(&of, MOCA_FINDING_GROWING, NULL, table));
	conditions_tell(&of);
	CHECK(!of.err && a.check_count == 1);
	CHECK(!strcmp(a.checks[0].missed, missed));
	free(a.checks[0].missed);
	free(a.checks);
	return 0;
}

/* "1.0" does not tell from 1 what is less. */
static int closest_number(void)
{
	return told_seconds(0.98, "seconds 0.98, not 1.0 at least") ||
	       told_seconds(0.5, "seconds 0.5, not 1 at least");
}

/* --- too few intervals ------------------------------------------------------ */

static unsigned long own_ms, look_ms;
static unsigned all_intervals;	/* as the recorder counted them; 0: it did not */

static void put_costs(struct moca_meta *m)
{
	/* Three intervals: two sweeps. */
	if (moca_meta_set(m, "cost.wall_ns", "%lu000000", own_ms + 100) ||
	    moca_meta_set(m, "cost.wall_added_ns", "100000000") ||
	    moca_meta_set(m, "cost.repeated.ns", "%lu000000", 2 * look_ms) ||
	    (all_intervals &&
	     moca_meta_set(m, "intervals", "%u", all_intervals)))
		abort();
}

static int few(unsigned long ms, unsigned long look_at)
{
	int ret;

	own_ms = ms;
	look_ms = look_at;
	begin(1, 100);
	sweep(0, 0, 100, MOCA_ACCESS_WRITE);
	next();
	next();
	sweep(0, 0, 100, MOCA_ACCESS_WRITE);
	put_more = ms ? put_costs : NULL;
	ret = look("2x1");
	put_more = NULL;
	return ret;
}

static int too_few(void)
{
	/* 0.1 s of start-up, and 20 times 10 ms. */
	CHECK(!few(1000, 10));
	CHECK(noted("3 intervals only") &&
	      noted("--interval 50ms --budget 30%: to look at all its pages once takes 10.0 ms"));
	CHECK(noted("the 1.00 s that it runs by itself about 1.30 s") &&
	      noted("up to 20 intervals; on a busy machine there are fewer"));
	CHECK(!few(400, 10) && noted("--interval 20ms --budget 75%"));
	/* No budget that one would give. */
	CHECK(!few(1000, 200));
	CHECK(noted("--budget 100%, and give the program work for 5 s or more") &&
	      !noted("none"));
	CHECK(!few(50, 1) && noted("0.05 s by itself: give it more work"));
	/* Of 0.1 s, what recording did not take is not known. */
	CHECK(!few(1, 1) && noted("s that it ran was spent on recording") &&
	      !noted("by itself"));
	/* In the last ones nothing was accessed: they count as well. */
	all_intervals = 5;
	CHECK(!few(1000, 10) && noted("5 intervals only"));
	all_intervals = 0;
	/* An old trace does not know. */
	CHECK(!few(0, 0) && noted("--interval 20ms --budget 50%, or"));
	return 0;
}

/* Thread 0 fills it; each has its own half, or they take turns at the halves. */
static int few_halves(unsigned intervals, int in_turn)
{
	unsigned i;

	begin(THREADS, BIG);
	sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
	for (i = 1; i < intervals; i++) {
		next();
		sweep(in_turn ? i & 1 : 0, 0, BIG / 2, MOCA_ACCESS_READ);
		sweep(in_turn ? i & 1 : 0, 0, BIG / 2, MOCA_ACCESS_WRITE);
		sweep(in_turn ? ~i & 1 : 1, BIG / 2, BIG, MOCA_ACCESS_READ);
		sweep(in_turn ? ~i & 1 : 1, BIG / 2, BIG, MOCA_ACCESS_WRITE);
	}
	return look("2x1");
}

static int few_that_agree(void)
{
	const struct moca_finding *f;

	CHECK(!few_halves(6, 0));
	CHECK(only(MOCA_FINDING_SERIAL_TOUCH) && noted("6 intervals only"));
	f = &advice->findings[0];
	CHECK(f->confidence == MOCA_CONFIDENCE_MEDIUM);
	CHECK(has_line(f->evidence, "has 6 intervals only"));
	/* They do not agree, or are fewer still. */
	CHECK(!few_halves(6, 1));
	CHECK(!advice->count && noted("6 intervals only"));
	CHECK(!few_halves(4, 0));
	CHECK(!advice->count && noted("4 intervals only"));
	return 0;
}

int main(void)
{
	run("threads_move", threads_move);
	run("structures with one cause", misplaced);
	run("misplaced, used seldom", misplaced_once);
	run("memory with an earlier owner", recycled);
	run("memory that begins anew", begins_anew);
	run("memory that only looks so", only_looks_anew);
	run("an array that grows in its place", grows_in_place);
	run("scattered writes", scattered);
	run("advice in the program's words", model);
	run("advice to what a runtime runs", runtimes);
	run("lines that threads take turns at", line_turns);
	run("lines that only look so", no_line_turns);
	run("locks and barriers by their functions", locks);
	run("rules: closest", closest);
	run("rules: closest, numbers", closest_number);
	run("too few intervals", too_few);
	run("few intervals that agree", few_that_agree);
	done();
	free(touches);
	dir_remove();
	return failures != 0;
}

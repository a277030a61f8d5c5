// SPDX-License-Identifier: GPL-2.0-or-later
/* Nodes: machines that are described, recorded or assumed, and pages on them. */
#include "analysis/trace.h"
#include "tests/unit/advice-trace.h"

/* Threads that come one after the other are one, as far as places go. */
static int placement(void)
{
	struct moca_change *e;
	unsigned i;

	begin(THREADS, BIG);
	e = put_change(1, MOCA_CHANGE_TASK_END);
	e->time_ns = clock_ns;
	start_task(2, 100, 102, 0, MOCA_TASK_THREAD);
	for (i = 0; i < 12; i++) {
		touch(0, i, MOCA_ACCESS_WRITE);
		touch(1, 100 + i, MOCA_ACCESS_WRITE);
		touch(2, 200 + i, MOCA_ACCESS_WRITE);
		next();
	}
	CHECK(!look("2x4"));
	CHECK(profile->threads == 2 && profile->lanes == 2);
	CHECK(profile->lane_of[0] == 0 && profile->lane_of[1] == 1 &&
	      profile->lane_of[2] == 1);
	/* Spread over the 8 CPUs; who comes later is where there is room. */
	CHECK(profile->cpu_of[0] == 0 && profile->cpu_of[1] == 4 &&
	      profile->cpu_of[2] == 4);
	return 0;
}

/* --- who takes a place ------------------------------------------------------- */

/* Thread 0 has `pages` in each of so many intervals, then thread 1 all in 60. */
static int one_then_other(unsigned intervals, unsigned pages)
{
	unsigned i;

	begin(THREADS, BIG);
	for (i = 0; i < 60; i++) {
		if (i < intervals)
			sweep(0, 0, pages, MOCA_ACCESS_WRITE);
		if (i > 1)
			sweep(1, 0, BIG, MOCA_ACCESS_WRITE);
		next();
	}
	return look("2x1");
}

static int helpers(void)
{
	/* A thirtieth of all accesses, but it worked as much while it did. */
	CHECK(!one_then_other(2, BIG));
	CHECK(profile->threads == 2 && only(MOCA_FINDING_SERIAL_TOUCH));
	/* As many, but never much: a helper. */
	CHECK(!one_then_other(60, 64));
	CHECK(profile->threads == 1 && !advice->count);
	return 0;
}

static void put_credit(struct moca_meta *m)
{
	if (moca_meta_set(m, META_CREDIT, "200000000"))
		abort();
}

/* The time is that of the begin of this interval. */
static void go_to(uint32_t k)
{
	clock_ns = first_ns + interval_at(k) - 10000;
}

/*
 * Two threads have a half each, for two short intervals, or one after the other; two
 * others have the same halves for long ones.
 */
static int by_pairs(int at_once)
{
	unsigned i;
	int err;

	begin(1, BIG);
	first_ns = clock_ns + 100000;
	long_from = 2;
	long_times = 100;
	for (i = 1; i <= 4; i++) {
		go_to(i > 2 ? 2 : at_once ? 0 : i - 1);
		start_task(i, 100, 100 + i, 0, MOCA_TASK_THREAD);
		if (i > 2)
			continue;
		go_to(at_once ? 2 : i);
		put_change(i, MOCA_CHANGE_TASK_END)->time_ns = clock_ns;
	}
	for (i = 0; i < 14; i++) {
		if (i > 1 || at_once || i == 0)
			sweep(i < 2 ? 1 : 3, 0, BIG / 2, MOCA_ACCESS_WRITE);
		if (i > 1 || at_once || i == 1)
			sweep(i < 2 ? 2 : 4, BIG / 2, BIG, MOCA_ACCESS_WRITE);
		next();
	}
	put_more = put_credit;
	err = look("2x1");
	put_more = NULL;
	long_from = 0;
	return err;
}

static int short_lives(void)
{
	CHECK(!by_pairs(1));
	CHECK(profile->threads == 2 && !advice->count);
	CHECK(profile->lane_of[1] != profile->lane_of[2] &&
	      profile->lane_of[3] != profile->lane_of[4]);
	CHECK(remote(MOCA_POLICY_FIRST_TOUCH) < 0.01);
	/* One after the other, they have the same place. */
	CHECK(!by_pairs(0));
	CHECK(profile->lane_of[1] == profile->lane_of[2]);
	CHECK(only(MOCA_FINDING_SERIAL_TOUCH));
	return 0;
}

#define SHARED_AT (400ul << 20)	/* behind HEAP */

/*
 * A process with memory that two children of it share, or that each has a copy of,
 * and use by halves. It fills it before these begin, or not at all. Its last access
 * before that may belong to an object that is yet to be told, and it tells none.
 */
static int forked(int is_shared, int is_filled)
{
	uint64_t at = SHARED_AT / PAGE;
	struct moca_change *e;
	unsigned i;

	begin(1, 16);
	e = put_map(0, HEAP + SHARED_AT, BIG * PAGE, "");
	if (is_shared) {
		e->flags = MOCA_MAP_SHARED;
		e->memory = MOCA_MEMORY_ANONYMOUS;
		e->dev = 1;
		e->ino = 7;
	} else {
		e->memory = MOCA_MEMORY_PRIVATE;
	}
	first_ns = clock_ns + 100000;
	touch(0, 1000, MOCA_ACCESS_WRITE);
	if (is_filled)
		sweep(0, at, at + BIG, MOCA_ACCESS_WRITE);
	next();
	go_to(1);
	start_task(1, 101, 101, 0, MOCA_TASK_FORK);
	start_task(2, 102, 102, 0, MOCA_TASK_FORK);
	for (i = 0; i < 14; i++) {
		sweep(1, at, at + BIG / 2, MOCA_ACCESS_WRITE);
		sweep(2, at + BIG / 2, at + BIG, MOCA_ACCESS_WRITE);
		next();
	}
	return look("2x1");
}

static int processes(void)
{
	CHECK(!forked(1, 1));
	CHECK(profile->lane_of[1] != profile->lane_of[2]);
	CHECK(object()->pages == BIG && only(MOCA_FINDING_SERIAL_TOUCH));
	CHECK(object()->touch_task == 0);
	/* Each fills its part itself. */
	CHECK(!forked(1, 0));
	CHECK(profile->lane_of[1] != profile->lane_of[2] && !advice->count);
	/* What each writes is its own copy. */
	CHECK(!forked(0, 1));
	CHECK(profile->lane_of[1] != profile->lane_of[2] && !advice->count);
	return 0;
}

/* The recorded machine, by an hwloc file: CPUs and pages as they were. */
static int recorded(void)
{
	static const char xml[] =
		"<topology><object type=\"NUMANode\" cpuset=\"0x1\"/>"
		"<object type=\"NUMANode\" cpuset=\"0x2\"/></topology>";
	char path[] = "/tmp/moca-test-machine-XXXXXX";
	int fd = mkstemp(path), failed;

	CHECK(fd >= 0 && write(fd, xml, sizeof(xml) - 1) > 0);
	close(fd);
	recorded_node = 1;
	begin(THREADS, BIG);
	sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
	halves(20, MOCA_ACCESS_WRITE);
	sweep(0, 0, BIG / 2, MOCA_ACCESS_READ);
	failed = look(path);
	unlink(path);
	recorded_node = MOCA_NODE_UNKNOWN;
	CHECK(!failed && !profile->topology.what_if);
	/* Thread 0 touches first, on node 0; but all pages are on node 1. */
	CHECK(object()->homes[1] == BIG && !object()->homes[0]);
	CHECK(object()->remote[MOCA_POLICY_FIRST_TOUCH] ==
	      object()->use[0]);
	CHECK(object()->use[1] == 10 * BIG);
	return 0;
}

/* All pages on node 4, as the trace tells; who touched them first is no matter. */
static int recorded_nodes(void)
{
	recorded_node = 4;
	begin(THREADS, BIG);
	sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
	halves(20, MOCA_ACCESS_WRITE);
	CHECK(!look(NULL));
	CHECK(!profile->topology.what_if && profile->topology.nodes == 2);
	CHECK(!profile->unknown && object()->homes[1] == BIG);
	CHECK(object()->remote[MOCA_POLICY_FIRST_TOUCH] == object()->use[0]);
	CHECK(only(MOCA_FINDING_SERIAL_TOUCH) &&
	      advice->findings[0].confidence == MOCA_CONFIDENCE_HIGH);
	return 0;
}

/* What is not known is as the rest; the less is, the less is said. */
static int unknown_nodes(void)
{
	static const struct {
		unsigned unknown;
		int found;
		enum moca_confidence confidence;
	} steps[] = {
		{ 1, 1, MOCA_CONFIDENCE_MEDIUM }, { 3, 1, MOCA_CONFIDENCE_LOW },
		{ 6, 0, 0 }, { 10, 0, 0 },
	};
	size_t i;

	recorded_node = 4;
	for (i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		begin(THREADS, BIG);
		sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
		halves(20, MOCA_ACCESS_WRITE);
		unknown_of_10 = steps[i].unknown;
		CHECK(!look(NULL));
		CHECK(near((double)profile->unknown / profile->accesses,
			   steps[i].unknown / 10.));
		CHECK(steps[i].unknown == 10 ||
		      near(remote(MOCA_POLICY_FIRST_TOUCH), 11. / 21));
		CHECK((int)advice->count == steps[i].found);
		CHECK(!advice->count ||
		      advice->findings[0].confidence == steps[i].confidence);
		CHECK(advice->note_count);
	}
	CHECK(!object()->remote[MOCA_POLICY_FIRST_TOUCH]);
	unknown_of_10 = 0;
	recorded_node = MOCA_NODE_UNKNOWN;
	return 0;
}

static int topology(void)
{
	static const char *const bad[] = { "", "x", "4", "4x", "0x4", "65x1",
					   "64x65", "4x16x2", "4x-1" };
	static const char xml[] =
		"<topology><object type=\"Machine\" cpuset=\"0x0000000f\">\n"
		"<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x00000005\"/>\n"
		"<object type=\"NUMANode\" os_index=\"1\" "
		"cpuset=\"0x00000001,0x0000000a\" nodeset=\"0x2\"/>\n"
		"</object></topology>\n";
	struct moca_topology t;
	char path[100];
	size_t i;

	begin(1, 1);
	touch(0, 0, MOCA_ACCESS_READ);
	CHECK(!look("2x1"));
	CHECK(!moca_topology_parse(&t, "4x16", trace));
	CHECK(t.nodes == 4 && t.cpus == 64 && t.what_if && t.node_of[63] == 3 &&
	      t.node_of[15] == 0 && t.node_of[16] == 1);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(moca_topology_parse(&t, bad[i], trace) < 0);
	spill("machine.xml", (const uint8_t *)xml, sizeof(xml) - 1);
	snprintf(path, sizeof(path), "%s/machine.xml", dir);
	CHECK(!moca_topology_parse(&t, path, trace));
	CHECK(t.nodes == 2 && t.cpus == 33 && t.node_of[0] == 0 &&
	      t.node_of[1] == 1 && t.node_of[2] == 0 && t.node_of[32] == 1);
	spill("machine.xml", (const uint8_t *)"<object type=", 13);
	CHECK(moca_topology_parse(&t, path, trace) == -EINVAL);
	/* Nobody asked for one: two halves. */
	moca_topology_of(&t, trace);
	CHECK(t.nodes == 2 && t.what_if && t.assumed);
	return 0;
}

int main(void)
{
	run("placement of threads", placement);
	run("helpers take no place", helpers);
	run("threads that live shortly", short_lives);
	run("placement of processes", processes);
	run("recorded machine", recorded);
	run("recorded nodes", recorded_nodes);
	run("unknown nodes", unknown_nodes);
	run("topology", topology);
	done();
	free(touches);
	dir_remove();
	return failures != 0;
}

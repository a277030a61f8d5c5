// SPDX-License-Identifier: GPL-2.0-or-later
/* The file `machine`: as written, damaged, hostile; and what analyses make of it. */
#include "analysis/topology.h"
#include "analysis/machine-xml.h"
#include "lib/format/machine.h"
#include "tests/unit/trace-util.h"

static const uint32_t distances[3][3] = {
	{ 10, 21, 17 }, { 21, 10, 28 }, { 17, 28, 10 },
};
static const uint32_t nearest[] = { 0 }, both[] = { 0, 2 };
static const int32_t cpus[] = { 0, 2, -1, 2, 0 };
/* Numbers with a gap, a node without CPUs, a CPU that was offline. */
static const struct moca_machine_node nodes[] = {
	{ .id = 0, .tier = 4, .bytes = 8ull << 30, .free_bytes = 5ull << 30,
	  .read_latency_ns = 80, .write_latency_ns = 81,
	  .read_bandwidth = 100000, .write_bandwidth = 60000,
	  .initiator_count = 1, .initiators = nearest,
	  .distances = distances[0] },
	{ .id = 2, .tier = 4, .bytes = 8ull << 30, .distances = distances[1] },
	{ .id = 5, .tier = 22, .bytes = 64ull << 30, .free_bytes = 1,
	  .initiator_count = 2, .initiators = both,
	  .distances = distances[2] },
};
static const struct moca_machine_setting settings[] = {
	{ "thp.enabled", "madvise" }, { "numa_balancing", "1" },
	{ "cpu.model", "" },
};
static const char xml[] = "<topology version=\"2.0\"/>";
static const struct moca_machine machine = {
	.page_size = 4096, .node_count = 3, .nodes = nodes, .cpu_count = 5,
	.node_of_cpu = cpus, .setting_count = 3, .settings = settings,
	.xml = xml, .xml_len = sizeof(xml) - 1,
};

static struct moca_trace *trace;

static int reopen(void)
{
	moca_trace_close(trace);
	trace = NULL;
	return moca_trace_open(&trace, dir);
}

static int begin(const struct moca_machine *m)
{
	dir_new();
	put_meta("complete");
	return (m ? moca_machine_write(dirfd_, m, 1000) : 0) || reopen();
}

static int t_round_trip(void)
{
	const struct moca_machine *m;
	struct moca_damage damage;
	size_t i, k;

	CHECK(!begin(&machine));
	m = moca_trace_machine(trace);
	moca_trace_damage(trace, &damage);
	CHECK(m && !damage.chunks && !damage.files && !damage.tail_bytes);
	CHECK(m->page_size == 4096 && m->node_count == 3 && m->cpu_count == 5);
	for (i = 0; i < 3; i++) {
		CHECK(m->nodes[i].id == nodes[i].id &&
		      m->nodes[i].tier == nodes[i].tier &&
		      m->nodes[i].bytes == nodes[i].bytes &&
		      m->nodes[i].free_bytes == nodes[i].free_bytes);
		CHECK(m->nodes[i].read_latency_ns == nodes[i].read_latency_ns &&
		      m->nodes[i].write_bandwidth == nodes[i].write_bandwidth &&
		      m->nodes[i].initiator_count == nodes[i].initiator_count);
		for (k = 0; k < 3; k++)
			CHECK(m->nodes[i].distances[k] == distances[i][k]);
	}
	CHECK(m->nodes[2].initiators[1] == 2);
	CHECK(!memcmp(m->node_of_cpu, cpus, sizeof(cpus)));
	CHECK(!strcmp(moca_machine_setting(m, "thp.enabled"), "madvise"));
	CHECK(!*moca_machine_setting(m, "cpu.model"));
	CHECK(!moca_machine_setting(m, "thp"));
	CHECK(m->xml_len == sizeof(xml) - 1 && !strcmp(m->xml, xml));
	CHECK(moca_machine_node(m, 2) == 1 && moca_machine_node(m, 1) == -1 &&
	      moca_machine_node(m, -1) == -1);
	CHECK(moca_machine_cpu_node(m, 3) == 2 &&
	      moca_machine_cpu_node(m, 2) == -1 &&
	      moca_machine_cpu_node(m, 5) == -1);
	/* There is one, which is never written anew. */
	CHECK(moca_machine_write(dirfd_, &machine, 1) == -EEXIST);
	return 0;
}

static int t_not_recorded(void)
{
	struct moca_topology t;

	CHECK(!begin(NULL));
	CHECK(!moca_trace_machine(trace));
	moca_topology_of(&t, trace);
	CHECK(t.nodes == 2 && t.what_if && t.assumed == MOCA_ASSUMED_UNKNOWN);
	return 0;
}

static int t_refused(void)
{
	static struct moca_machine_setting many[MOCA_MACHINE_SETTINGS_MAX + 1];
	static const int32_t nowhere[] = { 0, 1 };
	struct moca_machine_node twice[] = { nodes[0], nodes[0] };
	struct moca_machine m = machine;
	size_t i;

	dir_new();
	m.node_of_cpu = nowhere;
	m.cpu_count = 2;
	CHECK(moca_machine_write(dirfd_, &m, 0) == -EINVAL);
	m = machine;
	m.nodes = twice;
	m.node_count = 2;
	m.cpu_count = 0;
	CHECK(moca_machine_write(dirfd_, &m, 0) == -EINVAL);
	for (i = 0; i < sizeof(many) / sizeof(*many); i++)
		many[i] = settings[0];
	m = machine;
	m.settings = many;
	m.setting_count = sizeof(many) / sizeof(*many);
	CHECK(moca_machine_write(dirfd_, &m, 0) == -EINVAL);
	/* Nothing at all is known, and that is told. */
	m = (struct moca_machine){ 0 };
	CHECK(!begin(&m));
	CHECK(moca_trace_machine(trace) &&
	      !moca_trace_machine(trace)->node_count);
	return 0;
}

/* Whatever byte is changed: it is noticed, and nothing of it believed. */
static int t_damaged(void)
{
	struct moca_damage damage;
	size_t len, i;
	uint8_t *p;

	CHECK(!begin(&machine));
	p = slurp("machine", &len);
	for (i = 0; i < len; i++) {
		p[i] ^= (uint8_t)(1u << i % 8);
		spill("machine", p, len);
		CHECK(!reopen());
		moca_trace_damage(trace, &damage);
		CHECK(damage.chunks || damage.files || damage.tail_bytes);
		CHECK(!moca_trace_machine(trace));
		p[i] ^= (uint8_t)(1u << i % 8);
	}
	for (i = 0; i < len; i += 7) {
		spill("machine", p, i);
		CHECK(!reopen());
		CHECK(!moca_trace_machine(trace));
	}
	/* A second one contradicts the first. */
	p = realloc(p, 2 * len);
	CHECK(p);
	memcpy(p + len, p, len);
	spill("machine", p, 2 * len);
	free(p);
	CHECK(!reopen());
	moca_trace_damage(trace, &damage);
	CHECK(damage.chunks == 1 && moca_trace_machine(trace));
	return 0;
}

/* All that a reader might do with it. */
static int touch(const struct moca_machine *m)
{
	uint64_t sum = 0;
	size_t i, k;

	for (i = 0; i < m->node_count; i++) {
		CHECK(moca_machine_node(m, (int32_t)m->nodes[i].id) == (int)i);
		for (k = 0; k < m->node_count; k++)
			sum += m->nodes[i].distances[k];
		for (k = 0; k < m->nodes[i].initiator_count; k++)
			CHECK(moca_machine_node(m, (int32_t)m->nodes[i]
							.initiators[k]) >= 0);
	}
	for (i = 0; i < m->cpu_count; i++)
		CHECK(m->node_of_cpu[i] == -1 ||
		      moca_machine_node(m, m->node_of_cpu[i]) >= 0);
	for (i = 0; i < m->setting_count; i++)
		sum += strlen(m->settings[i].name) +
		       strlen(m->settings[i].value);
	__asm__ volatile("" : : "r"(sum));
	return !m->xml || strlen(m->xml) <= m->xml_len ? 0 : 1;
}

/* With right checksums: bytes of the streams changed, cut off, made of nothing. */
static int t_hostile(void)
{
	static const uint8_t edge[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct moca_stream_out out;
	struct moca_stream_in in = { .dctx = ZSTD_createDCtx() };
	struct moca_machine *m;
	uint8_t raw[512], copy[512], payload[2048];
	size_t len, n, i, k, good = 0;
	int ret;

	CHECK(!moca_stream_out_init(&out, 1));
	moca_stream_reset(&out);
	CHECK(!moca_machine_encode(&out, &machine));
	n = out.dir.len + out.body.len;
	CHECK(n <= sizeof(payload));
	memcpy(payload, out.dir.data, out.dir.len);
	memcpy(payload + out.dir.len, out.body.data, out.body.len);
	CHECK(!moca_stream_parse(&in, payload, n));
	len = moca_stream_len(&in, MOCA_S_MACHINE);
	CHECK(len <= sizeof(raw) &&
	      !moca_stream_get(&in, MOCA_S_MACHINE, raw, len));
	for (i = 0; i < 100000; i++) {
		memcpy(copy, raw, len);
		for (k = rnd() % 4 + 1; k; k--)
			copy[rnd() % len] = rnd() % 2 ?
				edge[rnd() % sizeof(edge)] : (uint8_t)rnd();
		moca_stream_reset(&out);
		CHECK(!moca_stream_put(&out, MOCA_S_MACHINE, copy,
				       rnd() % 4 ? len : rnd() % len + 1, 1));
		n = out.dir.len + out.body.len;
		memcpy(payload, out.dir.data, out.dir.len);
		memcpy(payload + out.dir.len, out.body.data, out.body.len);
		CHECK(!moca_stream_parse(&in, payload, n));
		ret = moca_machine_decode(&m, &in);
		CHECK(!ret || ret == -EBADMSG);
		if (ret)
			continue;
		good++;
		ret = touch(m);
		free(m);
		CHECK(!ret);
	}
	CHECK(good > 100 && good < 100000);
	moca_stream_out_free(&out);
	ZSTD_freeDCtx(in.dctx);
	return 0;
}

static int t_topology(void)
{
	struct moca_machine m = machine;
	struct moca_topology t;

	CHECK(!begin(&machine));
	moca_topology_of(&t, trace);
	CHECK(!t.what_if && !t.assumed && t.nodes == 3 && t.cpus == 5);
	CHECK(t.ids[2] == 5 && moca_topology_node(&t, 5) == 2 &&
	      moca_topology_node(&t, 2) == 1 &&
	      moca_topology_node(&t, 1) == -1 &&
	      moca_topology_node(&t, MOCA_NODE_UNKNOWN) == -1);
	CHECK(moca_topology_cpu_node(&t, 3) == 1 &&
	      moca_topology_cpu_node(&t, 2) == -1 &&
	      moca_topology_cpu_node(&t, 4000) == -1);
	/* Asked for, and another one: threads are dealt out over it. */
	CHECK(!moca_topology_parse(&t, "2x8", trace) && t.what_if);
	/* One node: a machine with two is assumed. */
	m.node_count = 1;
	m.cpu_count = 1;
	CHECK(!begin(&m));
	moca_topology_of(&t, trace);
	CHECK(t.what_if && t.nodes == 2 && t.assumed == MOCA_ASSUMED_ONE_NODE);
	return 0;
}

/* --- hwloc's XML ----------------------------------------------------------- */

static char *export(const char *synthetic, int *len)
{
	hwloc_topology_t h;
	char *text;

	if (hwloc_topology_init(&h) ||
	    hwloc_topology_set_synthetic(h, synthetic) ||
	    hwloc_topology_load(h) ||
	    hwloc_topology_export_xmlbuffer(h, &text, len, 0))
		abort();
	hwloc_topology_destroy(h);
	return text;
}

static int check_xml(const char *text, size_t len)
{
	struct moca_machine m = machine;

	m.xml = text;
	m.xml_len = len;
	return machine_xml_check(&m);
}

static int put_all(hwloc_topology_t h, FILE *out, const struct moca_machine *m)
{
	fprintf(out, "%d", hwloc_get_nbobjs_by_type(h, HWLOC_OBJ_PU));
	return 0;
}

static int t_xml(void)
{
	static const char entities[] =
		"<?xml version=\"1.0\"?><!DOCTYPE topology [<!ENTITY a \"aaaa\">"
		"<!ENTITY b \"&a;&a;&a;\"><!ENTITY f SYSTEM \"/etc/passwd\">]>"
		"<topology>&b;&f;</topology>";
	struct moca_machine m = machine;
	char *good, *bad, *text;
	int len;

	good = export("pack:1 [numa] core:4 pu:1", &len);
	CHECK(!check_xml(good, (size_t)len - 1));
	m.xml = good;
	m.xml_len = (size_t)len - 1;
	CHECK(!machine_xml_read(&m, put_all, &text) && !strcmp(text, "4"));
	free(text);
	/* Nodes 0 and 1, but the machine has 0, 2 and 5. */
	bad = export("pack:2 [numa] core:2 pu:1", &len);
	CHECK(check_xml(bad, (size_t)len - 1) == -EBADMSG);
	CHECK(check_xml(entities, sizeof(entities) - 1) == -EBADMSG);
	CHECK(check_xml("", 0) == -EBADMSG);
	m.xml = NULL;
	CHECK(machine_xml_check(&m) == -ENOENT);
	free(good);
	free(bad);
	return 0;
}

/* Whatever becomes of hwloc: nothing here hangs, dies or believes it. */
static int t_hostile_xml(void)
{
	int len, ret, i, k, taken = 0;
	char *good = export("pack:1 [numa] l3:2 core:2 pu:2", &len);
	char *copy = malloc((size_t)len);

	CHECK(copy);
	for (i = 0; i < 200; i++) {
		memcpy(copy, good, (size_t)len);
		for (k = (int)(rnd() % 6) + 1; k; k--)
			copy[rnd() % ((size_t)len - 1)] =
				"0123456789<>\"/ =afx"[rnd() % 20];
		ret = check_xml(copy, rnd() % 4 ? (size_t)len - 1 :
						  rnd() % (size_t)len);
		CHECK(!ret || ret == -EBADMSG);
		taken += !ret;
	}
	CHECK(taken < 200);
	free(copy);
	free(good);
	return 0;
}

int main(void)
{
	run("round trip", t_round_trip);
	run("not recorded", t_not_recorded);
	run("refused", t_refused);
	run("damaged", t_damaged);
	run("hostile", t_hostile);
	run("topology", t_topology);
	run("xml", t_xml);
	run("hostile xml", t_hostile_xml);
	moca_trace_close(trace);
	dir_remove();
	return failures != 0;
}

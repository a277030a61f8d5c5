// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/topology.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XML_MAX (16l << 20)

static unsigned meta_number(const struct moca_trace *t, const char *key)
{
	const char *s = moca_trace_meta(t, key);

	return s ? (unsigned)strtoul(s, NULL, 10) : 0;
}

static int make_uniform(struct moca_topology *out, unsigned long nodes,
			unsigned long each)
{
	unsigned c;

	if (!nodes || !each || nodes > MOCA_TOPOLOGY_NODES ||
	    each > MOCA_TOPOLOGY_CPUS / nodes)
		return -EINVAL;
	*out = (struct moca_topology){ .nodes = (unsigned)nodes,
				       .cpus = (unsigned)(nodes * each),
				       .what_if = 1 };
	for (c = 0; c < out->cpus; c++)
		out->node_of[c] = (uint8_t)(c / each);
	for (c = 0; c < out->nodes; c++)
		out->ids[c] = (uint16_t)c;
	return 0;
}

/* --- hwloc's XML -------------------------------------------------------- */

/* The value of an attribute of the tag that ends at end; NULL = has none. */
static const char *attribute(const char *tag, const char *end,
			     const char *name)
{
	size_t n = strlen(name);
	const char *p;

	for (p = tag; p + n + 2 < end; p++)
		if (isspace((unsigned char)*p) && !strncmp(p + 1, name, n) &&
		    p[n + 1] == '=' && p[n + 2] == '"')
			return p + n + 3;
	return NULL;
}

/* "0x000000ff,0xffffffff": 32 CPUs each, the lowest last. */
static int add_cpus(struct moca_topology *out, const char *set, unsigned node)
{
	const char *end = strchr(set, '"'), *p = end;
	unsigned base = 0, bit;
	unsigned long word;

	/* "0xf...f": all CPUs there could ever be. */
	if (!end || memchr(set, '.', (size_t)(end - set)))
		return -EINVAL;
	while (p > set) {
		while (p > set && p[-1] != ',')
			p--;
		word = strtoul(p, NULL, 16);
		if (word > UINT32_MAX)
			return -EINVAL;
		for (bit = 0; bit < 32; bit++) {
			if (!(word >> bit & 1))
				continue;
			if (base + bit >= MOCA_TOPOLOGY_CPUS)
				return -EINVAL;
			out->node_of[base + bit] = (uint8_t)node;
			if (out->cpus <= base + bit)
				out->cpus = base + bit + 1;
		}
		base += 32;
		p -= p > set;
	}
	return 0;
}

static int parse_xml(struct moca_topology *out, const char *text)
{
	const char *tag = text, *end, *type, *set;
	int err = 0;

	memset(out, 0, sizeof(*out));
	while (!err && (tag = strstr(tag, "<object"))) {
		end = strchr(tag, '>');
		if (!end)
			return -EINVAL;
		type = attribute(tag, end, "type");
		set = attribute(tag, end, "cpuset");
		tag = end;
		if (!type || strncmp(type, "NUMANode\"", 9) || !set)
			continue;
		if (out->nodes == MOCA_TOPOLOGY_NODES)
			return -EINVAL;
		out->ids[out->nodes] = (uint16_t)out->nodes;
		err = add_cpus(out, set, out->nodes++);
	}
	return err || !out->nodes || !out->cpus ? -EINVAL : 0;
}

static int read_xml(struct moca_topology *out, const char *path)
{
	FILE *f = fopen(path, "re");
	char *text;
	size_t n;
	int err;

	if (!f)
		return -errno;
	text = malloc(XML_MAX + 1);
	if (!text) {
		fclose(f);
		return -ENOMEM;
	}
	n = fread(text, 1, XML_MAX, f);
	err = ferror(f) ? -EIO : 0;
	fclose(f);
	text[n] = 0;
	if (!err)
		err = parse_xml(out, text);
	free(text);
	return err;
}

/* --- the recorded machine ------------------------------------------------- */

int moca_topology_node(const struct moca_topology *t, int id)
{
	unsigned n;

	/* Nearly always its own number. */
	if (id >= 0 && id < (int)t->nodes && t->ids[id] == id)
		return id;
	for (n = 0; n < t->nodes; n++)
		if (t->ids[n] == id)
			return (int)n;
	return -1;
}

/* 0, or -EINVAL: there is none, or a larger one than this is made for. */
static int take_machine(struct moca_topology *out, const struct moca_machine *m)
{
	size_t i;

	if (!m || !m->node_count || !m->cpu_count ||
	    m->node_count > MOCA_TOPOLOGY_NODES ||
	    m->cpu_count > MOCA_TOPOLOGY_CPUS)
		return -EINVAL;
	*out = (struct moca_topology){ .nodes = (unsigned)m->node_count,
				       .cpus = (unsigned)m->cpu_count };
	for (i = 0; i < m->node_count; i++)
		out->ids[i] = (uint16_t)m->nodes[i].id;
	for (i = 0; i < m->cpu_count; i++)
		out->node_of[i] = m->node_of_cpu[i] < 0 ?
			MOCA_TOPOLOGY_NO_NODE :
			(uint8_t)moca_machine_node(m, m->node_of_cpu[i]);
	return 0;
}

void moca_topology_of(struct moca_topology *out, const struct moca_trace *t)
{
	enum moca_assumed why = MOCA_ASSUMED_UNKNOWN;
	unsigned cpus = meta_number(t, "cpus");

	if (!take_machine(out, moca_trace_machine(t))) {
		if (out->nodes > 1)
			return;
		why = MOCA_ASSUMED_ONE_NODE;
		cpus = out->cpus;
	}
	make_uniform(out, 2, cpus >= 2 && cpus <= MOCA_TOPOLOGY_CPUS ?
				     cpus / 2 : 1);
	out->assumed = why;
}

/* Is it the machine that was recorded? Then accesses are where they were. */
static int is_recorded(struct moca_topology *out, const struct moca_trace *t)
{
	struct moca_topology own;

	if (!moca_trace_machine(t))
		return out->cpus == meta_number(t, "cpus");
	if (take_machine(&own, moca_trace_machine(t)) ||
	    own.nodes != out->nodes || own.cpus != out->cpus ||
	    memcmp(own.node_of, out->node_of, own.cpus))
		return 0;
	memcpy(out->ids, own.ids, sizeof(own.ids));
	return 1;
}

int moca_topology_parse(struct moca_topology *out, const char *text,
			const struct moca_trace *t)
{
	unsigned long nodes, each;
	char *end;
	int err;

	nodes = strtoul(text, &end, 10);
	if (isdigit((unsigned char)*text) && *end == 'x' &&
	    isdigit((unsigned char)end[1])) {
		each = strtoul(end + 1, &end, 10);
		if (!*end)
			return make_uniform(out, nodes, each);
	}
	err = read_xml(out, text);
	if (!err)
		out->what_if = !is_recorded(out, t);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/topology.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

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
		out->what_if = out->cpus != meta_number(t, "cpus");
	return err;
}

/* --- the machine's own -------------------------------------------------- */

/* "0-3,8-11" of a node of this machine. */
static int read_node(struct moca_topology *out, unsigned node)
{
	unsigned first, last;
	char path[64];
	FILE *f;
	int c;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist",
		 node);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fscanf(f, "%u", &first) == 1) {
		last = first;
		c = getc(f);
		if (c == '-' && fscanf(f, "%u", &last) == 1)
			c = getc(f);
		for (; first <= last && first < MOCA_TOPOLOGY_CPUS; first++) {
			out->node_of[first] = (uint8_t)node;
			if (out->cpus <= first)
				out->cpus = first + 1;
		}
		if (c != ',')
			break;
	}
	fclose(f);
	return 0;
}

/* Is the trace of this machine, as far as one can tell? */
static int is_here(const struct moca_trace *t)
{
	const char *host = moca_trace_meta(t, "host");
	struct utsname u;

	return host && !uname(&u) && !strcmp(host, u.nodename);
}

void moca_topology_of(struct moca_topology *out, const struct moca_trace *t)
{
	unsigned nodes = meta_number(t, "nodes"), cpus, i;

	memset(out, 0, sizeof(*out));
	if (nodes >= 2 && nodes <= MOCA_TOPOLOGY_NODES && is_here(t)) {
		for (i = 0; i < nodes; i++)
			if (read_node(out, i))
				break;
		out->nodes = nodes;
		if (i == nodes && out->cpus)
			return;
	}
	cpus = meta_number(t, "cpus");
	make_uniform(out, 2, cpus >= 2 && cpus <= MOCA_TOPOLOGY_CPUS ?
				     cpus / 2 : 1);
	out->assumed = 1;
}

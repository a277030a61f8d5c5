// SPDX-License-Identifier: GPL-2.0-or-later
/* The machine: from hwloc, live, from a file, or as the user imagines it. */
#include <ctype.h>
#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/report.h"
#include "cli/trace.h"
#include "lib/base/err.h"

#define MAX_PARTS 1024u

static const char *type_of(hwloc_obj_t o)
{
	return hwloc_obj_type_string(o->type);
}

static void put_object(struct json *j, hwloc_obj_t o)
{
	hwloc_obj_t child;
	char name[128];

	json_open(j, NULL, '{');
	json_string(j, "type", type_of(o));
	if (o->os_index != HWLOC_UNKNOWN_INDEX)
		json_uint(j, "index", o->os_index);
	hwloc_obj_type_snprintf(name, sizeof(name), o, 0);
	json_string(j, "name", name);
	if (hwloc_obj_type_is_cache(o->type))
		json_uint(j, "bytes", o->attr->cache.size);
	if (o->type == HWLOC_OBJ_NUMANODE)
		json_uint(j, "bytes", o->attr->numanode.local_memory);
	json_open(j, "memory", '[');
	for (child = o->memory_first_child; child; child = child->next_sibling)
		put_object(j, child);
	json_close(j, ']');
	json_open(j, "children", '[');
	for (child = o->first_child; child; child = child->next_sibling)
		put_object(j, child);
	json_close(j, ']');
	json_close(j, '}');
}

static int describe(struct report_topology *t, hwloc_topology_t h)
{
	struct json j = { 0 };
	hwloc_obj_t node = NULL;
	size_t len;
	unsigned cpu;

	j.f = open_memstream(&t->json, &len);
	if (!j.f)
		return -ENOMEM;
	put_object(&j, hwloc_get_root_obj(h));
	if (fclose(j.f))
		return -ENOMEM;
	t->cpu_count = (size_t)hwloc_bitmap_last(
			hwloc_topology_get_complete_cpuset(h)) + 1;
	t->node_of_cpu = malloc((t->cpu_count + 1) * sizeof(*t->node_of_cpu));
	if (!t->node_of_cpu)
		return -ENOMEM;
	memset(t->node_of_cpu, 0xff, t->cpu_count * sizeof(*t->node_of_cpu));
	while ((node = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_NUMANODE,
						  node)))
		hwloc_bitmap_foreach_begin(cpu, node->cpuset)
			if (cpu < t->cpu_count)
				t->node_of_cpu[cpu] = (int16_t)node->os_index;
		hwloc_bitmap_foreach_end();
	return 0;
}

/* "4x16": nodes and CPUs of each. */
static int parse_what_if(const char *spec, unsigned *nodes, unsigned *cpus)
{
	char *end;
	unsigned long n, c;

	if (!isdigit((unsigned char)*spec))
		return 0;
	n = strtoul(spec, &end, 10);
	if (*end != 'x' || !isdigit((unsigned char)end[1]))
		return 0;
	c = strtoul(end + 1, &end, 10);
	if (*end)
		return 0;
	*nodes = n <= MAX_PARTS ? (unsigned)n : 0;
	*cpus = c <= MAX_PARTS ? (unsigned)c : 0;
	return 1;
}

static int load_named(struct report_topology *t, hwloc_topology_t h,
		      const char *spec)
{
	unsigned nodes, cpus;
	char text[64];

	t->what_if = 1;
	if (!parse_what_if(spec, &nodes, &cpus)) {
		if (hwloc_topology_set_xml(h, spec) < 0 ||
		    hwloc_topology_load(h) < 0) {
			moca_error("report: '--topology %s' is neither NODESxCPUS nor a topology in hwloc's XML ('lstopo file.xml' writes one)",
				   spec);
			return -EINVAL;
		}
		return asprintf(&t->source, "the file %s", spec) < 0 ? -ENOMEM :
								       0;
	}
	if (!nodes || !cpus || nodes * cpus > 4096) {
		moca_error("report: '--topology %s': 1 to %u nodes of 1 to %u CPUs, 4096 together",
			   spec, MAX_PARTS, MAX_PARTS);
		return -EINVAL;
	}
	snprintf(text, sizeof(text), "pack:%u [numa] core:%u pu:1", nodes,
		 cpus);
	if (hwloc_topology_set_synthetic(h, text) < 0 ||
	    hwloc_topology_load(h) < 0)
		return -ENOMEM;
	return asprintf(&t->source,
			"imagined: %u nodes of %u CPUs (--topology)", nodes,
			cpus) < 0 ? -ENOMEM : 0;
}

/* Was it recorded here? Else this machine's topology says nothing. */
static int is_here(const struct moca_trace *t)
{
	const char *host = moca_trace_meta(t, META_HOST);
	char here[256] = "";

	gethostname(here, sizeof(here) - 1);
	return host && !strcmp(host, here) &&
	       trace_meta_u64(t, META_CPUS, 0) ==
	       (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
}

int report_topology(struct report *r, const char *spec)
{
	struct report_topology *t = &r->topology;
	hwloc_topology_t h;
	int err = 0;

	if (!spec && !is_here(r->trace))
		return 0;
	if (hwloc_topology_init(&h) < 0)
		return -ENOMEM;
	if (spec) {
		err = load_named(t, h, spec);
	} else if (hwloc_topology_load(h) < 0) {
		/* Unusual, and no reason to have no report. */
		hwloc_topology_destroy(h);
		return 0;
	} else {
		t->source = strdup("this machine, where it was recorded");
		err = t->source ? 0 : -ENOMEM;
	}
	if (!err)
		err = describe(t, h);
	hwloc_topology_destroy(h);
	return err;
}

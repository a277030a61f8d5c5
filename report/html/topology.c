// SPDX-License-Identifier: GPL-2.0-or-later
/* The machine: as the trace has it, from a file, or as the user imagines it. */
#include <ctype.h>
#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/machine-xml.h"
#include "lib/base/err.h"
#include "lib/text/json.h"
#include "report/html/report.h"

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

static int put_topology(hwloc_topology_t h, FILE *out,
			const struct moca_machine *m)
{
	struct json j = { .f = out };

	put_object(&j, hwloc_get_root_obj(h));
	return ferror(out);
}

static int describe(struct report_topology *t, hwloc_topology_t h)
{
	hwloc_obj_t node = NULL;
	size_t len;
	unsigned cpu;
	FILE *f = open_memstream(&t->json, &len);

	if (!f)
		return -ENOMEM;
	put_topology(h, f, NULL);
	if (fclose(f))
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

/* The recorded one. A trace without it has no drawing of a machine. */
static int describe_recorded(struct report_topology *t,
			     const struct moca_machine *m)
{
	size_t i;
	int err;

	if (!m || !m->node_count)
		return 0;
	t->source = strdup("the recorded machine, as the trace tells it");
	t->cpu_count = m->cpu_count;
	t->node_of_cpu = malloc((m->cpu_count + 1) * sizeof(*t->node_of_cpu));
	if (!t->source || !t->node_of_cpu)
		return -ENOMEM;
	for (i = 0; i < m->cpu_count; i++)
		t->node_of_cpu[i] = (int16_t)m->node_of_cpu[i];
	err = machine_xml_read(m, put_topology, &t->json);
	if (err && err != -ENOENT)
		moca_warn("report: the machine is not drawn: the trace's topology is none that hwloc can read");
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

int report_topology(struct report *r, const char *spec)
{
	struct report_topology *t = &r->topology;
	hwloc_topology_t h;
	int err = 0;

	if (!spec)
		return describe_recorded(t, moca_trace_machine(r->trace));
	if (hwloc_topology_init(&h) < 0)
		return -ENOMEM;
	err = load_named(t, h, spec);
	if (!err)
		err = describe(t, h);
	hwloc_topology_destroy(h);
	return err;
}

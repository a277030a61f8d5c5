// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/nodes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text/text.h"

#define TOP 10

/* --- text ------------------------------------------------------------------ */

static size_t cpus_of(const struct moca_machine *m, size_t node)
{
	size_t i, cpus = 0;

	for (i = 0; i < m->cpu_count; i++)
		cpus += m->node_of_cpu[i] == (int32_t)m->nodes[node].id;
	return cpus;
}

static void print_setting(const struct moca_machine *m, const char *name,
			  const char *before)
{
	const char *value = moca_machine_setting(m, name);

	if (!value)
		return;
	fputs(before, stdout);
	text_name(stdout, value, 0);
}

/*
 * Bytes of the whole machine. Where memory was added to a running machine its
 * nodes may tell less.
 */
static uint64_t total_memory(const struct moca_machine *m, uint64_t of_nodes)
{
	const char *total = moca_machine_setting(m, "memory.total");
	unsigned long long kib;
	char unit[4], more;

	if (!total || sscanf(total, "%llu %3s %c", &kib, unit, &more) != 2 ||
	    strcmp(unit, "kB") || !kib || kib > UINT64_MAX / 1024)
		return of_nodes;
	return kib * 1024;
}

void nodes_print_machine(const struct nodes_table *n)
{
	const struct moca_machine *m = n->machine;
	size_t i, cpus = 0;
	const char *policy;
	uint64_t bytes = 0;
	char a[TEXT_MAX];

	if (!m || !m->node_count) {
		printf("%-14s%s: which node a CPU or a page is on is not known\n",
		       "Machine", m ? "its nodes could not be read" :
				      "not recorded");
		return;
	}
	for (i = 0; i < m->node_count; i++) {
		cpus += cpus_of(m, i);
		bytes += m->nodes[i].bytes;
	}
	printf("%-14s%zu node%s, %zu CPU%s", "Machine", m->node_count,
	       PLURAL(m->node_count), cpus, PLURAL(cpus));
	print_setting(m, "cpu.model", " (");
	if (moca_machine_setting(m, "cpu.model"))
		putchar(')');
	printf(", %s", text_size(a, total_memory(m, bytes)));
	print_setting(m, "thp.enabled", "; huge pages ");
	print_setting(m, "numa_balancing", ", NUMA balancing ");
	policy = moca_machine_setting(m, "program.mempolicy");
	if (policy && strcmp(policy, "default"))
		print_setting(m, "program.mempolicy", "; memory policy ");
	putchar('\n');
}

static void print_nodes(const struct nodes_table *n)
{
	const struct moca_machine *m = n->machine;
	char a[TEXT_MAX];
	size_t i, k;

	printf("  %-6s%6s %10s %10s %12s %12s %12s  %s\n", "node", "CPUs",
	       "memory", "pages", "accesses", "remote", "by its CPUs",
	       "distances");
	for (i = 0; i < m->node_count; i++) {
		printf("  %-6" PRIu32 "%6zu", m->nodes[i].id, cpus_of(m, i));
		printf(" %10s", text_size(a, m->nodes[i].bytes));
		printf(" %10s", text_count(a, n->nodes[i].pages.pages));
		printf(" %12s", text_count(a, n->nodes[i].accesses));
		printf(" %12s", text_count(a, n->nodes[i].remote));
		printf(" %12s ", text_count(a, n->nodes[i].from));
		for (k = 0; k < m->node_count && k < 8; k++)
			printf(" %" PRIu32, m->nodes[i].distances[k]);
		puts(k < m->node_count ? " ..." : "");
	}
}

static uint64_t sum(const struct nodes_counts *c)
{
	return c->local + c->remote + c->unknown;
}

struct order {
	const struct nodes_counts *counts;
	size_t task;
};

static int by_remote(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->counts->remote != y->counts->remote)
		return x->counts->remote > y->counts->remote ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

static void print_tasks(const struct nodes_table *n, const struct moca_trace *t,
			int all)
{
	struct order *order = calloc(n->task_count + 1, sizeof(*order));
	const struct moca_task *x;
	size_t i, count = 0;
	char a[TEXT_MAX];
	int w;

	for (i = 0; order && i < n->task_count; i++)
		if (sum(&n->tasks[i]))
			order[count++] = (struct order){ &n->tasks[i], i };
	if (count)
		qsort(order, count, sizeof(*order), by_remote);
	printf("  %-26s%12s %12s %12s %9s\n", "task  tid      name", "local",
	       "remote", "unknown", "remote");
	for (i = 0; i < count && (all || i < TOP); i++) {
		const struct nodes_counts *c = order[i].counts;

		x = moca_trace_task(t, order[i].task);
		w = printf("  %-5" PRIu32 " %-8" PRIu32 " ", x->id, x->tid);
		w += text_name(stdout, x->name, 28 - w);
		printf("%*s", w < 28 ? 28 - w : 1, "");
		printf("%12s", text_count(a, c->local));
		printf(" %12s", text_count(a, c->remote));
		printf(" %12s", text_count(a, c->unknown));
		printf(" %9s\n", text_percent(a, c->remote,
					      c->local + c->remote));
	}
	if (count > i)
		printf("  ... and %zu more task%s: --all shows all\n",
		       count - i, PLURAL(count - i));
	free(order);
}

void nodes_print(const struct nodes_table *n, const struct moca_trace *t,
		 int all)
{
	const struct nodes_counts *c = &n->total;
	char a[TEXT_MAX], b[TEXT_MAX];

	if (!n->machine || n->machine->node_count < 2 || !sum(c))
		return;
	if (c->local + c->remote)
		printf("\nBy NUMA node: %s of the accesses were remote, to a page on another node than their CPU; known for %s\n",
		       text_percent(a, c->remote, c->local + c->remote),
		       text_percent(b, c->local + c->remote, sum(c)));
	else
		printf("\nBy NUMA node: of no access it is known on which node its page was\n");
	print_nodes(n);
	print_tasks(n, t, all);
}

/* --- JSON ------------------------------------------------------------------ */

static void json_counts(struct json *j, const struct nodes_counts *c)
{
	json_uint(j, "local", c->local);
	json_uint(j, "remote", c->remote);
	json_uint(j, "node_unknown", c->unknown);
}

void nodes_json_task(struct json *j, const struct nodes_table *n, size_t task)
{
	json_counts(j, &n->tasks[task]);
}

static void json_node(struct json *j, const struct nodes_table *n, size_t i)
{
	const struct moca_machine_node *x = &n->machine->nodes[i];
	size_t k;

	json_open(j, NULL, '{');
	json_uint(j, "node", x->id);
	json_uint(j, "cpus", cpus_of(n->machine, i));
	json_uint(j, "bytes", x->bytes);
	json_uint(j, "free_bytes", x->free_bytes);
	json_uint(j, "tier", x->tier);
	json_uint(j, "read_latency_ns", x->read_latency_ns);
	json_uint(j, "write_latency_ns", x->write_latency_ns);
	json_uint(j, "read_bandwidth", x->read_bandwidth);
	json_uint(j, "write_bandwidth", x->write_bandwidth);
	json_open(j, "initiators", '[');
	for (k = 0; k < x->initiator_count; k++)
		json_uint(j, NULL, x->initiators[k]);
	json_close(j, ']');
	json_open(j, "distances", '[');
	for (k = 0; k < n->machine->node_count; k++)
		json_uint(j, NULL, x->distances[k]);
	json_close(j, ']');
	json_uint(j, "pages", n->nodes[i].pages.pages);
	json_uint(j, "accesses", n->nodes[i].accesses);
	json_uint(j, "remote", n->nodes[i].remote);
	json_uint(j, "by_its_cpus", n->nodes[i].from);
	json_close(j, '}');
}

void nodes_json(struct json *j, const struct nodes_table *n)
{
	const struct moca_machine *m = n->machine;
	size_t i;

	if (!m) {
		json_null(j, "machine");
		return;
	}
	json_open(j, "machine", '{');
	json_open(j, "nodes", '[');
	for (i = 0; i < m->node_count; i++)
		json_node(j, n, i);
	json_close(j, ']');
	json_open(j, "node_of_cpu", '[');
	for (i = 0; i < m->cpu_count; i++)
		json_int(j, NULL, m->node_of_cpu[i]);
	json_close(j, ']');
	json_open(j, "settings", '{');
	for (i = 0; i < m->setting_count; i++)
		json_string(j, m->settings[i].name, m->settings[i].value);
	json_close(j, '}');
	json_bool(j, "hwloc", m->xml != NULL);
	json_counts(j, &n->total);
	json_close(j, '}');
}

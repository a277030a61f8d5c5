// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/x86/group.h"

void moca_x86_values_new(struct x86_values *v, uint32_t registers,
			 uint32_t *last)
{
	for (registers &= X86_GPRS; registers; registers &= registers - 1) {
		int r = __builtin_ctz(registers);

		v->version[r] = ++*last;
		v->plus[r] = 0;
	}
}

void moca_x86_values_step(struct x86_values *v, const struct x86_insn *x,
			  uint32_t *last)
{
	uint32_t writes = x->writes;

	if (x->move_to >= 0) {
		v->version[x->move_to] = v->version[x->move_from];
		v->plus[x->move_to] = v->plus[x->move_from] + x->move_add;
		writes &= ~X86_BIT(x->move_to);
	}
	moca_x86_values_new(v, writes, last);
}

int64_t moca_x86_disp(const struct x86_mem *m, const struct x86_values *v)
{
	int64_t d = m->disp;

	if (m->base >= 0)
		d += v->plus[m->base];
	if (m->index >= 0)
		d += v->plus[m->index] * m->scale;
	return d;
}

static uint32_t version(const struct x86_values *v, int reg)
{
	return reg >= 0 ? v->version[reg] : 0;
}

void moca_x86_group_begin(struct x86_group *g, const struct x86_mem *m,
			  const struct x86_values *v)
{
	g->mem = *m;
	g->base_version = version(v, m->base);
	g->index_version = version(v, m->index);
	g->low = g->high = moca_x86_disp(m, v);
	g->count = 0;
}

static int find(const struct x86_group *g, int64_t disp)
{
	int i = 0;

	while (i < g->count && g->members[i].disp != disp)
		i++;
	return i;
}

bool moca_x86_group_takes(const struct x86_group *g, const struct x86_mem *m,
			  const struct x86_values *v, int64_t span)
{
	int64_t d = moca_x86_disp(m, v);

	/* 32-bit arithmetic wraps elsewhere. */
	if (m->rip != g->mem.rip || m->seg != g->mem.seg || m->narrow ||
	    g->mem.narrow || g->base_version != version(v, m->base) ||
	    g->index_version != version(v, m->index) ||
	    (m->index >= 0 && m->scale != g->mem.scale))
		return false;
	if ((d > g->high ? d : g->high) - (d < g->low ? d : g->low) > span)
		return false;
	return g->count < g->room || find(g, d) < g->count;
}

void moca_x86_group_put(struct x86_group *g, const struct x86_mem *m,
			const struct x86_values *v)
{
	int64_t d = moca_x86_disp(m, v);
	int i = find(g, d);

	if (i == g->count)
		g->members[g->count++] = (struct x86_member){ .disp = d };
	g->members[i].load += m->load;
	g->members[i].store += m->store;
	if (d < g->low)
		g->low = d;
	if (d > g->high)
		g->high = d;
}

void moca_x86_group_move(struct x86_group *g, int64_t by)
{
	for (int i = 0; i < g->count; i++)
		g->members[i].disp += by;
	g->low += by;
	g->high += by;
}

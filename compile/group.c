// SPDX-License-Identifier: GPL-2.0-or-later
#include "compile/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"

struct walk {
	const struct asm_file *f;
	struct asm_groups *g;
	int64_t span;
	struct x86_values values;
	uint32_t versions;
	uint32_t begin;		/* of the straight piece */
	uint32_t open;		/* its first group */
};

static void begin_piece(struct walk *w, uint32_t at)
{
	moca_x86_values_new(&w->values, X86_GPRS, &w->versions);
	w->begin = at;
	w->open = w->g->count;
}

static bool takes(const struct walk *w, const struct asm_group *g,
		  const struct asm_mem *m)
{
	return !m->alone && !g->mem->alone && !strcmp(g->mem->sym, m->sym) &&
	       moca_x86_group_takes(&g->what, &m->at, &w->values, w->span);
}

static int add_access(struct walk *w, uint32_t at, const struct asm_mem *m)
{
	struct asm_groups *gs = w->g;
	uint32_t i = gs->count;
	struct asm_group *g;

	while (i > w->open && !takes(w, &gs->all[i - 1], m))
		i--;
	if (i > w->open) {
		g = &gs->all[i - 1];
	} else {
		g = moca_vec_add(gs->all, gs->count, gs->room);
		if (!g)
			return -ENOMEM;
		*g = (struct asm_group){ .at = at, .begin = w->begin,
					 .place = at, .mem = m };
		moca_x86_group_begin(&g->what, &m->at, &w->values);
		g->origin = g->what.low;
	}
	/* One more, so that it takes another one. */
	if (moca_vec_fit(g->what.members, g->what.room, g->what.count + 2))
		return -ENOMEM;
	moca_x86_group_put(&g->what, &m->at, &w->values);
	return 0;
}

/* Registers to take, best first; the last ones are a function's own. */
static const int8_t choices[] = { R11, R10, RAX, RCX, RDX, R9, R8, RSI, RDI,
				  RBX, R12, R13, R14, R15 };
#define CALLER_CHOICES 9

static int free_reg(const struct asm_file *f, const struct asm_stmt *s,
		    uint32_t need, uint32_t live)
{
	unsigned int n = f->functions[s->function].lsda ? CALLER_CHOICES :
							  sizeof(choices), i;

	for (i = 0; i < n; i++)
		if (!((need | live) & X86_BIT(choices[i])))
			return choices[i];
	return -1;
}

/* Whether what stands before may be stepped over upwards. */
static bool may_pass(const struct asm_stmt *s, const struct asm_group *g,
		     uint32_t need, uint32_t section)
{
	if (s->section != section)
		return false;
	if (s->kind == ASM_DIRECTIVE)
		return s->text[0] == '.' &&
		       (!strncmp(s->text, ".loc", 4) ||
			!strncmp(s->text, ".cfi_", 5) ||
			!strncmp(s->text, ".p2align", 8));
	return s->kind == ASM_INSN && s->size && s->known && !s->string &&
	       s->what.kind <= X86_LAST_STRAIGHT &&
	       !(s->what.writes & need);
}

/*
 * The nearest place at or above the first access where a register and the
 * flags are free; else where the most is.
 */
static void choose(const struct asm_file *f, struct asm_group *g)
{
	uint32_t need = X86_BIT(g->mem->at.base) | X86_BIT(g->mem->at.index), q = g->at;
	uint32_t section = f->stmts[g->at].section;
	int best = -1;

	g->lost = true;
	for (;; q--) {
		const struct asm_stmt *s = &f->stmts[q];

		if (s->kind == ASM_INSN && !s->glued) {
			int r = free_reg(f, s, need, s->live);
			bool flags = s->live & X86_FLAGS;
			int score = (r >= 0) + 2 * !flags;

			if (score > best) {
				best = score;
				g->lost = false;
				g->place = q;
				g->spill = r < 0;
				g->flags = flags;
				g->scratch = (int8_t)r;
			}
			if (score == 3)
				break;
		}
		if (q <= g->begin || !may_pass(&f->stmts[q - 1], g, need, section))
			break;
	}
	/* %rax holds the flags. */
	if (g->flags)
		need |= X86_BIT(RAX);
	if (g->flags && !g->spill && g->scratch == RAX) {
		int r = free_reg(f, &f->stmts[g->place], need,
				 f->stmts[g->place].live);

		g->scratch = (int8_t)r;
		g->spill = r < 0;
	}
	if (g->spill)
		g->scratch = (int8_t)free_reg(f, &f->stmts[g->place], need, 0);
}

static int by_place(const void *a, const void *b)
{
	const struct asm_group *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

int moca_asm_group(const struct asm_file *f, int64_t span,
		   struct asm_groups *g)
{
	struct walk w = { .f = f, .g = g, .span = span };
	uint32_t i, section = UINT32_MAX;
	int k, err;

	memset(g, 0, sizeof(*g));
	begin_piece(&w, 0);
	for (i = 0; i < f->count; i++) {
		const struct asm_stmt *s = &f->stmts[i];

		if (s->section != section || s->kind == ASM_LABEL ||
		    s->kind == ASM_RAW)
			begin_piece(&w, s->kind == ASM_INSN ? i : i + 1);
		section = s->section;
		if (s->kind != ASM_INSN || !s->size)
			continue;
		for (k = 0; k < s->naccess &&
			    !f->functions[s->function].resolver; k++) {
			err = add_access(&w, i, &s->access[k]);
			if (err)
				return err;
		}
		if (s->what.kind > X86_LAST_STRAIGHT || !s->known || s->string)
			begin_piece(&w, i + 1);
		else
			moca_x86_values_step(&w.values, &s->what, &w.versions);
	}
	for (i = 0; i < g->count; i++) {
		moca_x86_group_move(&g->all[i].what, -g->all[i].origin);
		choose(f, &g->all[i]);
	}
	qsort(g->all, g->count, sizeof(*g->all), by_place);
	return 0;
}

void moca_asm_groups_free(struct asm_groups *g)
{
	uint32_t i;

	for (i = 0; i < g->count; i++)
		free(g->all[i].what.members);
	free(g->all);
	memset(g, 0, sizeof(*g));
}

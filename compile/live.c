// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which registers and flags are still needed at each statement: backwards over
 * each section, until nothing changes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile/asm.h"

#define CALLEE (X86_BIT(RBX) | X86_BIT(RBP) | X86_BIT(R12) | X86_BIT(R13) | X86_BIT(R14) | X86_BIT(R15) | X86_BIT(RSP))
#define CALLER (X86_GPRS & ~CALLEE)
/* %rax: how many vectors; %r10: the static chain. */
#define ARGS (X86_BIT(RDI) | X86_BIT(RSI) | X86_BIT(RDX) | X86_BIT(RCX) | X86_BIT(R8) | X86_BIT(R9) | X86_BIT(RAX) | \
	      X86_BIT(R10) | X86_BIT(RSP))
#define NOWHERE UINT32_MAX

struct name {
	const char *name;
	uint32_t index;
};

struct graph {
	struct name *labels;	/* sorted by name, then place */
	size_t nlabels;
	uint32_t *next, *target;
};

static int by_name(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : x->index < y->index ? -1 : x->index > y->index;
}

static uint32_t find(const struct graph *g, const char *name)
{
	size_t lo = 0, hi = g->nlabels, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (strcmp(g->labels[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < g->nlabels && !strcmp(g->labels[lo].name, name) ?
		       g->labels[lo].index : NOWHERE;
}

/* "1f", "2b": the next or the last of that number. */
static uint32_t find_number(const struct asm_file *f, const char *t, uint32_t at)
{
	size_t n = strlen(t) - 1;
	uint32_t i = at;

	for (;;) {
		const struct asm_stmt *s;

		if (t[n] == 'f' ? ++i >= f->count : i-- == 0)
			return NOWHERE;
		s = &f->stmts[i];
		if (s->kind == ASM_LABEL && strlen(s->text) == n &&
		    !strncmp(s->text, t, n))
			return i;
	}
}

static int build(struct asm_file *f, struct graph *g)
{
	uint32_t *last, i;

	memset(g, 0, sizeof(*g));
	g->labels = calloc(f->count + 1, sizeof(*g->labels));
	g->next = calloc(f->count + 1, sizeof(*g->next));
	g->target = calloc(f->count + 1, sizeof(*g->target));
	last = malloc(f->nsections * sizeof(*last));
	if (!g->labels || !g->next || !g->target || !last) {
		free(last);
		return -ENOMEM;
	}
	memset(last, 0xff, f->nsections * sizeof(*last));
	for (i = 0; i < f->count; i++)
		if (f->stmts[i].kind == ASM_LABEL)
			g->labels[g->nlabels++] = (struct name){
				f->stmts[i].text, i };
	qsort(g->labels, g->nlabels, sizeof(*g->labels), by_name);
	for (i = (uint32_t)f->count; i-- > 0;) {
		const struct asm_stmt *s = &f->stmts[i];

		g->next[i] = last[s->section];
		last[s->section] = i;
		g->target[i] = NOWHERE;
		if (s->target && s->target[0] >= '0' && s->target[0] <= '9')
			g->target[i] = find_number(f, s->target, i);
		else if (s->target)
			g->target[i] = find(g, s->target);
	}
	free(last);
	return 0;
}

/* ".type NAME, @function" */
static bool type_of(const char *text, const char *type, char *name, size_t size)
{
	size_t n;

	if (strncmp(text, ".type", 5) || !strstr(text, type))
		return false;
	text += 5;
	text += strspn(text, " \t");
	n = strcspn(text, ", \t");
	if (n >= size)
		return false;
	memcpy(name, text, n);
	name[n] = 0;
	return true;
}

static bool saves_callers(const char *text)
{
	int n;

	if (strncmp(text, ".cfi_offset", 11))
		return false;
	text += 11;
	text += strspn(text, " \t%");
	n = *text >= '0' && *text <= '9' ? atoi(text) : 3;
	/* DWARF's numbers of %rax, %rdx, %rcx, %rsi, %rdi, %r8 to %r11. */
	return n <= 2 || n == 4 || n == 5 || (n >= 8 && n <= 11);
}

/* ".set NAME, TARGET" where NAME is chosen by calling TARGET. */
static void mark_resolvers(struct asm_file *f, const struct graph *g)
{
	char name[512], set[512];
	uint32_t i, k, at;

	for (i = 0; i < f->count; i++) {
		const char *t;
		size_t n;

		if (f->stmts[i].kind != ASM_DIRECTIVE ||
		    !type_of(f->stmts[i].text, "@gnu_indirect_function", name,
			     sizeof(name)))
			continue;
		for (k = 0; k < f->count; k++) {
			if (f->stmts[k].kind != ASM_DIRECTIVE ||
			    strncmp(f->stmts[k].text, ".set", 4))
				continue;
			t = f->stmts[k].text + 4;
			t += strspn(t, " \t");
			n = strlen(name);
			if (strncmp(t, name, n) || !strchr(", \t", t[n]))
				continue;
			t += n;
			t += strspn(t, ", \t");
			snprintf(set, sizeof(set), "%s", t);
			at = find(g, set);
			if (at != NOWHERE)
				f->functions[f->stmts[at].function].resolver =
					true;
		}
		at = find(g, name);
		if (at != NOWHERE)
			f->functions[f->stmts[at].function].resolver = true;
	}
}

static int functions(struct asm_file *f, const struct graph *g,
		     const struct asm_options *o)
{
	uint32_t i, at, n = 1, *current;
	char name[512];

	for (i = 0; i < f->count; i++)
		if (f->stmts[i].kind == ASM_DIRECTIVE &&
		    (type_of(f->stmts[i].text, "@function", name, sizeof(name)) ||
		     type_of(f->stmts[i].text, "@gnu_indirect_function", name,
			     sizeof(name)))) {
			at = find(g, name);
			if (at != NOWHERE && !f->stmts[at].function)
				f->stmts[at].function = n++;
		}
	f->functions = calloc(n, sizeof(*f->functions));
	current = calloc(f->nsections, sizeof(*current));
	if (!f->functions || !current) {
		free(current);
		return -ENOMEM;
	}
	f->nfunctions = n;
	for (i = 0; i < n; i++)
		f->functions[i].strict = !f->compiled || !i;
	for (i = 0; i < f->count; i++) {
		struct asm_stmt *s = &f->stmts[i];
		struct asm_function *fn;
		int k;

		if (s->function) {
			current[s->section] = s->function;
			if (s->app)
				f->functions[s->function].strict = true;
		}
		s->function = current[s->section];
		fn = &f->functions[s->function];
		if (s->kind == ASM_DIRECTIVE) {
			fn->lsda |= !strncmp(s->text, ".cfi_lsda", 9);
			fn->strict |= saves_callers(s->text);
		}
		if (s->kind != ASM_INSN || !s->size)
			continue;
		fn->calls |= s->what.kind == X86_CALL ||
			     s->what.kind == X86_CALL_IND;
		fn->written |= s->known ? s->what.writes : 0;
		for (k = 0; k < s->naccess; k++)
			fn->redzone |= s->access[k].at.base == RSP &&
				       s->access[k].at.disp < 0 &&
				       !s->access[k].at.hidden;
		fn->redzone |= s->what.move_to >= 0 && s->what.move_to != RSP &&
			       s->what.move_from == RSP && s->what.move_add < 0;
	}
	for (i = 0; i < n; i++)
		f->functions[i].redzone |= !o->abi || f->functions[i].strict;
	free(current);
	mark_resolvers(f, g);
	return 0;
}

/* What a function's caller may rely on when it leaves. */
static uint32_t left_alone(const struct asm_function *fn,
			   const struct asm_options *o)
{
	return CALLEE | (o->abi || fn->calls ? 0 : CALLER & ~fn->written);
}

static bool odd_call(const struct asm_stmt *s)
{
	return s->app || !s->known ||
	       (s->target && (!strncmp(s->target, "__x86_", 6) ||
			      !strncmp(s->target, "__morestack", 11)));
}

static uint32_t leaves(const struct asm_file *f, const struct graph *g,
		       const struct asm_options *o, uint32_t i)
{
	const struct asm_stmt *s = &f->stmts[i];
	const struct asm_function *fn = &f->functions[s->function];
	uint32_t at = g->target[i], tail;

	tail = fn->strict || odd_call(s) ? X86_ALL : ARGS | left_alone(fn, o);
	if (at == NOWHERE)
		return tail;
	if (s->target[0] == '.' || (s->target[0] >= '0' && s->target[0] <= '9'))
		return f->stmts[at].live;
	/* Another definition may take its place at run time. */
	return f->stmts[at].live | tail;
}

static uint32_t before(const struct asm_file *f, const struct graph *g,
		       const struct asm_options *o, uint32_t i)
{
	const struct asm_stmt *s = &f->stmts[i];
	const struct asm_function *fn = &f->functions[s->function];
	uint32_t next = g->next[i] == NOWHERE ? X86_ALL :
					       f->stmts[g->next[i]].live;
	uint32_t out;

	if (s->kind != ASM_INSN || !s->size)
		return next;
	switch (s->what.kind) {
	case X86_CALL:
	case X86_CALL_IND:
		if (fn->strict || odd_call(s))
			return X86_ALL;
		out = (next & ~(CALLER | X86_FLAGS)) | ARGS;
		return out | s->what.reads | (fn->lsda ? CALLEE : 0);
	case X86_RET:
		if (fn->strict || s->app)
			return X86_ALL;
		return left_alone(fn, o) | X86_BIT(RAX) | X86_BIT(RDX);
	case X86_JUMP:
		return leaves(f, g, o, i) | s->what.reads;
	case X86_JCC:
	case X86_LOOP:
	case X86_XBEGIN:
		return moca_x86_live(&s->what, next | leaves(f, g, o, i));
	case X86_JUMP_IND:
	case X86_FAR:
		return X86_ALL;
	case X86_STOP:
		return s->app || fn->strict || !s->known ? X86_ALL : CALLEE;
	default:
		return s->known ? moca_x86_live(&s->what, next) : X86_ALL;
	}
}

int moca_asm_live(struct asm_file *f, const struct asm_options *o)
{
	struct graph g;
	bool changed = true;
	uint32_t i, live;
	int err;

	err = build(f, &g);
	if (!err)
		err = functions(f, &g, o);
	while (!err && changed) {
		changed = false;
		for (i = (uint32_t)f->count; i-- > 0;) {
			if (!f->sections[f->stmts[i].section].code)
				continue;
			live = before(f, &g, o, i);
			changed |= live != f->stmts[i].live;
			f->stmts[i].live = live;
		}
	}
	free(g.labels);
	free(g.next);
	free(g.target);
	return err;
}

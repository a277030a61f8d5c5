// SPDX-License-Identifier: GPL-2.0-or-later
/* The code that counts. What it does is in doc/design/compile.md. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compile/group.h"
#include "include/abi/count.h"

/* In the 128 bytes below %rsp, which no signal handler touches. */
#define SPILL_SCRATCH (-8)
#define SPILL_RAX (-16)
#define SPILL_FLAGS (-24)

struct emitter {
	const struct asm_file *f;
	FILE *out;
	unsigned int shift;
	uint32_t id;		/* of the group; makes labels */
	uint32_t labels;
	bool lowered;		/* %rsp is 128 less than the program's */
};

static const char *reg64(int r)
{
	return moca_asm_reg64[r];
}

/* The address of the group's memory + delta into its scratch register. */
static void address(struct emitter *e, const struct asm_group *g,
		    int64_t delta)
{
	const char *s = reg64(g->scratch);
	struct asm_mem mem = *g->mem;
	struct x86_mem *m = &mem.at;

	if (m->base == RSP && e->lowered)
		delta += 128;
	if (m->seg == X86_FS) {
		fprintf(e->out, "\tmovq %%fs:0,%%%s\n", s);
		if (m->base >= 0 && m->index >= 0) {
			fprintf(e->out, "\tleaq (%%%s,%%%s),%%%s\n", s,
				reg64(m->base), s);
		} else if (m->base >= 0) {
			m->index = m->base;
			m->scale = 1;
		}
		m->base = g->scratch;
	}
	if (!*mem.sym && m->disp + delta == 0 && m->index < 0 &&
	    m->base >= 0 && !m->narrow) {
		fprintf(e->out, "\tmovq %%%s,%%%s\n", reg64(m->base), s);
		return;
	}
	fprintf(e->out, "\tleaq ");
	moca_asm_mem_text(e->out, &mem, delta);
	fprintf(e->out, ",%%%s\n", s);
}

/* The address to the place of its counters from %gs. */
static void cell(struct emitter *e, const struct asm_group *g)
{
	fprintf(e->out, "\tshrq $%u,%%%s\n\tandl $-8,%%%s\n", e->shift - 3,
		reg64(g->scratch), moca_asm_reg32[g->scratch]);
}

/* Where a count has its label, and what its cold part must know. */
struct cold {
	uint32_t label;
	int64_t delta;
	bool store;
};

static int bump(struct emitter *e, const struct asm_group *g, uint32_t loads,
		uint32_t stores, int64_t delta, struct cold *cold)
{
	uint32_t store;
	int n = 0;

	for (store = 0; store < 2; store++) {
		uint32_t count = store ? stores : loads;

		if (!count)
			continue;
		fprintf(e->out, "\tsubl $%u,%%gs:%s(%%%s)\n", count,
			store ? "4" : "", reg64(g->scratch));
		fprintf(e->out, "\tjc .Lmoca_c%u\n.Lmoca_r%u:\n", e->labels,
			e->labels);
		cold[n++] = (struct cold){ e->labels++, delta, store };
	}
	return n;
}

/* First touch, or 2^32 accesses: the library looks at it. */
static void cold_part(struct emitter *e, const struct asm_group *g,
		      const struct cold *c)
{
	const char *s = reg64(g->scratch);

	fprintf(e->out, ".Lmoca_c%u:\n", c->label);
	address(e, g, c->delta);
	fprintf(e->out, "\tleaq -128(%%rsp),%%rsp\n\tpushq %%%s\n"
		"\tcallq *moca_count_%s@GOTPCREL(%%rip)\n"
		"\tleaq 136(%%rsp),%%rsp\n", s, c->store ? "store" : "load");
	cell(e, g);
	fprintf(e->out, "\tjmp .Lmoca_r%u\n", c->label);
}

static void save(struct emitter *e, const struct asm_group *g, uint32_t live)
{
	bool needs_rax = g->mem->at.base == RAX || g->mem->at.index == RAX;

	if (e->lowered)
		fprintf(e->out, "\tleaq -128(%%rsp),%%rsp\n");
	if (g->spill)
		fprintf(e->out, "\tmovq %%%s,%d(%%rsp)\n", reg64(g->scratch),
			SPILL_SCRATCH);
	if (!g->flags)
		return;
	if (needs_rax || (live & 1))
		fprintf(e->out, "\tmovq %%rax,%d(%%rsp)\n", SPILL_RAX);
	fprintf(e->out, "\tlahf\n\tseto %%al\n");
	if (needs_rax)
		fprintf(e->out, "\tmovq %%rax,%d(%%rsp)\n\tmovq %d(%%rsp),%%rax\n",
			SPILL_FLAGS, SPILL_RAX);
}

static void restore(struct emitter *e, const struct asm_group *g, uint32_t live)
{
	bool needs_rax = g->mem->at.base == RAX || g->mem->at.index == RAX;

	if (g->flags) {
		if (needs_rax)
			fprintf(e->out, "\tmovq %d(%%rsp),%%rax\n", SPILL_FLAGS);
		fprintf(e->out, "\taddb $127,%%al\n\tsahf\n");
		if (needs_rax || (live & 1))
			fprintf(e->out, "\tmovq %d(%%rsp),%%rax\n", SPILL_RAX);
	}
	if (g->spill)
		fprintf(e->out, "\tmovq %d(%%rsp),%%%s\n", SPILL_SCRATCH,
			reg64(g->scratch));
	if (e->lowered)
		fprintf(e->out, "\tleaq 128(%%rsp),%%rsp\n");
}

static int count_group(struct emitter *e, const struct asm_group *g)
{
	const struct asm_stmt *at = &e->f->stmts[g->place];
	bool redzone = e->f->functions[at->function].redzone;
	uint32_t loads = 0, stores = 0, slow = 0;
	const struct x86_group *w = &g->what;
	int64_t granule = 1ll << e->shift;
	struct cold *cold;
	int i, n;

	cold = calloc((size_t)2 * w->count + 2, sizeof(*cold));
	if (!cold)
		return -ENOMEM;
	for (i = 0; i < w->count; i++) {
		loads += w->members[i].load;
		stores += w->members[i].store;
	}
	e->lowered = redzone && (g->spill || g->flags);
	save(e, g, at->live);
	address(e, g, w->low);
	if (w->high != w->low) {
		slow = ++e->labels;
		e->labels++;
		fprintf(e->out, "\tandl $%" PRId64 ",%%%s\n\tcmpl $%" PRId64
			",%%%s\n\tja .Lmoca_s%u\n", granule - 1,
			moca_asm_reg32[g->scratch], granule - 1 - (w->high - w->low),
			moca_asm_reg32[g->scratch], slow);
		address(e, g, w->low);
	}
	cell(e, g);
	n = bump(e, g, loads, stores, w->low, cold);
	if (slow)
		fprintf(e->out, ".Lmoca_e%u:\n", slow);
	restore(e, g, at->live);
	fprintf(e->out, "\t.subsection 1\n");
	for (i = 0; i < n; i++)
		cold_part(e, g, &cold[i]);
	if (slow) {
		fprintf(e->out, ".Lmoca_s%u:\n", slow);
		for (i = 0, n = 0; i < w->count; i++) {
			address(e, g, w->members[i].disp);
			cell(e, g);
			n += bump(e, g, w->members[i].load,
				  w->members[i].store, w->members[i].disp,
				  cold + n);
		}
		fprintf(e->out, "\tjmp .Lmoca_e%u\n", slow);
		for (i = 0; i < n; i++)
			cold_part(e, g, &cold[i]);
	}
	fprintf(e->out, "\t.subsection 0\n");
	free(cold);
	e->lowered = false;
	return 0;
}

static void call_string(struct emitter *e, const struct asm_stmt *s)
{
	fprintf(e->out, "\tleaq -128(%%rsp),%%rsp\n\tpushq $%u\n"
		"\tcallq *moca_count_string@GOTPCREL(%%rip)\n"
		"\tleaq 136(%%rsp),%%rsp\n", s->string);
}

static void before_string(struct emitter *e, const struct asm_stmt *s)
{
	if (!(s->string & MOCA_COUNT_STRING_AFTER)) {
		call_string(e, s);
		return;
	}
	if (e->f->functions[s->function].redzone)
		fprintf(e->out, "\tleaq -128(%%rsp),%%rsp\n");
	fprintf(e->out, "\tmovq %%rcx,-8(%%rsp)\n\tmovq %%rsi,-16(%%rsp)\n"
		"\tmovq %%rdi,-24(%%rsp)\n");
}

static void after_string(struct emitter *e, const struct asm_stmt *s)
{
	if (!(s->string & MOCA_COUNT_STRING_AFTER))
		return;
	call_string(e, s);
	if (e->f->functions[s->function].redzone)
		fprintf(e->out, "\tleaq 128(%%rsp),%%rsp\n");
}

static void gap(struct asm_stats *s, enum asm_gap gap, const char *sample)
{
	if (!s->gaps[gap]++)
		snprintf(s->sample[gap], sizeof(s->sample[gap]), "%s", sample);
}

/* Quotes and the like would end the string. */
static void string(FILE *out, const char *s, unsigned int room)
{
	unsigned int n = 0;

	fprintf(out, "\t.ascii \"");
	for (; *s && n < room - 1; s++, n++)
		fputc(*s < ' ' || *s > '~' || *s == '"' || *s == '\\' ? ' ' : *s,
		      out);
	fprintf(out, "\"\n\t.zero %u\n", room - n);
}

/* ".text.f,"axG",@progbits,f,comdat" to the group's part, or NULL. */
static const char *group_of(const char *args)
{
	const char *flags = strchr(args, '"'), *end, *p;
	int commas = 0;

	end = flags ? strchr(flags + 1, '"') : NULL;
	if (!end || !memchr(flags, 'G', end - flags))
		return NULL;
	for (p = end; *p; p++)
		if (*p == ',' && ++commas == 2)
			return p + 1;
	return NULL;
}

/* What the library needs: where code that counts lies, and what does not. */
static void tables(struct emitter *e, const struct asm_options *o,
		   const struct asm_stats *s)
{
	static const char entry[] = "\t.section moca_gaps,\"a\",@progbits\n"
				    "\t.balign 8\n";
	uint32_t i;

	for (i = 0; i < e->f->nsections; i++) {
		const struct asm_section *c = &e->f->sections[i];
		const char *group;

		if (!c->emitted)
			continue;
		group = group_of(c->args);
		fprintf(e->out, "\t.section %s\n\t.subsection 2\n"
			".Lmoca_end%u:\n\t.subsection 0\n"
			"\t.section moca_code,\"ao%s\",@progbits,%.*s%s%s\n"
			"\t.balign 4\n\t.long .Lmoca_begin%u-.,.Lmoca_end%u-.\n",
			c->args, i, group ? "G" : "",
			(int)strcspn(c->args, ","), c->args, group ? "," : "",
			group ? group : "", i, i);
	}
	fprintf(e->out, "%s\t.long 0,0\n\t.quad moca_count_granule_%u-.\n"
		"\t.zero 112\n", entry, 1u << o->shift);
	for (i = 1; i < ASM_GAP_COUNT; i++) {
		if (!s->gaps[i])
			continue;
		fprintf(e->out, "%s\t.long %u,%" PRIu64 "\n", entry, i,
			s->gaps[i]);
		string(e->out, o->name, 56);
		string(e->out, s->sample[i], 64);
	}
	fprintf(e->out, "\t.text\n");
}

static void statement(struct emitter *e, const struct asm_stmt *s)
{
	fprintf(e->out, s->kind == ASM_LABEL ? "%s:\n" : "\t%s\n", s->text);
}

static void enter_section(struct emitter *e, uint32_t i)
{
	struct asm_section *c = &e->f->sections[i];

	if (!c->code || c->emitted)
		return;
	c->emitted = true;
	fprintf(e->out, ".Lmoca_begin%u:\n", i);
}

static int emit_statement(struct emitter *e, uint32_t i,
			  struct asm_groups *groups, uint32_t *next,
			  struct asm_stats *stats)
{
	const struct asm_stmt *s = &e->f->stmts[i];
	bool silent = e->f->functions[s->function].resolver;
	const char *sample = s->text;
	int err = 0, k;

	for (; *next < groups->count && groups->all[*next].place == i && !err;
	     ++*next) {
		const struct asm_group *g = &groups->all[*next];

		if (g->lost) {
			gap(stats, ASM_GAP_TLS, sample);
			continue;
		}
		stats->groups++;
		stats->spills += g->spill;
		stats->saves += g->flags;
		err = count_group(e, g);
	}
	if (s->kind == ASM_INSN && s->size &&
	    e->f->sections[s->section].code) {
		stats->insns++;
		for (k = 0; k < s->naccess; k++)
			stats->accesses += s->access[k].at.load +
					   s->access[k].at.store;
		if (silent && (s->naccess || s->string))
			gap(stats, ASM_GAP_RESOLVER, sample);
		else if (s->gap)
			gap(stats, s->gap, sample);
	}
	if (s->string && !silent)
		before_string(e, s);
	statement(e, s);
	if (s->string && !silent)
		after_string(e, s);
	return err;
}

int moca_asm_emit(struct asm_file *f, const struct asm_options *o,
		  struct asm_stats *s, FILE *out)
{
	struct emitter e = { .f = f, .out = out, .shift = o->shift };
	struct asm_groups groups;
	uint32_t i, next = 0;
	int err;

	err = moca_asm_group(f, (1ll << o->shift) / 4, &groups);
	if (!err)
		enter_section(&e, 0);
	for (i = 0; i < f->count && !err; i++) {
		err = emit_statement(&e, i, &groups, &next, s);
		/* A directive that leads to a section is of that section. */
		if (f->stmts[i].kind == ASM_DIRECTIVE)
			enter_section(&e, f->stmts[i].section);
	}
	if (!err)
		tables(&e, o, s);
	moca_asm_groups_free(&groups);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* What each instruction does to registers, flags and memory, from its bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile/asm.h"
#include "include/abi/count.h"
#include "lib/x86/describe.h"

static void be_unknown(struct asm_stmt *s, enum asm_gap gap)
{
	s->known = false;
	s->gap = (uint8_t)gap;
	s->what.reads = s->what.writes = X86_ALL;
	s->what.kills = 0;
	s->what.move_to = -1;
}

/* Of an addition's constant: is it a number, or will the linker know it? */
static bool is_number(const struct asm_stmt *s, ZydisMnemonic mnemonic)
{
	const char *dollar = strchr(s->text, '$');
	struct asm_mem m;
	bool number;
	char *text;

	if (mnemonic == ZYDIS_MNEMONIC_ADD || mnemonic == ZYDIS_MNEMONIC_SUB)
		return !strchr(s->text, '@') && dollar && dollar[1] &&
		       strchr("-0123456789", dollar[1]);
	if (mnemonic != ZYDIS_MNEMONIC_LEA)
		return true;
	text = moca_asm_operand(s->text);
	number = text && !moca_asm_mem_parse(&m, text);
	free(text);
	if (number) {
		number = !*m.sym;
		free(m.sym);
	}
	return number;
}

static void target_of(struct asm_stmt *s)
{
	const char *t = s->text + strlen(s->text);

	while (t > s->text && t[-1] != ' ' && t[-1] != '\t')
		t--;
	s->target = strdup(t);
}

static bool is_link_time(const char *sym)
{
	return strcasestr(sym, "@gottpoff") || strcasestr(sym, "@tls") ||
	       strcasestr(sym, "@indntpoff");
}

/* An operand that the source writes out, in its words; told is what it is. */
static enum asm_gap explicit_mem(struct asm_stmt *s, struct asm_mem *m,
				 const struct x86_mem *told)
{
	char *text = moca_asm_operand(s->text);
	struct x86_mem *at = &m->at;
	int err;

	if (!text)
		return ASM_GAP_OPERAND;
	err = moca_asm_mem_parse(m, text);
	free(text);
	if (err)
		return ASM_GAP_OPERAND;
	at->load = told->load;
	at->store = told->store;
	at->disp += told->popped;
	if (is_link_time(m->sym)) {
		free(m->sym);
		return ASM_GAP_TLS;
	}
	if (((at->base == told->base && at->index == told->index) ||
	     (at->base == told->index && at->index == told->base &&
	      at->scale == 1)) &&
	    at->rip == told->rip && at->seg != X86_GS &&
	    !(at->seg && (at->rip || at->narrow)) &&
	    strncmp(s->text, "movabs", 6))
		return ASM_GAP_NONE;
	free(m->sym);
	return ASM_GAP_OPERAND;
}

/* Memory that the source does not name: the stack, %rsi, %rdi. */
static enum asm_gap hidden_mem(struct asm_mem *m, const struct x86_mem *told)
{
	if (told->base < 0 || told->index >= 0 || told->narrow ||
	    told->seg == X86_GS)
		return ASM_GAP_OPERAND;
	*m = (struct asm_mem){ .at = *told, .sym = strdup("") };
	return m->sym ? ASM_GAP_NONE : ASM_GAP_OPERAND;
}

/* What moca_count_string() is to count; 0: it cannot. */
static uint32_t string_of(const struct x86_insn *x)
{
	uint32_t what;
	int k;

	for (k = 0; k < x->accesses; k++)
		if (x->access[k].seg || x->access[k].narrow)
			return 0;
	switch (x->op) {
	case 'm':
		what = MOCA_COUNT_STRING_RSI | MOCA_COUNT_STRING_TO_RDI;
		break;
	case 's':
		what = MOCA_COUNT_STRING_TO_RDI;
		break;
	case 'l':
		what = MOCA_COUNT_STRING_RSI;
		break;
	case 'c':
		what = MOCA_COUNT_STRING_RSI | MOCA_COUNT_STRING_RDI |
		       MOCA_COUNT_STRING_AFTER;
		break;
	default:
		what = MOCA_COUNT_STRING_RDI | MOCA_COUNT_STRING_AFTER;
		break;
	}
	return what | (uint32_t)x->size << MOCA_COUNT_STRING_SIZE_SHIFT;
}

static enum asm_gap accesses_of(struct asm_stmt *s)
{
	const struct x86_insn *x = &s->what;
	enum asm_gap gap = ASM_GAP_NONE, one;
	int k, named = 0;

	if (!x->accesses)
		return gap;
	switch (x->kind) {
	case X86_VSIB:
		return ASM_GAP_GATHER;
	case X86_XLAT:
	case X86_BIT_STRING:
	case X86_ENTER:
	case X86_FAR:
		return ASM_GAP_INSN;
	case X86_STRING:
		if (!x->rep)
			break;
		s->string = string_of(x);
		return s->string ? gap : ASM_GAP_INSN;
	default:
		break;
	}
	for (k = 0; k < x->accesses; k++) {
		const struct x86_mem *told = &x->access[k];
		struct asm_mem *m = &s->access[s->naccess];

		if (told->hidden)
			one = hidden_mem(m, told);
		else if (named++)
			one = ASM_GAP_OPERAND;
		else
			one = s->intel ? ASM_GAP_INTEL : explicit_mem(s, m, told);
		if (one)
			gap = one;
		else
			s->naccess++;
	}
	return gap;
}

static bool is_macro(const struct asm_file *f, const char *text)
{
	size_t n = strcspn(text, " \t"), i;

	for (i = 0; i < f->nmacros; i++)
		if (strlen(f->macros[i]) == n &&
		    !strncmp(f->macros[i], text, n))
			return true;
	return false;
}

static bool is_call(const struct asm_stmt *s)
{
	return s->what.kind == X86_CALL || s->what.kind == X86_CALL_IND;
}

static void decode(struct asm_file *f, struct asm_stmt *s,
		   const ZydisDecoder *d)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;
	enum asm_gap gap;

	memset(op, 0, sizeof(op));
	if (is_macro(f, s->text)) {
		be_unknown(s, ASM_GAP_MACRO);
		return;
	}
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(d, s->bytes, s->size, &i, op)) ||
	    i.length != s->size) {
		be_unknown(s, strncmp(s->text, "rex", 3) ? ASM_GAP_INSN : 0);
		return;
	}
	s->known = true;
	moca_x86_describe(&s->what, 0, &i, op);
	if (op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	    s->what.kind > X86_LAST_STRAIGHT && s->what.kind <= X86_XBEGIN)
		target_of(s);
	if (s->what.move_to >= 0 && !is_number(s, i.mnemonic))
		s->what.move_to = -1;
	gap = accesses_of(s);
	s->gap = (uint8_t)gap;
	s->glued = i.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
	if (i.meta.category == ZYDIS_CATEGORY_SYSCALL ||
	    i.meta.category == ZYDIS_CATEGORY_INTERRUPT ||
	    i.meta.category == ZYDIS_CATEGORY_SYSTEM ||
	    i.meta.category == ZYDIS_CATEGORY_RDWRFSGS ||
	    s->what.kind == X86_XBEGIN)
		be_unknown(s, gap);
	if (is_call(s) && strcasestr(s->text, "@tls"))
		be_unknown(s, gap);
}

/* The linker knows these sequences by their bytes. */
static void glue(struct asm_file *f)
{
	bool on = false;
	size_t i;

	for (i = 0; i < f->count; i++) {
		struct asm_stmt *s = &f->stmts[i];

		if (s->kind == ASM_LABEL)
			on = false;
		if (on)
			s->glued = true;
		if (s->kind != ASM_INSN)
			continue;
		if (strcasestr(s->text, "@tlsgd") || strcasestr(s->text, "@tlsld"))
			on = true;
		else if (on && is_call(s)) {
			/* In a program the linker makes it something else. */
			on = false;
			while (s->naccess)
				free(s->access[--s->naccess].sym);
			s->gap = ASM_GAP_TLS;
		}
	}
}

void moca_asm_decode(struct asm_file *f)
{
	ZydisDecoder d;
	size_t i;

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (i = 0; i < f->count; i++)
		if (f->stmts[i].kind == ASM_INSN && f->stmts[i].size)
			decode(f, &f->stmts[i], &d);
	glue(f);
}

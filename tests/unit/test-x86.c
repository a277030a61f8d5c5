// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What lib/x86 says of instructions, by their bytes: kinds, registers, memory; and
 * which of their accesses it puts together.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/x86/describe.h"
#include "lib/x86/group.h"

/*
 * Kind; registers read, written, killed; flags killed, as in EFLAGS; accesses
 * (load, store, @: hidden) and moves.
 */
static const struct {
	const char *name, *bytes, *want;
} insns[] = {
	{ "mov", "48 8b 44 8b 10", "0 a:1:1 0 l(3,1,4)+16" },
	{ "add-memory", "48 01 03", "0 9:0:0 8d5 ls(3,-1,1)+0" },
	{ "add-number", "48 83 c3 f8", "0 8:8:8 8d5 3=3-8" },
	{ "mov-32", "89 d8", "0 8:1:1 0" },	/* what was above is lost */
	{ "mov-16", "66 89 d8", "0 9:1:0 0" },
	{ "xor-itself", "31 c0", "0 0:1:1 8d5" },
	{ "xor-itself-8", "30 c0", "0 1:1:0 8d5" },
	{ "cmov", "48 0f 44 03", "0 9:1:0 0 l(3,-1,1)+0" },
	{ "bsf", "0f bc c3", "0 9:1:0 8d5" },	/* of 0: rax stays */
	{ "shift-by-number", "d3 e0", "0 3:1:1 0" },
	{ "shift", "c1 e0 04", "0 1:1:1 8d5" },
	{ "shift-by-0", "c1 e0 20", "0 1:1:1 0" },
	{ "lahf", "9f", "0 1:1:0 0" },
	{ "push", "50", "0 11:10:10 0 s(4,-1,1)-8@ 4=4-8" },
	{ "push-narrow", "67 50", "0 11:10:10 0 s(4,-1,1)-8@ 4=4-8" },
	{ "push-fs", "64 50", "0 11:10:10 0 s(4,-1,1)-8@ 4=4-8" },
	{ "pushf-16", "66 9c", "0 10:10:10 0 s(4,-1,1)-2@ 4=4-2" },
	{ "pop", "58", "0 10:11:11 0 l(4,-1,1)+0@ 4=4+8" },
	{ "pop-rsp", "5c", "0 10:10:10 0 l(4,-1,1)+0@" },
	{ "pop-rsp-relative", "8f 44 24 08",
	  "0 10:10:10 0 s(4,-1,1)+16 l(4,-1,1)+0@ 4=4+8" },
	{ "leave", "c9", "0 30:30:30 0 l(5,-1,1)+0@" },
	{ "lea", "48 8d 5d 10", "0 20:8:8 0 3=5+16" },
	{ "lea-rip", "48 8d 05 00 01 00 00", "0 0:1:1 0" },
	{ "fs", "64 48 8b 03", "0 8:1:1 0 fl(3,-1,1)+0" },
	{ "nop", "0f 1f 04 03", "0 9:0:0 0" },
	{ "prefetch", "0f 18 03", "0 8:0:0 0" },
	{ "clflush", "0f ae 3b", "0 8:0:0 0" },
	{ "cldemote", "0f 1c 03", "0 8:0:0 0" },
	/* What UBSan ends programs by: its operand is never read. */
	{ "ud1", "67 0f b9 40 01", "15 1:0:0 0" },
	{ "ud2", "0f 0b", "15 0:0:0 0" },
	{ "int3", "cc", "15 0:0:0 0" },
	{ "int-0x80", "cd 80", "16 0:0:0 0" },
	/* CPUs that ignore REX.B do nothing; others exchange rax and r8. */
	{ "pause", "f3 90", "0 0:0:0 0" },
	{ "pause-r8", "f3 41 90", "0 101:101:0 0" },
	{ "movs", "a4", "1 c0:c0:c0 0 s(7,-1,1)+0@ l(6,-1,1)+0@" },
	{ "rep-movs", "f3 a4", "1 c2:c2:0 0 s(7,-1,1)+0@ l(6,-1,1)+0@" },
	/* Zydis has cmps leave both registers alone. */
	{ "cmps", "a6", "1 c0:c0:0 8d5 l(6,-1,1)+0@ l(7,-1,1)+0@" },
	{ "repe-cmps", "f3 a6", "1 c2:c2:0 0 l(6,-1,1)+0@ l(7,-1,1)+0@" },
	{ "lods", "48 ad", "1 40:41:1 0 l(6,-1,1)+0@" },
	{ "lods-fs", "64 48 ad", "1 40:41:1 0 fl(6,-1,1)+0@" },
	{ "movsd-vector", "f2 0f 10 03", "0 8:0:0 0 l(3,-1,1)+0" },
	{ "bt-number", "0f ba 23 04", "0 8:0:0 895 l(3,-1,1)+0" },
	{ "bt-register", "0f a3 0b", "4 a:0:0 895 l(3,-1,1)+0" },
	{ "jcc", "75 10", "6 0:0:0 0" },
	{ "call-register", "ff d0", "12 11:10:10 0 s(4,-1,1)-8@" },
	{ "syscall", "0f 05", "13 ffff:802:0 0" },
};

#define SPAN 64
#define ROOM 3

/* Groups of a straight piece: their members, and bytes from first to last. */
static const struct {
	const char *name, *bytes, *want;
} pieces[] = {
	{ "one-base", "8b 03 8b 43 08 89 43 04", "3:8" },
	{ "same-place", "8b 03 48 83 c3 08 89 43 f8", "1:0" },
	{ "stack", "50 53 8b 04 24 58", "2:8" },
	{ "copied-base", "8b 03 48 89 d8 8b 50 10", "2:16" },
	{ "new-base", "8b 03 48 8b 1b 8b 43 08", "1:0 1:0" },
	{ "far", "8b 03 8b 43 40 8b 43 41", "2:64 1:0" },
	{ "full", "8b 03 8b 43 04 8b 43 08 8b 43 0c 8b 03", "3:8 1:0" },
	{ "other-index", "8b 04 8b 8b 44 8b 04 8b 44 4b 04", "2:4 1:0" },
	{ "segment", "8b 03 64 8b 43 04", "1:0 1:0" },
	{ "narrow", "67 8b 03 67 8b 43 04", "1:0 1:0" },
	/* Behind it both registers are elsewhere. */
	{ "cmps", "8a 06 a6 8a 06", "1:0 1:0 1:0" },
	{ "pop-base", "8b 04 24 5c 8b 04 24", "1:0 1:0" },
};

/* Cuts the first instruction off. 0: there is none. */
static int next(const uint8_t **code, const uint8_t *end, struct x86_insn *x)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction d;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, *code,
						 (ZyanUSize)(end - *code), &d,
						 op)))
		return 0;
	moca_x86_describe(x, 0x1000, &d, op);
	*code += d.length;
	return 1;
}

static const uint8_t *bytes_of(const char *hex, uint8_t *code)
{
	unsigned int byte;
	int n;

	for (; sscanf(hex, " %2x%n", &byte, &n) == 1; hex += n)
		*code++ = (uint8_t)byte;
	return code;
}

static void describe(const char *hex, char *out, size_t size)
{
	uint8_t bytes[64];
	const uint8_t *code = bytes, *end = bytes_of(hex, bytes);
	struct x86_insn x;
	int n, i;

	if (!next(&code, end, &x) || code != end) {
		snprintf(out, size, "not decoded");
		return;
	}
	n = snprintf(out, size, "%d %x:%x:%x %x", x.kind, x.reads & X86_GPRS,
		     x.writes & X86_GPRS, x.kills & X86_GPRS,
		     x.kills >> X86_FLAG_SHIFT);
	for (i = 0; i < x.accesses; i++) {
		const struct x86_mem *m = &x.access[i];

		n += snprintf(out + n, size - (size_t)n, " %s%s%s(%d,%d,%d)%+d%s",
			      m->seg == X86_FS ? "f" : "", m->load ? "l" : "",
			      m->store ? "s" : "", m->base, m->index, m->scale,
			      (int)m->disp, m->hidden ? "@" : "");
	}
	if (x.move_to >= 0)
		snprintf(out + n, size - (size_t)n, " %d=%d%+d", x.move_to,
			 x.move_from, (int)x.move_add);
}

static void group(const char *hex, char *out, size_t size)
{
	static struct x86_member members[8][ROOM];
	struct x86_group groups[8];
	uint8_t bytes[64];
	const uint8_t *code = bytes, *end = bytes_of(hex, bytes);
	struct x86_values values;
	uint32_t last = 0;
	struct x86_insn x;
	int count = 0, n = 0, i, k;

	memset(members, 0, sizeof(members));
	moca_x86_values_new(&values, X86_GPRS, &last);
	for (; next(&code, end, &x); moca_x86_values_step(&values, &x, &last))
		for (k = 0; k < x.accesses; k++) {
			const struct x86_mem *m = &x.access[k];

			for (i = 0; i < count; i++)
				if (moca_x86_group_takes(&groups[i], m, &values,
							 SPAN))
					break;
			if (i == count && count < 8) {
				groups[count].members = members[count];
				groups[count].room = ROOM;
				moca_x86_group_begin(&groups[count++], m,
						     &values);
			}
			moca_x86_group_put(&groups[i], m, &values);
		}
	for (i = 0; i < count; i++)
		n += snprintf(out + n, size - (size_t)n, "%s%d:%d", i ? " " : "",
			      groups[i].count,
			      (int)(groups[i].high - groups[i].low));
}

static int compare(const char *name, const char *got, const char *want)
{
	if (!strcmp(got, want)) {
		printf("ok %s\n", name);
		return 0;
	}
	printf("not ok %s: %s, not %s\n", name, got, want);
	return 1;
}

int main(void)
{
	char got[256];
	unsigned int i;
	int failed = 0;

	for (i = 0; i < sizeof(insns) / sizeof(*insns); i++) {
		describe(insns[i].bytes, got, sizeof(got));
		failed |= compare(insns[i].name, got, insns[i].want);
	}
	for (i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		group(pieces[i].bytes, got, sizeof(got));
		failed |= compare(pieces[i].name, got, pieces[i].want);
	}
	return failed;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/perf/instruction.h"

#include <Zydis/Zydis.h>

static uint8_t classify(const ZydisDecodedInstruction *insn,
			const ZydisDecodedOperand *ops)
{
	int reads = 0, writes = 0, places = 0;

	for (int i = 0; i < insn->operand_count; i++) {
		if (ops[i].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    ops[i].mem.type == ZYDIS_MEMOP_TYPE_AGEN)
			continue;
		places++;
		reads += (ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
		writes +=
			(ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
	}
	/* A read-modify-write of one place asks for it as a write. */
	if (writes && (places == 1 || !reads))
		return MOCA_ACCESS_WRITE;
	if (reads && !writes)
		return MOCA_ACCESS_READ;
	return reads ? INSTRUCTION_DOES_BOTH : INSTRUCTION_NOT_KNOWN;
}

uint8_t instruction_type(const uint8_t *bytes, size_t len)
{
	static ZydisDecoder decoder;
	static int ready;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;

	if (!ready)
		ready = ZYAN_SUCCESS(
			ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					 ZYDIS_STACK_WIDTH_64));
	if (!ready || !len ||
	    !ZYAN_SUCCESS(
		    ZydisDecoderDecodeFull(&decoder, bytes, len, &insn, ops)))
		return INSTRUCTION_NOT_KNOWN;
	return classify(&insn, ops);
}

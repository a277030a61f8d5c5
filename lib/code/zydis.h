/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The instruction decoder, Zydis, as a program's agent uses it: loaded when the
 * first detour is wanted, so that no program needs it otherwise.
 */
#ifndef MOCA_CODE_ZYDIS_H
#define MOCA_CODE_ZYDIS_H

#include <Zydis/Zydis.h>

struct moca_zydis {
	void *library;
	ZyanStatus (*decode)(const ZydisDecoder *decoder,
			     ZydisDecoderContext *context, const void *code,
			     ZyanUSize len, ZydisDecodedInstruction *insn);
	ZydisDecoder decoder;
};

/*
 * Loads it. 0; -ELIBACC: there is no library of the version that this was
 * compiled for; -ELIBBAD: it is not what it is called.
 */
int moca_zydis_open(struct moca_zydis *z);
void moca_zydis_close(struct moca_zydis *z);

/* One 64-bit instruction out of at most len bytes. 0 or -EILSEQ. */
int moca_zydis_decode(const struct moca_zydis *z, const uint8_t *code,
		      size_t len, ZydisDecodedInstruction *insn);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The instruction decoder, Zydis, as a program's agent uses it: loaded when the
 * first detour is wanted, so that no program needs it otherwise. dlopen() would
 * call malloc, which may be the program's own: that of GNU Common Lisp may not
 * be called before main. So its file is found and laid out here.
 */
#ifndef MOCA_CODE_ZYDIS_H
#define MOCA_CODE_ZYDIS_H

#include <Zydis/Zydis.h>

struct moca_zydis {
	void *base;		/* where it is laid out */
	size_t len;
	ZyanStatus (*decode)(const ZydisDecoder *decoder,
			     ZydisDecoderContext *context, const void *code,
			     ZyanUSize len, ZydisDecodedInstruction *insn);
	ZydisDecoder decoder;
};

/*
 * Loads it from a folder of LD_LIBRARY_PATH, or one where distributions keep
 * libraries. 0; -ELIBACC: there is no library of the version that this was
 * compiled for; -ELIBBAD: it is not what it is called; -errno.
 */
int moca_zydis_open(struct moca_zydis *z);
void moca_zydis_close(struct moca_zydis *z);

/* One 64-bit instruction out of at most len bytes. 0 or -EILSEQ. */
int moca_zydis_decode(const struct moca_zydis *z, const uint8_t *code,
		      size_t len, ZydisDecodedInstruction *insn);

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/code/zydis.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>


int moca_zydis_open(struct moca_zydis *z)
{
	ZyanU64 (*version)(void);
	char name[32];
	ZyanStatus (*init)(ZydisDecoder *decoder, ZydisMachineMode mode,
			   ZydisStackWidth width);

	/* The structures differ between versions; the file's name says which. */
	snprintf(name, sizeof(name), "libZydis.so.%u.%u",
		 (unsigned int)ZYDIS_VERSION_MAJOR(ZYDIS_VERSION),
		 (unsigned int)ZYDIS_VERSION_MINOR(ZYDIS_VERSION));
	z->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!z->library)
		return -ELIBACC;
	version = (ZyanU64(*)(void))dlsym(z->library, "ZydisGetVersion");
	init = (ZyanStatus(*)(ZydisDecoder *, ZydisMachineMode,
			      ZydisStackWidth))dlsym(z->library,
						     "ZydisDecoderInit");
	z->decode = (ZyanStatus(*)(const ZydisDecoder *, ZydisDecoderContext *,
				   const void *, ZyanUSize,
				   ZydisDecodedInstruction *))
		dlsym(z->library, "ZydisDecoderDecodeInstruction");
	if (version && init && z->decode &&
	    version() >> 32 == ZYDIS_VERSION >> 32 &&
	    ZYAN_SUCCESS(init(&z->decoder, ZYDIS_MACHINE_MODE_LONG_64,
			      ZYDIS_STACK_WIDTH_64)))
		return 0;
	moca_zydis_close(z);
	return -ELIBBAD;
}

void moca_zydis_close(struct moca_zydis *z)
{
	dlclose(z->library);
	z->library = NULL;
}

int moca_zydis_decode(const struct moca_zydis *z, const uint8_t *code,
		      size_t len, ZydisDecodedInstruction *insn)
{
	return ZYAN_SUCCESS(z->decode(&z->decoder, NULL, code, len, insn)) ?
		       0 : -EILSEQ;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of embedded.h, and calls of Zydis by what zydis.c finds in its. */
	.macro file name, path
	.globl moca_embedded_\name, moca_embedded_\name\()_end
	.hidden moca_embedded_\name, moca_embedded_\name\()_end
	.balign 64
moca_embedded_\name:
	.incbin "\path"
moca_embedded_\name\()_end:
	.endm

	.section .rodata
	file zydis, ZYDIS_FILE
	file alloc, ALLOC_FILE
	file trace, TRACE_FILE

	/* In the order of names in zydis.c. */
	.macro calls name, number
	.globl \name
	.type \name, @function
\name:
	endbr64
	jmp *(moca_standalone_calls + 8 * \number)(%rip)
	.size \name, . - \name
	.endm

	.text
	calls ZydisDecoderInit, 0
	calls ZydisDecoderDecodeFull, 1
	calls ZydisDecoderDecodeInstruction, 2
	calls ZydisGetVersion, 3
	.section .note.GNU-stack, "", @progbits

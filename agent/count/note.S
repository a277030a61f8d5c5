/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One per program and per library that `moca cc` links: says to `moca record`
 * that the program counts itself and where it wants to be told the arena,
 * and to libmoca-count which of its code counts. SHIFT: log2 of a granule.
 */
#include "include/abi/count.h"

#ifndef SHIFT
#error "SHIFT, log2 of the bytes that share counters, must be given"
#endif
	.section .note.moca, "a", @note
	.balign 4
	.long	5, 8, MOCA_COUNT_NOTE_TYPE
	.asciz	MOCA_COUNT_NOTE_NAME
	.balign 4
	.long	SHIFT, setup - .

	.data
	.balign 16
	.globl	moca_count_setup
	.type	moca_count_setup, @object
	.size	moca_count_setup, 80
	/* struct moca_exact_setup; version 0: nobody records. */
moca_count_setup:
setup:	.zero	80

	.section .data.rel.local, "aw"
	.balign 8
	.weak	__start_moca_code, __stop_moca_code
	.hidden	__start_moca_code, __stop_moca_code
	.weak	__start_moca_gaps, __stop_moca_gaps
	.hidden	__start_moca_gaps, __stop_moca_gaps
	/* struct count_module of counters.h */
module:	.quad	0, __start_moca_code, __stop_moca_code
	.quad	__start_moca_gaps, __stop_moca_gaps
	.quad	SHIFT

	/* Objects refer to it: those of other granules cannot be mixed in. */
	.set	moca_count_granule, 1 << SHIFT
	.globl	GRANULE
	.hidden	GRANULE
	.set	GRANULE, module

	.text
	.type	begin, @function
begin:	leaq	module(%rip), %rdi
	jmpq	*moca_count_module@GOTPCREL(%rip)
	.size	begin, .-begin
	.section .init_array.00101, "aw", @init_array
	.balign 8
	.quad	begin
	.section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* As dlopen.S, for arm64: dlopen(name, flags), in the place of the program's. */
	.text
	.globl	dlopen
	.type	dlopen, %function
dlopen:
	.cfi_startproc
	hint	#34			/* bti c */
	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	mov	x2, x30
	bl	place_may_look
	mov	w9, w0
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	cbz	w9, 1f
	b	place_dlopen
1:	adrp	x16, place_real_dlopen
	ldr	x16, [x16, :lo12:place_real_dlopen]
	br	x16
	.cfi_endproc
	.size	dlopen, . - dlopen
	.section .note.GNU-stack, "", %progbits

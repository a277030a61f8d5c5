/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dlopen(name, flags), in the place of the program's. The loader takes note of who
 * calls: where that matters, it is called as if we were not there.
 */
	.text
	.globl	dlopen
	.type	dlopen, @function
dlopen:
	.cfi_startproc
	endbr64
	push	%rdi
	.cfi_adjust_cfa_offset 8
	push	%rsi
	.cfi_adjust_cfa_offset 8
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	mov	24(%rsp), %rdx
	call	place_may_look
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	pop	%rsi
	.cfi_adjust_cfa_offset -8
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	test	%eax, %eax
	jne	place_dlopen
	mov	place_real_dlopen(%rip), %rax
	jmp	*%rax
	.cfi_endproc
	.size	dlopen, . - dlopen
	.section .note.GNU-stack, "", @progbits

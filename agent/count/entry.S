/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What rewritten code calls (abi.h): every register and flag is kept. */
	.macro	enter name
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	.cfi_startproc
	pushfq
	pushq	%rbp
	.cfi_def_cfa_offset 24
	.cfi_offset 6, -24
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	cld
	andq	$-16, %rsp
	.endm

	.macro	leave_again name
	leaq	-72(%rbp), %rsp
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	popq	%rbp
	.cfi_def_cfa 7, 16
	popfq
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	\name, .-\name
	.endm

	.text
	/* From %rbp up: %rbp, flags, the return address, the pushed word. */
	enter	moca_count_load
	movq	24(%rbp), %rdi
	xorl	%esi, %esi
	call	moca_count_first
	leave_again moca_count_load

	enter	moca_count_store
	movq	24(%rbp), %rdi
	movl	$1, %esi
	call	moca_count_first
	leave_again moca_count_store

	/* %rdi, %rsi, %rcx as they are; what was saved lies 128 above. */
	enter	moca_count_string
	leaq	136(%rbp), %r9
	movl	24(%rbp), %r8d
	movq	%rcx, %rdx
	movq	8(%rbp), %rcx
	call	moca_count_elements
	leave_again moca_count_string

	.section .note.GNU-stack, "", @progbits

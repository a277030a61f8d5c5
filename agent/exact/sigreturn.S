/* SPDX-License-Identifier: LGPL-2.1-or-later */
	.text

	.globl	moca_exact_signal_restorer
	.hidden	moca_exact_signal_restorer
	.type	moca_exact_signal_restorer, @function
moca_exact_signal_restorer:
	movl	$15, %eax
	syscall
	ud2
	.size	moca_exact_signal_restorer, . - moca_exact_signal_restorer

	/* The kernel takes what is at %rsp for the ucontext. */
	.globl	moca_exact_sigreturn
	.hidden	moca_exact_sigreturn
	.type	moca_exact_sigreturn, @function
moca_exact_sigreturn:
	movq	%rdi, %rsp
	movl	$15, %eax
	syscall
	ud2
	.size	moca_exact_sigreturn, . - moca_exact_sigreturn

	/* (stack, function, argument): it does not return. */
	.globl	moca_exact_on_stack
	.hidden	moca_exact_on_stack
	.type	moca_exact_on_stack, @function
moca_exact_on_stack:
	movq	%rdi, %rsp
	movq	%rdx, %rdi
	call	*%rsi
	ud2
	.size	moca_exact_on_stack, . - moca_exact_on_stack

	.section .note.GNU-stack, "", @progbits

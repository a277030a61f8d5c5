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

	.section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the agent begins in a static program, before the program does. */
	.text
	.globl	moca_static_entry
	.type	moca_static_entry, @function
moca_static_entry:
	movq	%rsp, %rbx
	movq	%rdi, %r12
	call	moca_static_relocate
	movq	%r12, %rdi
	movq	%rbx, %rsi
	call	moca_static_main
	movq	%rbx, %rsp
	/* As the kernel leaves them; %rdx would be called at exit. */
	xorl	%eax, %eax
	xorl	%ebx, %ebx
	xorl	%ecx, %ecx
	xorl	%edx, %edx
	xorl	%esi, %esi
	xorl	%edi, %edi
	xorl	%ebp, %ebp
	xorl	%r8d, %r8d
	xorl	%r9d, %r9d
	xorl	%r10d, %r10d
	xorl	%r11d, %r11d
	xorl	%r12d, %r12d
	xorl	%r13d, %r13d
	xorl	%r14d, %r14d
	xorl	%r15d, %r15d
	jmp	*moca_static_setup(%rip)	/* its first word: the entry */
	.size	moca_static_entry, . - moca_static_entry

	.macro	function name
	.globl	\name
	.hidden	\name
	.type	\name, @function
\name:
	.endm

/* (nr, a, b, c, d, e, f) */
function moca_static_call
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	movq	8(%rsp), %r9
	syscall
	ret

/* Before the program has got one: any, so that others can be counted from it. */
function moca_static_thread_pointer
	rdfsbase %rax
	testq	%rax, %rax
	jne	1f
	movabsq	$0x10000000000, %rax
1:	ret

function moca_static_gs
	rdgsbase %rax
	ret

function moca_static_set_gs
	wrgsbase %rdi
	ret

	.section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between the program's registers and our C. context.h says what is at %gs. */
#include "agent/exact/context.h"

#define AT(field) %gs:(field) - CONTEXT_SIZE
#define REG(n) %gs:C_GPR + 8 * (n) - CONTEXT_SIZE
#define COLD(n) %gs:C_COLD + 8 * (n) - CONTEXT_SIZE

	.text
	.macro	function name
	.globl	\name
	.hidden	\name
	.type	\name, @function
\name:
	.endm

	.macro	label name
	.globl	\name
	.hidden	\name
\name:
	.endm

	/* AC too: neither our C nor the decoder aligns all that it reads. */
	.macro	our_flags third:vararg
	cld
	testb	$4, \third
	je	9f
	pushq	$2
	popfq
9:
	.endm

	.macro	save_registers
	movq	%rax, REG(0)
	movq	%rcx, REG(1)
	movq	%rdx, REG(2)
	movq	%rbx, REG(3)
	movq	%rsp, REG(4)
	movq	%rbp, REG(5)
	movq	%rsi, REG(6)
	movq	%rdi, REG(7)
	movq	%r8, REG(8)
	movq	%r9, REG(9)
	movq	%r10, REG(10)
	movq	%r11, REG(11)
	movq	%r12, REG(12)
	movq	%r13, REG(13)
	movq	%r14, REG(14)
	movq	%r15, REG(15)
	movq	AT(C_STACK), %rsp
	pushfq
	popq	AT(C_FLAGS)
	our_flags AT(C_FLAGS + 2)
	.endm

	/* All but %rsp. */
	.macro	load_registers
	movq	REG(0), %rax
	movq	REG(1), %rcx
	movq	REG(2), %rdx
	movq	REG(3), %rbx
	movq	REG(5), %rbp
	movq	REG(6), %rsi
	movq	REG(7), %rdi
	movq	REG(8), %r8
	movq	REG(9), %r9
	movq	REG(10), %r10
	movq	REG(11), %r11
	movq	REG(12), %r12
	movq	REG(13), %r13
	movq	REG(14), %r14
	movq	REG(15), %r15
	.endm

/* (setup), on the program's stack: the begin of all. */
function moca_exact_entry
	movq	%rsp, %rbx
	movq	%rdi, %r12
	andq	$-16, %rsp
	call	moca_exact_relocate
	movq	%r12, %rdi
	movq	%rbx, %rsi
	call	moca_exact_begin	/* the context; %gs is set */
	movq	%rax, %rdi
	jmp	moca_exact_resume

/* --- out of translated code --------------------------------------------------- */

function moca_exact_exit_link
	save_registers
	movl	$EXIT_LINK, %esi
	jmp	dispatch

function moca_exact_exit_jump
	movq	%rax, AT(C_PC)
	movq	AT(C_SPILL), %rax
	movq	AT(C_SPILL + 8), %rcx
function moca_exact_exit_pc
	save_registers
	movl	$EXIT_JUMP, %esi
	jmp	dispatch

function moca_exact_exit_syscall
	save_registers
	movl	$EXIT_SYSCALL, %esi
	jmp	dispatch

function moca_exact_exit_native
	save_registers
	movl	$EXIT_NATIVE, %esi
	jmp	dispatch

function moca_exact_exit_stale
	save_registers
	movl	$EXIT_STALE, %esi

dispatch:
	movq	AT(C_SELF), %rdi
	call	moca_exact_dispatch
/* May begin again at any point: nothing of the context changes. */
label moca_exact_leave_begin
	movq	AT(C_STACK), %rsp
	cmpq	$0, AT(C_PENDING)
	jne	1f
	pushq	AT(C_FLAGS)
	popfq
	load_registers
	movq	REG(4), %rsp
	jmp	*AT(C_HOST)
label moca_exact_leave_end
1:	pushq	AT(C_FLAGS)
	popfq
	load_registers
	movq	REG(4), %rsp
label moca_exact_deliver
	int3
	ud2

/* (c) */
function moca_exact_resume
	jmp	moca_exact_leave_begin

/*
 * Amid a block: the granule in C_COLD_KEY was borrowed from. Of the flags only
 * those that are no results matter (DF); the program's stack is left alone.
 */
	.macro	cold name, what, third, end=cold_end
function \name
	movq	%rax, COLD(0)
	movq	%rcx, COLD(1)
	movq	%rdx, COLD(2)
	movq	%rsp, COLD(4)
	movq	%rsi, COLD(6)
	movq	%rdi, COLD(7)
	movq	%r8, COLD(8)
	movq	%r9, COLD(9)
	movq	%r10, COLD(10)
	movq	%r11, COLD(11)
	movq	AT(C_STACK), %rsp
	pushfq
	our_flags 2(%rsp)
	subq	$8, %rsp
	movq	AT(C_SELF), %rdi
	movq	AT(C_COLD_KEY), %rsi
	movl	$\third, %edx
	call	\what
	jmp	\end
	.endm

	cold	moca_exact_cold_load, moca_exact_cold, 0
	cold	moca_exact_cold_store, moca_exact_cold, 1
	/* Where no result flags are needed behind it, that is faster. */
	cold	moca_exact_enter_loop, moca_exact_loop_begin, 0, loop_end
	cold	moca_exact_leave_loop, moca_exact_loop_leave, 0, loop_end
	cold	moca_exact_leave_loop_flags, moca_exact_loop_leave, 0

	.macro	load_cold
	movq	COLD(0), %rax
	movq	COLD(1), %rcx
	movq	COLD(2), %rdx
	movq	COLD(6), %rsi
	movq	COLD(7), %rdi
	movq	COLD(8), %r8
	movq	COLD(9), %r9
	movq	COLD(10), %r10
	movq	COLD(11), %r11
	.endm

cold_end:
	addq	$8, %rsp
/* One that comes now has TF set by the handler. */
label moca_exact_back_begin
cold_back:
	cmpq	$0, AT(C_PENDING)
	je	1f
	orq	$0x100, (%rsp)		/* step on to where it can be delivered */
1:	load_cold
	popfq
	movq	COLD(4), %rsp
	jmp	*AT(C_COLD_BACK)
loop_end:
	addq	$8, %rsp
	cmpq	$0, AT(C_PENDING)
	jne	cold_back
	testl	$0x40400, (%rsp)	/* AC, DF: they were changed */
	jne	cold_back
	load_cold
	movq	COLD(4), %rsp
	jmp	*AT(C_COLD_BACK)
help_end:
	cmpq	$0, AT(C_PENDING)
	je	1f
	orq	$0x100, AT(C_FLAGS)
1:	load_registers
	pushq	AT(C_FLAGS)
	popfq
	movq	REG(4), %rsp
	jmp	*AT(C_COLD_BACK)
label moca_exact_back_end
	nop

/* Amid a block: C has to look at all registers. C_HELPER says what for. */
function moca_exact_helper
	save_registers
	movq	AT(C_SELF), %rdi
	call	moca_exact_help
	jmp	help_end

/* --- system calls ---------------------------------------------------------------- */

	.macro	push_saved
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	.endm

	.macro	pop_saved
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	.endm

	.macro	load_arguments
	movq	REG(0), %rax
	movq	REG(7), %rdi
	movq	REG(6), %rsi
	movq	REG(2), %rdx
	movq	REG(10), %r10
	movq	REG(8), %r8
	movq	REG(9), %r9
	.endm

/* (c) */
function moca_exact_syscall
	push_saved
label moca_exact_before_syscall
	cmpq	$0, AT(C_PENDING)
	jne	moca_exact_not_made
	load_arguments
label moca_exact_at_syscall
	syscall
label moca_exact_after_syscall
	movq	%rax, REG(0)
	xorl	%eax, %eax
	pop_saved
	ret
label moca_exact_not_made
	movl	$1, %eax
	pop_saved
	ret

/* (c, child's gs): signals are blocked. */
function moca_exact_clone
	push_saved
	movq	%rsi, %r12
	load_arguments
	syscall
	testq	%rax, %rax
	je	1f
	movq	%rax, REG(0)
	xorl	%eax, %eax
	pop_saved
	ret
1:	wrgsbase %r12
	movq	AT(C_STACK), %rsp
	movq	AT(C_SELF), %rdi
	call	moca_exact_child
	jmp	moca_exact_leave_begin

/* (nr, a, b, c, d, e, f): one of ours */
function moca_exact_call
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	movq	8(%rsp), %r9
	syscall
	ret

/* (nr, a): the thread's last: its stack may be another's meanwhile. */
function moca_exact_last_call
	movq	%rdi, %rax
	movq	%rsi, %rdi
	syscall
	ud2

/* --- around the decoder, which uses vector registers --------------------------------- */


function moca_exact_save_vectors
	rdfsbase %rax
	movq	%rax, C_VECTORS + 256(%rdi)
	leaq	C_VECTORS + 256(%rdi), %rax
	wrfsbase %rax			/* its stack protector looks there */
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movups	%xmm\n, C_VECTORS + 16 * \n(%rdi)
	.endr
	ret

function moca_exact_restore_vectors
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movups	C_VECTORS + 16 * \n(%rdi), %xmm\n
	.endr
	movq	C_VECTORS + 256(%rdi), %rax
	wrfsbase %rax
	ret

	.section .note.GNU-stack, "", @progbits

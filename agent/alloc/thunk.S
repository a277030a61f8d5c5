/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where a detoured function's calls arrive, from a stub that has pushed its
 * struct moca_hook.
 *
 * The caller may know which registers the function leaves alone (gcc's
 * -fipa-ra does, of any function in the same file), so all are kept, flags and
 * vectors included: both of the call of the function and of its return. Frames
 * are described, for exceptions and for debuggers, and the function returns to
 * us as from any call, for shadow stacks. What it may have on the stack, as
 * arguments, is copied: MOCA_DETOUR_STACK bytes.
 *
 * The offsets are those of struct moca_detour_call in detour.h, which begins at
 * CALL(%rbp) and ends with %rbp, at %rbp, and the return address.
 */
#define CALL	-136
#define ENDS	CALL
#define ORIGINAL (CALL + 32)
#define WANTED	(CALL + 40)
#define FLAGS	(CALL + 48)
#define ARGS	(CALL + 56)
#define RAX	(CALL + 104)
#define R10	(CALL + 112)
#define R11	(CALL + 120)
#define HOOK	(CALL + 128)
#define STACK	128		/* MOCA_DETOUR_STACK */

	.text

/* Call \fn(call), which leaves the vectors alone or need not. */
	.macro	to_c fn
	leaq	CALL(%rbp), %rdi
	andq	$-16, %rsp
	call	\fn
	leaq	CALL(%rbp), %rsp
	.endm

#ifdef MOCA_STATIC
/* There, all of the agent is compiled to use none. */
	.macro	to_c_vectors fn
	to_c	\fn
	.endm
#else
/* Call \fn(call), and keep the vectors. */
	.macro	to_c_vectors fn
	leaq	CALL(%rbp), %rdi
	subq	moca_detour_xsave_len(%rip), %rsp
	andq	$-64, %rsp
	movl	moca_detour_xsave_mask(%rip), %eax
	xorl	%edx, %edx
	testl	%eax, %eax
	je	2f
	.set	i, 0
	.rept	8		/* the header, of which xsave writes a part */
	movq	%rdx, 512 + i(%rsp)
	.set	i, i + 8
	.endr
	xsave64	(%rsp)
	call	\fn
	movl	moca_detour_xsave_mask(%rip), %eax
	xorl	%edx, %edx
	xrstor64 (%rsp)
	jmp	3f
2:	fxsave64 (%rsp)
	call	\fn
	fxrstor64 (%rsp)
3:	leaq	CALL(%rbp), %rsp
	.endm
#endif

/* All that a call may change but %r10 and %r11; the flags without the control
   ones, which the ABI keeps. */
	.macro	save_results
	movq	%rdi, ARGS(%rbp)
	movq	%rsi, ARGS + 8(%rbp)
	movq	%rdx, ARGS + 16(%rbp)
	movq	%rcx, ARGS + 24(%rbp)
	movq	%r8, ARGS + 32(%rbp)
	movq	%r9, ARGS + 40(%rbp)
	movq	%rax, RAX(%rbp)
	lahf
	seto	%al
	movq	%rax, FLAGS(%rbp)
	.endm

	.macro	registers_back
	movq	FLAGS(%rbp), %rax
	addb	$127, %al	/* overflows if it had */
	sahf
	movq	ARGS(%rbp), %rdi
	movq	ARGS + 8(%rbp), %rsi
	movq	ARGS + 16(%rbp), %rdx
	movq	ARGS + 24(%rbp), %rcx
	movq	ARGS + 32(%rbp), %r8
	movq	ARGS + 40(%rbp), %r9
	movq	RAX(%rbp), %rax
	movq	R10(%rbp), %r10
	movq	R11(%rbp), %r11
	.endm

	.globl	moca_detour_thunk
	.hidden	moca_detour_thunk
	.type	moca_detour_thunk, @function
	.p2align 4
moca_detour_thunk:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	endbr64
	pushq	%rbp
	movq	8(%rsp), %rbp	/* the hook; the caller's takes its place: */
	popq	(%rsp)
	.cfi_offset %rbp, -16
	pushq	%rbp
	.cfi_def_cfa_offset 24
	leaq	8(%rsp), %rbp
	.cfi_def_cfa %rbp, 16
	leaq	CALL(%rbp), %rsp
	movq	%r11, R11(%rbp)
	movq	%r10, R10(%rbp)
	save_results
#ifdef MOCA_STATIC
	/* Is the block at %gs ours, and this thread's? static/thread.c */
	rdgsbase %rax
	leaq	moca_static_blocks(%rip), %rcx
	subq	%rcx, %rax
	cmpq	$MOCA_STATIC, %rax
	jae	1f
	rdfsbase %rax
	cmpq	%gs:8, %rax
	je	2f
1:	to_c	moca_static_thread
	testl	%eax, %eax
	jne	2f
	movq	HOOK(%rbp), %rax
	movq	(%rax), %rax
	movq	%rax, ORIGINAL(%rbp)
	jmp	pass
2:
#endif
	to_c	moca_detour_before
	cmpq	$0, ENDS(%rbp)
	je	1f
	to_c_vectors moca_detour_ends
1:
	cmpq	$0, WANTED(%rbp)
	je	pass
	subq	$STACK + 8, %rsp
	.set	i, 0
	.rept	STACK / 8
	movq	16 + i(%rbp), %rax
	movq	%rax, i(%rsp)
	.set	i, i + 8
	.endr
	registers_back
	call	*ORIGINAL(%rbp)
	movq	%r11, R11(%rbp)
	movq	%r10, R10(%rbp)
	save_results
	leaq	CALL(%rbp), %rsp
	cmpq	$1, WANTED(%rbp)
	je	1f
	to_c_vectors moca_detour_after
	jmp	2f
1:	to_c	moca_detour_leave
2:
	registers_back
	.cfi_remember_state
	leave
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	ret
	.cfi_restore_state
	/* As if it had been called directly. The call is still in the 128 bytes
	   below the stack that signal handlers leave alone. */
pass:	registers_back
	leave
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	jmp	*ORIGINAL - 8(%rsp)
	.cfi_endproc
	.size	moca_detour_thunk, . - moca_detour_thunk

	.section .note.GNU-stack, "", @progbits

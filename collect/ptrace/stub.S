/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs in the traced program, without a stack: everything is in registers,
 * which the tracer saved. See stub.h.
 */
#include "collect/ptrace/stub.h"
#include <sys/syscall.h>

#define CPU_SEGMENT 0x7b	/* of the kernel, for the vDSO */

	.balign 16
moca_stub_code:

/* One system call, all in its registers; the result goes to %rbx. */
moca_stub_one:
	syscall
	mov	%rax, %rbx
done:
	mov	$CPU_SEGMENT, %r9d	/* its limit tells the CPU, as in getcpu(2) */
	lsl	%r9d, %r9d
	mov	$STUB_NR_DONE, %eax
	syscall
	jmp	done

/* A list: %r12 = first call, %r13 = count. %rbx = calls carried out. */
moca_stub_list:
	xor	%ebx, %ebx
	xor	%r14d, %r14d		/* result of the call before */
1:	cmp	%r13, %rbx
	jae	done
	mov	8(%r12), %rdi
	mov	16(%r12), %rsi
	mov	24(%r12), %rdx
	mov	32(%r12), %r10
	mov	40(%r12), %r8
	mov	48(%r12), %r9
	mov	STUB_CALL_FLAGS(%r12), %r15
	test	$STUB_CALL_ADDR, %r15b
	jz	2f
	add	%r14, %rdi
2:	test	$STUB_CALL_OFFSET, %r15b
	jz	3f
	add	%r14, %r9
3:	mov	(%r12), %rax
	syscall
	mov	%rax, %r14
	mov	%rax, STUB_CALL_RET(%r12)
	inc	%rbx
	add	$STUB_CALL_BYTES, %r12
	test	$STUB_CALL_MUST, %r15b
	jz	1b
	cmp	$-4095, %rax
	jb	1b
	jmp	done

/*
 * clone(2) of the zapper, by way of a child that ends at once: so it is no
 * child of the program's, which may wait for all of its own.
 */
moca_stub_clone:
	mov	$SYS_clone, %eax
	syscall
	mov	%rax, %rbx
	test	%rax, %rax
	js	done
	jz	between
	mov	%rax, %rdi
	xor	%esi, %esi
	mov	$WALL, %edx
	xor	%r10d, %r10d
	mov	$SYS_wait4, %eax
	syscall
	mov	%rax, %rbx
	jmp	done

between:
	mov	$SYS_clone, %eax	/* with the same flags */
	syscall
	test	%rax, %rax
	jz	zapper
	xor	%edi, %edi
	mov	$SYS_exit, %eax
	syscall

zapper:
	/* Hold no descriptor of the program open. */
	xor	%edi, %edi
	mov	$-1, %esi
	mov	$CLOSE_RANGE_UNSHARE, %edx
	mov	$SYS_close_range, %eax
	syscall
	mov	$PR_SET_NAME, %edi
	lea	moca_stub_name(%rip), %rsi
	mov	$SYS_prctl, %eax
	syscall
	mov	$STUB_DATA, %r12d
	mov	STUB_ZAP_DONE(%r12), %r13d	/* seq carried out last */
4:	mov	STUB_ZAP_SEQ(%r12), %eax
	cmp	%eax, %r13d
	jne	5f
	lea	STUB_ZAP_SEQ(%r12), %rdi
	mov	$FUTEX_WAIT, %esi
	mov	%r13d, %edx
	xor	%r10d, %r10d
	mov	$SYS_futex, %eax
	syscall
	jmp	4b
5:	mov	%eax, %r13d
	cmpl	$0, STUB_ZAP_EXIT(%r12)
	jne	8f
	lea	STUB_ZAP_LIST(%r12), %r14
	xor	%r15d, %r15d
6:	cmp	STUB_ZAP_COUNT(%r12), %r15d
	jae	7f
	cmp	$STUB_ZAP_MAX, %r15d
	jae	7f
	mov	(%r14), %rdi
	mov	8(%r14), %rsi
	mov	STUB_ZAP_ADVICE(%r12), %edx
	mov	$SYS_madvise, %eax
	syscall
	mov	%rax, 16(%r14)
	add	$24, %r14
	inc	%r15d
	jmp	6b
7:	mov	%r13d, STUB_ZAP_DONE(%r12)	/* x86 keeps store order */
	lea	STUB_ZAP_DONE(%r12), %rdi
	mov	$FUTEX_WAKE, %esi
	mov	$1, %edx
	mov	$SYS_futex, %eax
	syscall
	jmp	4b
8:	mov	%r13d, STUB_ZAP_DONE(%r12)
	xor	%edi, %edi
	mov	$SYS_exit, %eax
	syscall
	jmp	8b

moca_stub_name:
	.asciz	"moca-zap"
	/* A child's memory is the program's: no name of what is Moca's own. */
moca_stub_memfd:
	.asciz	"moca"
moca_stub_code_end:

	.section .note.GNU-stack, "", @progbits

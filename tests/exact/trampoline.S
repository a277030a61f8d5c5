/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine_run() of machine.h; numbers are those of struct machine. */
#define STACK_TOP 0x20026000
#define FSBASE 0x20001000
#define FLAGS 128
#define K 256
#define FX 512
#define ZMM 1024

	.bss
	.balign 8
saved_rsp: .quad 0
	.globl saved_fs
saved_fs: .quad 0
target: .quad 0
saved_mxcsr: .long 0
saved_cw: .short 0

	.text
	.globl machine_run
	.type machine_run, @function
machine_run:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, saved_rsp(%rip)
	mov %rdi, target(%rip)
	stmxcsr saved_mxcsr(%rip)
	fnstcw saved_cw(%rip)
	rdfsbase %rax
	mov %rax, saved_fs(%rip)
	mov $FSBASE, %eax
	wrfsbase %rax
	lea machine(%rip), %rdi
	fxrstor64 FX(%rdi)
	cmpl $0, machine_avx512(%rip)
	je 1f
	.irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	vmovdqu64 ZMM+64*\i(%rdi), %zmm\i
	.endr
	.irp i, 0,1,2,3,4,5,6,7
	kmovq K+8*\i(%rdi), %k\i
	.endr
	jmp 2f
1:	.irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	vmovdqu ZMM+64*\i(%rdi), %ymm\i
	.endr
2:	push FLAGS(%rdi)
	popfq
	.irp r, rax,rcx,rdx,rbx
	mov machine+8*(\r\()_no)(%rip), %\r
	.endr
	mov machine+8*5(%rip), %rbp
	mov machine+8*6(%rip), %rsi
	mov machine+8*7(%rip), %rdi
	.irp n, 8,9,10,11,12,13,14,15
	mov machine+8*\n(%rip), %r\n
	.endr
	mov $STACK_TOP, %esp
	call *target(%rip)
	.irp r, rax,rcx,rdx,rbx,rsp
	mov %\r, machine+8*(\r\()_no)(%rip)
	.endr
	mov saved_rsp(%rip), %rsp
	mov %rbp, machine+8*5(%rip)
	mov %rsi, machine+8*6(%rip)
	mov %rdi, machine+8*7(%rip)
	.irp n, 8,9,10,11,12,13,14,15
	mov %r\n, machine+8*\n(%rip)
	.endr
	lea machine(%rip), %rdi
	pushfq
	popq FLAGS(%rdi)
	cld
	mov saved_fs(%rip), %rax
	wrfsbase %rax
	fxsave64 FX(%rdi)
	cmpl $0, machine_avx512(%rip)
	je 3f
	.irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	vmovdqu64 %zmm\i, ZMM+64*\i(%rdi)
	.endr
	.irp i, 0,1,2,3,4,5,6,7
	kmovq %k\i, K+8*\i(%rdi)
	.endr
	jmp 4f
3:	.irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	vmovdqu %ymm\i, ZMM+64*\i(%rdi)
	.endr
4:	vzeroupper
	fninit
	fldcw saved_cw(%rip)
	ldmxcsr saved_mxcsr(%rip)
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.size machine_run, . - machine_run
	.set rax_no, 0
	.set rcx_no, 1
	.set rdx_no, 2
	.set rbx_no, 3
	.set rsp_no, 4
	.section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stub.S of arm64: without a stack, everything is in registers, which the tracer
 * saved. x19 = first call, x20 = count, x21 = result: regs.h.
 */
#include "collect/ptrace/stub.h"
#include <sys/syscall.h>

	.balign 16
moca_stub_code:

/* One system call, all in its registers. */
moca_stub_one:
	svc	#0
	mov	x21, x0
done:
	mov	x8, #STUB_NR_DONE
	svc	#0
	b	done

/* A list: x21 = calls carried out. */
moca_stub_list:
	mov	x21, xzr
	mov	x22, xzr		/* result of the call before */
1:	cmp	x21, x20
	b.hs	done
	ldp	x8, x0, [x19]
	ldp	x1, x2, [x19, #16]
	ldp	x3, x4, [x19, #32]
	ldr	x5, [x19, #48]
	ldr	x23, [x19, #STUB_CALL_FLAGS]
	tst	x23, #STUB_CALL_ADDR
	b.eq	2f
	add	x0, x0, x22
2:	tst	x23, #STUB_CALL_OFFSET
	b.eq	3f
	add	x5, x5, x22
3:	svc	#0
	mov	x22, x0
	str	x0, [x19, #STUB_CALL_RET]
	add	x21, x21, #1
	add	x19, x19, #STUB_CALL_BYTES
	tst	x23, #STUB_CALL_MUST
	b.eq	1b
	cmn	x0, #4095
	b.lo	1b
	b	done

/* clone(2) of the zapper, by way of a child that ends at once: see stub.S. */
moca_stub_clone:
	mov	x24, x0			/* the flags */
	mov	x8, #SYS_clone
	svc	#0
	mov	x21, x0
	cmp	x0, #0
	b.lt	done
	b.eq	between
	mov	x1, xzr
	mov	x2, #WALL
	mov	x3, xzr
	mov	x8, #SYS_wait4
	svc	#0
	mov	x21, x0
	b	done

between:
	mov	x0, x24
	mov	x1, xzr
	mov	x2, xzr
	mov	x3, xzr
	mov	x4, xzr
	mov	x8, #SYS_clone
	svc	#0
	cbz	x0, zapper
	mov	x0, xzr
	mov	x8, #SYS_exit
	svc	#0

zapper:
	/* Hold no descriptor of the program open. */
	mov	x0, xzr
	mov	x1, #-1
	mov	x2, #CLOSE_RANGE_UNSHARE
	mov	x8, #SYS_close_range
	svc	#0
	mov	x0, #PR_SET_NAME
	adr	x1, moca_stub_name
	mov	x8, #SYS_prctl
	svc	#0
	ldr	x19, =STUB_DATA
	add	x20, x19, #STUB_ZAP_DONE
	ldr	w21, [x20]		/* seq carried out last */
	/* Acquire: pairs with the recorder's store behind its list. */
4:	ldar	w9, [x19]		/* STUB_ZAP_SEQ */
	cmp	w9, w21
	b.ne	5f
	mov	x0, x19
	mov	x1, #FUTEX_WAIT
	mov	w2, w21
	mov	x3, xzr
	mov	x8, #SYS_futex
	svc	#0
	b	4b
5:	mov	w21, w9
	ldr	w9, [x19, #STUB_ZAP_EXIT]
	cbnz	w9, 8f
	add	x22, x19, #STUB_ZAP_LIST
	mov	w23, wzr
6:	ldr	w9, [x19, #STUB_ZAP_COUNT]
	cmp	w23, w9
	b.hs	7f
	cmp	w23, #STUB_ZAP_MAX
	b.hs	7f
	ldp	x0, x1, [x22]
	ldr	w2, [x19, #STUB_ZAP_ADVICE]
	mov	x8, #SYS_madvise
	svc	#0
	str	x0, [x22, #16]
	add	x22, x22, #24
	add	w23, w23, #1
	b	6b
	/* Release: pairs with the recorder's look at it. */
7:	stlr	w21, [x20]
	mov	x0, x20
	mov	x1, #FUTEX_WAKE
	mov	x2, #1
	mov	x8, #SYS_futex
	svc	#0
	b	4b
8:	stlr	w21, [x20]
	mov	x0, xzr
	mov	x8, #SYS_exit
	svc	#0
	b	8b

	.ltorg
moca_stub_name:
	.asciz	"moca-zap"
	/* A child's memory is the program's: no name of what is Moca's own. */
moca_stub_memfd:
	.asciz	"moca"
moca_stub_code_end:

	.section .note.GNU-stack, "", @progbits

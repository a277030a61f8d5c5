/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <asm/prctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/exact/emit.h"
#include "agent/exact/native.h"
#include "signal-harness.h"

/* What counts as ours: the agent's parts and what stands in for the others. */
#define OURS __attribute__((section("agent_text")))
extern const uint8_t __start_agent_text[], __stop_agent_text[];
extern const uint8_t emulated_site[], emulated_end[];

enum mode mode;
unsigned long harness_steps;
struct process moca_exact;

__asm__(".text\n"
	".globl sys_native, native_after, restorer_native\n"
	"sys_native:\n"
	"	mov	%rdi, %rax\n"
	"	mov	%rsi, %rdi\n"
	"	mov	%rdx, %rsi\n"
	"	mov	%rcx, %rdx\n"
	"	mov	%r8, %r10\n"
	"	mov	%r9, %r8\n"
	"	mov	8(%rsp), %r9\n"
	"	syscall\n"
	"native_after:\n"
	"	ret\n"
	"restorer_native:\n"
	"	mov	$15, %eax\n"
	"	syscall\n"
	"	ud2\n"
	/* The jumps are as long as the instruction that they stand for. */
	".globl sys_emulated, emulated_after, restorer_emulated\n"
	".globl emulated_site, emulated_end\n"
	"sys_emulated:\n"
	"	mov	%rdi, %rax\n"
	"	mov	%rsi, %rdi\n"
	"	mov	%rdx, %rsi\n"
	"	mov	%rcx, %rdx\n"
	"	mov	%r8, %r10\n"
	"	mov	%r9, %r8\n"
	"	mov	8(%rsp), %r9\n"
	"	jmp	1f\n"
	"emulated_after:\n"
	"	ret\n"
	"restorer_emulated:\n"
	"	mov	$15, %eax\n"
	"	jmp	2f\n"
	"3:	ud2\n"
	"emulated_site:\n"
	"1:	lea	emulated_after(%rip), %rcx\n"
	"	mov	%rcx, %gs:136 - 0x4000\n"
	"	jmp	moca_exact_exit_syscall\n"
	"2:	lea	3b(%rip), %rcx\n"
	"	mov	%rcx, %gs:136 - 0x4000\n"
	"	jmp	moca_exact_exit_syscall\n"
	"emulated_end:\n");
_Static_assert(C_PC == 136 && CONTEXT_SIZE == 0x4000, "");

OURS int moca_exact_locate(uint64_t host, struct place *p)
{
	if (host >= (uint64_t)__start_agent_text &&
	    host < (uint64_t)__stop_agent_text)
		return -1;
	harness_steps++;
	if (host >= (uint64_t)emulated_site && host < (uint64_t)emulated_end)
		return 0;
	*p = (struct place){
		.pc = host, .start = 1, .own = 1,
		.balanced = mode == DIRECT || harness_steps % 7 == 0,
	};
	return 1;
}

OURS void moca_exact_dispatch(struct context *c, uint64_t kind)
{
	if (kind == EXIT_SYSCALL) {
		c->nr = c->gpr[RAX];
		if (!moca_exact_signal_syscall(c, (long)c->nr) &&
		    moca_exact_syscall(c))
			c->pc -= 2;
		c->gpr[RCX] = c->pc;
		c->gpr[11] = c->flags;
	}
	/* As reading the source would find out. */
	if (moca_exact_call(__NR_rt_sigprocmask, -1, (long)c->pc, 0, 8, 0,
			    0) == -14)
		moca_exact_fault(c, 11, 1, c->pc);
	c->host = c->pc;
}

OURS void moca_exact_uncount_insn(struct context *c, uint64_t pc,
				  const uint64_t *regs, uint64_t spilled)
{
}

OURS void moca_exact_uncount_rest(struct context *c, uint64_t pc,
				  const uint64_t *regs, uint64_t spilled)
{
}

OURS int moca_exact_gs_faulted(const struct context *c, uint64_t pc, uint64_t *regs)
{
	return -1;
}

OURS void moca_exact_uncount_ahead(struct context *c, const struct place *p,
				   const uint64_t *regs, uint64_t flags)
{
}

OURS void moca_exact_gap(struct context *c, enum moca_exact_gap gap,
			 uint64_t addr)
{
}

OURS int moca_exact_retreat_asks(const struct ksiginfo *info)
{
	return 0;
}

OURS int moca_exact_retreat_asked(struct context *c, struct kucontext *uc)
{
	return 0;
}

OURS void moca_exact_retreat_now(struct context *c, struct kucontext *uc,
				 uint64_t pc)
{
	moca_exact_die("nobody asks for a retreat, at", pc);
}

OURS void moca_exact_loop_end(struct context *c)
{
}

OURS void moca_exact_forget_all(void)
{
}

OURS void moca_exact_say(const char *what, uint64_t value)
{
}

OURS void moca_exact_die(const char *what, uint64_t value)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "agent: %s %lx\n", what, value);

	moca_exact_call(__NR_write, 2, (long)line, n, 0, 0, 0);
	moca_exact_call(__NR_exit_group, 99, 0, 0, 0, 0, 0);
	__builtin_unreachable();
}

/* Where entry.S leads to beyond: nobody comes there. */
__asm__(".pushsection agent_text, \"ax\"\n"
	".irp name, relocate, begin, cold, help, child, loop_begin, loop_leave\n"
	".globl moca_exact_\\name\n"
	"moca_exact_\\name:\n"
	".endr\n"
	"	ud2\n"
	".popsection\n");

void harness_begin(void)
{
	struct context *c;
	uint8_t *slot, *stack;

	if (mode == NATIVE)
		return;
	slot = mmap(NULL, MOCA_EXACT_SLOT_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	stack = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (slot == MAP_FAILED || stack == MAP_FAILED) {
		perror("mmap");
		exit(98);
	}
	c = context_of((struct moca_exact_slot *)slot);
	c->self = (uint64_t)c;
	moca_exact.setup.agent = (uint64_t)__start_agent_text;
	moca_exact.setup.agent_end = (uint64_t)__stop_agent_text;
	c->slot = (struct moca_exact_slot *)slot;
	c->stack = (uint64_t)stack + (1 << 20);
	syscall(SYS_arch_prctl, ARCH_SET_GS, slot + MOCA_EXACT_COUNTS);
	moca_exact_signal_init(c);
}

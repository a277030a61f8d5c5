// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/fault/calls.h"
#include "collect/fault/witness.h"
#include "collect/ptrace/regs.h"
#include "collect/ptrace/stub.h"
#include "collect/ptrace/supervisor.h"

#define OFFSET(field) offsetof(struct seccomp_data, field)
#define TRACE (SECCOMP_RET_TRACE | SECCOMP_OURS)

static void add(struct filter *f, uint16_t code, uint32_t k, uint8_t yes,
		uint8_t no)
{
	if (f->len < FILTER_MAX)
		f->code[f->len] = (struct sock_filter){ code, yes, no, k };
	f->len++;
}

static void load(struct filter *f, size_t offset)
{
	add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void verdict(struct filter *f, uint32_t action)
{
	add(f, BPF_RET | BPF_K, action, 0, 0);
}

/* Skip so many instructions where it is not equal to v. */
static void if_equal(struct filter *f, uint32_t v, uint8_t else_skip)
{
	add(f, BPF_JMP | BPF_JEQ | BPF_K, v, 0, else_skip);
}

static void if_bits(struct filter *f, uint32_t bits, uint8_t else_skip)
{
	add(f, BPF_JMP | BPF_JSET | BPF_K, bits, 0, else_skip);
}

/* By where its instruction is: in our stub, or not. */
static void by_place(struct filter *f, uint32_t in_stub, uint32_t outside)
{
	load(f, OFFSET(instruction_pointer));
	add(f, BPF_ALU | BPF_AND | BPF_K, ~(STUB_CODE_SIZE - 1u), 0, 0);
	if_equal(f, STUB_BASE, 3);
	load(f, OFFSET(instruction_pointer) + 4);
	if_equal(f, 0, 1);
	verdict(f, in_stub);
	verdict(f, outside);
}

static void trace_outside_stub(struct filter *f)
{
	by_place(f, SECCOMP_RET_ALLOW, TRACE);
}

/* What is done about c, once its number is known; next: of the list. */
static void decide(struct filter *f, const struct traced_call *c,
		   const struct traced_call *next, uint32_t descriptor)
{
	if (c->when > CALL_PROGRAMS)
		load(f, OFFSET(args) + 8 * c->arg);
	switch (c->when) {
	case CALL_EACH:
		verdict(f, TRACE);
		return;
	case CALL_STUB:
		by_place(f, TRACE, SECCOMP_RET_ALLOW);
		return;
	case CALL_PROGRAMS:
		trace_outside_stub(f);
		return;
	case CALL_PROGRAMS_BITS:
		if_bits(f, c->value, 7);
		trace_outside_stub(f);
		verdict(f, SECCOMP_RET_ALLOW);
		return;
	case CALL_BITS:
		if_bits(f, c->value, 1);
		verdict(f, TRACE);
		break;
	case CALL_VALUE:
	case CALL_DESCRIPTOR:
		if_equal(f, c->when == CALL_VALUE ? c->value : descriptor, 7);
		trace_outside_stub(f);
		break;
	}
	if (next && next->nr == c->nr)
		load(f, OFFSET(nr));
	else
		verdict(f, SECCOMP_RET_ALLOW);
}

/* Of 32-bit programs, only where their memory ends. */
static void decide_32bit(struct filter *f)
{
	load(f, OFFSET(arch));
	add(f, BPF_JMP | BPF_JEQ | BPF_K, MOCA_AUDIT_ARCH, 6, 0);
	load(f, OFFSET(nr));
	if_equal(f, REGS_EXIT_GROUP_32BIT, 1);
	verdict(f, TRACE);
	if_equal(f, REGS_EXECVE_32BIT, 1);
	verdict(f, TRACE);
	verdict(f, SECCOMP_RET_ALLOW);
}

int filter_build(struct filter *f, uint32_t descriptor)
{
	const struct traced_call *c;

	f->len = 0;
	decide_32bit(f);
	load(f, OFFSET(nr));
	/* Numbers first: the kernel remembers those that need no look at more,
	 * and skips the filter. */
	for (size_t i = 0; (c = traced_call_at(i)); i++) {
		size_t at = f->len;

		if_equal(f, c->nr, 0);
		decide(f, c, traced_call_at(i + 1), descriptor);
		if (f->len > FILTER_MAX)
			return -E2BIG;
		f->code[at].jf = (uint8_t)(f->len - at - 1);
	}
	verdict(f, SECCOMP_RET_ALLOW);
	return f->len > FILTER_MAX ? -E2BIG : 0;
}

int filter_install(const struct recorder *rec, const char **what)
{
	struct filter f;
	struct sock_fprog prog = { .filter = f.code };
	int err = filter_build(&f, (uint32_t)rec->fd_number);

	*what = "install the filter that watches the program's memory calls "
		"(seccomp)";
	if (err)
		return err;
	prog.len = (unsigned short)f.len;
	if (!rec->privileged && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		    SECCOMP_FILTER_FLAG_SPEC_ALLOW, &prog))
		return -errno;
	return 0;
}

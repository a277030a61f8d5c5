// SPDX-License-Identifier: GPL-2.0-or-later
/* The seccomp filter against the list that it is made from. */
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>

#include "collect/fault/calls.h"
#include "collect/fault/filter.h"
#include "collect/ptrace/stub.h"
#include "collect/ptrace/supervisor.h"
#include "tests/unit/trace-util.h"

#define DESCRIPTOR 1000u
#define TRACE (SECCOMP_RET_TRACE | SECCOMP_OURS)
#define FOREIGN 0x7f0012345678ull

static struct filter filter;
static int looked;	/* at more than architecture and number */

/* What the kernel's interpreter does; UINT32_MAX: no valid program. */
static uint32_t decide(const struct seccomp_data *d)
{
	uint32_t a = 0;

	looked = 0;
	for (size_t pc = 0; pc < filter.len; pc++) {
		const struct sock_filter *i = &filter.code[pc];

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (i->k > sizeof(*d) - 4)
				return UINT32_MAX;
			memcpy(&a, (const char *)d + i->k, 4);
			looked |= i->k != offsetof(struct seccomp_data, nr) &&
				  i->k != offsetof(struct seccomp_data, arch);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += a & i->k ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			return UINT32_MAX;
		}
	}
	return UINT32_MAX;
}

static uint32_t call(uint32_t nr, uint64_t ip, unsigned int arg, uint64_t value)
{
	struct seccomp_data d = { .nr = (int)nr, .arch = AUDIT_ARCH_X86_64,
				  .instruction_pointer = ip };

	d.args[arg] = value;
	return decide(&d);
}

static int is_listed(uint32_t nr)
{
	const struct traced_call *c;

	for (size_t i = 0; (c = traced_call_at(i)); i++)
		if (c->nr == nr)
			return 1;
	return 0;
}

static int t_listed(void)
{
	const uint64_t ours = STUB_BASE + 0x10, high = 5ull << 32;
	const struct traced_call *c;

	for (size_t i = 0; (c = traced_call_at(i)); i++) {
		uint64_t v = c->when == CALL_DESCRIPTOR ? DESCRIPTOR :
							  c->value;
		int from_stub = c->when != CALL_PROGRAMS &&
				c->when != CALL_PROGRAMS_BITS &&
				c->when != CALL_VALUE &&
				c->when != CALL_DESCRIPTOR;

		uint32_t outside = c->when == CALL_STUB ? SECCOMP_RET_ALLOW :
							  TRACE;

		/* The upper half of an argument is nobody's. */
		CHECK(call(c->nr, FOREIGN, c->arg, high | v) == outside);
		CHECK(call(c->nr, ours, c->arg, v) ==
		      (from_stub ? TRACE : SECCOMP_RET_ALLOW));
		CHECK(call(c->nr, 1ull << 32 | ours, c->arg, v) == outside);
		if (c->when <= CALL_PROGRAMS)
			continue;
		CHECK(call(c->nr, FOREIGN, c->arg, 0x7fffff00 & ~v) ==
		      SECCOMP_RET_ALLOW);
	}
	return 0;
}

static int t_others(void)
{
	for (uint32_t nr = 0; nr < 1000; nr++) {
		if (is_listed(nr))
			continue;
		CHECK(call(nr, FOREIGN, 0, UINT64_MAX) == SECCOMP_RET_ALLOW);
		/* Such a call costs nothing: the kernel remembers it. */
		CHECK(!looked);
	}
	return 0;
}

static int t_32bit(void)
{
	for (int nr = 0; nr < 500; nr++) {
		struct seccomp_data d = { .nr = nr, .arch = AUDIT_ARCH_I386 };
		int ends = nr == 252 || nr == 11;

		CHECK(decide(&d) == (ends ? TRACE : SECCOMP_RET_ALLOW));
		CHECK(!looked);
	}
	return 0;
}

int main(void)
{
	if (filter_build(&filter, DESCRIPTOR)) {
		printf("not ok build: the list is too long\n");
		return 1;
	}
	run("listed", t_listed);
	run("others", t_others);
	run("32-bit", t_32bit);
	return failures != 0;
}

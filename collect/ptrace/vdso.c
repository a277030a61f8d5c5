// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/vdso.h"

#include <elf.h>
#include <string.h>

#include "collect/ptrace/tracee.h"
#include "lib/base/proc.h"

uint64_t vdso_syscall(pid_t tid)
{
	static const uint8_t call[REGS_CALL_BYTES] = REGS_CALL_CODE;
	static uint64_t cached;
	static uint8_t text[1 << 14];
	struct moca_auxv aux;
	uint64_t base;

	moca_proc_auxv(&aux, tid);
	base = moca_auxv_value(&aux, AT_SYSINFO_EHDR);
	if (!base || cached)
		return base ? base + cached : 0;
	for (uint64_t at = 0; at < sizeof(text); at += PAGE_SIZE)
		if (tracee_read(tid, base + at, text + at, PAGE_SIZE) !=
		    (ssize_t)PAGE_SIZE)
			break;
	for (uint64_t i = 0; i + sizeof(call) <= sizeof(text);
	     i += REGS_CALL_ALIGN)
		if (!memcmp(text + i, call, sizeof(call))) {
			cached = i;
			return base + i;
		}
	return 0;
}

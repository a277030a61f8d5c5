/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What differs between the machines that Moca runs on. Exact counts, detours of
 * functions and moca cc are for x86-64 alone: doc/design/arm64.md.
 */
#ifndef MOCA_ARCH_H
#define MOCA_ARCH_H

#include <elf.h>

#if defined(__x86_64__)
#define MOCA_IS_X86 1
#define MOCA_ARCH "x86-64"
#define MOCA_ELF_MACHINE EM_X86_64
/* As seccomp's filters are told it (linux/audit.h). */
#define MOCA_AUDIT_ARCH AUDIT_ARCH_X86_64
/* Addresses of programs are below. */
#define MOCA_USER_BITS 47
#define MOCA_ELF_JUMP_SLOT R_X86_64_JUMP_SLOT
#define MOCA_ELF_GLOB_DAT R_X86_64_GLOB_DAT
/* The dynamic loader of the GNU C library, and its folder. */
#define MOCA_LOADER "ld-linux-x86-64.so.2"
#define MOCA_LOADER_FOLDER "/lib64/"
/* Whether blocks of thread-local storage lie below the thread pointer, or above. */
#define MOCA_TLS_BELOW 1
/*
 * Registers that perf copies with the sample of a page fault (asm/perf_regs.h): the
 * ones that string instructions go by.
 */
#define MOCA_PERF_FAULT_REGS \
	(1ull << PERF_REG_X86_SI | 1ull << PERF_REG_X86_DI)
/* With the copy of a stack: the frame's, the stack's, the instruction's. */
#define MOCA_PERF_STACK_REGS \
	(1ull << PERF_REG_X86_BP | 1ull << PERF_REG_X86_SP | MOCA_PERF_IP_REG)
#define MOCA_PERF_IP_REG (1ull << PERF_REG_X86_IP)
#elif defined(__aarch64__)
#define MOCA_IS_X86 0
#define MOCA_ARCH "arm64"
#define MOCA_ELF_MACHINE EM_AARCH64
#define MOCA_AUDIT_ARCH AUDIT_ARCH_AARCH64
#define MOCA_USER_BITS 48
#define MOCA_ELF_JUMP_SLOT R_AARCH64_JUMP_SLOT
#define MOCA_ELF_GLOB_DAT R_AARCH64_GLOB_DAT
#define MOCA_LOADER "ld-linux-aarch64.so.1"
#define MOCA_LOADER_FOLDER "/lib/"
#define MOCA_TLS_BELOW 0
/* As sys/user.h has it elsewhere. */
#define PAGE_SIZE 4096ul
#define PAGE_MASK (~(PAGE_SIZE - 1))
/* arm64 has no string instructions: two others, so that a sample costs the same. */
#define MOCA_PERF_FAULT_REGS \
	(1ull << PERF_REG_ARM64_X0 | 1ull << PERF_REG_ARM64_X1)
#define MOCA_PERF_STACK_REGS \
	(1ull << PERF_REG_ARM64_X29 | 1ull << PERF_REG_ARM64_SP | MOCA_PERF_IP_REG)
#define MOCA_PERF_IP_REG (1ull << PERF_REG_ARM64_PC)
#else
#error "Moca runs on x86-64 and arm64"
#endif

/* What follows the name of something that is refused elsewhere. */
#define MOCA_X86_ONLY \
	"works on x86-64 alone so far, and this moca is for " MOCA_ARCH

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The agent's begin in a static program: the recorder has mapped it and found
 * the allocators; here the program's code is changed, by system calls that are
 * the program's own, so that the recorder sees them as such.
 */
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "agent/alloc/emit.h"
#include "agent/alloc/stack.h"
#include "agent/alloc/static/static.h"
#include "agent/alloc/thread.h"
#include "lib/code/self-relocate.h"

struct moca_static_setup moca_static_setup;
struct alloc_real alloc_real;

static struct moca_hook hooks[MOCA_STATIC_HOOKS];

extern void (*const __init_array_start[])(void)
	__attribute__((visibility("hidden")));
extern void (*const __init_array_end[])(void)
	__attribute__((visibility("hidden")));
extern void (*const __fini_array_start[])(void)
	__attribute__((visibility("hidden")));
extern void (*const __fini_array_end[])(void)
	__attribute__((visibility("hidden")));
extern char **environ;
extern void *__libc_stack_end;
extern const Elf64_auxv_t *moca_static_auxv;

#pragma GCC visibility push(hidden)
void moca_static_relocate(void);
void moca_static_main(const struct moca_static_setup *setup, uint64_t *stack);
#pragma GCC visibility pop

void moca_static_relocate(void)
{
	moca_self_relocate();
}

static void find_strings(uint64_t *stack)
{
	__libc_stack_end = stack;
	environ = (char **)(stack + 1 + stack[0] + 1);
	stack = (uint64_t *)environ;
	while (*stack++)
		;
	moca_static_auxv = (const Elf64_auxv_t *)stack;
}

/* What was hidden leaves a gap: programs look for auxv behind the last one. */
static void close_gap(void)
{
	const Elf64_auxv_t *from = moca_static_auxv;
	char **end = environ;
	Elf64_auxv_t *to;

	while (*end++)
		;
	to = (Elf64_auxv_t *)end;
	moca_static_auxv = to;
	do
		*to = *from++;
	while (to++->a_type != AT_NULL);
}

static int protect(uint64_t at, uint64_t len, int prot)
{
	uint64_t start = at & -4096ull;
	uint64_t end = (at + len + 4095) & -4096ull;

	return (int)moca_static_call(SYS_mprotect, (long)start,
				     (long)(end - start), prot, 0, 0, 0);
}

/* Changed pages that must not be executed: as they are in the file. */
static void put_back(uint64_t at, uint64_t len)
{
	const struct moca_static_setup *s = &moca_static_setup;
	uint64_t start = at & -4096ull;
	uint64_t end = (at + len + 4095) & -4096ull;
	long fd = moca_static_call(SYS_open, (long)"/proc/self/exe",
				   O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);

	if (fd < 0)
		return;
	moca_static_call(SYS_mmap, (long)start, (long)(end - start),
			 PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			 (long)(s->code_offset - (s->code - start)));
	moca_static_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

static const char *change(const struct moca_static_hook *from,
			  struct moca_hook *h)
{
	struct moca_static_stub *stub = (struct moca_static_stub *)
		(from->original - offsetof(struct moca_static_stub, endbr64));

	h->original = (const void *)from->original;
	h->role = from->role;
	if (protect((uint64_t)stub, sizeof(*stub), PROT_READ | PROT_WRITE))
		return "the kernel refuses to change code";
	stub->context = (uint64_t)h;
	stub->thunk = (uint64_t)moca_detour_thunk;
	if (protect((uint64_t)stub, sizeof(*stub), PROT_READ | PROT_EXEC) ||
	    protect(from->at, 5, PROT_READ | PROT_WRITE))
		return "the kernel refuses to execute changed memory";
	memcpy((void *)from->at, from->jump, 5);
	if (!protect(from->at, 5, PROT_READ | PROT_EXEC))
		return NULL;
	put_back(from->at, 5);
	return "the kernel refuses to execute changed code";
}

void moca_static_main(const struct moca_static_setup *setup, uint64_t *stack)
{
	const char *why;

	moca_static_setup = *setup;
	find_strings(stack);
	if (moca_static_threads_init())
		return;
	for (void (*const *f)(void) = __init_array_start; f < __init_array_end;
	     f++)
		(*f)();
	alloc_configure();
	alloc_real.usable = (size_t(*)(void *))setup->usable;
	alloc_count_init();
	alloc_thread_init();
	for (uint64_t i = 0; i < moca_static_setup.hook_count; i++) {
		why = change(&moca_static_setup.hooks[i], &hooks[i]);
		alloc_emit_detour(moca_static_setup.hooks[i].name,
				  moca_static_setup.hooks[i].at,
				  why ? why : "");
		if (why)
			break;
	}
	alloc_hide();
	close_gap();
}

void moca_detour_exit(void)
{
	if (*alloc_off != *moca_trace_generation)
		alloc_thread_finish();
	for (void (*const *f)(void) = __fini_array_start; f < __fini_array_end;
	     f++)
		(*f)();
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* The library's begin and end, and the end of others. */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/alloc/cfi.h"
#include "agent/alloc/detour.h"
#include "agent/alloc/stack.h"
#include "agent/alloc/thread.h"
#include "agent/alloc/watch.h"

#define EXPORT __attribute__((visibility("default")))

static void without_recording(void (*work)(void))
{
	const struct alloc_frame *f = ALLOC_FRAME();
	struct alloc_inside before = alloc_inside;

	alloc_inside.ret = f->ret;
	alloc_inside.frame = f;
	work();
	alloc_inside = before;
}

__attribute__((constructor(101))) static void alloc_begin(void)
{
	int saved_errno = errno;

	alloc_get_ready();
	alloc_configure();
	without_recording(alloc_count_init);
	without_recording(alloc_thread_init);
	without_recording(moca_detours_install);
	alloc_offer_quiet();
	alloc_hide();
	errno = saved_errno;
}

__attribute__((destructor)) static void alloc_end(void)
{
	int saved_errno = errno;

	if (!alloc_is_off())
		without_recording(alloc_thread_finish);
	errno = saved_errno;
}

/* As destructors do not run. A vfork's child would speak for its parent. */
static void end_at_once(void)
{
	alloc_get_ready();
	if (!alloc_is_off() && alloc_self && alloc_self->tid == syscall(SYS_gettid))
		alloc_end();
}

EXPORT void _exit(int status)
{
	end_at_once();
	for (;;)
		alloc_real._exit(status);
}

EXPORT void _Exit(int status)
{
	end_at_once();
	for (;;)
		alloc_real._Exit(status);
}

EXPORT int dlclose(void *handle);
EXPORT int dlclose(void *handle)
{
	int ret;

	alloc_get_ready();
	ret = alloc_real.dlclose(handle);
	/* Other code may be loaded in its place. */
	alloc_cfi_forget();
	__atomic_fetch_add(&alloc_unloads, 1, __ATOMIC_RELEASE);
	return ret;
}

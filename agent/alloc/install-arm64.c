// SPDX-License-Identifier: LGPL-2.1-or-later
/* No function's code is changed on arm64 yet: each that would be is told. */
#include <dlfcn.h>

#include "agent/alloc/detour.h"
#include "agent/alloc/emit.h"

static const char why[] = "functions are detoured on x86-64 alone so far";

void moca_detours_install(void)
{
	const struct alloc_config *c = &alloc_config;
	void *p = dlsym(RTLD_DEFAULT, "malloc");

	for (unsigned int i = 0; i < c->fn_count; i++)
		alloc_emit_detour(c->fn[i].name, 0, why);
	for (unsigned int i = 0; i < c->free_count; i++)
		alloc_emit_detour(c->free[i].name, 0, why);
	/* The executable's own is called instead of ours. */
	if (p && !alloc_is_own_code((uint64_t)p))
		alloc_emit_detour("malloc", (uint64_t)p, why);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * operator new and delete, for allocators whose own do not call malloc. An
 * exception passes through: alloc_enter sees that its call is gone.
 */
#include <dlfcn.h>
#include <link.h>

#include "agent/alloc/events.h"
#include "agent/alloc/internal.h"

#define EXPORT __attribute__((visibility("default")))
#define NOTHROW const void *
#define ALIGN size_t

/* In a library that is loaded, or in what it needs; it stays from then on. */
static void *find_in(const char *library, const char *name)
{
	void *module = dlopen(library, RTLD_LAZY | RTLD_NOLOAD), *p;
	struct dl_find_object o;

	if (!module)
		return NULL;
	p = dlsym(module, name);
	if (alloc_is_own_code((uint64_t)p))	/* of the program: it has none */
		p = NULL;
	/* Others will be sent there after its user has left. */
	if (p && !_dl_find_object(p, &o))
		dlopen(o.dlfo_link_map->l_name,
		       RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	alloc_real.dlclose(module);
	return p;
}

/*
 * The operator behind ours. The C++ library may have come by dlopen, and be
 * visible to its user alone: then it is what the caller's module would have
 * found without us. After a tail call that module is not to be seen.
 */
static void *find(void **known, const char *name, uint64_t ret)
{
	static const char *const libraries[] = {
		"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1",
	};
	void *p = __atomic_load_n(known, __ATOMIC_ACQUIRE);
	struct dl_find_object o;
	unsigned i;

	if (likely(p != NULL))
		return p;
	p = dlsym(RTLD_NEXT, name);
	if (!p && !_dl_find_object((void *)ret, &o))
		p = find_in(o.dlfo_link_map->l_name, name);
	for (i = 0; !p && i < sizeof(libraries) / sizeof(libraries[0]); i++)
		p = find_in(libraries[i], name);
	if (!p)		/* nobody could have called it */
		__builtin_trap();
	__atomic_store_n(known, p, __ATOMIC_RELEASE);
	return p;
}

#define FIND(name, f)                                                     \
	static void *known;                                               \
                                                                          \
	alloc_get_ready();                                                \
	*(void **)&real = find(&known, #name, (f)->ret)

#define NEW(name, params, args, ...)                                      \
	EXPORT void *name(size_t size __VA_ARGS__);                       \
	EXPORT void *name(size_t size __VA_ARGS__)                        \
	{                                                                 \
		const struct alloc_frame *f = ALLOC_FRAME();              \
		void *(*real) params;                                     \
		void *p;                                                  \
		FIND(name, f);                                            \
                                                                          \
		if (!alloc_enter(f))                                      \
			return real args;                                 \
		p = real args;                                            \
		if (likely(p != NULL))                                    \
			alloc_made(p, size, MOCA_ALLOC_NEW, f);           \
		alloc_leave();                                            \
		return p;                                                 \
	}

#define DELETE(name, params, args, ...)                                   \
	EXPORT void name(void *p __VA_ARGS__);                            \
	EXPORT void name(void *p __VA_ARGS__)                             \
	{                                                                 \
		const struct alloc_frame *f = ALLOC_FRAME();              \
		void (*real) params;                                      \
		int told;                                                 \
		FIND(name, f);                                            \
                                                                          \
		if (!p || !alloc_enter(f)) {                              \
			real args;                                        \
			return;                                           \
		}                                                         \
		told = alloc_gone(p, MOCA_FREE_FREE);                     \
		real args;                                                \
		alloc_freed(told);                                        \
		alloc_leave();                                            \
	}

/* Names as C++ compilers for x86-64 Linux encode them. */
NEW(_Znwm, (size_t), (size))
NEW(_Znam, (size_t), (size))
NEW(_ZnwmRKSt9nothrow_t, (size_t, NOTHROW), (size, n), , NOTHROW n)
NEW(_ZnamRKSt9nothrow_t, (size_t, NOTHROW), (size, n), , NOTHROW n)
NEW(_ZnwmSt11align_val_t, (size_t, ALIGN), (size, a), , ALIGN a)
NEW(_ZnamSt11align_val_t, (size_t, ALIGN), (size, a), , ALIGN a)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t, ALIGN, NOTHROW),
    (size, a, n), , ALIGN a, NOTHROW n)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t, ALIGN, NOTHROW),
    (size, a, n), , ALIGN a, NOTHROW n)

DELETE(_ZdlPv, (void *), (p))
DELETE(_ZdaPv, (void *), (p))
DELETE(_ZdlPvm, (void *, size_t), (p, s), , size_t s)
DELETE(_ZdaPvm, (void *, size_t), (p, s), , size_t s)
DELETE(_ZdlPvRKSt9nothrow_t, (void *, NOTHROW), (p, n), , NOTHROW n)
DELETE(_ZdaPvRKSt9nothrow_t, (void *, NOTHROW), (p, n), , NOTHROW n)
DELETE(_ZdlPvSt11align_val_t, (void *, ALIGN), (p, a), , ALIGN a)
DELETE(_ZdaPvSt11align_val_t, (void *, ALIGN), (p, a), , ALIGN a)
DELETE(_ZdlPvmSt11align_val_t, (void *, size_t, ALIGN), (p, s, a), ,
       size_t s, ALIGN a)
DELETE(_ZdaPvmSt11align_val_t, (void *, size_t, ALIGN), (p, s, a), ,
       size_t s, ALIGN a)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *, ALIGN, NOTHROW),
       (p, a, n), , ALIGN a, NOTHROW n)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *, ALIGN, NOTHROW),
       (p, a, n), , ALIGN a, NOTHROW n)

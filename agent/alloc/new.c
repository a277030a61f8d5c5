// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * operator new and delete, for allocators whose own do not call malloc. An
 * exception passes through: alloc_enter sees that its call is gone.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "agent/alloc/events.h"
#include "agent/alloc/internal.h"

#define EXPORT __attribute__((visibility("default")))
#define NOTHROW const void *
#define ALIGN size_t

/* Names as C++ compilers for x86-64 Linux encode them. */
#define OPERATORS(_)                                                      \
	_(_Znwm) _(_Znam) _(_ZnwmRKSt9nothrow_t) _(_ZnamRKSt9nothrow_t)   \
	_(_ZnwmSt11align_val_t) _(_ZnamSt11align_val_t)                   \
	_(_ZnwmSt11align_val_tRKSt9nothrow_t)                             \
	_(_ZnamSt11align_val_tRKSt9nothrow_t) _(_ZdlPv) _(_ZdaPv)         \
	_(_ZdlPvm) _(_ZdaPvm) _(_ZdlPvRKSt9nothrow_t)                     \
	_(_ZdaPvRKSt9nothrow_t) _(_ZdlPvSt11align_val_t)                  \
	_(_ZdaPvSt11align_val_t) _(_ZdlPvmSt11align_val_t)                \
	_(_ZdaPvmSt11align_val_t) _(_ZdlPvSt11align_val_tRKSt9nothrow_t)  \
	_(_ZdaPvSt11align_val_tRKSt9nothrow_t)

#define INDEX(name) AT##name,
enum { OPERATORS(INDEX) COUNT };
#define NAME(name) #name,
static const char *const names[] = { OPERATORS(NAME) };

static void *known[COUNT];	/* behind ours, for all callers */

/* Of the C++ library: the same for all who use it. */
static int is_runtime(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	return !strncmp(base, "libstdc++.so.", 13) ||
	       !strncmp(base, "libc++abi.so.", 13) ||
	       !strncmp(base, "libc++.so.", 10);
}

/* All at once: the loader's lock may be held for the thread that needs one. */
static void know_all(void *module)
{
	unsigned i;
	void *p;

	for (i = 0; i < COUNT; i++) {
		p = dlsym(module, names[i]);
		if (p)
			__atomic_store_n(&known[i], p, __ATOMIC_RELEASE);
	}
}

void alloc_find_operators(void)
{
	/* Those of the program's start, which nobody unloads. */
	if (dlsym(RTLD_NEXT, names[0]))
		know_all(RTLD_NEXT);
	dlerror();	/* the program's first question is not for our answer */
}

/*
 * p is an operator that was found. A C++ library stays from now on, since others
 * will be sent there after its user has left; what other libraries have of
 * their own is for their own users, and goes with them.
 */
static void keep(void *p)
{
	struct dl_find_object o;
	void *module;

	if (_dl_find_object(p, &o) || !is_runtime(o.dlfo_link_map->l_name))
		return;
	module = dlopen(o.dlfo_link_map->l_name,
			RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (module)
		know_all(module);
}

/* In a library that is loaded, or in what it needs. */
static void *find_in(const char *library, unsigned i)
{
	void *module = dlopen(library, RTLD_LAZY | RTLD_NOLOAD), *p;

	if (!module)
		return NULL;
	p = dlsym(module, names[i]);
	if (alloc_is_own_code((uint64_t)p))	/* of the program: it has none */
		p = NULL;
	if (p)
		keep(p);
	alloc_real.dlclose(module);
	return p;
}

/*
 * The operator behind ours. The C++ library may have come by dlopen, and be
 * visible to its user alone: then it is what the caller's module would have
 * found without us. After a tail call that module is not to be seen. NULL: a
 * program without any, which only asked whether there is one, and found ours.
 */
static void *find(unsigned i, uint64_t ret)
{
	static const char *const libraries[] = {
		"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1",
	};
	void *p = __atomic_load_n(&known[i], __ATOMIC_ACQUIRE);
	struct dl_find_object o;
	unsigned k;

	if (likely(p != NULL))
		return p;
	p = dlsym(RTLD_NEXT, names[i]);
	if (p)
		keep(p);
	if (!p && !_dl_find_object((void *)ret, &o))
		p = find_in(o.dlfo_link_map->l_name, i);
	for (k = 0; !p && k < sizeof(libraries) / sizeof(libraries[0]); k++)
		p = find_in(libraries[k], i);
	return p;
}

static void *by_malloc(size_t size, size_t align)
{
	return align > 16 ? alloc_real.memalign(align, size) :
			    alloc_real.malloc(size);
}

#define FIND(name, f)                                                     \
	alloc_get_ready();                                                \
	*(void **)&real = find(AT##name, (f)->ret)

#define NEW(name, align, params, args, ...)                               \
	EXPORT void *name(size_t size __VA_ARGS__);                       \
	EXPORT void *name(size_t size __VA_ARGS__)                        \
	{                                                                 \
		const struct alloc_frame *f = ALLOC_FRAME();              \
		void *(*real) params;                                     \
		void *p;                                                  \
		FIND(name, f);                                            \
                                                                          \
		if (!alloc_enter(f))                                      \
			return real ? real args : by_malloc(size, align); \
		p = real ? real args : by_malloc(size, align);            \
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
		if (!real)                                                \
			*(void **)&real = (void *)alloc_real.free;         \
		if (!p || !alloc_enter(f)) {                              \
			real args;                                        \
			return;                                           \
		}                                                         \
		told = alloc_gone(p, MOCA_FREE_FREE);                     \
		real args;                                                \
		alloc_freed(told);                                        \
		alloc_leave();                                            \
	}

NEW(_Znwm, 0, (size_t), (size))
NEW(_Znam, 0, (size_t), (size))
NEW(_ZnwmRKSt9nothrow_t, 0, (size_t, NOTHROW), (size, n), , NOTHROW n)
NEW(_ZnamRKSt9nothrow_t, 0, (size_t, NOTHROW), (size, n), , NOTHROW n)
NEW(_ZnwmSt11align_val_t, a, (size_t, ALIGN), (size, a), , ALIGN a)
NEW(_ZnamSt11align_val_t, a, (size_t, ALIGN), (size, a), , ALIGN a)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, a, (size_t, ALIGN, NOTHROW),
    (size, a, n), , ALIGN a, NOTHROW n)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, a, (size_t, ALIGN, NOTHROW),
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

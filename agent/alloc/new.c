// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * operator new and delete, for allocators whose own do not call malloc. An
 * exception passes through: alloc_enter sees that its call is gone.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "agent/alloc/thin.h"
#include "agent/alloc/watch.h"
#include "include/abi/alloc-events.h"

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
/*
 * The C++ library's operators are known, and what they would call are our own
 * malloc and free: so what these call may be called at once.
 */
static int is_direct;

/* Of the C++ library: the same for all who use it. */
static int is_runtime(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	return !strncmp(base, "libstdc++.so.", 13) ||
	       !strncmp(base, "libc++abi.so.", 13) ||
	       !strncmp(base, "libc++.so.", 10);
}

static int is_runtime_code(void *p)
{
	struct dl_find_object o;

	return p && !_dl_find_object(p, &o) &&
	       is_runtime(o.dlfo_link_map->l_name);
}

static void find_direct(void)
{
	is_direct = alloc_is_first("malloc") && alloc_is_first("free") &&
		    alloc_is_first("_Znwm") && alloc_is_first("_ZdlPv") &&
		    alloc_is_first("_ZnwmRKSt9nothrow_t") &&
		    is_runtime_code(known[AT_Znwm]) &&
		    is_runtime_code(known[AT_ZdlPv]);
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
	find_direct();
}

void alloc_find_operators(void)
{
	/*
	 * Those of the program's start, which nobody unloads. A look-up must not
	 * fail: it would call the program's malloc, and the program's first
	 * dlerror() would tell of it.
	 */
	unsigned i;

	for (i = 0; i < COUNT; i++)
		if (alloc_is_behind(names[i]))
			known[i] = dlsym(RTLD_NEXT, names[i]);
	find_direct();
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

	if (!is_runtime_code(p) || _dl_find_object(p, &o))
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
	if (unlikely(alloc_state != ALLOC_READY))                         \
		alloc_get_ready();                                        \
	*(void **)&real = find(AT##name, (f)->ret)

/*
 * direct: what the C++ library's does is malloc, and to call the new-handler if
 * that fails: then the library shall do all of it.
 */
#define NEW(name, direct, align, params, args, ...)                       \
	EXPORT void *name(size_t size __VA_ARGS__);                       \
	EXPORT void *name(size_t size __VA_ARGS__)                        \
	{                                                                 \
		const struct alloc_frame *f = ALLOC_FRAME();              \
		void *(*real) params;                                     \
		void *p;                                                  \
		if (direct && likely(is_direct) && alloc_enter(f)) {      \
			p = alloc_real.malloc(size ? size : 1);           \
			if (unlikely(p == NULL)) {                        \
				*(void **)&real = known[AT##name];        \
				p = real args;                            \
			}                                                 \
			if (likely(p != NULL) && !alloc_made_quick(size)) \
				alloc_made(p, size, MOCA_ALLOC_NEW, f);   \
			alloc_leave();                                    \
			return p;                                         \
		}                                                         \
		FIND(name, f);                                            \
                                                                          \
		if (!alloc_enter(f))                                      \
			return real ? real args : by_malloc(size, align); \
		p = real ? real args : by_malloc(size, align);            \
		if (likely(p != NULL) && !alloc_made_quick(size))         \
			alloc_made(p, size, MOCA_ALLOC_NEW, f);           \
		alloc_leave();                                            \
		return p;                                                 \
	}

#define DELETE(name, direct, params, args, ...)                           \
	EXPORT void name(void *p __VA_ARGS__);                            \
	EXPORT void name(void *p __VA_ARGS__)                             \
	{                                                                 \
		const struct alloc_frame *f = ALLOC_FRAME();              \
		void (*real) params;                                      \
		int told;                                                 \
		if (direct && likely(is_direct)) {                        \
			alloc_free(p, f);                                 \
			return;                                           \
		}                                                         \
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

NEW(_Znwm, 1, 0, (size_t), (size))
NEW(_Znam, 1, 0, (size_t), (size))
NEW(_ZnwmRKSt9nothrow_t, 1, 0, (size_t, NOTHROW), (size, n), , NOTHROW n)
NEW(_ZnamRKSt9nothrow_t, 1, 0, (size_t, NOTHROW), (size, n), , NOTHROW n)
NEW(_ZnwmSt11align_val_t, 0, a, (size_t, ALIGN), (size, a), , ALIGN a)
NEW(_ZnamSt11align_val_t, 0, a, (size_t, ALIGN), (size, a), , ALIGN a)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, 0, a, (size_t, ALIGN, NOTHROW),
    (size, a, n), , ALIGN a, NOTHROW n)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, 0, a, (size_t, ALIGN, NOTHROW),
    (size, a, n), , ALIGN a, NOTHROW n)

DELETE(_ZdlPv, 1, (void *), (p))
DELETE(_ZdaPv, 1, (void *), (p))
DELETE(_ZdlPvm, 1, (void *, size_t), (p, s), , size_t s)
DELETE(_ZdaPvm, 1, (void *, size_t), (p, s), , size_t s)
DELETE(_ZdlPvRKSt9nothrow_t, 1, (void *, NOTHROW), (p, n), , NOTHROW n)
DELETE(_ZdaPvRKSt9nothrow_t, 1, (void *, NOTHROW), (p, n), , NOTHROW n)
DELETE(_ZdlPvSt11align_val_t, 0, (void *, ALIGN), (p, a), , ALIGN a)
DELETE(_ZdaPvSt11align_val_t, 0, (void *, ALIGN), (p, a), , ALIGN a)
DELETE(_ZdlPvmSt11align_val_t, 0, (void *, size_t, ALIGN), (p, s, a), ,
       size_t s, ALIGN a)
DELETE(_ZdaPvmSt11align_val_t, 0, (void *, size_t, ALIGN), (p, s, a), ,
       size_t s, ALIGN a)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, 0, (void *, ALIGN, NOTHROW),
       (p, a, n), , ALIGN a, NOTHROW n)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, 0, (void *, ALIGN, NOTHROW),
       (p, a, n), , ALIGN a, NOTHROW n)

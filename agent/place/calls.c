// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What takes the place of allocators' functions in the modules of the plan. An
 * object is always made by the program's own allocator, and freed by it as if we
 * were not there: free is not ours.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/place/place.h"

/* Cleared by us if it was made by aligned_alloc: larger ones are not. */
#define CLEAR_MAX 65536ul

/* As operator new's arguments are passed: const std::nothrow_t &, and an enum. */
typedef const void *nothrow;

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void (*free)(void *);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	void *(*mmap64)(void *, size_t, int, int, int, off_t);
	void *(*new)(size_t);
	void *(*new_array)(size_t);
	void *(*new_nothrow)(size_t, nothrow);
	void *(*new_array_nothrow)(size_t, nothrow);
	void *(*new_aligned)(size_t, size_t);
	void *(*new_array_aligned)(size_t, size_t);
	void (*delete)(void *);
} real;

/* One allocator made what aligned_alloc, malloc and free are; and new, delete. */
static int can_align, can_align_new;

#define NOINLINE __attribute__((noinline))
#define RET() ((uint64_t)__builtin_return_address(0))

static size_t rounded(const struct moca_place_policy *p, size_t size)
{
	size_t more = p->pad ? size + p->pad - 1 : size;

	return more < size ? size : p->pad ? more & ~(size_t)(p->pad - 1) : size;
}

static size_t alignment(const struct moca_place_policy *p)
{
	return p->align > p->pad ? p->align : p->pad;
}

static void *finish(struct moca_place_policy *p, void *addr, size_t size)
{
	size_t align = alignment(p);

	if (!addr)
		return NULL;
	place_apply(p, addr, size);
	if (align && !((uint64_t)addr & (align - 1))) {
		place_add(&p->aligned.count, 1);
		place_add(&p->aligned.bytes, size);
	} else if (align) {
		place_add(&p->loose, 1);
	}
	return addr;
}

/* NULL: not to be had so; the program's own call is made as it is. */
static void *make_aligned(const struct moca_place_policy *p, size_t size)
{
	size_t align = alignment(p);
	int saved_errno = errno;
	void *addr;

	if (!align || !can_align || (align <= 16 && !p->pad))
		return NULL;
	addr = real.aligned_alloc(align, rounded(p, size));
	errno = saved_errno;
	return addr;
}

static NOINLINE void *placed_malloc(size_t size, uint64_t ret)
{
	struct moca_place_policy *p = place_policy_slow(ret);
	void *addr;

	if (!p)
		return real.malloc(size);
	addr = make_aligned(p, size);
	return finish(p, addr ? addr : real.malloc(size), size);
}

/* Who calls nothing before the program's own needs no frame. */
static void *place_malloc(size_t size)
{
	if (likely(!place_is_wanted(RET())))
		return real.malloc(size);
	return placed_malloc(size, RET());
}

static void *place_calloc(size_t n, size_t size)
{
	struct moca_place_policy *p = place_policy(RET());
	void *addr = NULL;
	size_t bytes;

	if (likely(!p) || __builtin_mul_overflow(n, size, &bytes))
		return real.calloc(n, size);
	/* Large ones come cleared from the kernel: their pages stay untouched. */
	if (bytes <= CLEAR_MAX)
		addr = make_aligned(p, bytes);
	if (addr)
		memset(addr, 0, bytes);
	else
		addr = p->pad ? real.calloc(1, rounded(p, bytes)) :
				real.calloc(n, size);
	return finish(p, addr ? addr : real.calloc(n, size), bytes);
}

/* What realloc has made, at the wanted place if it has no such. */
static void *move(const struct moca_place_policy *p, void *addr, size_t size)
{
	size_t align = alignment(p);
	void *to;

	if (!addr || !align || !((uint64_t)addr & (align - 1)))
		return addr;
	to = make_aligned(p, size);
	if (!to)
		return addr;
	memcpy(to, addr, size);
	real.free(addr);
	return to;
}

static void *place_realloc(void *old, size_t size)
{
	struct moca_place_policy *p = place_policy(RET());
	void *addr;

	/* With no bytes most allocators free the object. */
	if (likely(!p) || !size)
		return real.realloc(old, size);
	if (!old) {
		addr = make_aligned(p, size);
		return finish(p, addr ? addr : real.realloc(old, size), size);
	}
	addr = real.realloc(old, rounded(p, size));
	if (!addr)
		addr = real.realloc(old, size);
	return finish(p, move(p, addr, size), size);
}

static void *place_reallocarray(void *old, size_t n, size_t size)
{
	struct moca_place_policy *p = place_policy(RET());
	size_t bytes;
	void *addr;

	if (likely(!p) || __builtin_mul_overflow(n, size, &bytes) || !bytes)
		return real.reallocarray(old, n, size);
	addr = real.reallocarray(old, 1, rounded(p, bytes));
	if (!addr)
		addr = real.reallocarray(old, n, size);
	return finish(p, move(p, addr, bytes), bytes);
}

/* The larger of two alignments, if the program's is one. */
static size_t larger(const struct moca_place_policy *p, size_t align)
{
	size_t ours = alignment(p);

	return align && !(align & (align - 1)) && ours > align ? ours : align;
}

static int place_posix_memalign(void **out, size_t align, size_t size)
{
	struct moca_place_policy *p = place_policy(RET());
	int err;

	/* What is wrong stays wrong. */
	if (likely(!p) || align % sizeof(void *))
		return real.posix_memalign(out, align, size);
	err = real.posix_memalign(out, larger(p, align), rounded(p, size));
	if (err)
		err = real.posix_memalign(out, align, size);
	if (!err)
		finish(p, *out, size);
	return err;
}

static void *place_aligned_alloc(size_t align, size_t size)
{
	struct moca_place_policy *p = place_policy(RET());
	void *addr;

	if (likely(!p))
		return real.aligned_alloc(align, size);
	addr = real.aligned_alloc(larger(p, align), rounded(p, size));
	return finish(p, addr ? addr : real.aligned_alloc(align, size), size);
}

static void *place_memalign(size_t align, size_t size)
{
	struct moca_place_policy *p = place_policy(RET());
	void *addr;

	if (likely(!p))
		return real.memalign(align, size);
	addr = real.memalign(larger(p, align), rounded(p, size));
	return finish(p, addr ? addr : real.memalign(align, size), size);
}

/* Memory of the process alone, which nobody else can see. */
static void *mapped(struct moca_place_policy *p, void *addr, size_t size,
		    int flags)
{
	if (addr != MAP_FAILED && flags & MAP_ANONYMOUS &&
	    (flags & MAP_TYPE) == MAP_PRIVATE && !(flags & MAP_HUGETLB))
		finish(p, addr, size);
	return addr;
}

static void *place_mmap(void *addr, size_t size, int prot, int flags, int fd,
			off_t at)
{
	struct moca_place_policy *p = place_policy(RET());

	if (likely(!p))
		return real.mmap(addr, size, prot, flags, fd, at);
	return mapped(p, real.mmap(addr, size, prot, flags, fd, at), size,
		      flags);
}

static void *place_mmap64(void *addr, size_t size, int prot, int flags, int fd,
			  off_t at)
{
	struct moca_place_policy *p = place_policy(RET());

	if (likely(!p))
		return real.mmap64(addr, size, prot, flags, fd, at);
	return mapped(p, real.mmap64(addr, size, prot, flags, fd, at), size,
		      flags);
}

/*
 * operator new: what is freed by delete is made by aligned_alloc only where the
 * C++ library's own delete calls free. If that fails, the program's own new says so
 * in its way (a handler, an exception).
 */
static void *new_aligned(const struct moca_place_policy *p, size_t size)
{
	return can_align_new ? make_aligned(p, size ? size : 1) : NULL;
}

#define NEW(function, name, args, ...)					\
static void *function args						\
{									\
	struct moca_place_policy *p = place_policy(RET());		\
	void *addr;							\
									\
	if (likely(!p))							\
		return real.name(__VA_ARGS__);				\
	addr = new_aligned(p, size);					\
	return finish(p, addr ? addr : real.name(__VA_ARGS__), size);	\
}

NEW(place_new, new, (size_t size), size)
NEW(place_new_array, new_array, (size_t size), size)
NEW(place_new_nothrow, new_nothrow, (size_t size, nothrow n), size, n)
NEW(place_new_array_nothrow, new_array_nothrow, (size_t size, nothrow n), size, n)

/* Of the aligned ones only the pages are ours. */
static void *place_new_aligned(size_t size, size_t align)
{
	struct moca_place_policy *p = place_policy(RET());

	if (likely(!p))
		return real.new_aligned(size, align);
	return finish(p, real.new_aligned(size, align), size);
}

static void *place_new_array_aligned(size_t size, size_t align)
{
	struct moca_place_policy *p = place_policy(RET());

	if (likely(!p))
		return real.new_array_aligned(size, align);
	return finish(p, real.new_array_aligned(size, align), size);
}

#define CALL(name, function, field) \
	{ name, (void *)function, (void **)&real.field, 0 }
const struct place_call place_calls[] = {
	CALL("malloc", place_malloc, malloc),
	CALL("calloc", place_calloc, calloc),
	CALL("realloc", place_realloc, realloc),
	CALL("reallocarray", place_reallocarray, reallocarray),
	CALL("posix_memalign", place_posix_memalign, posix_memalign),
	/* glibc 2.38 has another one for new programs. */
	{ "aligned_alloc", (void *)place_aligned_alloc,
	  (void **)&real.aligned_alloc, 1 },
	CALL("memalign", place_memalign, memalign),
	CALL("mmap", place_mmap, mmap),
	CALL("mmap64", place_mmap64, mmap64),
	CALL("_Znwm", place_new, new),
	CALL("_Znam", place_new_array, new_array),
	CALL("_ZnwmRKSt9nothrow_t", place_new_nothrow, new_nothrow),
	CALL("_ZnamRKSt9nothrow_t", place_new_array_nothrow, new_array_nothrow),
	CALL("_ZnwmSt11align_val_t", place_new_aligned, new_aligned),
	CALL("_ZnamSt11align_val_t", place_new_array_aligned,
	     new_array_aligned),
	{ NULL, NULL, NULL, 0 },
};

static struct link_map *module_of(const void *code)
{
	struct dl_find_object o;

	return code && !_dl_find_object((void *)code, &o) ? o.dlfo_link_map :
							    NULL;
}

/*
 * What the program calls. In one at fixed addresses a function's address may be
 * that of its own stub, which leads to us.
 */
static void *find(const char *name)
{
	void *p = dlsym(RTLD_DEFAULT, name);
	const struct link_map *m = module_of(p);
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	/* Only a program has stubs as addresses; dladdr1 takes its time. */
	if (m && !m->l_name[0] &&
	    dladdr1(p, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
	    symbol->st_shndx == SHN_UNDEF)
		p = dlsym(RTLD_NEXT, name);
	return p;
}

/* libstdc++ and libc++: all of their delete call free. */
static int is_cxx_library(const struct link_map *m)
{
	const char *base = m ? strrchr(m->l_name, '/') : NULL;

	return base && (!strncmp(base, "/libstdc++.so", 13) ||
			!strncmp(base, "/libc++.so", 10));
}

void place_find_real(void)
{
	const struct place_call *c;
	struct link_map *cxx;

	for (c = place_calls; c->name; c++)
		if (!*c->real)
			*c->real = find(c->name);
	if (!real.free)
		*(void **)&real.free = find("free");
	if (!real.delete)
		*(void **)&real.delete = find("_ZdlPv");
	/* A failed dlsym must not be what the program's dlerror tells. */
	dlerror();
	can_align = real.free && module_of((void *)real.free) &&
		    module_of((void *)real.free) ==
			    module_of((void *)real.malloc) &&
		    module_of((void *)real.free) ==
			    module_of((void *)real.aligned_alloc);
	cxx = module_of((void *)real.new);
	can_align_new = can_align && is_cxx_library(cxx) &&
			cxx == module_of((void *)real.new_array) &&
			cxx == module_of((void *)real.delete);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* The functions behind ours, and memory until they are known. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "agent/alloc/early.h"
#include "agent/alloc/watch.h"

struct alloc_real alloc_real;
uint32_t alloc_state;

char alloc_early_memory[ALLOC_EARLY_SIZE] __attribute__((aligned(4096)));
static size_t early_used = 4096;

void *alloc_early(size_t size, size_t align)
{
	size_t at;

	if (align < 16)
		align = 16;
	/* The size of a block stands before it. */
	at = (early_used + 16 + align - 1) & ~(align - 1);
	if (size > ALLOC_EARLY_SIZE || at + size > ALLOC_EARLY_SIZE) {
		errno = ENOMEM;
		return NULL;
	}
	memcpy(&alloc_early_memory[at - 8], &size, 8);
	early_used = at + size;
	return &alloc_early_memory[at];
}

size_t alloc_early_size(const void *p)
{
	size_t size;

	memcpy(&size, (const char *)p - 8, 8);
	return size;
}

void *alloc_early_resize(void *old, size_t size)
{
	void *p = alloc_early(size, 16);
	size_t had = old ? alloc_early_size(old) : 0;

	if (p && old)
		memcpy(p, old, had < size ? had : size);
	return p;
}

/* Load addresses of the modules whose calls of mmap are not the program's. */
static struct {
	uint64_t begin, end;
} own[3];

static void note_own(unsigned i, const void *code)
{
	struct dl_find_object o;

	if (!code || _dl_find_object((void *)code, &o))
		return;
	own[i].begin = (uint64_t)o.dlfo_map_start;
	own[i].end = (uint64_t)o.dlfo_map_end;
}

int alloc_is_own_code(uint64_t ip)
{
	unsigned i;

	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (ip - own[i].begin < own[i].end - own[i].begin)
			return 1;
	return 0;
}

static int same_module(const void *a, const void *b)
{
	struct dl_find_object x, y;

	return a && b && !_dl_find_object((void *)a, &x) &&
	       !_dl_find_object((void *)b, &y) &&
	       x.dlfo_map_start == y.dlfo_map_start;
}

static int is_program(const void *code)
{
	struct dl_find_object o;

	return !_dl_find_object((void *)code, &o) &&
	       !o.dlfo_link_map->l_name[0];
}

/*
 * What the program calls. In a program at fixed addresses a function's address
 * may be that of its own stub, which leads to the next one.
 */
static void *find_first(const char *name)
{
	void *p = dlsym(RTLD_DEFAULT, name);
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (p && dladdr1(p, &info, (void **)&symbol, RTLD_DL_SYMENT) &&
	    symbol && symbol->st_shndx == SHN_UNDEF)
		p = dlsym(RTLD_NEXT, name);
	return p;
}

int alloc_is_first(const char *name)
{
	return same_module(find_first(name), &own);
}

/*
 * The size of objects as the allocator knows it. If the program brings its own
 * free, ours is not called, and what comes behind us is not its allocator.
 */
static void find_usable(void)
{
	void *theirs = find_first("free");
	void *usable = find_first("malloc_usable_size");

	if (!theirs || same_module(theirs, &own))
		theirs = (void *)alloc_real.free;
	if (same_module(usable, theirs))
		*(void **)&alloc_real.usable = usable;
	/* libc's own calls of mmap do not come to us. */
	if (!same_module(theirs, (void *)dl_iterate_phdr) &&
	    !is_program(theirs))
		note_own(2, theirs);
}

/* Where an allocator has no such function, libc's would be another's. */
static void *array_by_realloc(void *p, size_t n, size_t size)
{
	return alloc_real.realloc(p, n * size);
}

static void look_up(void)
{
	static const struct {
		const char *name;
		size_t at;
	} list[] = {
#define REAL(name) { #name, offsetof(struct alloc_real, name) }
		REAL(malloc), REAL(calloc), REAL(realloc), REAL(reallocarray),
		REAL(free), REAL(posix_memalign), REAL(aligned_alloc),
		REAL(memalign), REAL(valloc), REAL(pvalloc), REAL(mmap),
		REAL(mmap64), REAL(munmap), REAL(mremap), REAL(dlclose),
		REAL(_exit), REAL(_Exit),
	};
	unsigned i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		*(void **)((char *)&alloc_real + list[i].at) =
			dlsym(RTLD_NEXT, list[i].name);
	if (!same_module((void *)alloc_real.reallocarray,
			 (void *)alloc_real.realloc))
		alloc_real.reallocarray = array_by_realloc;
	note_own(0, (void *)moca_trace_reserve);
	note_own(1, &own);
	find_usable();
	alloc_find_operators();
	alloc_configure();
}

int alloc_get_ready(void)
{
	int saved_errno = errno;

	if (likely(__atomic_load_n(&alloc_state, __ATOMIC_ACQUIRE) ==
		   ALLOC_READY))
		return 1;
	/* The first call comes before there is a second thread. */
	if (alloc_state == ALLOC_STARTING)
		return 0;
	alloc_state = ALLOC_STARTING;
	look_up();
	__atomic_store_n(&alloc_state, ALLOC_READY, __ATOMIC_RELEASE);
	errno = saved_errno;
	return 1;
}

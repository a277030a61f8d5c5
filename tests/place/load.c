// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program for plans: it allocates at known lines, and says what it got. What is
 * said of memory it asks the kernel itself. "load WHAT": one line of output each.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define HUGE (2ul << 20)
#define NOINLINE __attribute__((noinline, noclone))

static char still[8 << 20];	/* a variable to be placed */
static char other[8 << 20];	/* and one that is not */

/* Whether the mapping with addr has the flag (VmFlags of /proc/self/smaps). */
static int has_flag(const void *addr, const char *flag)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long lo, hi;
	char line[512], word[8];
	int in = 0, has = -1;

	snprintf(word, sizeof(word), " %s ", flag);
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &lo, &hi) == 2)
			in = (unsigned long)addr >= lo &&
			     (unsigned long)addr < hi;
		else if (in && !strncmp(line, "VmFlags:", 8))
			has = strstr(line, word) != NULL;
	}
	if (f)
		fclose(f);
	return has;
}

/* The kernel's memory policy at addr. */
static int policy_at(const void *addr)
{
	int mode = -1;

	if (syscall(SYS_get_mempolicy, &mode, NULL, 0, addr, 2 /* F_ADDR */))
		return -errno;
	return mode;
}

/* Pages of it that are there. */
static size_t present(const void *addr, size_t size)
{
	size_t first = ((size_t)addr + 4095) & ~4095ul, n = 0, i;
	size_t pages = (((size_t)addr + size) - first) / 4096;
	unsigned char *map = malloc(pages + 1);

	if (!map || mincore((void *)first, pages * 4096, map))
		return 0;
	for (i = 0; i < pages; i++)
		n += map[i] & 1;
	free(map);
	return n;
}

/* --- sites: a test greps for their lines ------------------------------------ */

static NOINLINE void *large(size_t size)
{
	void *p = malloc(size);		/* line: large */

	return p;
}

static NOINLINE void *plain(size_t size)
{
	void *p = malloc(size);		/* line: plain */

	return p;
}

static NOINLINE void *small_malloc(size_t size)
{
	void *p = malloc(size);		/* line: small */

	return p;
}

static NOINLINE void *small_calloc(size_t n, size_t size)
{
	void *p = calloc(n, size);	/* line: calloc */

	return p;
}

static NOINLINE void *small_realloc(void *old, size_t size)
{
	void *p = realloc(old, size);	/* line: realloc */

	return p;
}

static NOINLINE void *small_array(void *old, size_t n, size_t size)
{
	void *p = reallocarray(old, n, size);	/* line: array */

	return p;
}

static NOINLINE int small_memalign(void **out, size_t align, size_t size)
{
	int err = posix_memalign(out, align, size);	/* line: memalign */

	return err;
}

static NOINLINE void *map_large(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,	/* line: mmap */
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p;
}

static inline __attribute__((always_inline)) void *wrapper(size_t size)
{
	void *p = malloc(size);

	return p;
}

static NOINLINE void *inlined(size_t size)
{
	void *p = wrapper(size);	/* line: inlined */

	return p;
}

static NOINLINE void *deep_wrapper(size_t size)
{
	void *p = malloc(size);

	return p;
}

static NOINLINE void *outer_wrapper(size_t size)
{
	void *p = deep_wrapper(size + 1);

	return p;
}

static NOINLINE void *wrapped(size_t size)
{
	void *p = outer_wrapper(size);	/* line: wrapped */

	return p;
}

static NOINLINE void *wrapped_else(size_t size)
{
	void *p = outer_wrapper(size);

	return p;
}

/* --- what is asked ----------------------------------------------------------- */

static int say_huge(void)
{
	char *p = large(4 * HUGE), *q = plain(4 * HUGE);
	char *m = map_large(4 * HUGE);

	if (!p || !q || m == MAP_FAILED)
		return 1;
	printf("large %d plain %d mmap %d\n", has_flag(p + HUGE, "hg"),
	       has_flag(q + HUGE, "hg"), has_flag(m + HUGE, "hg"));
	printf("still %d other %d\n", has_flag(still + sizeof(still) / 2, "hg"),
	       has_flag(other + sizeof(other) / 2, "hg"));
	free(p);
	free(q);
	munmap(m, 4 * HUGE);
	return 0;
}

static int say_memory(void)
{
	char *p = large(4 * HUGE), *q = plain(4 * HUGE);

	if (!p || !q)
		return 1;
	printf("large %d plain %d still %d\n", policy_at(p + HUGE),
	       policy_at(q + HUGE), policy_at(still + sizeof(still) / 2));
	free(p);
	free(q);
	return 0;
}

static int say_present(void)
{
	char *p, *q;

	/* One byte would make a whole huge page present. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	p = large(4 * HUGE);
	q = plain(4 * HUGE);
	if (!p || !q)
		return 1;
	printf("large %d plain %d\n",
	       present(p, 4 * HUGE) == (4 * HUGE - 4096) / 4096,
	       present(q + 4096, 4 * HUGE - 4096) == 0);
	free(p);
	free(q);
	return 0;
}

static int reached;

static void *allocate_cancelled(void *arg)
{
	/* No call of an allocator is a point of cancellation. */
	pthread_cancel(pthread_self());
	arg = large(4 * HUGE);
	reached = 1;
	free(arg);
	return NULL;
}

static int say_cancelled(void)
{
	pthread_t t;
	void *end;

	if (pthread_create(&t, NULL, allocate_cancelled, NULL) ||
	    pthread_join(t, &end))
		return 1;
	printf("reached %d\n", reached);
	return 0;
}

/* Write over what can be written of the plan. */
static int scribble(void)
{
	const char *path = getenv("MOCA_PLACE");
	int fd = path ? open(path, O_RDWR) : -1;
	struct stat st;
	char *p;

	if (fd < 0 || fstat(fd, &st))
		return 1;
	p = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 1;
	memset(p, 0x7f, st.st_size);
	return 3;
}

/* Whether all of n blocks are aligned, and no two share so many bytes. */
static int apart(char *blocks[], int n, size_t size, size_t line)
{
	int i, k;

	for (i = 0; i < n; i++) {
		if ((size_t)blocks[i] % line ||
		    malloc_usable_size(blocks[i]) < size)
			return 0;
		for (k = 0; k < n; k++)
			if (k != i && (size_t)blocks[i] / line ==
					      ((size_t)blocks[k] + size - 1) / line)
				return 0;
	}
	return 1;
}

#define BLOCKS 64

static int say_pad(void)
{
	char *a[BLOCKS], *b[BLOCKS], *c[BLOCKS], *d[BLOCKS], *e[BLOCKS];
	char *r[BLOCKS];
	int i, k, clear = 1, kept = 1, err = 0;
	void *out;

	for (i = 0; i < BLOCKS; i++) {
		a[i] = small_malloc(24);
		b[i] = plain(24);
		c[i] = small_calloc(3, 8);
		d[i] = small_realloc(NULL, 24);
		e[i] = small_array(NULL, 3, 8);
		err |= small_memalign(&out, 32, 24);
		r[i] = out;
		for (k = 0; k < 24; k++)
			clear &= c[i][k] == 0;
		memset(a[i], i, malloc_usable_size(a[i]));
		memset(c[i], i, 24);
		memset(d[i], i, 24);
	}
	printf("malloc %d calloc %d realloc %d array %d memalign %d clear %d err %d\n",
	       apart(a, BLOCKS, 24, 64), apart(c, BLOCKS, 24, 64),
	       apart(d, BLOCKS, 24, 64), apart(e, BLOCKS, 24, 64),
	       apart(r, BLOCKS, 24, 64), clear, err);
	for (i = 0; i < BLOCKS; i++) {
		d[i] = small_realloc(d[i], 3000);
		for (k = 0; k < 24; k++)
			kept &= d[i][k] == i;
		a[i] = realloc(a[i], 500);
		for (k = 0; k < 24; k++)
			kept &= a[i][k] == i;
	}
	printf("grown %d kept %d\n", apart(d, BLOCKS, 3000, 64), kept);
	for (i = 0; i < BLOCKS; i++) {
		free(a[i]);
		free(b[i]);
		free(c[i]);
		free(d[i]);
		free(e[i]);
		free(r[i]);
	}
	return 0;
}

/* What goes wrong goes wrong as without a plan. */
static int say_errors(void)
{
	void *p = &p;
	int err;

	errno = 0;
	p = small_malloc(PTRDIFF_MAX - 8);
	printf("malloc %d %d\n", p == NULL, errno);
	errno = 0;
	p = small_calloc(SIZE_MAX / 2, 4);
	printf("calloc %d %d\n", p == NULL, errno);
	errno = 0;
	p = small_array(NULL, SIZE_MAX / 2, 4);
	printf("array %d %d\n", p == NULL, errno);
	err = small_memalign(&p, 24, 100);
	printf("memalign %d\n", err);
	errno = 77;
	p = small_malloc(0);
	printf("none %d %d\n", p != NULL, errno);
	free(p);
	p = small_realloc(NULL, 100);
	printf("freed %d\n", small_realloc(p, 0) == NULL);
	return 0;
}

static void *thread_main(void *arg)
{
	char *blocks[BLOCKS];
	intptr_t bad = 0;
	int i, k;

	for (k = 0; k < 200; k++) {
		for (i = 0; i < BLOCKS; i++) {
			blocks[i] = small_malloc(40);
			bad += (size_t)blocks[i] % 64 != 0;
			memset(blocks[i], i, 40);
		}
		for (i = 0; i < BLOCKS; i++)
			free(blocks[i]);
	}
	return (void *)bad;
}

static int say_threads(void)
{
	pthread_t t[4];
	intptr_t bad = 0;
	void *one;
	int i;

	for (i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, thread_main, NULL))
			return 1;
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], &one);
		bad += (intptr_t)one;
	}
	printf("bad %" PRIdPTR "\n", bad);
	return 0;
}

static int say_fork(void)
{
	int status;

	if (!fork()) {
		char *p = small_malloc(24);

		_exit((size_t)p % 64 == 0 ? 0 : 1);
	}
	wait(&status);
	printf("child %d\n", status);
	return 0;
}

static int say_library(const char *path)
{
	void *l = dlopen(path, RTLD_NOW);
	void *(*make)(size_t);
	int i, bad = 0;

	if (!l) {
		printf("%s\n", dlerror());
		return 1;
	}
	*(void **)&make = dlsym(l, "library_make");
	for (i = 0; make && i < 16; i++)
		bad += (size_t)make(24) % 64 != 0;
	printf("library %d, dlerror %s\n", bad, dlerror() ? "set" : "none");
	return 0;
}

static pthread_barrier_t at_once;

/* How many of its blocks are not aligned. */
static void *open_one(void *path)
{
	void *(*make)(size_t) = NULL;
	intptr_t bad = 0;
	void *l;
	int i;

	pthread_barrier_wait(&at_once);
	l = dlopen(path, RTLD_NOW);
	if (l)
		*(void **)&make = dlsym(l, "library_make");
	for (i = 0; make && i < 16; i++)
		bad += (size_t)make(24) % 64 != 0;
	return (void *)(make ? bad : -1);
}

/* Copies of a library, which threads open at the same time. */
static int say_libraries(char **paths, unsigned n)
{
	pthread_t threads[16];
	intptr_t bad = 0;
	void *one;
	unsigned i;

	n = n > 16 ? 16 : n;
	pthread_barrier_init(&at_once, NULL, n);
	for (i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, open_one, paths[i]))
			abort();
	for (i = 0; i < n; i++) {
		pthread_join(threads[i], &one);
		bad += (intptr_t)one;
	}
	printf("libraries %u, bad %d\n", n, (int)bad);
	return 0;
}

static int say_inlined(void)
{
	int i, bad = 0;

	for (i = 0; i < 16; i++)
		bad += (size_t)inlined(24) % 64 != 0;
	printf("inlined %d\n", bad);
	return 0;
}

/* The same wrapper, by two callers; by chance all are aligned by 1 in 4^BLOCKS. */
static int say_wrapped(void)
{
	int i, bad = 0, other_bad = 0;

	for (i = 0; i < BLOCKS; i++) {
		bad += (size_t)wrapped(23) % 64 != 0;
		other_bad += (size_t)wrapped_else(23) % 64 != 0;
	}
	printf("wrapped %d other %d\n", bad, other_bad != 0);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	/* As they come, whatever else is done. */
	still[0] = other[0] = 1;
	if (!strcmp(what, "huge"))
		return say_huge();
	if (!strcmp(what, "memory"))
		return say_memory();
	if (!strcmp(what, "present"))
		return say_present();
	if (!strcmp(what, "cancelled"))
		return say_cancelled();
	if (!strcmp(what, "scribble"))
		return scribble();
	if (!strcmp(what, "pad"))
		return say_pad();
	if (!strcmp(what, "errors"))
		return say_errors();
	if (!strcmp(what, "threads"))
		return say_threads();
	if (!strcmp(what, "fork"))
		return say_fork();
	if (!strcmp(what, "library") && argc > 2)
		return say_library(argv[2]);
	if (!strcmp(what, "libraries") && argc > 2)
		return say_libraries(argv + 2, (unsigned)argc - 2);
	if (!strcmp(what, "inlined"))
		return say_inlined();
	if (!strcmp(what, "wrapped"))
		return say_wrapped();
	if (!strcmp(what, "exit"))
		return 7;
	if (!strcmp(what, "kill"))
		return kill(getpid(), 15);
	if (!strcmp(what, "run") && argc > 2)
		execvp(argv[2], argv + 2);
	return 99;
}

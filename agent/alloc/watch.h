/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libmoca-alloc inside a program. Everything here may run in a signal handler,
 * with locks of the loader or of the program held, in the first constructor and
 * after the last destructor; so: no locks, no malloc, errno kept by whoever
 * makes system calls.
 *
 * How an allocator is watched, whoever intercepts it (interpose.c, new.c, map.c
 * by symbols; detours by code):
 *
 *	void *malloc(size_t size)
 *	{
 *		const struct alloc_frame *f = ALLOC_FRAME();
 *		void *p;
 *
 *		if (!alloc_enter(f))
 *			return real(size);	// nested, or nobody listens
 *		p = real(size);
 *		if (p)
 *			alloc_made(p, size, MOCA_ALLOC_MALLOC, f);
 *		alloc_leave();
 *		return p;
 *	}
 *
 * An exception or longjmp may leave out alloc_leave: alloc_enter finds that out
 * by the return address of the frame that it saw.
 */
#ifndef MOCA_AGENT_ALLOC_WATCH_H
#define MOCA_AGENT_ALLOC_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include <moca/trace.h>

#define ALLOC_TLS __attribute__((tls_model("initial-exec"), \
				 visibility("hidden")))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#pragma GCC visibility push(hidden)

/*
 * What "push %rbp; mov %rsp, %rbp" leaves at %rbp at the begin of a function:
 * the caller's %rbp and the address to which it returns. The caller's stack
 * pointer is behind it. Valid as long as the function runs.
 */
struct alloc_frame {
	uint64_t rbp;
	uint64_t ret;
};

#define ALLOC_FRAME() \
	((const struct alloc_frame *)__builtin_frame_address(0))

/* The outermost intercepted call of a thread, as long as it runs. */
struct alloc_inside {
	const struct alloc_frame *frame;	/* NULL: none */
	uint64_t ret;				/* frame->ret then */
};

extern __thread struct alloc_inside alloc_inside ALLOC_TLS;
/* Is the call of frame f made by the one in `in`, if that still runs? */
int alloc_is_within(const struct alloc_inside *in, const struct alloc_frame *f);
/* The same of alloc_inside. */
int alloc_is_nested(const struct alloc_frame *f);

/* emit.c: the registry's generation at which no trace wanted events of ours. */
extern const uint32_t *alloc_off;
/* Nobody listens: no system call is needed for anything. */
#define alloc_is_off() (*alloc_off == *moca_trace_generation)
/* config.c: a generation that is never a trace's. */
extern const uint32_t alloc_never;
/* None may be made: the recorder has put alloc_never there (include/abi/agent.h). */
#define alloc_is_silent() (moca_trace_generation == &alloc_never)

/*
 * 1: this call is to be recorded; all that it calls meanwhile, and signal
 * handlers, are not; alloc_leave must follow. 0: it is called by one that is (an
 * allocator that uses another), or no trace wants it: nothing follows.
 */
static inline int alloc_enter(const struct alloc_frame *f)
{
	if (__atomic_load_n(alloc_off, __ATOMIC_RELAXED) ==
	    __atomic_load_n(moca_trace_generation, __ATOMIC_RELAXED))
		return 0;
	if (unlikely(alloc_inside.frame != NULL) && alloc_is_nested(f))
		return 0;
	alloc_inside.ret = f->ret;
	alloc_inside.frame = f;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return 1;
}

static inline void alloc_leave(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	alloc_inside.frame = NULL;
}

/*
 * record.c, between enter and leave. kind: enum moca_alloc_kind; f: of the
 * function that the program called, so that the innermost frame of the stack
 * is its caller. p is not NULL.
 */
void alloc_made(const void *p, size_t size, unsigned kind,
		const struct alloc_frame *f);
/* Tell an object even if it is small: for what realloc made of a large one. */
void alloc_made_told(const void *p, size_t size, unsigned kind,
		     const struct alloc_frame *f);
/*
 * Before the allocator is told. kind: enum moca_free_kind; p may be NULL. Not
 * told if it is known to be small. Returns whether it was told, to be passed
 * to alloc_freed after the allocator has returned.
 */
int alloc_gone(const void *p, unsigned kind);
void alloc_freed_slow(void);
static inline void alloc_freed(int told)
{
	if (unlikely(told > 1))	/* there may have been a stack in it */
		alloc_freed_slow();
}
/* What our free does with a p that is not NULL, f being its frame. */
void alloc_free(void *p, const struct alloc_frame *f);
/* Mappings, of any size. alloc_unmapped before the range is given up. */
void alloc_mapped(const void *p, size_t size, const struct alloc_frame *f);
void alloc_unmapped(const void *p, size_t size);

/*
 * real.c: the functions that would be called without us. NULL until alloc_init,
 * or if there is none.
 */
struct alloc_real {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	void *(*mmap)(void *, size_t, int, int, int, long);
	void *(*mmap64)(void *, size_t, int, int, int, long);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*dlclose)(void *);
	void (*_exit)(int);
	void (*_Exit)(int);
	/*
	 * Bytes of an object, of the allocator that free belongs to; NULL: it
	 * has none, then all frees are told. Detours set it for theirs.
	 */
	size_t (*usable)(void *);
};

extern struct alloc_real alloc_real;
extern uint32_t alloc_state;		/* enum alloc_state, below */

enum alloc_state {
	ALLOC_NEW = 0,
	ALLOC_STARTING = 1,	/* dlsym may want memory: early_alloc */
	ALLOC_READY = 2,
};

/* Look up the real functions, once: alloc_real is complete from then on. */
/* 0: while they are being looked up, by this very thread. */
int alloc_get_ready(void);

/* Is what programs call by this name ours? */
int alloc_is_first(const char *name);

/*
 * defined.c: does a module that the program began with, and that comes behind
 * ours, define NAME? Allocates nothing. For dlsym(RTLD_NEXT, NAME), which does
 * when it fails. Before there is a second thread.
 */
int alloc_is_behind(const char *name);

/* new.c: for look-ups before there is a second thread. */
void alloc_find_operators(void);

/* Code of our own libraries and of the allocator: their mmap is not told. */
int alloc_is_own_code(uint64_t ip);

/* config.c: of MOCA_ALLOC, or the defaults. */
#define ALLOC_FN_MAX 32
#define ALLOC_FN_NAME 256	/* mangled ones are long */
struct alloc_config {
	size_t min;		/* bytes; smaller objects are told in bulk */
	unsigned fn_count;
	struct alloc_fn {
		char name[ALLOC_FN_NAME];	/* NUL-terminated */
		unsigned arg;	/* which argument is the size, from 0 */
	} fn[ALLOC_FN_MAX];
	unsigned free_count;
	struct alloc_fn free[ALLOC_FN_MAX];	/* arg: the object */
};

extern struct alloc_config alloc_config;
/* Read MOCA_ALLOC; may be called again when the environment was not there. */
void alloc_configure(void);
/* Say how we are silenced (include/abi/agent.h), if the recorder wants to know. */
void alloc_offer_quiet(void);
/* Hide MOCA_ALLOC and our LD_PRELOAD from the program, as it says. */
void alloc_hide(void);

#pragma GCC visibility pop

#endif

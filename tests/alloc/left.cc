// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: left CASE. operator new is left by an exception, on a coroutine's stack
 * that nobody comes back to: what is made after that is told as before.
 * protect: nobody may read that stack any more; other: another coroutine, which
 * unmaps it.
 */
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <ucontext.h>

static const size_t size = 256 << 10;
static volatile size_t too_much = SIZE_MAX / 4;
static ucontext_t start, first, second;
static char *stack;	/* of the first */
static bool other;

static void make(size_t n, int times)
{
	for (int i = 0; i < times; i++) {
		void *volatile p = malloc(n);

		free(p);
	}
}

/* Below its caller's frame, so that nothing is written over what it leaves. */
__attribute__((noinline, noipa)) static void fail()
{
	volatile char pad[2000];

	pad[0] = 1;
	::operator delete(::operator new(too_much));
	pad[1] = pad[0];
}

static void run_first()
{
	try {
		fail();
	} catch (std::bad_alloc &) {
		swapcontext(&first, other ? &second : &start);
	}
}

static void run_second()
{
	munmap(stack, size);
	make(70000, 100);
	swapcontext(&second, &start);
}

static void prepare(ucontext_t *u, char *bottom, void (*run)())
{
	getcontext(u);
	u->uc_stack.ss_sp = bottom;
	u->uc_stack.ss_size = size;
	makecontext(u, run, 0);
}

int main(int argc, char **argv)
{
	char *p = (char *)mmap(nullptr, 3 * size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (argc != 2 || p == MAP_FAILED)
		return 2;
	mprotect(p + size, 4096, PROT_NONE);
	stack = p + 2 * size;
	other = !strcmp(argv[1], "other");
	prepare(&first, stack, run_first);
	prepare(&second, p, run_second);
	swapcontext(&start, &first);
	if (!strcmp(argv[1], "protect"))
		mprotect(stack, size, PROT_NONE);
	make(80000, 100);
	return 0;
}

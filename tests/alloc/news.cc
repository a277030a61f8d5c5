// SPDX-License-Identifier: GPL-2.0-or-later
// usage: news [portable]. operator new and delete in all their forms, as calls.c; and exceptions.
#include <cstdio>
#include <cstdlib>
#include <new>

#define NOINLINE extern "C" __attribute__((noinline, noipa))
typedef std::align_val_t A;
static const std::nothrow_t &nt = std::nothrow;

// No tail call: the caller's frame is to be there.
static inline void *keep(void *p)
{
	__asm__ volatile("" : "+r"(p));
	return p;
}

#define FORM(id, make, unmake)                                          \
	NOINLINE void *new_##id(size_t n) { return keep(make); }        \
	NOINLINE void delete_##id(void *p, size_t n) { unmake; (void)n; }

FORM(plain, ::operator new(n), ::operator delete(p))
FORM(array, ::operator new[](n), ::operator delete[](p))
FORM(sized, ::operator new(n), ::operator delete(p, n))
FORM(sized_array, ::operator new[](n), ::operator delete[](p, n))
FORM(nothrow, ::operator new(n, nt), ::operator delete(p, nt))
FORM(nothrow_array, ::operator new[](n, nt), ::operator delete[](p, nt))
FORM(aligned, ::operator new(n, A(64)), ::operator delete(p, A(64)))
FORM(aligned_array, ::operator new[](n, A(64)), ::operator delete[](p, A(64)))
FORM(aligned_sized, ::operator new(n, A(64)), ::operator delete(p, n, A(64)))
FORM(aligned_sized_array, ::operator new[](n, A(64)),
     ::operator delete[](p, n, A(64)))
FORM(aligned_nothrow, ::operator new(n, A(64), nt),
     ::operator delete(p, A(64), nt))
FORM(aligned_nothrow_array, ::operator new[](n, A(64), nt),
     ::operator delete[](p, A(64), nt))

static const struct {
	const char *name;
	void *(*make)(size_t);
	void (*unmake)(void *, size_t);
} forms[] = {
#define ROW(id) { "new_" #id, new_##id, delete_##id }
	ROW(plain), ROW(array), ROW(sized), ROW(sized_array), ROW(nothrow),
	ROW(nothrow_array), ROW(aligned), ROW(aligned_array),
	ROW(aligned_sized), ROW(aligned_sized_array), ROW(aligned_nothrow),
	ROW(aligned_nothrow_array),
};

// Deeper each time, so that what an exception left behind is above.
NOINLINE void *deep(int depth, size_t n)
{
	void *p = depth ? deep(depth - 1, n) : malloc(n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

NOINLINE int throwing(int depth)
{
	try {
		if (depth)
			return throwing(depth - 1) + 1;
		return new_plain(size_t(1) << 60) != nullptr;
	} catch (std::bad_alloc &) {
		if (depth & 1)
			throw;
		return 0;
	}
}

int main(int argc, char **)
{
	static char buf[1 << 16];

	setvbuf(stdout, buf, _IOFBF, sizeof(buf));
	std::printf("at %p\n", (void *)main);
	for (size_t large = 0; large < 2; large++) {
		size_t n = large ? 50000 : 160;

		for (auto &f : forms) {
			void *p = f.make(n += 64);

			std::printf("made %s 4 %p %zu\n", f.name, p, n);
			if (large)
				std::printf("gone %p\n", p);
			f.unmake(p, n);
		}
	}
	for (int i = 0; i < 50 && argc == 1; i++) {
		throwing(i & ~1);
		void *p = deep(i, 60000 + i);

		std::printf("made deep 0 %p %d\n", p, 60000 + i);
		std::printf("gone %p\n", p);
		std::free(p);
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
// What operator new has made, and what it throws.
#include <cstdint>
#include <cstdio>
#include <new>
#include <vector>

struct counter {
	long value[3];
};

__attribute__((noinline)) static counter *one()
{
	counter *p = new counter;
	return p;
}

__attribute__((noinline)) static counter *several(size_t n)
{
	counter *p = new (std::nothrow) counter[n];
	return p;
}

__attribute__((noinline)) static char *too_many(size_t n)
{
	char *p = new char[n];
	return p;
}

int main()
{
	std::vector<counter *> a, b;
	int bad = 0, caught = 0;

	for (int i = 0; i < 32; i++) {
		a.push_back(one());
		b.push_back(several(2));
		bad += reinterpret_cast<uintptr_t>(a.back()) % 128 != 0;
		bad += reinterpret_cast<uintptr_t>(b.back()) % 128 != 0;
	}
	try {
		delete[] too_many(SIZE_MAX / 4);
	} catch (std::bad_alloc &) {
		caught = 1;
	}
	for (int i = 0; i < 32; i++) {
		delete a[static_cast<size_t>(i)];
		delete[] b[static_cast<size_t>(i)];
	}
	printf("bad %d caught %d\n", bad, caught);
}

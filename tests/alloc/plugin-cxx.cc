// SPDX-License-Identifier: GPL-2.0-or-later
// As plugin.c, in a program that has no C++ library: it comes with this one.
#include <new>

extern "C" void *plugin_make(unsigned long n)
{
	void *p = ::operator new(n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

__attribute__((constructor)) static void begin()
{
	::operator delete(::operator new(33333));
}

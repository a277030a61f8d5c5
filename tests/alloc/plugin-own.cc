// SPDX-License-Identifier: GPL-2.0-or-later
// Linked with a C++ library of its own: it begins anew with each dlopen.
#include <cstdio>

static int count;

static struct user {
	int *p;

	user() : p(new int[4]) { printf("begin %d\n", count++); }
	~user()
	{
		delete[] p;
		puts("end");
	}
} once;

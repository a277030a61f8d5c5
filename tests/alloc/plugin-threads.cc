// SPDX-License-Identifier: GPL-2.0-or-later
// A thread uses an operator for the first time while the loader, with its lock,
// waits for this constructor.
#include <cstdio>
#include <thread>

struct alignas(64) line {
	int words[16];
};

static struct starter {
	starter()
	{
		std::thread t([] {
			auto *p = new line[3];

			delete[] p;
		});
		t.join();
		puts("thread: done");
	}
} at_once;

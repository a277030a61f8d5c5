// SPDX-License-Identifier: GPL-2.0-or-later
/* C++ exceptions through translated frames: the unwinder reads return addresses. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

#include <execinfo.h>

namespace {

unsigned long destroyed;

struct Guard {
	explicit Guard(int n) : n(n) {}
	~Guard() { destroyed = destroyed * 31 + n; }
	int n;
};

__attribute__((noinline)) int deep(int n)
{
	Guard g(n);

	if (n == 0)
		throw std::runtime_error("the bottom");
	return deep(n - 1) + 1;
}

void frames()
{
	unsigned long caught = 0;

	for (int i = 0; i < 2000; i++) {
		try {
			deep(i % 40);
		} catch (const std::runtime_error &e) {
			caught += std::string(e.what()).size();
		}
	}
	std::printf("%lu %lx\n", caught, destroyed);
}

int compares;

int compare(const void *a, const void *b)
{
	if (++compares % 500 == 0)
		throw compares;
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

/* Out of a callback of the C library's. */
void callbacks()
{
	unsigned long sum = 0;

	for (int i = 0; i < 100; i++) {
		std::vector<int> v(300);

		for (int k = 0; k < 300; k++)
			v[k] = k * 7919 % 1000;
		try {
			std::qsort(v.data(), v.size(), sizeof(int), compare);
		} catch (int n) {
			sum += n;
		}
	}
	std::printf("%lu\n", sum);
}

void rethrown()
{
	unsigned long n = 0;

	for (int i = 0; i < 500; i++) {
		try {
			try {
				deep(3);
			} catch (...) {
				n++;
				throw;
			}
		} catch (const std::exception &) {
			n += 2;
		}
		try {
			throw std::make_unique<std::string>("moved");
		} catch (std::unique_ptr<std::string> &p) {
			n += p->size();
		}
	}
	std::printf("%lu\n", n);
}

void threads()
{
	std::vector<std::thread> t;
	unsigned long caught[4] = {};

	for (int i = 0; i < 4; i++)
		t.emplace_back([&caught, i] {
			for (int k = 0; k < 500; k++)
				try {
					if (k % 2)
						throw k;
					throw std::out_of_range("even");
				} catch (int) {
					caught[i]++;
				} catch (const std::logic_error &) {
					caught[i] += 2;
				}
		});
	for (auto &x : t)
		x.join();
	std::printf("%lu\n", caught[0] + caught[1] + caught[2] + caught[3]);
}

/* The stack as backtrace() sees it: the program's own addresses. */
__attribute__((noinline)) int depth(int n)
{
	void *frames[100];

	if (n == 0)
		return backtrace(frames, 100);
	int d = depth(n - 1);
	asm volatile("" : "+r"(d));
	return d;
}

void traces()
{
	std::printf("%d\n", depth(20) - depth(5));
}

void on_terminate()
{
	std::puts("terminated");
	std::fflush(stdout);
	std::_Exit(5);
}

void uncaught()
{
	std::set_terminate(on_terminate);
	throw 1;
}

const struct {
	const char *name;
	void (*run)();
} cases[] = { { "frames", frames },   { "callbacks", callbacks },
	      { "rethrown", rethrown }, { "threads", threads },
	      { "traces", traces },	{ "uncaught", uncaught } };

} // namespace

int main(int argc, char **argv)
{
	for (const auto &c : cases) {
		if (argc > 1 && !std::string(c.name).compare(argv[1])) {
			c.run();
			return 0;
		}
		if (argc < 2)
			std::fprintf(stderr, "%s\n", c.name);
	}
	return 2;
}

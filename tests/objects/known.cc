// SPDX-License-Identifier: GPL-2.0-or-later
/* Data structures as C++ makes them. */
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "expect.h"

namespace flow {
double density[64][512] __attribute__((aligned(4096)));

class Solver {
public:
	static int table[8192];
	explicit Solver(size_t n);
	std::vector<double> pressure;
	double *residual;
};

int Solver::table[8192] __attribute__((aligned(4096)));

Solver::Solver(size_t n)
{
	pressure.resize(n);
	residual = new double[n];
	for (size_t i = 0; i < n; i++)
		residual[i] = 1.0;
}
}

/* Touched by its constructor, but for the allocator's word in front. */
EXPECT_NOINLINE static void vectors()
{
	std::vector<double> velocity(100 * 512, 1.0);

	expect("velocity", "heap", expect_pages(velocity.data(),
						velocity.size() * 8) - 1,
	       1, "private");
}

EXPECT_NOINLINE static void smart()
{
	auto owned = std::make_unique<int[]>(80 * 1024);

	owned[5] = 1;
	/* In the place of velocity, whose pages were touched just before. */
	expect("owned", "heap", expect_pages(owned.get(), 80 * 4096) - 2, 1,
	       "private");
}

EXPECT_NOINLINE static void nodes()
{
	std::map<int, std::string> dictionary;

	for (int i = 0; i < 20000; i++)
		dictionary[i] = "a string that is too long for its object " +
				std::to_string(i);
	printf("small dictionary[] %zu\n", dictionary.size() * 2);
}

struct item {
	char bytes[24];
	virtual ~item() {}
};

EXPECT_NOINLINE static void throws()
{
	try {
		std::vector<item> items(1ul << 60);
		printf("unexpected\n");
	} catch (const std::exception &) {
		printf("caught\n");
	}
}

int main()
{
	flow::Solver *solver = new flow::Solver(50 * 512);

	expect("residual", "heap", expect_pages(solver->residual, 50 * 4096) -
	       1, 1, "private");
	expect_touch(flow::density, sizeof(flow::density));
	expect("flow::density", "static", 64, 1, "private");
	expect_touch(flow::Solver::table, sizeof(flow::Solver::table));
	expect("flow::Solver::table", "static", 8, 1, "private");
	vectors();
	smart();
	nodes();
	throws();
	return 0;
}

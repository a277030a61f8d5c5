// SPDX-License-Identifier: GPL-2.0-or-later
/* threads.cc CASE [fixed]: as threads.c, in C++. */
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

static bool fixed_;
static const long N = 4l << 20;

template <typename F> static void both(F f)
{
	std::thread a(f, 0), b(f, 1);

	a.join();
	b.join();
}

struct Worker {
	volatile long done = 0;
	long id = 0;
};
struct alignas(64) Apart : Worker { };

static void workers()
{
	static Worker near[2];
	static Apart apart[2];

	both([](int t) {
		Worker &w = fixed_ ? static_cast<Worker &>(apart[t]) : near[t];

		for (long i = 0; i < 1500000000; i++)
			w.done = w.done + 1; // FAULT cxx-workers
	});
}

static void serial_vector()
{
	// A vector fills its elements where it is made.
	std::vector<double> v(fixed_ ? 0 : N); // FAULT cxx-vector
	std::unique_ptr<double[]> raw(fixed_ ? new double[N] : nullptr);
	double *u = fixed_ ? raw.get() : v.data();

	for (int r = 0; r < 300; r++)
		both([=](int t) {
			for (long i = N / 2 * t; i < N / 2 * (t + 1); i++)
				u[i] = r ? u[i] * 0.5 + 1 : 0;
		});
}

static void churn()
{
	static std::vector<double> kept[4];
	double sum = 0;

	for (int r = 0; r < 300; r++) {
		std::vector<double> own[4];
		std::vector<double> *v = fixed_ ? kept : own;

		for (int k = 0; k < 4; k++) {
			v[k].assign(400000, r); // FAULT cxx-churn
			sum += std::accumulate(v[k].begin(), v[k].end(), 0.0);
		}
	}
	printf("%g\n", sum);
}

int main(int argc, char **argv)
{
	std::string name = argc > 1 ? argv[1] : "";

	fixed_ = argc > 2;
	if (name == "cxx-workers")
		workers();
	else if (name == "cxx-vector")
		serial_vector();
	else if (name == "cxx-churn")
		churn();
	else
		return 2;
	return 0;
}

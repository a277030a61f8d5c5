// SPDX-License-Identifier: GPL-2.0-or-later
/* threads.cc CASE [fixed]: as threads.c, in C++. */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <unordered_map>
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

// Counters that lie one by one in a vector.
static void atomics()
{
	std::vector<std::atomic<long>> hits(16);

	both([&](int t) {
		std::atomic<long> &mine = hits[fixed_ ? 8 * t : t];

		for (long i = 0; i < 75000000; i++)
			mine.fetch_add(1, std::memory_order_relaxed); // FAULT cxx-atomics
	});
}

// Answers are kept by their question, which nobody asks again.
static void cache()
{
	std::unordered_map<long, std::vector<long>> answers;
	long sum = 0;

	for (long r = 0; r < 12000; r++) {
		std::vector<long> v(2048); // FAULT cxx-cache

		for (long i = 0; i < 300000; i++)
			v[i % 2048] += i * r;
		sum += v[7];
		if (fixed_)
			answers.erase(r - 100);
		answers.emplace(r, std::move(v));
	}
	printf("%ld\n", sum);
}

// Two arrays from one function; the one is filled by a thread for all.
static void *xmalloc(size_t bytes)
{
	void *p = malloc(bytes);

	if (!p)
		std::abort();
	return p;
}

static void wrapper()
{
	double *a = static_cast<double *>(xmalloc(N * 8));
	double *b = static_cast<double *>(xmalloc(N * 8));

	for (long i = 0; i < N && !fixed_; i++)
		a[i] = i; // FAULT cxx-wrapper
	for (int r = 0; r < 400; r++)
		both([=](int t) {
			for (long i = N / 2 * t; i < N / 2 * (t + 1); i++)
				b[i] = a[i] = r ? a[i] * 0.5 + b[i] : 0;
		});
}

// Each thread has a vector of its own, and fills it itself.
static void own_vectors()
{
	both([](int t) {
		std::vector<double> v(N / 2, t);

		for (int r = 0; r < 1500; r++)
			for (double &x : v)
				x = x * 0.5 + r;
	});
}

// Strings come and go; malloc keeps their memory.
static void strings()
{
	size_t sum = 0;

	for (long r = 0; r < 80000000; r++) {
		std::string s(40 + r % 100, 'x');

		sum += s.size();
	}
	printf("%zu\n", sum);
}

static unsigned long noise(unsigned long i)
{
	i += 0x9e3779b97f4a7c15u;
	i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9u;
	return i ^ i >> 27;
}

// Elements go to where they belong; fixed: each thread has what belongs to its half.
static void sort()
{
	unsigned long n = 6l << 20;
	std::unique_ptr<unsigned[]> out(new unsigned[n]); // FAULT cxx-sort

	both([&](unsigned long t) {
		std::memset(&out[n / 2 * t], 0, n / 2 * sizeof(unsigned));
	});
	both([&](unsigned long t) {
		for (unsigned long i = 0; i < 80000000; i++) {
			unsigned long to = noise(2 * i + t);

			out[fixed_ ? n / 2 * t + to % (n / 2) : to % n] = i;
		}
	});
	printf("%u\n", out[77]);
}

// Sums are local, and written once.
static void local_sums()
{
	static double sums[2];
	std::unique_ptr<double[]> v(new double[N / 2]);

	both([&](int t) {
		double sum = 0;

		for (long i = N / 4 * t; i < N / 4 * (t + 1); i++)
			v[i] = i;
		for (int r = 0; r < 1000; r++)
			for (long i = N / 4 * t; i < N / 4 * (t + 1); i++)
				sum += v[i] * r;
		sums[t] = sum;
	});
	printf("%g\n", sums[0] + sums[1]);
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
	else if (name == "cxx-atomics")
		atomics();
	else if (name == "cxx-cache")
		cache();
	else if (name == "cxx-wrapper")
		wrapper();
	else if (name == "cxx-own-vectors")
		own_vectors();
	else if (name == "cxx-strings")
		strings();
	else if (name == "cxx-sort")
		sort();
	else if (name == "cxx-local-sums")
		local_sums();
	else
		return 2;
	return 0;
}

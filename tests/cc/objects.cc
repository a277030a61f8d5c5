// SPDX-License-Identifier: GPL-2.0-or-later
/* Exceptions, templates, virtual calls, thread_local; prints checksums. */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct counted {
	static int alive;
	int value;
	explicit counted(int v) : value(v) { alive++; }
	~counted() { alive--; }
};
int counted::alive;

__attribute__((noinline)) static int deep(int n, int limit)
{
	counted here(n);

	if (n == limit)
		throw std::runtime_error("at " + std::to_string(n));
	if (n > 40)
		return here.value;
	return deep(n + 1, limit) + here.value;
}

static uint64_t exceptions()
{
	uint64_t sum = 0;

	for (int limit = 0; limit < 60; limit += 7) {
		try {
			try {
				sum += (uint64_t)deep(0, limit);
			} catch (const std::logic_error &) {
				sum += 1000000;
			}
		} catch (const std::exception &e) {
			sum = sum * 3 + std::string(e.what()).size();
		}
		sum += (uint64_t)counted::alive;
	}
	return sum;
}

struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
};
struct square : shape {
	double a;
	explicit square(double s) : a(s) {}
	double area() const override { return a * a; }
};
struct disc : shape {
	double r;
	explicit disc(double s) : r(s) {}
	double area() const override { return 3 * r * r; }
};

static uint64_t virtuals()
{
	std::vector<std::unique_ptr<shape>> all;
	double sum = 0;

	for (int i = 0; i < 60; i++)
		if (i % 3)
			all.push_back(std::make_unique<square>(i * 0.5));
		else
			all.push_back(std::make_unique<disc>(i * 0.25));
	for (const auto &s : all)
		sum += s->area();
	return (uint64_t)(sum * 8);
}

template <typename T, int N> struct ring {
	T items[N];
	int at = 0;
	void put(const T &t) { items[at++ % N] = t; }
	template <typename F> T fold(T t, F f) const
	{
		for (int i = 0; i < N && i < at; i++)
			t = f(t, items[i]);
		return t;
	}
};

static uint64_t templates()
{
	ring<std::string, 7> words;
	ring<double, 16> numbers;
	std::map<std::string, int> seen;

	for (int i = 0; i < 40; i++) {
		words.put(std::string((size_t)(i % 20), 'a' + i % 26));
		numbers.put(i / 3.0);
		seen[std::to_string(i * i % 17)] += i;
	}
	uint64_t sum = words.fold("", std::plus<std::string>()).size();
	sum += (uint64_t)(numbers.fold(0, std::plus<double>()) * 64);
	for (const auto &p : seen)
		sum = sum * 5 + (uint64_t)p.second + p.first.size();
	return sum;
}

static thread_local std::vector<int> kept(5, 3);

static uint64_t lambdas()
{
	std::vector<std::function<int(int)>> f;
	int sum = 0;

	for (int i = 0; i < 20; i++)
		f.push_back([i, &sum](int x) { return sum += x * i + kept[(size_t)(i % 5)]; });
	std::reverse(f.begin(), f.end());
	for (size_t i = 0; i < f.size(); i++)
		f[i]((int)i);
	return (uint64_t)sum;
}

int main()
{
	printf("exceptions %llx\n", (unsigned long long)exceptions());
	printf("virtuals %llx\n", (unsigned long long)virtuals());
	printf("templates %llx\n", (unsigned long long)templates());
	printf("lambdas %llx\n", (unsigned long long)lambdas());
	return 0;
}

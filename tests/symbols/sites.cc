// SPDX-License-Identifier: GPL-2.0-or-later
/* As sites.c, in C++. */
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define N(i) ((size_t)100000 + 8 * (i))
#define D(i) (N(i) / sizeof(double))

namespace sim {
struct particle {
	double x, y;
};

class Grid {
public:
	explicit Grid(size_t i)
		: u(D(i)),			/* 0 u double */
		  v(D(i + 1)),			/* 1 v double */
		  raw(new float[N(i + 2) / 4])	/* 2 raw float */
	{
		this->late = new double[D(i + 3)];	/* 3 late double */
	}
	~Grid()
	{
		delete[] raw;
		delete[] late;
	}
	std::vector<double> u, v;
	float *raw;
	double *late;
};

template <typename T> T *make(size_t n)
{
	return new T[n];
}

static std::vector<double> table(D(4));		/* 4 table double */
}

static double sum(const std::vector<double> &x)
{
	return x[0] + x[x.size() - 1];
}

struct arena {
	void *alloc(size_t n)
	{
		return std::malloc(n);
	}
};

int main()
{
	sim::Grid grid(0);
	double *p = new double[D(5)];			/* 5 p double */
	std::vector<double> a(D(6)), b(D(7));		/* 6 a double */
							/* 7 b double */
	std::vector<sim::particle> parts;
	parts.resize(N(8) / sizeof(sim::particle));	/* 8 parts particle */
	auto q = std::make_unique<double[]>(D(10));	/* 10 q double */
	std::unique_ptr<double[]> r(new double[D(11)]);	/* 11 r double */
	std::string s(N(12) - 1, 'x');			/* 12 s char */
	std::vector<std::vector<double>> rows(3);
	rows[1].reserve(D(13));				/* 13 rows[] double */
	double *t = sim::make<double>(D(14));		/* 14 t double */
	float *f = static_cast<float *>(std::malloc(N(15)));	/* 15 f float */
	std::vector<double> c = a;			/* 6 a|c double */
	arena pool;
	int *ip = (int *)pool.alloc(N(16));		/* 16 ip int */
	std::vector<double> d{};
	d.assign(D(17), 1.0);				/* 17 d double */
	auto *g2 = new sim::Grid(20);			/* 20 u double */
							/* 21 v double */
							/* 22 raw float */
							/* 23 late double */
	std::map<int, std::vector<double>> by_key;
	by_key[7].resize(D(24));			/* 24 by_key[] double */
	std::vector<std::string> names;
	names.push_back(std::string(N(25) - 1, 'y'));	/* 25 names - */
	a.insert(a.end(), D(26) - a.size(), 0.0);	/* 26 a double */
	c = std::vector<double>(D(27));			/* 27 c double */
	std::vector<float *> blocks;
	blocks.push_back(new float[N(28) / 4]);		/* 28 blocks[] float */
	p[0] = sum(a) + sum(b) + sum(c) + sum(d) + sum(grid.u);
	r.reset(new double[D(18)]);			/* 18 r double */
	auto sp = std::make_shared<std::vector<double>>(D(19)); /* 19 sp - */
	int rc = p[0] + parts[0].x + q[0] + r[0] + s[0] + rows.size() + t[0] +
		 f[0] + ip[0] + sim::table[1] + g2->u[0] + (*sp)[1] + by_key[7][1] + names[0][1] + blocks[0][1];

	std::free(f);
	delete g2;
	delete[] p;
	delete[] t;
	return rc == 12345;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* openmp CASE [fixed]: as threads.c, in C++ with OpenMP. */
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

static bool fixed_;
static const long N = 200000;
static const int ARRAYS = 12;
static const long ROWS = 512, COLUMNS = 8192;

static double *take(double *&kept)
{
	if (!kept)
		kept = static_cast<double *>(malloc(N * sizeof(double))); // FAULT hydro
	return kept;
}

/* As hydrodynamics codes do: work arrays for the time of one iteration. */
static void hydro()
{
	static double *work[ARRAYS];
	std::vector<double> node(N, 1.0);

	for (int r = 0; r < 150; r++) {
		for (int k = 0; k < ARRAYS; k++) {
			double *w = take(work[k]);

			#pragma omp parallel for schedule(static)
			for (long i = 0; i < N; i++)
				w[i] = node[i] * (k + 1);
			#pragma omp parallel for schedule(static)
			for (long i = 0; i < N; i++)
				node[i] = w[i] * 0.25 + 0.5;
		}
		for (int k = 0; k < ARRAYS && !fixed_; k++) {
			free(work[k]);
			work[k] = nullptr;
		}
	}
	printf("%g\n", node[77]);
}

/* Temporaries of expressions: malloc keeps what one at a time is freed. */
static std::vector<double> scaled(const std::vector<double> &v, double by)
{
	std::vector<double> out(v.size());

	for (size_t i = 0; i < v.size(); i++)
		out[i] = v[i] * by;
	return out;
}

static void temporaries()
{
	std::vector<double> v(400000, 1.0);

	for (int r = 0; r < 8000; r++)
		v = scaled(v, 1.0001);
	printf("%g\n", v[77]);
}

/* A matrix of rows, which a constructor fills; fixed: the threads that use them. */
static void matrix()
{
	std::vector<std::vector<double>> row(ROWS);

	#pragma omp parallel for schedule(static) if (fixed_)
	for (long i = 0; i < ROWS; i++)
		row[i].resize(COLUMNS, 1.0); // FAULT matrix
	for (int r = 0; r < 500; r++) {
		#pragma omp parallel for schedule(static)
		for (long i = 0; i < ROWS; i++)
			for (double &x : row[i])
				x = x * 0.5 + r;
	}
	printf("%g\n", row[7][7]);
}

int main(int argc, char **argv)
{
	std::string name = argc > 1 ? argv[1] : "";

	fixed_ = argc > 2;
	if (name == "hydro")
		hydro();
	else if (name == "temporaries")
		temporaries();
	else if (name == "matrix")
		matrix();
	else
		return 2;
	return 0;
}

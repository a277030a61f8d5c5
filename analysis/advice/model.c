// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In which language a program is written and how it has threads, by the libraries
 * that are mapped: so that advice is code of that kind.
 */
#include <string.h>

#include "analysis/advice/rules.h"

enum { LOOKED = 1, OPENMP = 2, CXX = 4, FORTRAN = 8, TBB = 16 };

static unsigned look(struct rules *r)
{
	static const struct {
		const char *name;
		unsigned is;
	} libraries[] = {
		{ "/libgomp.so", OPENMP },     { "/libomp.so", OPENMP },
		{ "/libiomp5.so", OPENMP },    { "/libstdc++.so", CXX },
		{ "/libc++.so", CXX },	       { "/libgfortran.so", FORTRAN },
		{ "/libflang", FORTRAN },      { "/libtbb.so", TBB },
	};
	const struct moca_mapping *m;
	size_t i, k, n;

	if (r->model)
		return r->model;
	r->model = LOOKED;
	if (moca_trace_mappings(r->trace, &m, &n))
		return r->model;
	for (i = 0; i < n; i++)
		for (k = 0; k < sizeof(libraries) / sizeof(*libraries); k++)
			if (strstr(m[i].name, libraries[k].name))
				r->model |= libraries[k].is;
	return r->model;
}

int advice_openmp(struct rules *r)
{
	return (look(r) & OPENMP) != 0;
}

void try_parallel_init(struct rules *r, struct moca_finding *f,
		       const char *name, const char *where)
{
	unsigned model = look(r);

	if (model & OPENMP && model & FORTRAN)
		finding_line(r, f->try_,
			     "!$omp parallel do schedule(static)   ! on the loop that first fills %s%s",
			     name, where);
	else if (model & OPENMP)
		finding_line(r, f->try_,
			     "#pragma omp parallel for schedule(static)   /* on the loop that first fills %s%s */",
			     name, where);
	else if (model & TBB)
		finding_line(r, f->try_,
			     "tbb::parallel_for(range, body, tbb::static_partitioner());   // on the loop that first fills %s%s, and on those that work",
			     name, where);
	else
		finding_line(r, f->try_,
			     "/* in each thread, before the work, in place of the loop that first fills %s%s: */ for (i = first[t]; i < first[t + 1]; i++) ...",
			     name, where);
	if (model & OPENMP)
		finding_line(r, f->try_,
			     "OMP_PROC_BIND=spread OMP_PLACES=cores ./program");
	else if (model & CXX)
		finding_line(r, f->try_,
			     "pthread_setaffinity_np(thread.native_handle(), ...);   // or taskset, numactl: a thread stays on its node");
	else
		finding_line(r, f->try_,
			     "pthread_setaffinity_np(thread, ...)   /* or taskset, numactl: a thread stays on its node */");
}

/* The line for OpenMP in Fortran, OpenMP in C and C++, or threads by themselves. */
static void try_by_model(struct rules *r, struct moca_finding *f,
			 const char *fortran, const char *pragma,
			 const char *threads)
{
	unsigned model = look(r);

	finding_line(r, f->try_, "%s",
		     !(model & OPENMP) ? threads :
		     model & FORTRAN   ? fortran :
					 pragma);
}

void try_static_schedule(struct rules *r, struct moca_finding *f)
{
	try_by_model(r, f,
		     "!$omp parallel do schedule(static)   ! in place of dynamic; or bounds of equal work:",
		     "#pragma omp parallel for schedule(static)   /* in place of dynamic; or bounds of equal work: */",
		     "/* the same bounds for each thread in each round, of equal work: */");
}

void try_small_chunks(struct rules *r, struct moca_finding *f)
{
	try_by_model(r, f,
		     "!$omp parallel do schedule(static, chunk)   ! small chunks in turn",
		     "#pragma omp parallel for schedule(static, chunk)   /* small chunks in turn */",
		     "for (i = t; i < chunks; i += threads) ...   /* small chunks in turn */");
}

void try_own_lines(struct rules *r, struct moca_finding *f, int apart)
{
	unsigned model = look(r);

	if (model & FORTRAN)
		finding_line(r, f->try_,
			     "real(8) :: part(8, threads)   ! part(1, t) is thread t's: 64 bytes apart");
	else if (model & CXX)
		finding_line(r, f->try_,
			     "struct alignas(64) part { ... };   // in std::vector from C++17 on");
	else
		finding_line(r, f->try_,
			     "struct part { ... } __attribute__((aligned(64)));   /* or alignas(64) */");
	if (apart && !(model & (CXX | FORTRAN)))
		finding_line(r, f->try_,
			     "aligned_alloc(64, size)   /* for each thread's part */");
	else if (!apart && model & OPENMP)
		finding_line(r, f->try_, "%s", model & FORTRAN ?
			     "!$omp parallel do reduction(+:sum)" :
			     "#pragma omp parallel for reduction(+:sum)");
	else if (!apart)
		finding_line(r, f->try_,
			     "sum += part;   /* a local variable, in the loop; then once, below the lock: */");
}

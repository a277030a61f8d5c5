// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In which language a program is written and how it has threads, so that advice is
 * code of that kind: by the libraries that are mapped, the name of the program, and
 * the name of the source file that allocates.
 */
#include <string.h>

#include "analysis/advice/rules.h"

enum {
	LOOKED = 1,
	OPENMP = 2,
	CXX = 4,
	FORTRAN = 8,
	TBB = 16,
	JAVA = 32,
	SCRIPT = 64,	/* an interpreter's: its memory is nobody's to place */
	PLAIN_C = 128,
	GO = 256,
	RUST = 512,
};

#define LANGUAGES ((unsigned)(CXX | FORTRAN | JAVA | SCRIPT | PLAIN_C | GO | RUST))

static unsigned look(struct rules *r)
{
	/* By the begin of the file's name. */
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
	const char *base;
	size_t i, k, n;

	if (r->model)
		return r->model;
	r->model = LOOKED;
	if (moca_trace_mappings(r->trace, &m, &n))
		return r->model;
	for (i = 0; i < n; i++) {
		base = strrchr(m[i].name, '/');
		for (k = 0; base && k < sizeof(libraries) / sizeof(*libraries); k++)
			if (!strncmp(base, libraries[k].name,
				     strlen(libraries[k].name)))
				r->model |= libraries[k].is;
	}
	return r->model;
}

/* By the end of the name of a source file; 0: not known. */
static unsigned language_of(const char *file)
{
	static const struct {
		const char *end;
		unsigned is;
	} ends[] = {
		{ "c", PLAIN_C },   { "cc", CXX },	{ "cpp", CXX },
		{ "cxx", CXX },	    { "C", CXX },	{ "hpp", CXX },
		{ "f", FORTRAN },   { "F", FORTRAN },	{ "f90", FORTRAN },
		{ "F90", FORTRAN }, { "f95", FORTRAN }, { "f03", FORTRAN },
		{ "f08", FORTRAN }, { "F03", FORTRAN }, { "F08", FORTRAN },
		{ "go", GO },	    { "rs", RUST },
	};
	const char *dot = file ? strrchr(file, '.') : NULL;
	size_t i;

	for (i = 0; dot && i < sizeof(ends) / sizeof(*ends); i++)
		if (!strcmp(dot + 1, ends[i].end))
			return ends[i].is;
	return 0;
}

/* JAVA or SCRIPT, where a program of that name runs what was written; GO; or 0. */
static unsigned runtime_of(const struct rules *r, const char *program)
{
	struct moca_module *m;
	const char *base = strrchr(program, '/');

	base = base ? base + 1 : program;
	if (!strcmp(base, "java"))
		return JAVA;
	if (!strncmp(base, "python", 6) || !strcmp(base, "node") ||
	    !strcmp(base, "perl") || !strncmp(base, "ruby", 4))
		return SCRIPT;
	m = moca_symbols_module(moca_objects_symbols(r->p->objects), program);
	return m && moca_module_has_section(m, ".go.buildinfo") ? GO : 0;
}

/* Of the finding's object. */
static unsigned model_of(struct rules *r, const struct moca_finding *f)
{
	const struct moca_object *o = f->object->object;
	unsigned model = look(r) | runtime_of(r, o->program), language;

	language = language_of(o->alloc && o->alloc->file ? o->alloc->file :
							    f->file);
	if (language)
		model = (model & ~LANGUAGES) | language;
	/* Neither has pragmas, whatever libraries it uses. */
	return model & (GO | RUST) ? model & (GO | RUST) : model;
}

int advice_openmp(struct rules *r)
{
	return (look(r) & OPENMP) != 0;
}

int advice_takes_c(struct rules *r, const struct moca_finding *f)
{
	return !(model_of(r, f) & (LANGUAGES & ~(CXX | PLAIN_C)));
}

int is_of_runtime(const struct rules *r, const struct moca_object *o)
{
	const char *module = o->alloc ? o->alloc->module : NULL;

	if (!runtime_of(r, o->program))
		return 0;
	return o->kind == MOCA_OBJECT_ANONYMOUS ||
	       o->kind == MOCA_OBJECT_ALLOCATOR ||
	       (module && (strstr(module, "/libjvm.so") ||
			   runtime_of(r, module)));
}

void try_note(struct rules *r, struct moca_finding *f, const char *text)
{
	unsigned model = model_of(r, f);

	if (model & FORTRAN)
		finding_line(r, f->try_, "! %s", text);
	else if (!(model & SCRIPT))
		finding_line(r, f->try_, "/* %s */", text);
}

/* Threads stay on their nodes. */
static void try_bind(struct rules *r, struct moca_finding *f, unsigned model)
{
	if (model & OPENMP)
		finding_line(r, f->try_,
			     "OMP_PROC_BIND=spread OMP_PLACES=cores ./program");
	else if (model & JAVA)
		finding_line(r, f->try_,
			     "java -XX:+UseNUMA -XX:+UseParallelGC ...   # new objects lie on the node of the thread that makes them");
	else if (model & (FORTRAN | SCRIPT))
		;	/* neither has a call for it */
	else if (model & GO)
		finding_line(r, f->try_,
			     "runtime.LockOSThread(); unix.SchedSetaffinity(0, &cpus)   // golang.org/x/sys/unix: a goroutine stays on its node");
	else if (model & RUST)
		finding_line(r, f->try_,
			     "core_affinity::set_for_current(core);   // or taskset, numactl: a thread stays on its node");
	else if (model & CXX)
		finding_line(r, f->try_,
			     "pthread_setaffinity_np(thread.native_handle(), ...);   // or taskset, numactl: a thread stays on its node");
	else
		finding_line(r, f->try_,
			     "pthread_setaffinity_np(thread, ...)   /* or taskset, numactl: a thread stays on its node */");
}

void try_parallel_init(struct rules *r, struct moca_finding *f,
		       const char *name, const char *where)
{
	unsigned model = model_of(r, f);

	if (model & (JAVA | SCRIPT))
		;
	else if (model & OPENMP && model & FORTRAN)
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
	else if (model & FORTRAN)
		finding_line(r, f->try_,
			     "do i = first(t), first(t + 1) - 1   ! in each thread t, in place of the loop that first fills %s%s",
			     name, where);
	else if (model & (GO | RUST))
		finding_line(r, f->try_,
			     "for i %s   // in each %s t, before the work, in place of the loop that first fills %s%s",
			     model & GO ? ":= first[t]; i < first[t+1]; i++ { ... }" :
					  "in first[t]..first[t + 1] { ... }",
			     model & GO ? "goroutine" : "thread", name, where);
	else
		finding_line(r, f->try_,
			     "/* in each thread, before the work, in place of the loop that first fills %s%s: */ for (i = first[t]; i < first[t + 1]; i++) ...",
			     name, where);
	try_bind(r, f, model);
}

void try_parallel_read(struct rules *r, struct moca_finding *f)
{
	if (advice_takes_c(r, f))
		finding_line(r, f->try_,
			     "pread(fd, %s + first[t], first[t + 1] - first[t], first[t])   /* in each thread t, in place of the call that reads all of it */",
			     name_in_code(r, f->object));
	try_bind(r, f, model_of(r, f));
}

/*
 * The line for OpenMP in Fortran, OpenMP in C and C++, or threads by themselves,
 * where Fortran has a line of its own (NULL: none).
 */
static void try_by_model(struct rules *r, struct moca_finding *f,
			 const char *fortran, const char *pragma,
			 const char *threads, const char *own)
{
	unsigned model = model_of(r, f);
	const char *line = threads;

	if (model & SCRIPT)
		return;
	if (model & FORTRAN)
		line = model & OPENMP ? fortran : own;
	else if (model & OPENMP && !(model & JAVA))
		line = pragma;
	if (line)
		finding_line(r, f->try_, "%s", line);
}

void try_static_schedule(struct rules *r, struct moca_finding *f)
{
	try_by_model(r, f,
		     "!$omp parallel do schedule(static)   ! in place of dynamic; or bounds of equal work:",
		     "#pragma omp parallel for schedule(static)   /* in place of dynamic; or bounds of equal work: */",
		     "/* the same bounds for each thread in each round, of equal work: */",
		     "! the same bounds for each thread in each round, of equal work:");
}

void try_equal_work(struct rules *r, struct moca_finding *f)
{
	unsigned model = model_of(r, f);

	if (model & FORTRAN)
		finding_line(r, f->try_,
			     "first(t) = the first part that begins at or behind total_work * t / threads");
	else if (!(model & SCRIPT))
		finding_line(r, f->try_,
			     "first[t] = the first part that begins at or behind total_work * t / threads");
}

void try_small_chunks(struct rules *r, struct moca_finding *f)
{
	unsigned model = model_of(r, f);

	try_by_model(r, f,
		     "!$omp parallel do schedule(static, chunk)   ! small chunks in turn",
		     "#pragma omp parallel for schedule(static, chunk)   /* small chunks in turn */",
		     model & GO ? "for i := t; i < chunks; i += threads { ... }   // small chunks in turn" :
		     model & RUST ? "for i in (t..chunks).step_by(threads) { ... }   // small chunks in turn" :
		     "for (i = t; i < chunks; i += threads) ...   /* small chunks in turn */",
		     "do i = t, chunks, threads   ! small chunks in turn");
}

void try_own_lines(struct rules *r, struct moca_finding *f, int apart)
{
	unsigned model = model_of(r, f);

	if (model & SCRIPT)
		return;
	if (model & JAVA) {
		finding_line(r, f->try_,
			     "@jdk.internal.vm.annotation.Contended   // of the field, with -XX:-RestrictContended; or LongAdder for AtomicLong");
		return;
	}
	if (model & FORTRAN)
		finding_line(r, f->try_,
			     "real(8) :: part(8, threads)   ! part(1, t) is thread t's: 64 bytes apart");
	else if (model & GO)
		finding_line(r, f->try_,
			     "type part struct { ...; _ cpu.CacheLinePad }   // golang.org/x/sys/cpu");
	else if (model & RUST)
		finding_line(r, f->try_,
			     "#[repr(align(64))] struct Part { ... }   // or crossbeam_utils::CachePadded");
	else if (model & CXX)
		finding_line(r, f->try_,
			     "struct alignas(64) part { ... };   // in std::vector from C++17 on");
	else
		finding_line(r, f->try_,
			     "struct part { ... } __attribute__((aligned(64)));   /* or alignas(64) */");
	if (apart && !(model & (CXX | FORTRAN | GO | RUST)))
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

/* What allocated it in C++ is not told: a vector, new, malloc. */
void try_free(struct rules *r, struct moca_finding *f, const char *name)
{
	unsigned model = model_of(r, f);

	if (model & FORTRAN)
		finding_line(r, f->try_, "deallocate (%s)", name);
	else if (model & GO)
		finding_line(r, f->try_,
			     "%s = nil   // and nothing else that refers to it; debug.FreeOSMemory() gives it back at once",
			     name);
	else if (model & RUST)
		finding_line(r, f->try_, "drop(%s);", name);
	else if (model & CXX)
		finding_line(r, f->try_,
			     "%s.clear(); %s.shrink_to_fit();   // or delete, reset(), free: as it was allocated",
			     name, name);
	else if (!(model & (JAVA | SCRIPT)))
		finding_line(r, f->try_, "free(%s);", name);
}

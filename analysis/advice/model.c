// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In which language a program is written and how it has threads, so that advice
 * is code of that kind: by the libraries that are mapped, the name of the
 * program, and the name of the source file that allocates.
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
	SCRIPT = 64, /* an interpreter's: its memory is nobody's to place */
	PLAIN_C = 128,
	GO = 256,
	RUST = 512,
};

#define LANGUAGES                                                              \
	((unsigned)(CXX | FORTRAN | JAVA | SCRIPT | PLAIN_C | GO | RUST))

static unsigned look(struct rules *r)
{
	/* By the begin of the file's name. */
	static const struct {
		const char *name;
		unsigned is;
	} libraries[] = {
		{ "/libgomp.so", OPENMP },  { "/libomp.so", OPENMP },
		{ "/libiomp5.so", OPENMP }, { "/libstdc++.so", CXX },
		{ "/libc++.so", CXX },	    { "/libgfortran.so", FORTRAN },
		{ "/libflang", FORTRAN },   { "/libtbb.so", TBB },
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
		for (k = 0; base && k < sizeof(libraries) / sizeof(*libraries);
		     k++)
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

/* JAVA or SCRIPT, where a program of that name runs what was written; GO; or 0.
 */
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

	language = language_of(o->alloc && o->alloc->file ? o->alloc->file
							  : f->file);
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
	       (module &&
		(strstr(module, "/libjvm.so") || runtime_of(r, module)));
}

/* The columns of the table below. */
enum language {
	IN_C,
	IN_CXX,
	IN_JAVA,
	IN_GO,
	IN_RUST,
	IN_FORTRAN,
	IN_SCRIPT,
	LANGUAGE_COUNT,
};

/* An interpreter's memory is not C++, whatever libraries it uses. */
static enum language spoken(unsigned model)
{
	return model & SCRIPT	 ? IN_SCRIPT
	       : model & JAVA	 ? IN_JAVA
	       : model & FORTRAN ? IN_FORTRAN
	       : model & GO	 ? IN_GO
	       : model & RUST	 ? IN_RUST
	       : model & CXX	 ? IN_CXX
				 : IN_C;
}

enum rule {
	BIND,
	INIT,
	READ,
	SCHEDULE,
	EQUAL_WORK,
	SMALL_CHUNKS,
	OWN_LINES,
	APART,
	SUM,
	FREE,
};

/* A line of code each; ~ is the name of what it is for. None: nothing said. */
static const struct {
	const char *in[LANGUAGE_COUNT];
	const char *openmp, *openmp_fortran, *tbb; /* in its place */
} lines[] = {
	[BIND] = {
		.in[IN_C] = "pthread_setaffinity_np(thread, ...)   /* or taskset, numactl: a thread stays on its node */",
		.in[IN_CXX] = "pthread_setaffinity_np(thread.native_handle(), ...);   // or taskset, numactl: a thread stays on its node",
		.in[IN_JAVA] = "java -XX:+UseNUMA -XX:+UseParallelGC ...   # new objects lie on the node of the thread that makes them",
		.in[IN_GO] = "runtime.LockOSThread(); unix.SchedSetaffinity(0, &cpus)   // golang.org/x/sys/unix: a goroutine stays on its node",
		.in[IN_RUST] = "core_affinity::set_for_current(core);   // or taskset, numactl: a thread stays on its node",
		.openmp = "OMP_PROC_BIND=spread OMP_PLACES=cores ./program",
		.openmp_fortran = "OMP_PROC_BIND=spread OMP_PLACES=cores ./program",
	},
	[INIT] = {
		.in[IN_C ... IN_CXX] = "/* in each thread, before the work, in place of the loop that first fills ~: */ for (i = first[t]; i < first[t + 1]; i++) ...",
		.in[IN_GO] = "for i := first[t]; i < first[t+1]; i++ { ... }   // in each goroutine t, before the work, in place of the loop that first fills ~",
		.in[IN_RUST] = "for i in first[t]..first[t + 1] { ... }   // in each thread t, before the work, in place of the loop that first fills ~",
		.in[IN_FORTRAN] = "do i = first(t), first(t + 1) - 1   ! in each thread t, in place of the loop that first fills ~",
		.openmp = "#pragma omp parallel for schedule(static)   /* on the loop that first fills ~ */",
		.openmp_fortran = "!$omp parallel do schedule(static)   ! on the loop that first fills ~",
		.tbb = "tbb::parallel_for(range, body, tbb::static_partitioner());   // on the loop that first fills ~, and on those that work",
	},
	[READ] = {
		.in[IN_C ... IN_CXX] = "pread(fd, ~ + first[t], first[t + 1] - first[t], first[t])   /* in each thread t, in place of the call that reads all of it */",
	},
	[SCHEDULE] = {
		.in[IN_C ... IN_RUST] = "/* the same bounds for each thread in each round, of equal work: */",
		.in[IN_FORTRAN] = "! the same bounds for each thread in each round, of equal work:",
		.openmp = "#pragma omp parallel for schedule(static)   /* in place of dynamic; or bounds of equal work: */",
		.openmp_fortran = "!$omp parallel do schedule(static)   ! in place of dynamic; or bounds of equal work:",
	},
	[EQUAL_WORK] = {
		.in[IN_C ... IN_RUST] = "first[t] = the first part that begins at or behind total_work * t / threads",
		.in[IN_FORTRAN] = "first(t) = the first part that begins at or behind total_work * t / threads",
	},
	[SMALL_CHUNKS] = {
		.in[IN_C ... IN_JAVA] = "for (i = t; i < chunks; i += threads) ...   /* small chunks in turn */",
		.in[IN_GO] = "for i := t; i < chunks; i += threads { ... }   // small chunks in turn",
		.in[IN_RUST] = "for i in (t..chunks).step_by(threads) { ... }   // small chunks in turn",
		.in[IN_FORTRAN] = "do i = t, chunks, threads   ! small chunks in turn",
		.openmp = "#pragma omp parallel for schedule(static, chunk)   /* small chunks in turn */",
		.openmp_fortran = "!$omp parallel do schedule(static, chunk)   ! small chunks in turn",
	},
	[OWN_LINES] = {
		.in[IN_C] = "struct part { ... } __attribute__((aligned(64)));   /* or alignas(64) */",
		.in[IN_CXX] = "struct alignas(64) part { ... };   // in std::vector from C++17 on",
		.in[IN_JAVA] = "@jdk.internal.vm.annotation.Contended   // of the field, with -XX:-RestrictContended; or LongAdder for AtomicLong",
		.in[IN_GO] = "type part struct { ...; _ cpu.CacheLinePad }   // golang.org/x/sys/cpu",
		.in[IN_RUST] = "#[repr(align(64))] struct Part { ... }   // or crossbeam_utils::CachePadded",
		.in[IN_FORTRAN] = "real(8) :: part(8, threads)   ! part(1, t) is thread t's: 64 bytes apart",
	},
	[APART] = {
		.in[IN_C] = "aligned_alloc(64, size)   /* for each thread's part */",
	},
	[SUM] = {
		.in[IN_C ... IN_CXX] = "sum += part;   /* a local variable, in the loop; then once, below the lock: */",
		.in[IN_GO ... IN_FORTRAN] = "sum += part;   /* a local variable, in the loop; then once, below the lock: */",
		.openmp = "#pragma omp parallel for reduction(+:sum)",
		.openmp_fortran = "!$omp parallel do reduction(+:sum)",
	},
	/* What allocated it in C++ is not told: a vector, new, malloc. */
	[FREE] = {
		.in[IN_C] = "free(~);",
		.in[IN_CXX] = "~.clear(); ~.shrink_to_fit();   // or delete, reset(), free: as it was allocated",
		.in[IN_GO] = "~ = nil   // and nothing else that refers to it; debug.FreeOSMemory() gives it back at once",
		.in[IN_RUST] = "drop(~);",
		.in[IN_FORTRAN] = "deallocate (~)",
	},
};

static void try_line(struct rules *r, struct moca_finding *f, enum rule rule,
		     const char *name, const char *where)
{
	unsigned model = model_of(r, f);
	enum language language = spoken(model);
	const char *text = lines[rule].in[language], *own = NULL, *rest;
	size_t a, b;

	if (model & OPENMP)
		own = language == IN_FORTRAN ? lines[rule].openmp_fortran
					     : lines[rule].openmp;
	if (!own && model & TBB)
		own = lines[rule].tbb;
	/* Libraries that these use may be bound; nobody writes pragmas for
	 * them. */
	if (own &&
	    (rule == BIND || (language != IN_SCRIPT && language != IN_JAVA)))
		text = own;
	if (!text)
		return;
	a = strcspn(text, "~");
	rest = text + a + (text[a] != 0);
	b = strcspn(rest, "~");
	finding_line(r, f->try_, "%.*s%s%s%.*s%s%s", (int)a, text,
		     text[a] ? name : "", text[a] ? where : "", (int)b, rest,
		     rest[b] ? name : "", rest + b + (rest[b] != 0));
}

void try_note(struct rules *r, struct moca_finding *f, const char *text)
{
	enum language language = spoken(model_of(r, f));

	if (language == IN_FORTRAN)
		finding_line(r, f->try_, "! %s", text);
	else if (language != IN_SCRIPT)
		finding_line(r, f->try_, "/* %s */", text);
}

/* Threads stay on their nodes. */
static void try_bind(struct rules *r, struct moca_finding *f)
{
	try_line(r, f, BIND, "", "");
}

void try_parallel_init(struct rules *r, struct moca_finding *f,
		       const char *name, const char *where)
{
	try_line(r, f, INIT, name, where);
	try_bind(r, f);
}

void try_parallel_read(struct rules *r, struct moca_finding *f)
{
	try_line(r, f, READ, name_in_code(r, f->object), "");
	try_bind(r, f);
}

void try_static_schedule(struct rules *r, struct moca_finding *f)
{
	try_line(r, f, SCHEDULE, "", "");
}

void try_equal_work(struct rules *r, struct moca_finding *f)
{
	try_line(r, f, EQUAL_WORK, "", "");
}

void try_small_chunks(struct rules *r, struct moca_finding *f)
{
	try_line(r, f, SMALL_CHUNKS, "", "");
}

void try_own_lines(struct rules *r, struct moca_finding *f, int apart)
{
	try_line(r, f, OWN_LINES, "", "");
	try_line(r, f, apart ? APART : SUM, "", "");
}

void try_free(struct rules *r, struct moca_finding *f, const char *name)
{
	try_line(r, f, FREE, name, "");
}

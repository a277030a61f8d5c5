// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of heap objects: tests/symbols/sites.* allocate in all ways and say in
 * comments, by the size, what is to be found. Their stacks are taken as they
 * run, by tests/symbols/stack.c.
 */
#include <ctype.h>
#include <sys/stat.h>

#include "tests/unit/symbol-util.h"

#define SIZE 100000
#define SITES 40
#define FRAMES 20

struct expected {
	char name[100];	/* "a|c": one of these; "main()": of no variable */
	char type[100];	/* "?": any; "-": none; else the element or all */
	int seen;
};

static struct expected expected[SITES];

/* Comments: NUMBER, name, type. */
static int read_expected(const char *path)
{
	char line[400], *p;
	FILE *f = fopen(path, "r");
	unsigned number;

	memset(expected, 0, sizeof(expected));
	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		for (p = line; (p = strpbrk(p, "*!")); p++) {
			char name[100], type[100], *end;

			if (p[1] != ' ' || !isdigit((unsigned char)p[2]) ||
			    sscanf(p + 1, " %u %99s %99[^\n]", &number,
				   name, type) != 3 || number >= SITES)
				continue;
			end = strstr(type, " */");
			if (end)
				*end = '\0';
			strcpy(expected[number].name, name);
			strcpy(expected[number].type, type);
		}
	}
	fclose(f);
	return 0;
}

static int one_of(const char *name, const char *list)
{
	size_t n = strlen(name);

	for (const char *p = list; p; p = strchr(p, '|')) {
		p += *p == '|';
		if (!strncmp(p, name, n) && (!p[n] || p[n] == '|'))
			return 1;
	}
	return 0;
}

static int right_type(const char *type, const struct moca_shape *s,
		      uint64_t size)
{
	char whole[200], inner[200];
	int n;

	if (!strcmp(type, "?"))
		return 1;
	if (!s || !strcmp(type, "-"))
		return !s && !strcmp(type, "-");
	moca_shape_type(s, size, whole, sizeof(whole));
	n = snprintf(inner, sizeof(inner), "%s", s->element);
	for (unsigned i = 1; i < s->rank; i++)
		n += snprintf(inner + n, sizeof(inner) - (size_t)n, "[%d]",
			      (int)s->count[i]);
	return !strcmp(type, inner) || !strcmp(type, whole);
}

/* A line of the file "stacks". */
static int read_stack(struct moca_symbols *s, char *line,
		      struct moca_site_frame *frames, size_t *n, uint64_t *size)
{
	char *save, *p = strtok_r(line, " \n", &save), *at;

	*n = 0;
	*size = p ? strtoull(p, NULL, 10) : 0;
	while ((p = strtok_r(NULL, " \n", &save)) && *n < FRAMES) {
		at = strtok_r(NULL, " \n", &save);
		if (!at)
			return -1;
		frames[*n].module = moca_symbols_module(s, p);
		frames[(*n)++].vaddr = strtoull(at, NULL, 16);
	}
	return *size ? 0 : -1;
}

enum level {
	VARIABLES,	/* by the source */
	LINES,		/* "many() sites.c:80" */
	FUNCTIONS,	/* "many+0x1f" */
	OFFSETS,	/* "p+0x11f0" */
};

static int check_site(const struct moca_site *site, const struct expected *e,
		      uint64_t size, enum level level)
{
	const char *name = site->name ? site->name : "NULL";
	size_t len = strlen(e->name);
	int variable = level == VARIABLES &&
		       strcmp(e->name + (len > 2 ? len - 2 : 0), "()") != 0;
	char type[100];

	moca_shape_type(site->shape, size, type, sizeof(type));
	snprintf(why, sizeof(why), "%s: %.60s, %.30s, in %.40s:%u", e->name,
		 name, type, site->file ? site->file : "-", site->line);
	if (site->is_variable != variable)
		return 1;
	if (variable)
		return !one_of(name, e->name) ||
		       !right_type(e->type, site->shape, size);
	switch (level) {
	case VARIABLES:
		return strncmp(name, e->name, strlen(e->name)) != 0;
	case LINES:
		return !strstr(name, " sites.") || !site->function ||
		       strncmp(name, site->function, 4) != 0;
	case FUNCTIONS:
		return !strstr(name, "+0x") || !site->function ||
		       strncmp(name, "p+", 2) == 0;
	default:
		return strncmp(name, "p+0x", 4) != 0 && !strstr(name, ".so");
	}
}

/* Sites that called a wrapper, of all variants. */
static unsigned wrapped;

/* The functions that a call went through have code, in the site's file. */
static int check_through(struct moca_symbols *s, const struct moca_site *site)
{
	struct moca_codes codes = { 0 };
	struct moca_module *m;
	char name[300];

	if (!site->module)
		return 0;
	CHECK(site->frame || (site->through && !*site->through));
	if (!site->through || !*site->through)
		return 0;
	snprintf(name, sizeof(name), "%.*s",
		 (int)strcspn(site->through, ","), site->through);
	m = moca_symbols_module(s, site->module);
	CHECK(m && moca_module_function_code(m, name, &codes) == 0 &&
	      codes.count);
	free(codes.items);
	wrapped++;
	return 0;
}

static int t_through(void)
{
	CHECK(wrapped);
	return 0;
}

static int check_stacks(enum level level, unsigned least)
{
	struct moca_site_frame frames[FRAMES];
	struct moca_symbols *s;
	struct moca_site site;
	char line[10000];
	unsigned seen = 0, number;
	uint64_t size;
	size_t n;
	FILE *f = fopen(in_dir("stacks"), "r");
	int rc = 0;

	CHECK(f && moca_symbols_open(&s) == 0);
	while (!rc && fgets(line, sizeof(line), f)) {
		if (read_stack(s, line, frames, &n, &size) < 0)
			continue;
		number = (unsigned)((size - SIZE) / 8);
		if (size < SIZE || number >= SITES ||
		    !expected[number].name[0])
			continue;
		CHECK(moca_symbols_site(s, frames, n, &site) == 0);
		rc = check_through(s, &site);
		if (!rc)
			rc = check_site(&site, &expected[number], size, level);
		seen += !expected[number].seen++;
	}
	fclose(f);
	moca_symbols_close(s);
	if (!rc && seen < least) {
		snprintf(why, sizeof(why), "only %u sites", seen);
		return 1;
	}
	return rc;
}

#define RUN								\
	"{ [ -f stack.so ] || gcc -g -O1 -shared -fPIC $S/stack.c -o "	\
	"stack.so; } && rm -f stacks && { STACKS=stacks PROGRAM=$PWD/p "\
	"LD_PRELOAD=$PWD/stack.so ./p || [ -s stacks ]; }"

struct variant {
	const char *name;
	const char *source;
	const char *build;
	const char *after;	/* what happens to it before it is looked at */
	enum level level;
	unsigned least;
};

static const struct variant variants[] = {
	{ "C", "sites.c", "gcc -g sites.c -o p", "true", VARIABLES, 25 },
	{ "C at -O2", "sites.c", "gcc -g -O2 sites.c -o p", "true",
	  VARIABLES, 23 },
	{ "C at -O3, DWARF 4, fixed address", "sites.c",
	  "gcc -gdwarf-4 -O3 -no-pie -fno-pie sites.c -o p", "true",
	  VARIABLES, 23 },
	{ "C, no columns", "sites.c",
	  "gcc -g -O2 -gno-column-info sites.c -o p", "true", VARIABLES, 23 },
	{ "C, link-time optimised", "sites.c",
	  "gcc -g -O2 -flto sites.c -o p", "true", VARIABLES, 23 },
	{ "C, stripped with a debug file", "sites.c",
	  "gcc -g -O1 sites.c -o p && objcopy --only-keep-debug p p.debug && "
	  "strip p && objcopy --add-gnu-debuglink=p.debug p", "true",
	  VARIABLES, 24 },
	{ "C, built elsewhere by a relative name", "sites.c",
	  "mkdir -p x && cd x && gcc -g ../sites.c -o ../p && cd ..", "true",
	  VARIABLES, 25 },
	{ "C, a newer source of the same lines", "sites.c",
	  "gcc -g sites.c -o p", "touch -d '+1 hour' sites.c", VARIABLES, 25 },
	{ "C, a newer source of other lines", "sites.c",
	  "gcc -g sites.c -o p", "sed -i '1i // new' sites.c && "
	  "touch -d '+1 hour' sites.c", LINES, 25 },
	{ "C, no source", "sites.c", "gcc -g sites.c -o p", "rm sites.c",
	  LINES, 25 },
	{ "C, the source is a folder", "sites.c", "gcc -g sites.c -o p",
	  "rm sites.c && mkdir sites.c", LINES, 25 },
	{ "C, the source is a FIFO", "sites.c", "gcc -g sites.c -o p",
	  "rm sites.c && mkfifo sites.c", LINES, 25 },
	{ "C, the source is huge", "sites.c", "gcc -g sites.c -o p",
	  "truncate -s 1T sites.c && touch -d -1hour sites.c", LINES, 25 },
	{ "C, the source is binary", "sites.c", "gcc -g sites.c -o p",
	  "cp p sites.c && touch -d -1hour sites.c", LINES, 25 },
	{ "C, without -g", "sites.c", "gcc -O1 sites.c -o p", "true",
	  FUNCTIONS, 24 },
	{ "C, stripped", "sites.c", "gcc -g sites.c -o p", "strip p",
	  OFFSETS, 25 },
	{ "C++", "sites.cc", "g++ -g -std=c++17 sites.cc -o p", "true",
	  VARIABLES, 20 },
	{ "C++ at -O2", "sites.cc", "g++ -g -O2 -std=c++17 sites.cc -o p",
	  "true", VARIABLES, 20 },
	{ "C++ at -O3, DWARF 4", "sites.cc",
	  "g++ -gdwarf-4 -O3 -std=c++17 sites.cc -o p", "true",
	  VARIABLES, 20 },
	{ "Fortran", "sites.f90", "gfortran -g sites.f90 -o p", "true",
	  VARIABLES, 8 },
	{ "Fortran at -O2", "sites.f90", "gfortran -g -O2 sites.f90 -o p",
	  "true", VARIABLES, 8 },
	{ "Fortran at -O3, DWARF 4", "sites.f90",
	  "gfortran -gdwarf-4 -O3 sites.f90 -o p", "true", VARIABLES, 8 },
	{ "Fortran in columns", "sites77.f", "gfortran -g sites77.f -o p",
	  "true", VARIABLES, 4 },
};

static const struct variant *current;

static int t_variant(void)
{
	SHELL("rm -rf sites.* p.debug x && cp $S/%s . && touch -d -2hours %s",
	      current->source, current->source);
	if (read_expected(in_dir(current->source)))
		return 1;
	SHELL("%s", current->build);
	SHELL(RUN);
	SHELL("%s", current->after);
	return check_stacks(current->level, current->least);
}

/*
 * Optimised, what is zeroed next comes from calloc, the other from malloc: nothing
 * says which is whose. It is one of them, not the same one twice.
 */
static int t_either(void)
{
	struct moca_site_frame frames[FRAMES];
	unsigned u = 0, v = 0, either = 0;
	struct moca_symbols *s;
	struct moca_site site;
	char line[4096];
	uint64_t size;
	size_t n;
	FILE *f;

	SHELL("rm -f sites.*; printf 'program heat\nreal(8), allocatable :: "
	      "u(:,:), v(:,:)\nallocate(u(700,700), v(700,700))\nu = 0; v = "
	      "1\nprint *, sum(u) + sum(v)\ndeallocate(u, v)\nend program\n' "
	      ">sites.f90 && gfortran -g -O2 sites.f90 -o p");
	SHELL(RUN);
	f = fopen(in_dir("stacks"), "r");
	CHECK(f && moca_symbols_open(&s) == 0);
	while (fgets(line, sizeof(line), f)) {
		if (read_stack(s, line, frames, &n, &size) < 0 ||
		    size != 700 * 700 * 8)
			continue;
		CHECK(moca_symbols_site(s, frames, n, &site) == 0);
		CHECK(site.name && site.is_variable);
		u += !strcmp(site.name, "u");
		v += !strcmp(site.name, "v");
		either += !strcmp(site.name, "u or v");
	}
	fclose(f);
	moca_symbols_close(s);
	CHECK(either == 2 || (u == 1 && v == 1));
	return 0;
}

/* A stack of nothing, of unknown memory, of the C library alone. */
static int t_unknown(void)
{
	struct moca_site_frame frames[2] = { { NULL, 0x1234 },
					     { NULL, 0x5678 } };
	struct moca_symbols *s;
	struct moca_site site;

	CHECK(moca_symbols_open(&s) == 0);
	CHECK(moca_symbols_site(s, frames, 0, &site) == 0 && !site.name);
	CHECK(moca_symbols_site(s, frames, 2, &site) == 0 && !site.name &&
	      !site.is_variable && !site.shape);
	frames[1].module = moca_symbols_module(s, "/nonexistent/libfoo.so");
	CHECK(moca_symbols_site(s, frames, 2, &site) == 0);
	CHECK(site.name && !strcmp(site.name, "libfoo.so+0x5678") &&
	      site.frame == 1 && !site.function);
	frames[1].module = moca_symbols_module(s, "/lib/libc.so.6");
	CHECK(moca_symbols_site(s, frames, 2, &site) == 0);
	CHECK(site.name && !site.is_variable);
	moca_symbols_close(s);
	return 0;
}

int main(void)
{
	char name[100];

	dir_new();
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		current = &variants[i];
		snprintf(name, sizeof(name), "sites: %s", current->name);
		run(name, t_variant);
	}
	run("sites: behind wrappers", t_through);
	run("sites: one of two", t_either);
	run("sites: unknown frames", t_unknown);
	dir_remove();
	return failures != 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions and lines, beside those that binutils' addr2line finds. */
#include <elf.h>

#include "tests/unit/symbol-util.h"

#define INLINED 32

struct compared {
	uint64_t addresses, frames;
	uint64_t functions;	/* called otherwise */
	uint64_t lines;		/* in another line */
	uint64_t files;		/* same line, of another file */
};

/* Every step-th byte of all functions, into the file "addresses". */
static int write_addresses(const char *path, unsigned step)
{
	char line[800], type[32], index[32];
	unsigned long value, size, n = 0;
	FILE *in, *out;

	SHELL("readelf -sW %s >symbols", path);
	in = fopen(in_dir("symbols"), "r");
	out = fopen(in_dir("addresses"), "w");
	CHECK(in && out);
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, " %*[0-9]: %lx %li %31s %*s %*s %31s", &value,
			   (long *)&size, type, index) != 4 ||
		    strcmp(type, "FUNC") != 0 || !strcmp(index, "UND"))
			continue;
		for (unsigned long i = n % step; i < size; i += step)
			fprintf(out, "%lx\n", value + i);
		n += size;
	}
	fclose(in);
	CHECK(fclose(out) == 0);
	SHELL("sort -u addresses -o addresses");
	return 0;
}

/* "function" and "file:line (discriminator n)" of addr2line. */
static int their_frame(FILE *f, char *function, char *file, unsigned *line)
{
	char *colon;
	long at = ftell(f);

	if (!fgets(function, 4000, f))
		return 0;
	if (!strncmp(function, "0x", 2)) {
		fseek(f, at, SEEK_SET);
		return 0;
	}
	function[strcspn(function, "\n")] = '\0';
	if (!fgets(file, 4000, f))
		return 0;
	colon = strrchr(file, ':');
	*line = colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
	if (colon)
		*colon = '\0';
	return 1;
}

static void compare(const struct moca_location *our, const char *function,
		    const char *file, unsigned line, struct compared *c)
{
	const char *a, *b;

	c->frames++;
	c->functions += !our->function || strcmp(our->function, function) != 0;
	if (our->line != line) {
		c->lines++;
		return;
	}
	if (!line)
		return;
	/* By the last part: ours are without "dir/../". */
	a = our->file ? strrchr(our->file, '/') : NULL;
	b = strrchr(file, '/');
	c->files += strcmp(a ? a : "", b ? b : "") != 0;
}

static int run_compare(const char *path, unsigned step, struct compared *c)
{
	struct moca_location at[INLINED];
	char function[4000], file[4000], address[64];
	struct moca_symbols *s;
	struct moca_module *m;
	unsigned line;
	size_t n, i;
	FILE *f;

	memset(c, 0, sizeof(*c));
	if (write_addresses(path, step))
		return 1;
	SHELL("addr2line -a -i -f -C -e %s <addresses >theirs", path);
	CHECK(moca_symbols_open(&s) == 0);
	m = moca_symbols_module(s, path);
	f = fopen(in_dir("theirs"), "r");
	CHECK(m && f && moca_module_has_debug(m));
	while (fgets(address, sizeof(address), f)) {
		c->addresses++;
		n = moca_module_locate(m, strtoull(address, NULL, 16), at,
				       INLINED);
		for (i = 0; their_frame(f, function, file, &line); i++) {
			if (i < n) {
				compare(&at[i], function, file, line, c);
			} else {
				c->frames++;
				c->functions++;
			}
		}
		if (i < n)
			c->functions += n - i;
	}
	fclose(f);
	moca_symbols_close(s);
	return 0;
}

#define EXPECT(cond)							\
	do {								\
		if (!(cond)) {						\
			snprintf(why, sizeof(why), "%s: of %d addresses, "\
				 "%d frames: %d functions, %d lines, %d "\
				 "files differ", #cond, (int)c.addresses,\
				 (int)c.frames, (int)c.functions,	\
				 (int)c.lines, (int)c.files);		\
			return 1;					\
		}							\
	} while (0)

/* Optimised C, of many files: the tool itself. */
static int t_moca(void)
{
	const char *build = getenv("BUILD");
	struct compared c;
	char path[4096];

	snprintf(path, sizeof(path), "%s/moca", build ? build : "build");
	if (access(path, R_OK) != 0) {
		snprintf(why, sizeof(why), "no %.200s", path);
		return 2;
	}
	if (!realpath(path, command) ||
	    run_compare(strcpy(path, command), 13, &c))
		return 1;
	EXPECT(c.addresses > 5000 && c.frames > c.addresses * 11 / 10);
	EXPECT(c.functions * 1000 < c.frames && c.lines * 1000 < c.frames);
	/*
	 * addr2line calls the file of a function that came from a header after
	 * its unit, though that has fewer lines.
	 */
	EXPECT(c.files * 50 < c.frames);
	return 0;
}

static int compare_built(const char *build, unsigned least,
			 unsigned functions_in, unsigned files_in)
{
	struct compared c;

	SHELL("%s", build);
	if (run_compare(in_dir("p"), 1, &c))
		return 1;
	EXPECT(c.addresses >= least && c.lines == 0);
	EXPECT(c.functions * functions_in <= c.frames);
	EXPECT(c.files * files_in <= c.frames);
	return 0;
}

static int t_c(void)
{
	return compare_built("gcc -gdwarf-4 -O3 $S/sites.c -o p", 500, 100,
			     100);
}

/* addr2line says "main" of what is inlined there and has internal linkage. */
static int t_cxx(void)
{
	return compare_built("g++ -g -O2 -std=c++17 $S/sites.cc -o p", 2000,
			     50, 20);
}

static int t_separate(void)
{
	return compare_built("gcc -g -O2 $S/sites.c -o p && "
			     "objcopy --only-keep-debug p p.debug && "
			     "strip --strip-debug p && "
			     "objcopy --add-gnu-debuglink=p.debug p", 500, 100,
			     100);
}

/* What names there are without DWARF, and how far from a function's begin. */
static int t_symbols(void)
{
	struct moca_location at[2];
	struct moca_symbols *s;
	struct moca_module *m;
	unsigned long value;
	FILE *f;

	SHELL("gfortran -O2 $S/sites.f90 -o p && "
	      "nm p | sed -n 's/ . __fields_MOD_setup$//p' >value");
	f = fopen(in_dir("value"), "r");
	CHECK(f && fscanf(f, "%lx", &value) == 1);
	fclose(f);
	CHECK(moca_symbols_open(&s) == 0);
	m = moca_symbols_module(s, in_dir("p"));
	CHECK(m && !moca_module_has_debug(m));
	CHECK(moca_module_locate(m, value + 9, at, 2) == 1);
	CHECK(!strcmp(at[0].function, "fields::setup") && !at[0].file &&
	      at[0].line == 0 && at[0].offset == 9);
	CHECK(moca_module_locate(m, 0x10, at, 2) == 0);
	CHECK(moca_module_locate(m, UINT64_MAX, at, 2) == 0);
	CHECK(!strcmp(moca_module_section(m, value), ".text"));
	moca_symbols_close(s);
	return 0;
}

/* The offset is the outermost function's, and the array may be short. */
static int t_offset(void)
{
	struct moca_location at[INLINED], one;
	struct moca_symbols *s;
	struct moca_module *m;
	unsigned long value;
	size_t n = 0, i;
	FILE *f;

	SHELL("gcc -g -O2 $S/sites.c -o p && "
	      "nm p | sed -n 's/ T main$//p' >value");
	f = fopen(in_dir("value"), "r");
	CHECK(f && fscanf(f, "%lx", &value) == 1);
	fclose(f);
	CHECK(moca_symbols_open(&s) == 0);
	m = moca_symbols_module(s, in_dir("p"));
	CHECK(m);
	for (i = 0; i < 2000 && n < 2; i++)	/* to something inlined */
		n = moca_module_locate(m, value + i, at, INLINED);
	CHECK(n == 2 && !strcmp(at[1].function, "main"));
	CHECK(at[0].offset == i - 1 && at[1].offset == i - 1);
	CHECK(moca_module_locate(m, value + i - 1, &one, 1) == 1);
	CHECK(!strcmp(one.function, at[0].function) && one.offset == i - 1);
	moca_symbols_close(s);
	return 0;
}

/* 10,000 addresses within two seconds. */
static int t_speed(void)
{
	const char *build = getenv("BUILD");
	struct moca_location at[INLINED];
	struct moca_symbols *s;
	struct moca_module *m;
	uint64_t low, high;
	char path[512];
	double begin;
	size_t found = 0;

	snprintf(path, sizeof(path), "%s/moca", build ? build : "build");
	if (access(path, R_OK) != 0) {
		snprintf(why, sizeof(why), "no %.200s", path);
		return 2;
	}
	CHECK(moca_symbols_open(&s) == 0);
	m = moca_symbols_module(s, path);
	CHECK(m && moca_module_span(m, &low, &high) == 0);
	begin = now();
	for (uint64_t i = 0; i < 10000; i++)
		found += moca_module_locate(m, low + (high - low) * i / 10000,
					    at, INLINED) > 0;
	begin = now() - begin;
	printf("# 10,000 addresses in %.3f s, %zu of them in functions\n",
	       begin, found);
	moca_symbols_close(s);
	CHECK(found > 1000 && begin < 2);
	return 0;
}

int main(void)
{
	dir_new();
	run("locate: moca, as addr2line does", t_moca);
	run("locate: C at -O3, DWARF 4", t_c);
	run("locate: C++", t_cxx);
	run("locate: a separate debug file", t_separate);
	run("locate: symbols only", t_symbols);
	run("locate: offsets, short arrays", t_offset);
	run("locate: speed", t_speed);
	dir_remove();
	return failures != 0;
}

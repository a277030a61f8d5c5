// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Broken ELF files: cut short at some hundred places, and with random bytes
 * changed. Each is read in a process of its own, which must end by itself, in
 * time and within its memory. SEED=n repeats a run.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/unit/symbol-util.h"

#define SECONDS 20
#ifndef MEMORY
#define MEMORY (2ul << 30)
#endif

static unsigned step = 37;	/* bytes between places asked for */

/* All that there is to ask. 0 if the answers hold together. */
static int ask(const char *path)
{
	const struct moca_variable *v;
	struct moca_site_frame frame;
	struct moca_location at[16];
	struct moca_symbols *s;
	struct moca_module *m;
	struct moca_site site;
	uint64_t low = 0, high = 0, a, b;
	char buf[200];
	size_t n;

	if (moca_symbols_open(&s) < 0)
		return 1;
	m = moca_symbols_module(s, path);
	if (!m)
		return 1;
	n = moca_module_variables(m, &v);
	for (size_t i = 0; i < n; i++) {
		if (!v[i].name || !v[i].size ||
		    (i && v[i].tls == v[i - 1].tls &&
		     v[i].vaddr - v[i - 1].vaddr < v[i - 1].size))
			return 1;
		moca_shape_type(v[i].shape, v[i].size, buf, sizeof(buf));
		moca_shape_range(v[i].shape, v[i].name, v[i].size,
				 v[i].size / 3, v[i].size / 2, buf,
				 sizeof(buf));
		if (v[i].file && strlen(v[i].file) > 1 << 20)
			return 1;
	}
	if (moca_module_span(m, &low, &high) == 0 && low >= high)
		return 1;
	if (high - low > 1 << 20)
		high = low + (1 << 20);
	moca_module_tls(m, &a, &b);
	for (uint64_t x = low; x < high; x += step) {
		n = moca_module_locate(m, x, at, 16);
		if (n > 16)
			return 1;
		for (size_t i = 0; i < n; i++)
			if (!at[i].function && !at[i].file)
				return 1;
		moca_module_section(m, x);
		moca_module_vaddr(m, x, &a);
		frame.module = m;
		frame.vaddr = x;
		if (x % 3 == 0 && moca_symbols_site(s, &frame, 1, &site) < 0)
			return 1;
	}
	moca_symbols_close(s);
	return 0;
}

/* 0, or 1 with why. */
static int survive(const char *path, const char *what, uint64_t number)
{
	struct rlimit cpu = { SECONDS, SECONDS + 1 };
	struct rlimit memory = { MEMORY, MEMORY };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CPU, &cpu);
		setrlimit(RLIMIT_AS, &memory);
		memory.rlim_cur = memory.rlim_max = 0;
		setrlimit(RLIMIT_CORE, &memory);
		_exit(ask(path));
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "%s %lu: died of signal %d", what,
			 (long)number, WTERMSIG(status));
	else
		snprintf(why, sizeof(why), "%s %lu: answers are wrong", what,
			 (long)number);
	return 1;
}

static void put(const char *name, const uint8_t *p, size_t len)
{
	int fd = openat(dirfd_, name, O_WRONLY | O_CREAT | O_TRUNC, 0700);

	if (fd < 0 || write(fd, p, len) != (ssize_t)len)
		abort();
	close(fd);
}

static int cut(void)
{
	size_t len;
	uint8_t *p = slurp("p", &len);
	int rc = 0;

	for (unsigned i = 0; !rc && i < 300; i++) {
		/* Its headers byte by byte, the rest in steps. */
		size_t n = i < 100 ? i : len * (i - 99) / 201;

		put("broken", p, n);
		rc = survive(in_dir("broken"), "length", n);
	}
	free(p);
	return rc;
}

static uint64_t seed(void)
{
	const char *s = getenv("SEED");

	return s ? strtoull(s, NULL, 10) : 1;
}

static int flips(unsigned rounds)
{
	size_t len, at;
	uint8_t *p = slurp("p", &len), *q = malloc(len);
	int rc = 0;

	CHECK(q);
	for (unsigned i = 0; !rc && i < rounds; i++) {
		rnd_state = 88172645463325252ull + seed() * 1000003 + i;
		for (int n = 0; n < 20; n++)
			rnd();
		memcpy(q, p, len);
		for (unsigned n = 1 + rnd() % 60; n--;) {
			at = rnd() % len;
			/* Often in the headers and the tables at the end. */
			if (rnd() % 16 == 0)
				at = rnd() % 1000;
			else if (rnd() % 8 == 0)
				at = len - 1 - rnd() % 3000;
			q[at] = rnd() % 4 ? (uint8_t)rnd() :
				(uint8_t)(q[at] ^ 1u << rnd() % 8);
		}
		put("broken", q, len);
		rc = survive(in_dir("broken"), "round", i);
	}
	free(p);
	free(q);
	return rc;
}

/* Only bytes of one section: its bounds and its table stay right. */
static int flips_in(const char *section, unsigned rounds)
{
	unsigned long offset = 0, size = 0;
	size_t len;
	uint8_t *p, *q;
	int rc = 0;
	FILE *f;

	SHELL("readelf -SW p | sed 's/^ *.[ 0-9]*. *//' | "
	      "awk '$1 == \"%s\" { print $4, $5 }' >section", section);
	f = fopen(in_dir("section"), "r");
	CHECK(f && fscanf(f, "%lx %lx", &offset, &size) == 2 && size);
	fclose(f);
	p = slurp("p", &len);
	q = malloc(len);
	CHECK(q && offset + size <= len);
	for (unsigned i = 0; !rc && i < rounds; i++) {
		rnd_state = 88172645463325252ull + seed() * 7919 + i;
		for (int n = 0; n < 20; n++)
			rnd();
		memcpy(q, p, len);
		for (unsigned n = 1 + rnd() % 20; n--;)
			q[offset + rnd() % size] = (uint8_t)rnd();
		put("broken", q, len);
		rc = survive(in_dir("broken"), section, i);
	}
	free(p);
	free(q);
	return rc;
}

/* A source with other text in it than it was compiled from. */
static int sources(const char *name, const char *compile)
{
	size_t len, at, n;
	uint8_t *p, *q;
	int rc = 0;

	SHELL("cp $S/%s . && %s %s -o p", name, compile, name);
	p = slurp(name, &len);
	q = malloc(2 * len);
	CHECK(q);
	for (unsigned i = 0; !rc && i < 150; i++) {
		rnd_state = 88172645463325252ull + seed() * 104729 + i;
		for (n = 0; n < 20; n++)
			rnd();
		memcpy(q, p, len);
		for (n = 1 + rnd() % 80; n--;) {
			static const char signs[] =
				"()[]{}<>=*&,;:'\"!\\/%?\n#R";

			at = rnd() % len;
			q[at] = rnd() % 4 ? (uint8_t)signs[rnd() %
					(sizeof(signs) - 1)] :
				(uint8_t)(1 + rnd() % 255);
		}
		/* Begin and end in the middle of something, at times. */
		at = rnd() % 3 ? 0 : rnd() % len;
		put(name, q + at, (len - at) - (rnd() % 3 ? 0 :
						rnd() % (len - at)));
		SHELL("touch -d -2hours %s", name);
		rc = survive(in_dir("p"), name, i);
	}
	free(p);
	free(q);
	return rc;
}

static int t_sources(void)
{
	step = 7;
	return sources("sites.c", "gcc -g") ||
	       sources("sites.cc", "g++ -g -std=c++17") ||
	       sources("sites.f90", "gfortran -g") ||
	       sources("sites77.f", "gfortran -g");
}

/* n times that text, between others, in a file of a minute ago. */
static void repeat(const char *name, const char *first, const char *text,
		   size_t n, const char *last)
{
	FILE *f = fopen(in_dir(name), "w");

	if (!f)
		abort();
	fputs(first, f);
	while (n--)
		fputs(text, f);
	fputs(last, f);
	fclose(f);
}

#define MANY(text) (15000000 / (sizeof(text) - 1))

/* Sources that are long to read for who looks twice. */
static int t_long_sources(void)
{
	static const struct {
		const char *name, *first, *text;
		size_t n;
		const char *last;
	} list[] = {
		{ "long.c", "", "R\"x ", MANY("R\"x "), "" },
		{ "long.c", "", "R\"(\n", MANY("R\"(\n"), "" },
		{ "long.c", "\n\n\n\n", "malloc((", MANY("malloc(("), "" },
		{ "long.c", "\n\n\n\n", "x(malloc(2)),", MANY("x(malloc(2)),"),
		  "" },
		{ "long.c", "\n\n\n\n char *u = malloc(100);\n", "return ",
		  MANY("return "), "" },
		{ "long.f", "", "c\n", MANY("c\n"), "" },
		{ "long.f", "", "      \n", MANY("      \n"), "" },
	};
	int rc = 0;

	step = 7;
	SHELL("printf '#include <stdlib.h>\\nvoid *f(void)\\n{\\n"
	      "void *u;\\n u = malloc(100); return u;\\n}\\n"
	      "int main(void)\\n{\\n void *v = f(); return !v;\\n}\\n' "
	      ">long.c && gcc -g long.c -o p && touch -d -2hours long.c && "
	      "printf '      program p\\n      real, allocatable :: u(:)\\n"
	      "      allocate(u(10000))\\n      print *,u(1)\\n      end\\n' "
	      ">long.f && gfortran -g long.f -o p2");
	for (size_t i = 0; !rc && i < sizeof(list) / sizeof(list[0]); i++) {
		repeat(list[i].name, list[i].first, list[i].text, list[i].n,
		       list[i].last);
		SHELL("touch -d -2hours %s", list[i].name);
		rc = survive(in_dir(list[i].name[5] == 'f' ? "p2" : "p"),
			     list[i].text, i);
	}
	return rc;
}

/* A name of some hundred bytes that stands for one of gigabytes. */
static int t_long_names(void)
{
	char name[1000] = "_Z1f1PIiiE", pack[1000] = "_Z1fIiEvDp1QI1PIiiE";
	int i;

	for (i = 0; i < 35; i++)
		snprintf(name + strlen(name), sizeof(name) - strlen(name),
			 "S_IS%c_S%c_E",
			 "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i],
			 "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
	for (i = 1; i < 34; i++)
		snprintf(pack + strlen(pack), sizeof(pack) - strlen(pack),
			 "S1_IS%c_S%c_E",
			 "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i + 1],
			 "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i + 1]);
	step = 1;
	SHELL("printf 'void g(void) __asm__(\"%sE\"); void g(void) { }\\n"
	      "void f(void) __asm__(\"%s\"); void f(void) { }\\n"
	      "int u[100] __asm__(\"%s1u\");\\n"
	      "int main(void) { f(); return u[7]; }\\n' >n.c && gcc n.c -o p",
	      pack, name, "_ZN1n");
	return survive(in_dir("p"), "names", 0);
}

/* Many functions, all with the same many ranges: the product of both. */
static int t_ranges(void)
{
	static const char text[] =
		"	.text\n	.globl main\n"
		"main:	xorl %eax,%eax\n	ret\n	.fill 20000,1,0x90\n"
		".Lend:\n	.section .debug_abbrev,\"\",@progbits\n"
		"	.byte 1,0x11,1,0x11,1,0x12,7,0,0\n"
		"	.byte 2,0x2e,0,0x55,0x17,3,8,0,0,0\n"
		"	.section .debug_info,\"\",@progbits\n"
		"	.long 9f-1f\n1:	.value 4\n	.long .debug_abbrev\n"
		"	.byte 8,1\n	.quad main\n	.quad .Lend-main\n"
		"	.rept 30000\n	.byte 2\n	.long .Lr\n"
		"	.asciz \"f\"\n	.endr\n	.byte 0\n9:\n"
		"	.section .debug_ranges,\"\",@progbits\n"
		".Lr:	.rept 30000\n	.quad 0,1\n	.endr\n	.quad 0,0\n"
		"	.section .note.GNU-stack,\"\",@progbits\n";
	struct rusage usage;

	repeat("r.s", text, "", 0, "");
	SHELL("gcc -no-pie r.s -o p");
	step = 1009;
	if (survive(in_dir("p"), "ranges", 0))
		return 1;
	/* The first of our children that takes much. */
	CHECK(!getrusage(RUSAGE_CHILDREN, &usage));
	CHECK(usage.ru_maxrss < 1 << 20);
	step = 37;
	return 0;
}

static const char *build;

static int t_sound(void)
{
	SHELL("%s", build);
	return survive(in_dir("p"), "sound file", 0);
}

static int t_cut(void)
{
	return cut();
}

static int t_flips(void)
{
	return flips(400);
}

static int t_dwarf(void)
{
	return flips_in(".debug_info", 250) || flips_in(".debug_abbrev", 150) ||
	       flips_in(".debug_line", 150) || flips_in(".symtab", 60) ||
	       flips_in(".strtab", 30);
}

int main(void)
{
	static const struct {
		const char *name, *build;
	} programs[] = {
		{ "C, DWARF 5", "gcc -g -O2 $S/sites.c -o p" },
		{ "C, DWARF 4", "gcc -gdwarf-4 -O1 $S/sites.c -o p" },
		{ "Fortran", "gfortran -g -O1 $S/sites.f90 -o p" },
	};
	char name[100];

	dir_new();
	run("damage: functions with ranges in common", t_ranges);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		build = programs[i].build;
		snprintf(name, sizeof(name), "damage: %s", programs[i].name);
		run(name, t_sound);
		snprintf(name, sizeof(name), "damage: %s, cut short",
			 programs[i].name);
		run(name, t_cut);
		snprintf(name, sizeof(name), "damage: %s, bytes changed",
			 programs[i].name);
		run(name, t_flips);
		snprintf(name, sizeof(name), "damage: %s, its DWARF changed",
			 programs[i].name);
		run(name, t_dwarf);
	}
	run("damage: sources with other text", t_sources);
	run("damage: sources that are long to read", t_long_sources);
	run("damage: names that are long to print", t_long_names);
	dir_remove();
	return failures != 0;
}

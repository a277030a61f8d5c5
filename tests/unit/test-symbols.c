// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Static and thread-local variables, by what the programs themselves say of
 * their addresses and sizes; in all forms in which a file may carry its names.
 */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/symbol-util.h"

enum level {
	NAMES,		/* addresses and sizes */
	TYPES,		/* also types, files and lines */
	EXPORTED,	/* of those that are exported */
};

struct variant {
	const char *name;
	const char *source;
	const char *build;	/* makes ./p (and ./m, the module) of $S */
	const char *module;
	enum level level;
	size_t variables;	/* at least so many */
};

#define DEBUG_FILE							\
	" && objcopy --only-keep-debug p p.debug && strip p"
#define BUILD_ID							\
	"I=$(readelf -n p | sed -n 's/.*Build ID: //p') && "		\
	"D=/usr/lib/debug/.build-id/$(echo $I | cut -c1-2) && "		\
	"F=$D/$(echo $I | cut -c3-).debug"

static const struct variant variants[] = {
	{ "C", "statics.c", "gcc -g $S/statics.c show.o -o p",
	  "p", TYPES, 21 },
	{ "C, optimised, DWARF 4", "statics.c",
	  "gcc -gdwarf-4 -O2 $S/statics.c show.o -o p", "p", TYPES, 21 },
	{ "C, DWARF 5, at a fixed address", "statics.c",
	  "gcc -gdwarf-5 -no-pie -fno-pie $S/statics.c show.o -o p",
	  "p", TYPES, 21 },
	{ "C, static PIE", "statics.c",
	  "gcc -g -O2 $S/statics.c show.o -o p -static-pie", "p", TYPES, 2 },
	{ "C, compressed", "statics.c",
	  "gcc -g -gz $S/statics.c show.o -o p", "p", TYPES, 21 },
	{ "C, .debug_types", "statics.c",
	  "gcc -gdwarf-4 -fdebug-types-section $S/statics.c show.o -o p",
	  "p", TYPES, 21 },
	{ "C, link-time optimised", "statics.c",
	  "gcc -g -O2 -flto $S/statics.c show.o -o p", "p", TYPES, 21 },
	{ "C, unused sections left out", "statics.c",
	  "gcc -g -fdata-sections -Wl,--gc-sections $S/statics.c show.o -o p",
	  "p", TYPES, 21 },
	{ "C, DWARF in another file", "statics.c",
	  "gcc -g -gsplit-dwarf $S/statics.c show.o -o p", "p", TYPES, 21 },
	{ "C, that file is lost", "statics.c",
	  "gcc -g -gsplit-dwarf $S/statics.c show.o -o p && rm -f *.dwo",
	  "p", NAMES, 21 },
	{ "C, without -g", "statics.c",
	  "gcc -O2 $S/statics.c show.o -o p", "p", NAMES, 21 },
	{ "C, stripped", "statics.c",
	  "gcc -g -rdynamic $S/statics.c show.o -o p && strip p",
	  "p", EXPORTED, 12 },
	{ "C, by debug link", "statics.c",
	  "gcc -g $S/statics.c show.o -o p" DEBUG_FILE
	  " && objcopy --add-gnu-debuglink=p.debug p", "p", TYPES, 21 },
	{ "C, by debug link to .debug/", "statics.c",
	  "gcc -g $S/statics.c show.o -o p" DEBUG_FILE
	  " && objcopy --add-gnu-debuglink=p.debug p"
	  " && mkdir .debug && mv p.debug .debug", "p", TYPES, 21 },
	{ "C, shared library", "statics.c",
	  "gcc -g -O1 -fPIC -shared -Dmain=entry $S/statics.c show.o -o lib.so"
	  " && echo 'int entry(int, char **); int main(int n, char **v)"
	  " { return entry(n, v); }' | gcc -x c - -x none ./lib.so -o p",
	  "lib.so", TYPES, 19 },
	{ "C++", "statics.cc", "g++ -g $S/statics.cc show.o -o p",
	  "p", TYPES, 12 },
	{ "C++, optimised, DWARF 4", "statics.cc",
	  "g++ -gdwarf-4 -O2 $S/statics.cc show.o -o p", "p", TYPES, 12 },
	{ "C++, without -g", "statics.cc",
	  "g++ -O2 $S/statics.cc show.o -o p", "p", NAMES, 12 },
	{ "C++, by debug link", "statics.cc",
	  "g++ -g $S/statics.cc show.o -o p" DEBUG_FILE
	  " && objcopy --add-gnu-debuglink=p.debug p", "p", TYPES, 12 },
	{ "Fortran", "statics.f90",
	  "gfortran -g -std=legacy $S/statics.f90 show.o -o p",
	  "p", TYPES, 9 },
	{ "Fortran, optimised, DWARF 4", "statics.f90",
	  "gfortran -gdwarf-4 -O2 -std=legacy $S/statics.f90 show.o -o p",
	  "p", TYPES, 9 },
	{ "Fortran, by debug link", "statics.f90",
	  "gfortran -g -std=legacy $S/statics.f90 show.o -o p" DEBUG_FILE
	  " && objcopy --add-gnu-debuglink=p.debug p", "p", TYPES, 9 },
};

/* A line that tests/symbols/show.c wrote. */
struct shown {
	char name[100];
	const char *type;
	long at;
	size_t size;
	int tls;
};

static int next_shown(FILE *f, struct shown *s)
{
	char line[400], *bar;

	do {
		if (!fgets(line, sizeof(line), f))
			return 0;
	} while (sscanf(line, "%99[^\t]\t%ld\t%zu\t%d", s->name, &s->at,
			&s->size, &s->tls) != 4);
	bar = strchr(s->name, '|');
	if (!bar)
		return 0;
	*bar = '\0';
	s->type = bar + 1;
	return 1;
}

#define FAIL(...)							\
	do {								\
		snprintf(why, sizeof(why), __VA_ARGS__);		\
		return 1;						\
	} while (0)

/* Whether line of the source declares it: that is where its name stands. */
static int declares(const char *source, unsigned line, const char *name)
{
	char path[512], text[400] = "";
	const char *bare = strrchr(name, ':');
	FILE *f;

	bare = bare ? bare + 1 : name;
	snprintf(path, sizeof(path), "%s/tests/symbols/%s", top(), source);
	f = fopen(path, "r");
	if (!f)
		return 0;
	for (unsigned i = 0; i < line; i++)
		if (!fgets(text, sizeof(text), f))
			text[0] = '\0';
	fclose(f);
	return strstr(text, bare) && !strstr(text, "SHOW");
}

static int check_one(struct moca_module *m, const struct variant *v,
		     const struct shown *s)
{
	const struct moca_variable *x;
	uint64_t at = (uint64_t)s->at, size, align;
	char type[100];

	if (s->tls) {
		/* x86-64: the program's block ends at the thread pointer. */
		moca_module_tls(m, &size, &align);
		at += (size + align - 1) / align * align;
	}
	x = moca_module_variable(m, at, s->tls);
	if (!x)
		FAIL("%s at %lx: not there", s->name, (long)at);
	if (x != moca_module_variable(m, at + s->size - 1, s->tls))
		FAIL("%s: its end is another's", s->name);
	if (x->vaddr != at || (x->size != s->size))
		FAIL("%s: at %lx, size %lu", s->name, (long)x->vaddr,
		     (long)x->size);
	if (strcmp(x->name, s->name) != 0)
		FAIL("%s: called %.100s", s->name, x->name);
	if (v->level != TYPES)
		return 0;
	moca_shape_type(x->shape, x->size, type, sizeof(type));
	if (strcmp(type, s->type) != 0)
		FAIL("%s: of type %s", s->name, type);
	if (!x->file || x->file[0] != '/' || access(x->file, R_OK) != 0 ||
	    !strstr(x->file, v->source))
		FAIL("%s: in file %s", s->name, x->file ? x->file : "NULL");
	if (!declares(v->source, x->line, s->name))
		FAIL("%s: declared in line %u", s->name, x->line);
	return 0;
}

static int check_table(struct moca_module *m)
{
	const struct moca_variable *v;
	size_t n = moca_module_variables(m, &v);

	for (size_t i = 0; i < n; i++) {
		if (!v[i].size || !v[i].name || !v[i].name[0])
			FAIL("variable %zu is nothing", i);
		if (i && v[i].tls == v[i - 1].tls &&
		    v[i].vaddr < v[i - 1].vaddr + v[i - 1].size)
			FAIL("%.50s and %.50s overlap", v[i].name,
			     v[i - 1].name);
		if (i && v[i].tls < v[i - 1].tls)
			FAIL("not in order");
		if (moca_module_variable(m, v[i].vaddr, v[i].tls) != &v[i])
			FAIL("%.50s is not found", v[i].name);
	}
	return 0;
}

static int check(const struct variant *v)
{
	struct moca_symbols *s;
	struct moca_module *m;
	struct shown shown;
	size_t seen = 0;
	int rc = 0;
	FILE *f;

	SHELL("[ -f show.o ] || gcc -fPIC -O1 -c $S/show.c -o show.o");
	SHELL("%s", v->build);
	SHELL("LD_LIBRARY_PATH=. ./p >shown || [ -s shown ]");
	CHECK(moca_symbols_open(&s) == 0);
	m = moca_symbols_module(s, in_dir(v->module));
	f = fopen(in_dir("shown"), "r");
	CHECK(m && f && moca_module_error(m) == 0);
	CHECK(moca_module_has_debug(m) == (v->level == TYPES) ||
	      strstr(v->name, "lost"));
	while (!rc && next_shown(f, &shown)) {
		/* A library's block is anywhere. */
		if (shown.tls && strcmp(v->module, "p") != 0)
			continue;
		/* Of those not exported, nobody knows. */
		if (v->level == EXPORTED && strcmp(shown.name, "u") != 0 &&
		    strcmp(shown.name, "particles") != 0 &&
		    strcmp(shown.name, "rows") != 0 &&
		    strcmp(shown.name, "tls_first") != 0) {
			seen++;
			continue;
		}
		rc = check_one(m, v, &shown);
		seen++;
	}
	fclose(f);
	if (!rc)
		rc = check_table(m);
	moca_symbols_close(s);
	if (!rc && seen < v->variables)
		FAIL("%zu variables shown", seen);
	return rc;
}

static int t_build_id(void)
{
	static const struct variant v = {
		"C, by build-id", "statics.c",
		"gcc -g $S/statics.c show.o -o p -Wl,--build-id" DEBUG_FILE
		" && " BUILD_ID " && mkdir -p $D && mv p.debug $F",
		"p", TYPES, 21
	};
	int rc;

	if (geteuid() != 0) {
		strcpy(why, "needs root, to write into /usr/lib/debug");
		return 2;
	}
	rc = check(&v);
	SHELL(BUILD_ID " && rm -f $F && { rmdir $D || true; }");
	return rc;
}

static int t_none(void)
{
	static const struct {
		const char *make;
		int error;
	} cases[] = {
		{ "true", -ENOENT },
		{ "mkdir none", -ENOEXEC },
		{ "mkfifo none", -ENOEXEC },
		{ "echo hello >none", -ENOEXEC },
		{ ": >none", -ENOEXEC },
		{ "echo 'int x[9];' | gcc -g -x c -c - -o none", -ENOEXEC },
		{ "ln -s none none", -ELOOP },
		{ "printf '\\177ELF' >none", -ENOEXEC },
	};
	const struct moca_variable *v;
	struct moca_location at;
	struct moca_symbols *s;
	struct moca_module *m;
	uint64_t a, b;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		SHELL("rm -rf none; %s", cases[i].make);
		CHECK(moca_symbols_open(&s) == 0);
		m = moca_symbols_module(s, in_dir("none"));
		CHECK(m && moca_module_error(m) == cases[i].error);
		CHECK(moca_symbols_module(s, in_dir("none")) == m);
		CHECK(moca_module_variables(m, &v) == 0);
		CHECK(!moca_module_variable(m, 0x1000, 0));
		CHECK(moca_module_locate(m, 0x1000, &at, 1) == 0);
		CHECK(moca_module_vaddr(m, 0, &a) == -ENOENT);
		CHECK(moca_module_span(m, &a, &b) == -ENOENT);
		CHECK(!strcmp(moca_module_section(m, 0x1000), ""));
		CHECK(!moca_module_has_debug(m));
		moca_module_tls(m, &a, &b);
		CHECK(a == 0 && b == 1);
		moca_symbols_close(s);
	}
	return 0;
}

/* Each mapping of a running program: its begin is where we say. */
static int t_segments(void)
{
	unsigned long begin, end, offset, low = 0, last = 0;
	uint64_t vaddr, lo, hi, bias = 0;
	char line[500], path[200];
	struct moca_symbols *s;
	struct moca_module *m;
	struct stat st;
	int n = 0;
	FILE *f;

	SHELL("gcc -x c - -o q <<'E'\n"
	      "#include <stdio.h>\n"
	      "char big[100000] = { 1 }, bss[200000];\n"
	      "int main(void) { FILE *f = fopen(\"/proc/self/maps\", \"r\");"
	      "int c; while ((c = getc(f)) != EOF) putchar(c);"
	      "return big[5] + bss[7]; }\nE\n./q >maps || [ -s maps ]");
	CHECK(moca_symbols_open(&s) == 0);
	m = moca_symbols_module(s, in_dir("q"));
	f = fopen(in_dir("maps"), "r");
	CHECK(m && f && moca_module_span(m, &lo, &hi) == 0);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %199s", &begin, &end,
			   &offset, path) != 4 || !strstr(path, "/q"))
			continue;
		CHECK(moca_module_vaddr(m, offset, &vaddr) == 0);
		if (!n++)
			bias = begin - vaddr, low = begin;
		/* A page that ends one segment may begin the next as well. */
		CHECK(bias == begin - vaddr || offset == last);
		last = offset;
		CHECK(end <= bias + hi && begin >= bias + lo);
	}
	fclose(f);
	CHECK(n >= 4 && low == bias + lo && hi - lo >= 300000);
	CHECK(moca_module_vaddr(m, 1 << 30, &vaddr) == -ENOENT);
	CHECK(stat(in_dir("q"), &st) == 0);
	CHECK(moca_module_mtime(m) / 1000000000 == (uint64_t)st.st_mtime);
	moca_symbols_close(s);
	return 0;
}

/* Who waits for a reader of a FIFO must not take us for one. */
static int t_fifo(void)
{
	struct moca_symbols *s;
	pid_t pid;
	int status;

	SHELL("rm -rf none && mkfifo none");
	pid = fork();
	if (!pid) {
		status = open(in_dir("none"), O_WRONLY);
		_exit(1);
	}
	usleep(100000);
	CHECK(moca_symbols_open(&s) == 0);
	CHECK(moca_module_error(moca_symbols_module(s, in_dir("none"))) ==
	      -ENOEXEC);
	usleep(100000);
	CHECK(waitpid(pid, &status, WNOHANG) == 0);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	moca_symbols_close(s);
	return 0;
}

static const struct variant *current;

static int t_variant(void)
{
	SHELL("rm -rf p p.debug .debug *.dwo lib.so");
	return check(current);
}

int main(void)
{
	char name[100];

	dir_new();
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		current = &variants[i];
		snprintf(name, sizeof(name), "variables: %s", current->name);
		run(name, t_variant);
	}
	run("variables: C, by build-id", t_build_id);
	run("module: no ELF file", t_none);
	run("module: a FIFO is left alone", t_fifo);
	run("module: segments as they are mapped", t_segments);
	dir_remove();
	return failures != 0;
}

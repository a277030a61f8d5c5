// SPDX-License-Identifier: GPL-2.0-or-later
/* The names of bytes: members of structs, by DWARF. */
#include "tests/unit/symbol-util.h"

static struct moca_symbols *symbols;
static struct moca_module *module;

static const struct moca_variable *variable(const char *name)
{
	const struct moca_variable *v;
	size_t n = moca_module_variables(module, &v);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(v[i].name, name))
			return &v[i];
	return NULL;
}

struct named {
	const char *variable;
	uint64_t at;
	const char *byte;
};

static int names(const struct named *n, size_t count)
{
	const struct moca_variable *v;
	char buf[100];

	CHECK(moca_symbols_open(&symbols) == 0);
	module = moca_symbols_module(symbols, in_dir("p"));
	for (size_t i = 0; i < count; i++) {
		v = variable(n[i].variable);
		CHECK(v && v->shape);
		moca_shape_byte(v->shape, v->name, v->size, n[i].at, buf,
				sizeof(buf));
		if (strcmp(buf, n[i].byte) != 0) {
			snprintf(why, sizeof(why), "%s, not %s", buf,
				 n[i].byte);
			return 1;
		}
	}
	/* Whatever the buffer's size, the text ends in it. */
	v = variable(n[0].variable);
	for (size_t len = 1; len < 20; len++) {
		memset(buf, 'x', sizeof(buf));
		moca_shape_byte(v->shape, v->name, v->size, n[0].at, buf, len);
		CHECK(memchr(buf, 0, len) && buf[len] == 'x');
	}
	moca_symbols_close(symbols);
	return 0;
}

#define NAMES(table) names(table, sizeof(table) / sizeof(*(table)))

static int c(void)
{
	static const struct named n[] = {
		{ "args", 16, "args[0].sum" },
		{ "args", 24, "args[1].id" },
		{ "args", 47, "args[1].sum" },
		{ "list", 0, "list.head" },
		{ "list", 14, "list.box[1].y" },
		{ "list", 24, "list.grid[1][0]" },
		{ "list", 32, "list.whole" },	/* first of a union */
		{ "list", 41, "list.b" },	/* of bits */
		{ "list", 43, "list.ends" },
		{ "list", 46, "list" },		/* padding */
		{ "one", 5, "one" },
		{ "four", 9, "four[2]" },
	};

	SHELL("cat >p.c <<'E'\n"
	      "struct arg { long id, n; double sum; };\n"
	      "struct point { short x, y; };\n"
	      "typedef const struct { void *head; struct point box[2];\n"
	      " int grid[2][2]; union { long whole; char part[8]; };\n"
	      " unsigned a : 8, b : 9; char ends; } list_t;\n"
	      "struct arg args[2]; volatile list_t list = { 0 };\n"
	      "long one = 1; int four[4] = { 1 };\n"
	      "int main(void) { return one; }\nE\n"
	      "gcc -g p.c -o p");
	return NAMES(n);
}

static int cxx(void)
{
	static const struct named n[] = {
		{ "ns::workers", 8, "ns::workers[0].count" },
		{ "ns::workers", 24, "ns::workers[1].base_id" },
		{ "ns::workers", 40, "ns::workers[1].done" },
	};

	SHELL("cat >p.cc <<'E'\n"
	      "#include <atomic>\n"
	      "struct base { long base_id; static int all; };\n"
	      "class worker : public base { public:\n"
	      " std::atomic<long> count; bool done; };\n"
	      "int base::all; namespace ns { worker workers[3]; }\n"
	      "int main() { return ns::workers[1].count++; }\nE\n"
	      "g++ -g p.cc -o p");
	return NAMES(n);
}

static int fortran(void)
{
	static const struct named n[] = {
		{ "data::parts", 8, "data::parts(1)%sum" },
		{ "data::parts", 24, "data::parts(2)%sum" },
	};

	SHELL("cat >p.f90 <<'E'\n"
	      "module data\n type part\n  integer(8) :: id\n"
	      "  real(8) :: sum\n end type\n type(part) :: parts(4)\n"
	      "end module\nprogram p\n use data\n parts(2)%%sum = 1\n"
	      " print *, parts(2)%%sum\nend program\nE\n"
	      "gfortran -g p.f90 -o p");
	return NAMES(n);
}

static int reads(const char *path)
{
	char *text = NULL;
	uint64_t mtime;
	int err = moca_source_read(in_dir(path), &text, &mtime);

	free(text);
	return err;
}

/* Its name is a source's; what it leads to need not be. */
static int links(void)
{
	SHELL("echo key >secret; echo 'int x;' >real.c; ln -s real.c good.c; ln -s secret bad.c");
	CHECK(!reads("real.c") && !reads("good.c"));
	CHECK(reads("secret") == -EINVAL && reads("bad.c") == -EACCES);
	/* Of another user, as only root may read it. */
	if (geteuid())
		return 0;
	SHELL("chown 1 real.c && chmod 0640 real.c");
	CHECK(reads("real.c") == -EACCES);
	SHELL("chmod 0644 real.c");
	CHECK(!reads("real.c"));
	return 0;
}

int main(void)
{
	dir_new();
	run("members: C", c);
	run("members: C++", cxx);
	run("members: Fortran", fortran);
	run("source: links to what is none", links);
	dir_remove();
	return failures != 0;
}

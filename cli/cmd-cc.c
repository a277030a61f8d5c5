// SPDX-License-Identifier: GPL-2.0-or-later
/* moca cc, c++, fc: a compiler whose programs count their own accesses. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cc.h"
#include "cli/commands.h"
#include "lib/base/arch.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"
#include "lib/code/embedded.h"

#define GRANULARITY "--moca-granularity="
#define ARGS_MORE 24

struct language {
	const char *command, *env, *fallback;
};

static const struct language languages[] = {
	{ "cc", "MOCA_CC", "gcc" },
	{ "c++", "MOCA_CXX", "g++" },
	{ "fc", "MOCA_FC", "gfortran" },
};

static const char usage[] =
	"moca cc|c++|fc [--moca-granularity=BYTES] [--moca-verbose] ARGUMENTS...";
static const char about[] =
	"Compiles and links as gcc, g++ or gfortran would with these arguments; the\n"
	"program counts its own loads and stores when it runs below\n"
	"'moca record --exact'. x86-64 only.\n"
	"MOCA_CC, MOCA_CXX, MOCA_FC name another compiler, such as clang.\n"
	"Libraries that were not built so run uncounted; the certificate names them.";

/* For the help: all other arguments are the compiler's. */
static void show_help(char *name)
{
	static const char *granularity;
	static int verbose;
	const struct option_spec specs[] = {
		OPT_STRING(0, "moca-granularity", &granularity, "BYTES",
			   "share counters among 64 to 4096 bytes (default: 4096)"),
		OPT_FLAG(0, "moca-verbose", &verbose, "tell what was rewritten"),
		OPT_END,
	};
	char *argv[] = { name, (char *)"--help", NULL };

	moca_options_parse(specs, 2, argv, usage, about);
}

int compile_shift(const char *s)
{
	char *end;
	unsigned long n = strtoul(s, &end, 10);
	int shift;

	for (shift = 6; shift <= 12; shift++)
		if (n == 1ul << shift && end != s && !*end)
			return shift;
	return -EINVAL;
}

char *compile_dir(void)
{
	static const char *const places[] = { "cc", "../lib/moca/cc" };
	char self[PATH_MAX], *slash, *path, *real;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t i;

	/* One file has no such folder: what lies beside it may be another's. */
	if (n < 0 || moca_embedded_alloc)
		return NULL;
	self[n] = 0;
	slash = strrchr(self, '/');
	if (!slash)
		return NULL;
	*slash = 0;
	for (i = 0; i < 2; i++) {
		if (asprintf(&path, "%s/%s/as", self, places[i]) < 0)
			return NULL;
		if (!access(path, X_OK)) {
			path[strlen(path) - 3] = 0;
			real = realpath(path, NULL);
			free(path);
			return real;
		}
		free(path);
	}
	return NULL;
}

/* What kind of run of the compiler this is. */
struct kind {
	int links, shared, is_static, has_input, foreign, relocatable;
};

static int takes_value(const char *a)
{
	static const char *const list[] = {
		"-o", "-I", "-L", "-l", "-D", "-U", "-x", "-include", "-isystem",
		"-imacros", "-iquote", "-idirafter", "-MF", "-MT", "-MQ",
		"-Xlinker", "-Xassembler", "-Xpreprocessor", "-T", "-u", "-z",
		"-aux-info", "--param", "-J", "-B", "-target", NULL
	};
	int i;

	for (i = 0; list[i]; i++)
		if (!strcmp(a, list[i]))
			return 1;
	return 0;
}

static struct kind look(int argc, char **argv)
{
	static const char *const no_link[] = {
		"-c", "-S", "-E", "-fsyntax-only", "-M", "-MM", "--version",
		"-v", "-V", "-###", "--help", "-dumpversion", "-dumpmachine",
		"-dumpfullversion", "-dumpspecs", NULL
	};
	struct kind k = { .links = 1 };
	int i, j;

	for (i = 1; i < argc; i++) {
		const char *a = argv[i];

		/* "-v a.c" links; without a file nothing does. */
		for (j = 0; no_link[j]; j++)
			if (!strcmp(a, no_link[j]) && strcmp(a, "-v"))
				k.links = 0;
		if (!strncmp(a, "-print", 6))
			k.links = 0;
		k.shared |= !strcmp(a, "-shared");
		k.is_static |= !strcmp(a, "-static") ||
			       !strcmp(a, "-static-pie");
		k.relocatable |= !strcmp(a, "-r");
		k.foreign |= !strcmp(a, "-m32") || !strcmp(a, "-mx32") ||
			     !strcmp(a, "-m16");
		if (takes_value(a))
			i++;
		else if (a[0] != '-' || !a[1])
			k.has_input = 1;
	}
	k.links = k.links && k.has_input && !k.relocatable;
	return k;
}

static char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *format, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, format);
	n = vasprintf(&s, format, ap);
	va_end(ap);
	if (n < 0) {
		moca_error("no memory for the compiler's arguments");
		exit(1);
	}
	return s;
}

static void add_link(char **out, int *n, const struct kind *k, const char *dir,
		     int shift)
{
	out[(*n)++] = text("%s/count-%d.o", dir, shift);
	if (k->is_static) {
		out[(*n)++] = (char *)"-Wl,--wrap=pthread_create";
		out[(*n)++] = (char *)"-Wl,--wrap=thrd_create";
		out[(*n)++] = text("%s/libmoca-count.a", dir);
		return;
	}
	/* After the user's objects, before the C library, always needed. */
	out[(*n)++] = text("-Wl,--push-state,--no-as-needed,-rpath,%s", dir);
	out[(*n)++] = text("%s/libmoca-count.so", dir);
	out[(*n)++] = (char *)"-Wl,--pop-state";
}

static int is_clang(const char *compiler)
{
	const char *base = strrchr(compiler, '/');

	return strstr(base ? base : compiler, "clang") != NULL;
}

/* Ours go first, where the user's may say otherwise, but for what must be. */
static char **arguments(int argc, char **argv, const char *compiler,
			const struct kind *k, const char *dir, int shift)
{
	char **out = calloc(argc + ARGS_MORE, sizeof(*out));
	int n = 0, i, languages_end = 0;

	if (!out)
		return NULL;
	out[n++] = (char *)compiler;
	out[n++] = text("-B%s/", dir);
	for (i = 1; i < argc; i++) {
		if (!strncmp(argv[i], GRANULARITY, strlen(GRANULARITY)) ||
		    !strcmp(argv[i], "--moca-verbose"))
			continue;
		out[n++] = argv[i];
		languages_end |= !strcmp(argv[i], "-x");
	}
	out[n++] = (char *)"-mno-red-zone";
	out[n++] = (char *)(is_clang(compiler) ? "-fno-integrated-as" :
						 "-fno-ipa-ra");
	if (k->links) {
		/* "-x c" would hold for our objects as well. */
		if (languages_end)
			out[n++] = (char *)"-xnone";
		add_link(out, &n, k, dir, shift);
	}
	return out;
}

static int build(const struct language *l, int argc, char **argv)
{
	const char *compiler = getenv(l->env), *granularity = "4096";
	struct kind k = look(argc, argv);
	int i, shift, verbose = 0;
	char **args, *dir;

	if (!compiler || !*compiler)
		compiler = l->fallback;
	for (i = 1; i < argc; i++) {
		if (!strncmp(argv[i], GRANULARITY, strlen(GRANULARITY)))
			granularity = argv[i] + strlen(GRANULARITY);
		verbose |= !strcmp(argv[i], "--moca-verbose");
	}
	shift = compile_shift(granularity);
	if (shift < 0) {
		moca_error("--moca-granularity=%s: a power of two from 64 to "
			   "4096 is wanted", granularity);
		return EXIT_USAGE;
	}
	if (k.foreign) {
		moca_error("moca %s makes x86-64 programs only: -m32 and -mx32 "
			   "are not there yet", l->command);
		return EXIT_USAGE;
	}
	dir = compile_dir();
	if (!dir) {
		moca_error("cannot find the assembler of moca %s beside moca: "
			   "'make install' puts it into lib/moca/cc",
			   l->command);
		return 1;
	}
	args = arguments(argc, argv, compiler, &k, dir, shift);
	if (!args)
		return 1;
	setenv(CC_ENV_GRANULARITY, granularity, 1);
	setenv(CC_ENV_ABI, "1", 1);
	if (verbose)
		setenv(CC_ENV_VERBOSE, "1", 1);
	fflush(NULL);
	execvp(compiler, args);
	moca_error("cannot run the compiler %s: %s; %s names another", compiler,
		   strerror(errno), l->env);
	return errno == ENOENT ? 127 : 126;
}

int cmd_cc(int argc, char **argv)
{
	size_t i;

	if (argc < 2) {
		moca_error("moca %s: what shall be compiled? Give the compiler's arguments ('moca %s --help' tells more)",
			   argv[0], argv[0]);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help")) {
		show_help(argv[0]);
		return 0;
	}
	if (!MOCA_IS_X86) {
		moca_error("moca %s " MOCA_X86_ONLY, argv[0]);
		return EXIT_USAGE;
	}
	for (i = 0; i < 2; i++)
		if (!strcmp(argv[0], languages[i].command))
			break;
	return build(&languages[i], argc, argv);
}

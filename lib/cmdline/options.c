// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/cmdline/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/vec.h"

/* getopt's values: a letter, or LONG_ONLY + index for what has none. */
#define LONG_ONLY 256
#define HELP_COLUMN 26
#define HELP_WIDTH 79

struct unit {
	const char *name;
	double factor;
};

static const struct unit time_units[] = {
	{ "ns", 1 },	{ "us", 1e3 }, { "ms", 1e6 },
	{ "s", 1e9 },	{ "m", 60e9 }, { "min", 60e9 },
	{ "h", 3600e9 }, { NULL, 0 }
};

static const struct unit size_units[] = {
	{ "", 1 },		{ "B", 1 },
	{ "k", 1024 },		{ "K", 1024 },
	{ "KiB", 1024 },	{ "M", 1048576 },
	{ "MiB", 1048576 },	{ "G", 1073741824. },
	{ "GiB", 1073741824. }, { "T", 1099511627776. },
	{ "TiB", 1099511627776. }, { NULL, 0 }
};

/* "12.5ms": digits and a point only, so that "nan", "-1" and hex fail. */
static int parse_number(const char *s, double *v, const char **rest)
{
	char *end;

	if (!isdigit((unsigned char)*s) || s[strspn(s, "0")] == 'x' ||
	    s[strspn(s, "0")] == 'X')
		return -EINVAL;
	errno = 0;
	*v = strtod(s, &end);
	if (errno || !isfinite(*v))
		return -EINVAL;
	*rest = end;
	return 0;
}

static int parse_units(const char *s, const struct unit *u, uint64_t *out)
{
	const char *rest;
	double v;

	if (parse_number(s, &v, &rest))
		return -EINVAL;
	for (; u->name; u++) {
		if (strcmp(rest, u->name))
			continue;
		v *= u->factor;
		if (v >= 18446744073709551615.)
			return -EINVAL;
		*out = (uint64_t)(v + 0.5);
		return 0;
	}
	return -EINVAL;
}

int moca_parse_duration(const char *s, uint64_t *ns)
{
	return parse_units(s, time_units, ns);
}

int moca_parse_size(const char *s, uint64_t *bytes)
{
	return parse_units(s, size_units, bytes);
}

int moca_parse_percent(const char *s, double *fraction)
{
	const char *rest;
	double v;

	if (!strcmp(s, "none")) {
		*fraction = HUGE_VAL;
		return 0;
	}
	if (parse_number(s, &v, &rest) || (*rest && strcmp(rest, "%")))
		return -EINVAL;
	*fraction = v / 100;
	return 0;
}

static int parse_uint(const char *s, uint64_t *v)
{
	char *end;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	*v = strtoull(s, &end, 0);
	return errno || *end ? -EINVAL : 0;
}

static int list_add(struct string_list *l, const char *item)
{
	if (moca_vec_fit(l->items, l->room, l->count + 1))
		return -ENOMEM;
	l->items[l->count++] = item;
	return 0;
}

static const char *expected(enum option_kind kind)
{
	switch (kind) {
	case OPTION_DURATION:
		return "a time such as 50ms, 2s or 100us";
	case OPTION_CREDIT:
		return "a time such as 200ms or 1s, or 0";
	case OPTION_SIZE:
		return "a size such as 512K, 10M or 4G";
	case OPTION_PERCENT:
		return "a percentage such as 10%, or none";
	case OPTION_UINT:
		return "a whole number";
	default:
		return "a value";
	}
}

static int store(const struct option_spec *o, const char *arg)
{
	switch (o->kind) {
	case OPTION_FLAG:
		*(int *)o->value = 1;
		return 0;
	case OPTION_STRING:
		*(const char **)o->value = arg;
		return 0;
	case OPTION_LIST:
		return list_add(o->value, arg);
	case OPTION_DURATION:
		return moca_parse_duration(arg, o->value);
	case OPTION_CREDIT:
		return moca_parse_duration(strcmp(arg, "0") ? arg : "0s",
					   o->value);
	case OPTION_SIZE:
		return moca_parse_size(arg, o->value);
	case OPTION_PERCENT:
		return moca_parse_percent(arg, o->value);
	case OPTION_UINT:
		return parse_uint(arg, o->value);
	}
	return -EINVAL;
}

/* Fold text at HELP_WIDTH; the first line starts at the present column. */
static void print_folded(const char *text, int column, int indent)
{
	while (*text) {
		int word = strcspn(text, " ");

		if (column > indent && column + 1 + word > HELP_WIDTH) {
			printf("\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		printf("%.*s", word, text);
		column += word;
		text += word;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_option(const struct option_spec *o)
{
	char left[80], letter[3] = { '-', o->letter, 0 };

	/* Options without help are for other parts of moca. */
	if (!o->help)
		return;
	snprintf(left, sizeof(left), "  %s%s%s%s%s%s", o->letter ? letter : "  ",
		 o->letter && o->name ? ", " : o->name ? "  " : "",
		 o->name ? "--" : "", o->name ? o->name : "",
		 o->arg ? (o->name ? "=" : " ") : "", o->arg ? o->arg : "");
	printf("%-*s", HELP_COLUMN, left);
	if (strlen(left) >= HELP_COLUMN)
		printf("\n%*s", HELP_COLUMN, "");
	print_folded(o->help, HELP_COLUMN, HELP_COLUMN);
}

static void print_help(const struct option_spec *specs, const char *usage,
		       const char *about)
{
	printf("usage: %s\n", usage);
	if (about && *about) {
		putchar('\n');
		while (*about) {
			int n = strcspn(about, "\n");
			char line[1024];

			snprintf(line, sizeof(line), "%.*s", n, about);
			print_folded(line, 0, 0);
			about += n + (about[n] == '\n');
		}
	}
	printf("\nOptions:\n");
	for (; specs->letter || specs->name; specs++)
		print_option(specs);
	printf("%-*sshow this help\n", HELP_COLUMN, "  -h, --help");
}

static size_t count_specs(const struct option_spec *s)
{
	size_t n = 0;

	while (s[n].letter || s[n].name)
		n++;
	return n;
}

/* What getopt_long wants: '+' stops at the first operand, ':' is silent. */
static void fill_getopt(const struct option_spec *s, size_t n, int mixed,
			char *letters, struct option *longs)
{
	size_t i;

	if (!mixed)
		*letters++ = '+';
	*letters++ = ':';
	*letters++ = 'h';
	for (i = 0; i < n; i++) {
		if (s[i].letter) {
			*letters++ = s[i].letter;
			if (s[i].kind != OPTION_FLAG)
				*letters++ = ':';
		}
		if (!s[i].name)
			continue;
		longs->name = s[i].name;
		longs->has_arg = s[i].kind != OPTION_FLAG;
		longs->val = LONG_ONLY + i;
		longs++;
	}
	*letters = 0;
	longs->name = "help";
	longs->val = 'h';
}

static const struct option_spec *find_spec(const struct option_spec *s,
					   size_t n, int c)
{
	size_t i;

	if (c >= LONG_ONLY)
		return &s[c - LONG_ONLY];
	for (i = 0; i < n; i++)
		if (s[i].letter == c)
			return &s[i];
	return NULL;
}

/* How messages name the command; the classic command line has none. */
static const char *help_of(char **argv, char buf[64])
{
	snprintf(buf, 64, "moca %.40s%s",
		 strcmp(argv[0], "moca") ? argv[0] : "-c CMD", " --help");
	return buf;
}

static void complain(int c, const struct option_spec *s, size_t n, char **argv)
{
	const struct option_spec *o = optopt ? find_spec(s, n, optopt) : NULL;
	const char *word = argv[optind - 1];
	char help[64];

	if (c == ':' || (o && optopt < LONG_ONLY && c == '?'))
		moca_error("%s: option '%s' needs %s", argv[0], word,
			   o ? expected(o->kind) : "a value");
	else if (optopt >= LONG_ONLY || !strncmp(word, "--", 2))
		moca_error("%s: option '%s' is unknown, ambiguous or takes no value (try '%s')",
			   argv[0], word, help_of(argv, help));
	else
		moca_error("%s: unknown option '-%c' (try '%s')",
			   argv[0], optopt, help_of(argv, help));
}

static int parse_all(const struct option_spec *specs, size_t n, int argc,
		     char **argv, const char *letters,
		     const struct option *longs, int *help)
{
	const struct option_spec *o;
	int c, err;

	/* 0 and not 1: moca parses several command lines in one process. */
	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (c == 'h') {
			*help = 1;
			return 0;
		}
		o = c == ':' || c == '?' ? NULL : find_spec(specs, n, c);
		if (!o) {
			complain(c, specs, n, argv);
			return -EINVAL;
		}
		err = store(o, optarg);
		if (err == -ENOMEM) {
			moca_error("%s: out of memory", argv[0]);
			return -EINVAL;
		}
		if (err) {
			if (o->name)
				moca_error("%s: option '--%s' needs %s, not '%s'",
					   argv[0], o->name,
					   expected(o->kind), optarg);
			else
				moca_error("%s: option '-%c' needs %s, not '%s'",
					   argv[0], o->letter,
					   expected(o->kind), optarg);
			return -EINVAL;
		}
	}
	return optind;
}

static moca_options_taker *help_taker;
static void *help_ctx;

void moca_options_take(moca_options_taker *taker, void *ctx)
{
	help_taker = taker;
	help_ctx = ctx;
}

static int parse(const struct option_spec *specs, int argc, char **argv,
		 const char *usage, const char *about, int mixed)
{
	size_t n = count_specs(specs);
	struct option *longs;
	char *letters;
	int help = 0, ret = -EINVAL;

	longs = calloc(n + 2, sizeof(*longs));
	letters = malloc(2 * n + 4);
	if (longs && letters) {
		fill_getopt(specs, n, mixed, letters, longs);
		ret = parse_all(specs, n, argc, argv, letters, longs, &help);
	} else {
		moca_error("%s: out of memory", argv[0]);
	}
	free(longs);
	free(letters);
	if (help) {
		if (help_taker)
			help_taker(help_ctx, specs, usage, mixed);
		else
			print_help(specs, usage, about);
		return -ECANCELED;
	}
	return ret;
}

int moca_options_parse(const struct option_spec *specs, int argc, char **argv,
		       const char *usage, const char *about)
{
	return parse(specs, argc, argv, usage, about, 0);
}

int moca_options_parse_mixed(const struct option_spec *specs, int argc,
			     char **argv, const char *usage, const char *about)
{
	return parse(specs, argc, argv, usage, about, 1);
}

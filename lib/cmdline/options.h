/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Option tables for commands, on top of getopt_long: one table gives the
 * parsing, the type check at compile time and the --help text.
 */
#ifndef MOCA_CMDLINE_OPTIONS_H
#define MOCA_CMDLINE_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

enum option_kind {
	OPTION_FLAG,		/* int *: set to 1 */
	OPTION_STRING,		/* const char ** */
	OPTION_LIST,		/* struct string_list *: may be repeated */
	OPTION_DURATION,	/* uint64_t *, ns: 50ms, 2s, 100us */
	OPTION_CREDIT,		/* the same; 0 needs no unit */
	OPTION_SIZE,		/* uint64_t *, bytes: 512K, 10M, 4G */
	OPTION_PERCENT,		/* double *, fraction; "none" gives HUGE_VAL */
	OPTION_UINT,		/* uint64_t * */
};

struct string_list {
	const char **items;
	size_t count, room;
};

struct option_spec {
	char letter;		/* 0 = none */
	const char *name;	/* long name without --, NULL = none */
	enum option_kind kind;
	void *value;
	const char *arg;	/* name of the argument in the help */
	const char *help;
};

#define TYPED(type, p) ((void)sizeof((p) == (type *)0), (void *)(p))
#define OPT_FLAG(l, n, p, h) { l, n, OPTION_FLAG, TYPED(int, p), NULL, h }
#define OPT_STRING(l, n, p, a, h) \
	{ l, n, OPTION_STRING, TYPED(const char *, p), a, h }
#define OPT_LIST(l, n, p, a, h) \
	{ l, n, OPTION_LIST, TYPED(struct string_list, p), a, h }
#define OPT_DURATION(l, n, p, h) \
	{ l, n, OPTION_DURATION, TYPED(uint64_t, p), "TIME", h }
#define OPT_CREDIT(l, n, p, h) \
	{ l, n, OPTION_CREDIT, TYPED(uint64_t, p), "TIME", h }
#define OPT_SIZE(l, n, p, h) { l, n, OPTION_SIZE, TYPED(uint64_t, p), "SIZE", h }
#define OPT_PERCENT(l, n, p, h) \
	{ l, n, OPTION_PERCENT, TYPED(double, p), "PERCENT", h }
#define OPT_UINT(l, n, p, a, h) { l, n, OPTION_UINT, TYPED(uint64_t, p), a, h }
#define OPT_END { 0 }

/*
 * Parse argv[1..] up to the first operand (options after it belong to the
 * program that is run). Returns the index of the first operand, -EINVAL after
 * an error message on stderr, or -ECANCELED after --help was printed to
 * stdout (usage is the first line, about the paragraph below it).
 */
int moca_options_parse(const struct option_spec *specs, int argc, char **argv,
		       const char *usage, const char *about);

/* The same, but options may also follow operands, which are moved last. */
int moca_options_parse_mixed(const struct option_spec *specs, int argc,
			     char **argv, const char *usage,
			     const char *about);

/*
 * Who else wants the tables (shells' completions): while a taker is set, --help
 * hands the table to it and prints nothing. mixed: options may follow operands.
 * One thread; NULL takes it away.
 */
typedef void moca_options_taker(void *ctx, const struct option_spec *specs,
				const char *usage, int mixed);
void moca_options_take(moca_options_taker *taker, void *ctx);

/* Parse one value. 0 or -EINVAL. */
int moca_parse_duration(const char *s, uint64_t *ns);
int moca_parse_size(const char *s, uint64_t *bytes);
int moca_parse_percent(const char *s, double *fraction);

#endif

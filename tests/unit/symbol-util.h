/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small programs, built by the tests that look at their symbols. */
#ifndef TESTS_UNIT_SYMBOL_UTIL_H
#define TESTS_UNIT_SYMBOL_UTIL_H

#include "analysis/symbols/symbols.h"
#include "tests/unit/trace-util.h"

static char command[4096];

/* Where the tests' sources are. */
static inline const char *top(void)
{
	return getenv("TOP") ? getenv("TOP") : ".";
}

/* Run a shell command in dir, with $S the folder of sources; 0 if it worked. */
static inline int __attribute__((format(printf, 1, 2)))
shell(const char *fmt, ...)
{
	char line[3000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	snprintf(command, sizeof(command),
		 "cd %s && S=$(cd - >/dev/null; cd '%s/tests/symbols' && pwd) "
		 "&& { %s; } >>log 2>&1", dir, top(), line);
	return system(command) == 0 ? 0 : -1;
}

#define SHELL(...)							\
	do {								\
		if (shell(__VA_ARGS__) < 0) {				\
			snprintf(why, sizeof(why), "failed: %.200s",	\
				 strrchr(command, '{'));		\
			return 1;					\
		}							\
	} while (0)

/* The path of a file in dir. */
static inline const char *in_dir(const char *name)
{
	static char path[4][256];
	static int i;

	i = (i + 1) % 4;
	snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name);
	return path[i];
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/agent.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/err.h"

#define LIBRARY "libmoca-alloc.so"
#define ARG_MAX_NUMBER 5	/* the sixth integer argument is the last in a
				   register */

static int check_function(const char *option, const char *value)
{
	const char *colon = strrchr(value, ':');

	if (!colon || colon == value || strlen(value) > 200 ||
	    strchr(value, ';') || !isdigit((unsigned char)colon[1]) ||
	    colon[2] || colon[1] - '0' > ARG_MAX_NUMBER) {
		moca_error("%s %s: give NAME:ARG, the function's name as the "
			   "linker knows it and the number of the argument, "
			   "0 to %d", option, value, ARG_MAX_NUMBER);
		return -EINVAL;
	}
	return 0;
}

int agent_check(const struct agent_options *o)
{
	size_t i;

	for (i = 0; i < o->alloc_fns.count; i++)
		if (check_function("--alloc-fn", o->alloc_fns.items[i]))
			return -EINVAL;
	for (i = 0; i < o->free_fns.count; i++)
		if (check_function("--free-fn", o->free_fns.items[i]))
			return -EINVAL;
	return 0;
}

char *agent_find(void)
{
	static const char *const places[] = { "", "../lib/moca/" };
	char exe[PATH_MAX], *path, *real, *slash;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	size_t i;

	exe[n > 0 ? n : 0] = 0;
	slash = strrchr(exe, '/');
	if (slash)
		slash[1] = 0;
	for (i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
		if (asprintf(&path, "%s%s" LIBRARY, exe, places[i]) < 0)
			break;
		real = realpath(path, NULL);
		free(path);
		/* Blanks and colons part the entries of LD_PRELOAD. */
		if (real && !access(real, R_OK) && !strpbrk(real, " :;"))
			return real;
		free(real);
	}
	moca_warn("cannot find " LIBRARY " in %s or %s../lib/moca: allocations "
		  "are not recorded, and objects on the heap have no names. "
		  "Build or install Moca as a whole (in a folder without "
		  "blanks and colons in its name), or say --no-allocs", exe,
		  exe);
	return NULL;
}

char *agent_config(const struct agent_options *o)
{
	char *text = NULL;
	size_t size, i;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, "min=%" PRIu64 ";", o->min_size);
	for (i = 0; i < o->alloc_fns.count; i++)
		fprintf(f, "fn=%s;", o->alloc_fns.items[i]);
	for (i = 0; i < o->free_fns.count; i++)
		fprintf(f, "free=%s;", o->free_fns.items[i]);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

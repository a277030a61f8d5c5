// SPDX-License-Identifier: GPL-2.0-or-later
/* Which programs the user chose: --include, --exclude, --only-children. */
#include <string.h>

#include "collect/run/recorder.h"

static int listed(const char *path, const char **names, size_t n)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], base) || !strcmp(names[i], path))
			return 1;
	return 0;
}

int record_wanted(const struct recorder *rec, pid_t pid, const char *path)
{
	const struct moca_record_options *o = rec->opt;

	if (o->only_children && pid == rec->root)
		return 0;
	if (listed(path, o->exclude, o->exclude_count))
		return 0;
	return !o->include_count ||
	       listed(path, o->include, o->include_count);
}

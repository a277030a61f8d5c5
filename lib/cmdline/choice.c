// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/cmdline/choice.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"

int choice_find(const struct choice_option *o, const void *table, size_t n,
		size_t size, const char *name)
{
	const char *at = table;
	char known[2048] = "";

	for (size_t i = 0; i < n; i++, at += size) {
		const struct choice *c = (const void *)at;
		size_t len = strlen(known);

		if (name && !strcmp(c->name, name))
			return (int)i;
		snprintf(known + len, sizeof(known) - len, "%s%s (%s)",
			 len ? ", " : "", c->name, c->help);
	}
	if (name)
		moca_error("%s: '%s %s' is no known format: there is %s",
			   o->command, o->option, name, known);
	else
		moca_error("%s: %s? %s FORMAT, which may be %s", o->command,
			   o->question, o->option, known);
	return -1;
}

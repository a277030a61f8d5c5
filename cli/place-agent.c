// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/place-agent.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/record-agent.h"
#include "include/abi/place.h"
#include "lib/base/err.h"

#define LIBRARY "libmoca-place.so"

int place_agent_setting(int fd, char **out)
{
	char folder[PATH_MAX], *library = agent_library(LIBRARY, folder);
	int n;

	*out = NULL;
	if (!library) {
		moca_error("place: cannot find " LIBRARY " in %s or %s../lib/moca: build or install Moca as a whole, in a folder without blanks and colons in its name (moca in one file has none)",
			   folder, folder);
		return EXIT_RECORD;
	}
	n = asprintf(out, "LD_PRELOAD=%s " MOCA_PLACE_ENV "=/proc/%d/fd/%d",
		     library, getpid(), fd);
	free(library);
	if (n >= 0)
		return 0;
	*out = NULL;
	moca_error("place: out of memory");
	return EXIT_RECORD;
}

int place_agent_environment(int fd)
{
	const char *before = getenv("LD_PRELOAD");
	char *setting, *file, *library, *preload = NULL;
	int err = place_agent_setting(fd, &setting);

	if (err)
		return err;
	library = strchr(setting, '=') + 1;
	file = strchr(library, ' ');
	*file = 0;
	file = strchr(file + 1, '=') + 1;
	if (asprintf(&preload, "%s%s%s", library,
		     before && *before ? ":" : "", before ? before : "") < 0)
		preload = NULL;
	if (!preload || setenv("LD_PRELOAD", preload, 1) ||
	    setenv(MOCA_PLACE_ENV, file, 1)) {
		moca_error("place: out of memory");
		err = EXIT_RECORD;
	}
	free(preload);
	free(setting);
	return err;
}

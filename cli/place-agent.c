// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/place-agent.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/record-agent.h"
#include "include/abi/place.h"
#include "lib/base/err.h"

#define LIBRARY "libmoca-place.so"

int place_agent_environment(int fd)
{
	char folder[PATH_MAX], *library = agent_library(LIBRARY, folder);
	const char *before = getenv("LD_PRELOAD");
	char *preload = NULL, file[64];
	int err = 0;

	if (!library) {
		moca_error("place: cannot find " LIBRARY " in %s or %s../lib/moca: build or install Moca as a whole, in a folder without blanks and colons in its name (moca in one file has none)",
			   folder, folder);
		return EXIT_RECORD;
	}
	snprintf(file, sizeof(file), "/proc/%d/fd/%d", getpid(), fd);
	if (asprintf(&preload, "%s%s%s", library,
		     before && *before ? ":" : "", before ? before : "") < 0)
		preload = NULL;
	if (!preload || setenv("LD_PRELOAD", preload, 1) ||
	    setenv(MOCA_PLACE_ENV, file, 1)) {
		moca_error("place: out of memory");
		err = EXIT_RECORD;
	}
	free(preload);
	free(library);
	return err;
}

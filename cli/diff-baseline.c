// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/diff-baseline.h"

#include <errno.h>
#include <string.h>

#include "cli/commands.h"
#include "lib/base/err.h"
#include "report/advice.h"

int diff_baseline_read(struct moca_baseline *b, const char *path)
{
	size_t line;
	int err = moca_baseline_read(b, path, &line);

	if (!err)
		return 0;
	if (err == -EPROTO)
		moca_error("diff: '%s' was written by a newer moca than this one (%s): update moca, or write it anew by 'moca baseline'",
			   path, MOCA_VERSION);
	else if (err == -ENODATA)
		moca_error("diff: the baseline '%s' is cut off: it has no line 'end', which is its last one; write it anew by 'moca baseline'",
			   path);
	else if (err == -EBADMSG && line)
		moca_error("diff: '%s' is a damaged baseline (line %zu, or what must be there is not): write it anew by 'moca baseline'",
			   path, line);
	else
		moca_error("diff: cannot read the baseline '%s': %s; write it anew by 'moca baseline'",
			   path, err == -EBADMSG ?
				 "it is no text, or larger than 16 MiB" :
				 strerror(-err));
	return EXIT_USAGE;
}

int diff_baseline_compare(struct comparison *c, const struct moca_baseline *b,
			  const char *const path[2], struct moca_trace *trace,
			  const struct moca_profile *profile)
{
	int err = comparison_with_baseline(c, b, trace, profile);
	char machine[256];

	if (err) {
		if (err == -EXDEV)
			moca_error("diff: '%s' has counts of exact mode, '%s' has records of pages: one cannot be compared with the other (record both in the same way)",
				   path[!b->counts], path[b->counts]);
		else
			moca_error("diff: out of memory");
		return EXIT_USAGE;
	}
	advice_topology(profile, machine, sizeof(machine));
	if (strcmp(machine, b->machine))
		moca_warn("diff: the baseline '%s' is of another machine (%s) than '%s' (%s): remote shares cannot be compared; --topology of both commands names one for both",
			  path[0], b->machine, path[1], machine);
	return 0;
}

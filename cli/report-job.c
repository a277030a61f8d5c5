// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/report-job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/baseline-file.h"
#include "cli/commands.h"
#include "cli/reduce-job.h"
#include "lib/base/err.h"
#include "report/job.h"

struct page {
	const struct moca_job_view *view;
	const char *path;
};

static int fill(FILE *f, const void *ctx)
{
	const struct page *p = ctx;

	return job_page(f, p->view, p->path);
}

static char *choose(const char *path, const char *out)
{
	char *name = NULL;

	if (out)
		return strdup(out);
	if (asprintf(&name, moca_job_is(path) ? "%s.html" : "%s/report.html",
		     path) < 0)
		return NULL;
	return name;
}

int report_job(const char *command, char *const *paths, int count,
	       const char *out, const char *topology, int quiet, char **written)
{
	const struct reduce_options o = { .command = command,
					  .topology = topology };
	struct moca_job_view view = { 0 };
	struct moca_job job;
	char *name = NULL;
	int ret, err;

	*written = NULL;
	if (count != 1) {
		moca_error("%s: the page of a job is of one job: moca %s DIR; 'moca diff A B' compares two",
			   command, command);
		return EXIT_USAGE;
	}
	ret = reduce_load(&job, &o, paths, 1);
	if (!ret) {
		name = choose(paths[0], out);
		if (!name || moca_job_look(&view, &job)) {
			moca_error("%s: out of memory", command);
			ret = EXIT_USAGE;
		}
	}
	if (!ret) {
		err = baseline_file_write(name, fill,
					  &(struct page){ &view, paths[0] });
		if (err)
			moca_error("%s: cannot write '%s': %s; name a file that can be written with -o",
				   command, name, strerror(err));
		ret = err != 0;
	}
	if (!ret) {
		if (!quiet)
			moca_say("%s: %zu ranks", name, job.rank_count);
		ret = job_warn(command, &view, 0);
		*written = name;
		name = NULL;
	}
	free(name);
	moca_job_view_free(&view);
	moca_job_free(&job);
	return ret;
}

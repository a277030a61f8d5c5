// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/try-keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/advice/advice.h"
#include "lib/base/err.h"
#include "lib/format/tried.h"

#define COMMAND_MAX 512
#define FINDINGS_MAX 512	/* bytes of the names of all of them */

static struct moca_tried_ratio ratio(const struct try_row *r,
				     enum try_measure m)
{
	struct try_ratio x = try_series_ratio(r->series, r->arm, m);

	return (struct moca_tried_ratio){ x.mean, x.low, x.high };
}

static void pair(const struct try_row *r, enum try_measure m, uint64_t out[2])
{
	out[0] = (uint64_t)try_series_median(r->series, 0, m);
	out[1] = (uint64_t)try_series_median(r->series, r->arm, m);
}

static void names(uint32_t kinds, char out[FINDINGS_MAX])
{
	size_t at = 0;
	int i;

	out[0] = 0;
	for (i = 0; i < MOCA_FINDING_KINDS && at < FINDINGS_MAX; i++)
		if (kinds >> i & 1)
			at += (size_t)snprintf(out + at, FINDINGS_MAX - at,
					       "%s%s", at ? "," : "",
					       moca_finding_id((enum moca_finding_kind)i));
}

/* The words with blanks between them, for people; cut, and without what no line has. */
static void join_words(char *const *argv, char out[COMMAND_MAX])
{
	size_t at = 0, i;

	out[0] = 0;
	for (; argv && *argv && at < COMMAND_MAX; argv++)
		at += (size_t)snprintf(out + at, COMMAND_MAX - at, "%s%s",
				       at ? " " : "", *argv);
	for (i = 0; out[i]; i++)
		if ((unsigned char)out[i] < ' ' || out[i] == 127)
			out[i] = '?';
}

static void fill(struct moca_tried_change *c, const struct try_row *r,
		 char findings[FINDINGS_MAX], const char *command)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	names(r->change->kinds, findings);
	*c = (struct moca_tried_change){
		.id = r->change->id, .result = try_result_name(r->result),
		.findings = findings,
		.setting = r->change->setting ? r->change->setting : "",
		.command = command,
		.plan = r->change->plan_text ? r->change->plan_text : "",
		.predicted = r->change->predicted,
		.when_ns = (uint64_t)now.tv_sec * 1000000000u +
			   (uint64_t)now.tv_nsec,
		.rounds = r->series->rounds, .confidence = TRY_CONFIDENCE,
		.wall = ratio(r, TRY_WALL), .cpu = ratio(r, TRY_CPU),
	};
	pair(r, TRY_FAULTS, c->faults);
	pair(r, TRY_PEAK, c->peak_bytes);
}

static int write_all(const struct moca_tried_change *items, size_t n,
		     const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = moca_tried_write(fd, items, n);
	close(fd);
	return err;
}

void try_keep(const struct try_view *v, const char *path,
	      char *const *command)
{
	char words[COMMAND_MAX];
	struct moca_tried_change *items = calloc(v->count + 1, sizeof(*items));
	char (*findings)[FINDINGS_MAX] = calloc(v->count + 1,
						sizeof(*findings));
	int err = items && findings ? 0 : -ENOMEM;
	size_t i, n = 0;

	join_words(command, words);
	for (i = 0; !err && i < v->count; i++)
		if (v->rows[i].series) {
			fill(&items[n], &v->rows[i], findings[n], words);
			n++;
		}
	if (!err && v->together) {
		fill(&items[n], v->together, findings[n], words);
		n++;
	}
	if (!err && n)
		err = write_all(items, n, path);
	if (err > 0)
		moca_warn("try: the file '" MOCA_TRIED_NAME "' in '%s', with what was measured before, is damaged: it is kept as '" MOCA_TRIED_DAMAGED "', and a new one has this measurement alone",
			  path);
	if (err < 0)
		moca_warn("try: cannot keep what was measured in '%s', for moca summary and the report: %s",
			  path, strerror(-err));
	free(items);
	free(findings);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"
#include "cli/reduce-job.h"
#include "lib/base/err.h"

/* t, or NULL after a message. */
static struct moca_trace *with_numbers(struct moca_trace *t,
				       const char *command, const char *path)
{
	const char *value, *key = trace_bad_number(t, &value);

	if (!key)
		return t;
	moca_error("%s: '%s' is not a readable trace: its metadata says '%.40s' for %s, which is no finite number; it is damaged, or made up",
		   command, path, value, key);
	moca_trace_close(t);
	return NULL;
}

struct moca_trace *trace_open(const char *command, const char *path)
{
	struct moca_trace *t = NULL;
	int err = moca_trace_open(&t, path);
	char *task;

	switch (err) {
	case 0:
		return with_numbers(t, command, path);
	case -ENOENT:
	case -ENOTDIR:
		if (reduce_is_job(path)) {
			moca_error("%s: '%s' is a job of many ranks, not one trace: give a rank's, as DIR/rank-0 ('moca summary', 'info', 'report', 'diff', 'baseline' and 'reduce' take whole jobs)",
				   command, path);
			break;
		}
		task = reduce_task_of(path);
		if (task) {
			moca_error("%s: '%s' is of an array of Slurm jobs, not one trace: give one of its tasks, as %s",
				   command, path, task);
			free(task);
			break;
		}
		moca_error("%s: '%s' is not a trace: no such directory, or no file 'metadata' in it (give the directory that 'moca record -o' wrote)",
			   command, path);
		break;
	case -EPROTO:
		moca_error("%s: '%s' was written by a newer moca than this one (%s): update moca to read it",
			   command, path, MOCA_VERSION);
		break;
	case -EBADMSG:
		moca_error("%s: '%s' is not a readable trace: its file 'metadata' is damaged or of another program",
			   command, path);
		break;
	case -EACCES:
	case -EPERM:
		moca_error("%s: cannot read '%s': %s (traces are private to who recorded them: read it as that user or as root)",
			   command, path, strerror(-err));
		break;
	default:
		moca_error("%s: cannot open the trace '%s': %s", command, path,
			   strerror(-err));
	}
	return NULL;
}

int trace_warn_damage(const char *command, const struct moca_trace *t,
		      const char *path)
{
	struct moca_damage damage;

	moca_trace_damage(t, &damage);
	if (!trace_damaged(&damage))
		return 0;
	moca_warn("%s: parts of '%s' are missing, or are damaged and were left out: 'moca check %s' says which",
		  command, path, path);
	return 1;
}

const char *trace_operand(int argc, char **argv, int first)
{
	if (first == argc) {
		moca_error("%s: which trace? Give the directory that 'moca record' wrote: moca %s DIR",
			   argv[0], argv[0]);
		return NULL;
	}
	if (first + 1 < argc) {
		moca_error("%s: one trace at a time: '%s' is too much",
			   argv[0], argv[first + 1]);
		return NULL;
	}
	return argv[first];
}

int trace_addresses(const char *s, struct moca_query *q)
{
	char *end;

	errno = 0;
	q->addr_begin = strtoull(s, &end, 16);
	if (end == s || *end != '-' || errno)
		return -EINVAL;
	s = end + 1;
	q->addr_end = strtoull(s, &end, 16);
	if (end == s || *end || errno || q->addr_end <= q->addr_begin)
		return -EINVAL;
	return 0;
}

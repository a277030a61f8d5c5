// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/run/recorder.h"
#include "lib/base/err.h"
#include "lib/format/meta.h"

#define EXIT_OURS 125
/* The metadata has 5 to 10 KiB, and is written anew beside the old one. */
#define END_BYTES (16 << 10)

static void end_program(struct recorder *rec)
{
	if (rec->root <= 0 || rec->root_done)
		return;
	if (!kill(rec->root, SIGKILL))
		rec->ended_program = 1;
}

/* The recording is over before the program is. */
static void leave_program(struct recorder *rec)
{
	if (rec->attach)
		record_stop(rec);
	else if (rec->opt->stop_on_error)
		end_program(rec);
}

static const char *fate(const struct recorder *rec)
{
	if (rec->attach)
		return "the program, which was only attached to, goes on";
	if (rec->root_done)
		return "the program had ended before";
	return rec->opt->stop_on_error ? "and so does the program" :
					 "the program goes on";
}

int failure_of_recording(struct recorder *rec, int err, const char *what)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&rec->failed, &none, -err))
		return 0;
	moca_error("cannot %s in %s: %s; recording ends here, %s. What was "
		   "written can be read", what, rec->dir, strerror(-err),
		   fate(rec));
	leave_program(rec);
	return 1;
}

void failure_of_front(struct recorder *rec, struct moca_meta *meta)
{
	close(rec->front);
	rec->front = -1;
	if (rec->attach)
		moca_meta_add_loss(meta, "recording ended when its front "
				   "process died, before the program did");
	else
		moca_meta_add(meta, "note",
			      "the front process died during the recording");
	/* To a launcher the front is the rank: without it, no other may stay. */
	if (rec->opt->launched) {
		atomic_store(&rec->rank_ended, 1);
		end_program(rec);
		/* The supervisor shall look at it: recording_wait says it again. */
		pthread_kill(rec->supervisor, SIGURG);
	}
	leave_program(rec);
}

void failure_reserve(struct recorder *rec)
{
	int fd = openat(rec->dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	/* Without it (NFS has no such files) failure_of_end() may have to tell. */
	if (fd >= 0 && fallocate(fd, 0, 0, END_BYTES)) {
		close(fd);
		fd = -1;
	}
	rec->reserve = fd;
}

void failure_use_reserve(struct recorder *rec)
{
	if (rec->reserve >= 0)
		close(rec->reserve);
	rec->reserve = -1;
}

void failure_tell_end(const struct recorder *rec, struct moca_meta *meta)
{
	int status = rec->root_status;

	if (rec->attach || !rec->root_done)
		return;
	/* What it dumped is of no interest. */
	moca_meta_set(meta, "exit_status", "%d", WIFSIGNALED(status) ?
		      WTERMSIG(status) : WEXITSTATUS(status) << 8);
	if (rec->ended_program && WIFSIGNALED(status) &&
	    WTERMSIG(status) == SIGKILL)
		moca_meta_set(meta, "ended_program", "1");
}

int failure_of_end(const struct recorder *rec, int err, int code)
{
	moca_error("cannot write the end of the trace in %s: %s; how the program ended, and sums of what was recorded, are not in it%s",
		   rec->dir, strerror(-err), err == -ENOSPC || err == -EDQUOT ?
		   ". Give it more room (-o names the directory)" : "");
	return code ? code : EXIT_OURS;
}

int failure_exit_code(const struct recorder *rec, int *sig)
{
	int failed = atomic_load(&rec->failed), status = rec->root_status;

	*sig = 0;
	if (rec->attach)
		return failed ? EXIT_OURS : 0;
	if (failed && rec->opt->stop_on_error)
		return EXIT_OURS;	/* it ended because we said so */
	if (WIFSIGNALED(status)) {
		*sig = WTERMSIG(status);
		return 128 + *sig;
	}
	if (failed && !WEXITSTATUS(status))
		return EXIT_OURS;
	return WEXITSTATUS(status);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/failure.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/run/recorder.h"
#include "lib/base/err.h"
#include "lib/format/meta.h"

#define EXIT_OURS 125

/* The recording is over before the program is. */
static void leave_program(struct recorder *rec)
{
	if (rec->attach)
		record_stop(rec);
	else if (rec->opt->stop_on_error && rec->root > 0 && !rec->root_done)
		kill(rec->root, SIGKILL);
}

static const char *fate(const struct recorder *rec)
{
	if (rec->attach)
		return "the program, which was only attached to, goes on";
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
		if (rec->root > 0 && !rec->root_done)
			kill(rec->root, SIGKILL);
		/* The supervisor shall look at it: recording_wait says it again. */
		pthread_kill(rec->supervisor, SIGURG);
	}
	leave_program(rec);
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

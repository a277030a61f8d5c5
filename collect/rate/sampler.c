// SPDX-License-Identifier: GPL-2.0-or-later
/* When rounds are due. */
#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <time.h>

#include "collect/rate/rate.h"
#include "lib/ring/clock.h"

/* 0: the time has come; 1: control; -errno. */
static int wait_until(const struct rate_sampler *s, uint64_t due)
{
	struct pollfd p = { s->control, POLLIN, 0 };
	struct timespec ts;
	uint64_t now;
	int n;

	while ((now = moca_now_ns()) < due) {
		ts.tv_sec = (time_t)((due - now) / 1000000000u);
		ts.tv_nsec = (long)((due - now) % 1000000000u);
		n = ppoll(&p, s->control >= 0, &ts, NULL);
		if (n > 0)
			return 1;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
	return 0;
}

int rate_sampler_run(struct rate_sampler *s)
{
	uint64_t due = moca_now_ns(), now;
	int n = s->source->round(s->state, due), err = 0;

	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	s->rounds++;
	if (n >= 0 && s->begun)
		s->begun(s->arg);
	while (n > 0 && !err) {
		now = moca_now_ns();
		due = (due / s->period_ns + 1) * s->period_ns;
		if (due < now) {
			s->missed += (now - due) / s->period_ns + 1;
			due = (now / s->period_ns + 1) * s->period_ns;
		}
		if (s->end_ns && due > s->end_ns)
			due = s->end_ns;
		err = wait_until(s, due);
		if (err < 0)
			return err;
		now = moca_now_ns();
		n = s->source->round(s->state, now);
		s->rounds++;
		if ((err && (!s->wanted || !s->wanted(s->arg))) ||
		    (s->end_ns && now >= s->end_ns))
			break;
		err = 0;
	}
	return n < 0 ? n : 0;
}

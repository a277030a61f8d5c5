// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/recording.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>

#include "collect/run/launch.h"
#include "collect/run/own-faults.h"
#include "collect/run/queue.h"
#include "collect/run/way.h"
#include "lib/base/err.h"
#include "lib/format/meta.h"
#include "lib/format/quota.h"
#include "lib/format/writer.h"

#define SECOND_NS 1000000000ull
/* It is looked around as often at least. */
#define WAIT_NS 100000000ull

int recording_init(struct recording *r, struct recorder *rec,
		   struct moca_meta *meta, struct moca_writer *writer,
		   const struct recording_ops *ops, void *arg)
{
	*r = (struct recording){
		.rec = rec, .meta = meta, .writer = writer, .ops = ops,
		.arg = arg, .next_second_ns = moca_now_ns() + SECOND_NS,
	};
	r->status = status_new(rec->opt->quiet);
	return r->status ? 0 : -ENOMEM;
}

void recording_free(struct recording *r)
{
	status_free(r->status);
	r->status = NULL;
}

void recording_fail(struct recording *r, int err, const char *what)
{
	if (!failure_of_recording(r->rec, err, what))
		return;
	r->failed = -err;
	r->failed_ns = moca_now_ns();
	if (r->ops->halt)
		r->ops->halt(r->arg);
}

static int is_full(struct recording *r, uint64_t waiting_bytes)
{
	if (!r->rec->quota || !recording_goes_on(r))
		return 0;
	moca_quota_set(r->rec->quota, MOCA_QUOTA_ACCESSES,
		       moca_writer_bytes(r->writer));
	return moca_quota_full(r->rec->quota, waiting_bytes);
}

/* The user's --max-size: a proper end, which the trace tells. */
static void end_at_size(struct recording *r)
{
	const struct moca_record_companion *c = r->rec->opt->companion;

	r->full = 1;
	if (r->ops->halt)
		r->ops->halt(r->arg);
	if (c && c->halt)
		c->halt(c->arg);
	moca_meta_add_loss(r->meta, r->ops->full_note ? r->ops->full_note :
		      "recording ended at --max-size, before the program did");
	if (!r->rec->opt->quiet)
		moca_say("the trace has the size that --max-size allows: "
			 "recording ends here, the program goes on");
}

void recording_check_written(struct recording *r)
{
	if (is_full(r, 0))
		end_at_size(r);
}

void recording_check_size(struct recording *r)
{
	if (!is_full(r, r->ops->waiting_bytes ? r->ops->waiting_bytes(r->arg) :
						0))
		return;
	if (r->ops->cut)
		r->ops->cut(r->arg);
	if (!r->full)
		end_at_size(r);
}

/* What a reader should know, also of a recording that goes on. */
static void write_meta(struct recording *r, const char *state, uint64_t now)
{
	struct rusage ru;

	moca_meta_set(r->meta, "state", "%s", state);
	moca_meta_set(r->meta, "end_ns", "%lu", now);
	if (r->failed) {
		moca_meta_set(r->meta, "failed_ns", "%lu", r->failed_ns);
		moca_meta_set(r->meta, "failure", "%d", r->failed);
	}
	r->ops->describe(r->arg, now);
	moca_meta_set(r->meta, "access_bytes", "%lu",
		      moca_writer_access_bytes(r->writer));
	if (!getrusage(RUSAGE_SELF, &ru))
		moca_meta_set(r->meta, "collector_rss_peak", "%lu",
			      ru.ru_maxrss * 1024ul);
	moca_meta_write(r->meta, r->rec->dirfd);
}

void recording_tick(struct recording *r, uint64_t now)
{
	struct status_now s = { .elapsed_ns = now - r->rec->start_ns };

	recording_check_size(r);
	if (now < r->next_second_ns)
		return;
	r->next_second_ns = now + SECOND_NS;
	if (r->ops->second && r->ops->second(r->arg, now, &s)) {
		s.rate = s.records - r->records;
		r->records = s.records;
		status_show(r->status, &s);
	}
	own_faults_flush(r->rec->own_faults);
	if (!r->failed)
		write_meta(r, "recording", now);
}

void recording_wait(struct recording *r, struct pollfd *p, unsigned int n,
		    uint64_t until)
{
	struct recorder *rec = r->rec;
	uint64_t now = moca_now_ns();

	p[n] = (struct pollfd){ queue_fd(rec->queue), POLLIN, 0 };
	p[n + 1] = (struct pollfd){ rec->front, 0, 0 };
	if (until > now + WAIT_NS)
		until = now + WAIT_NS;
	poll(p, n + 2, until > now ? (int)((until - now + 999999) / 1000000) : 0);
	launch_wake_front();
	/* The supervisor may have looked just before it was told, and wait. */
	if (rec->way->traced && atomic_load(&rec->stop_recording))
		record_stop(rec);
	if (rec->way->traced && atomic_load(&rec->rank_ended))
		pthread_kill(rec->supervisor, SIGURG);
	queue_awake(rec->queue);
	if (rec->front >= 0 && p[n + 1].revents & (POLLHUP | POLLERR))
		failure_of_front(rec, r->meta);
}

void recording_end(struct recording *r)
{
	status_end(r->status);
	write_meta(r, r->failed ? "failed" : "complete", moca_now_ns());
}

void recording_describe_budget(const struct moca_record_options *o,
			       struct moca_meta *m)
{
	if (o->sample_auto)
		moca_meta_set(m, "sample", "auto");
	else if (o->sample_level)
		moca_meta_set(m, "sample", "1/%u", 1u << o->sample_level);
	if (!o->zap)
		moca_meta_set(m, "sweeps", "none");
	moca_meta_set(m, "interval_ns", "%lu", o->interval_ns);
	if (isinf(o->budget))
		moca_meta_set(m, "budget", "none");
	else
		moca_meta_set(m, "budget", "%.4f", o->budget);
	if (o->credit_ns && o->shortest_ns)
		moca_meta_set(m, "credit_ns", "%lu", o->credit_ns);
}

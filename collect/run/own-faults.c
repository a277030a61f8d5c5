// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/own-faults.h"

#include <errno.h>
#include <stdlib.h>

#include "collect/run/recorder.h"
#include "lib/format/rate-writer.h"

struct own_faults {
	struct moca_rate_writer *writer;
	uint64_t period_ns;
	uint64_t start_ns;
	pid_t root;
	int started;		/* there is something in the stream */
};

int own_faults_create(struct own_faults **out, int dirfd, uint64_t period_ns,
		      pid_t root)
{
	struct own_faults *o = calloc(1, sizeof(*o));
	int err;

	if (!o)
		return -ENOMEM;
	o->period_ns = period_ns;
	o->root = root;
	o->start_ns = moca_now_ns();
	err = moca_rate_writer_create(&o->writer, dirfd,
				      MOCA_RATE_STREAM_OWN);
	if (err)
		free(o);
	else
		*out = o;
	return err;
}

void own_faults_tell(struct own_faults *o, struct own_count *c, pid_t pid,
		     pid_t tid)
{
	if (!o || !c->minor)
		return;
	/* An error is told at the end. */
	if (!o->started)
		/* The root may be gone by now; its stream is as old as it. */
		moca_rate_writer_start(o->writer, (uint32_t)o->root, "",
				       o->start_ns);
	o->started = 1;
	moca_rate_own(o->writer, moca_now_ns(), (uint32_t)pid, (uint32_t)tid,
		      c->period * o->period_ns, c->minor);
	c->minor = 0;
}

void own_faults_add(struct own_faults *o, struct own_count *c, pid_t pid,
		    pid_t tid, uint64_t time_ns)
{
	uint64_t period;

	if (!o)
		return;
	period = time_ns / o->period_ns;
	if (period != c->period)
		own_faults_tell(o, c, pid, tid);
	c->period = period;
	c->minor++;
}

void own_faults_flush(struct own_faults *o)
{
	/* An error is told at the end. */
	if (o)
		moca_rate_writer_flush(o->writer);
}

int own_faults_close(struct own_faults *o)
{
	int err = 0, ret;

	if (!o)
		return 0;
	if (o->started)
		err = moca_rate_writer_end(o->writer, moca_now_ns());
	ret = moca_rate_writer_close(o->writer);
	free(o);
	return err ? err : ret;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The metadata of a trace: doc/format.md has the keys. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collect/trace/tracer.h"
#include "lib/base/err.h"
#include "lib/format/seal.h"
#include "lib/ring/clock.h"

#define DESCRIBE_NS 5000000000ull	/* between two writings */

static const char *const modes[] = {
	[MOCA_RING_DISCARD] = "discard",
	[MOCA_RING_OVERWRITE] = "flight",
	[MOCA_RING_BLOCK] = "block",
};

const char *tracer_mode_name(uint32_t mode)
{
	return mode < sizeof(modes) / sizeof(*modes) ? modes[mode] : "unknown";
}

/* Directories /sys/devices/system/node/nodeN; 1 where there is none. */
static unsigned int count_nodes(void)
{
	char path[64];
	unsigned int n;

	for (n = 0; n < 1024; n++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%u",
			 n);
		if (access(path, F_OK))
			break;
	}
	return n ? n : 1;
}

static void describe_machine(struct moca_meta *m)
{
	struct utsname un;

	uname(&un);
	moca_meta_set(m, "page_size", "%ld", sysconf(_SC_PAGESIZE));
	moca_meta_set(m, "host", "%s", un.nodename);
	moca_meta_set(m, "kernel", "%s", un.release);
	moca_meta_set(m, "cpus", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	moca_meta_set(m, "nodes", "%u", count_nodes());
}

static void command_line(const struct tracer_options *o, char *line,
			 size_t size)
{
	size_t n = 0;
	char **a;

	line[0] = 0;
	for (a = o->argv; a && *a && n < size; a++)
		n += (size_t)snprintf(line + n, size - n, "%s%s",
				      a == o->argv ? "" : " ", *a);
}

/* What does not change; of the trace and its snapshots. */
static void describe_session(const struct tracer_session *s,
			     struct moca_meta *m)
{
	const struct tracer_options *o = &s->opt;
	char line[8192];

	command_line(o, line, sizeof(line));
	moca_meta_set(m, "version", "%s", MOCA_VERSION);
	moca_meta_set(m, "state", "recording");
	if (line[0])
		moca_meta_set(m, "command", "%s", line);
	moca_meta_set(m, "collector", "trace");
	moca_meta_set(m, "start_time", "%llu",
		      (unsigned long long)s->start_time);
	moca_meta_set(m, "start_ns", "%llu", (unsigned long long)s->start_ns);
	describe_machine(m);
	moca_meta_set(m, "trace.name", "%s", s->slot.name);
	moca_meta_set(m, "trace.session", "%s", s->shm.session);
	moca_meta_set(m, "trace.mode", "%s", tracer_mode_name(o->mode));
	moca_meta_set(m, "trace.subbuf_size", "%u", o->subbuf_size);
	moca_meta_set(m, "trace.subbufs", "%u", o->subbufs);
	moca_meta_set(m, "trace.clock", "%s",
		      s->clock_kind == MOCA_CLOCK_TSC ? "tsc" : "monotonic");
}

static void set_u64(struct moca_meta *m, const char *key, uint64_t v)
{
	moca_meta_set(m, key, "%llu", (unsigned long long)v);
}

static void set_knot(struct moca_meta *m, const char *key,
		     struct tracer_knot k)
{
	moca_meta_set(m, key, "%llu %llu", (unsigned long long)k.clock,
		      (unsigned long long)k.ns);
}

/* Everything that counts. */
static void set_totals(struct tracer_session *s)
{
	struct tracer_totals *t = &s->totals;
	struct moca_meta *m = s->meta;
	struct tracer_refused r;

	tracer_refused_sum(s, &r);
	moca_meta_set(m, "trace.filter", "%s", s->wish.filter);
	moca_meta_set(m, "trace.mask", "%08x", s->wish.mask);
	set_u64(m, "trace.streams", atomic_load(&t->streams));
	set_u64(m, "trace.events", atomic_load(&t->events));
	set_u64(m, "trace.lost", atomic_load(&t->lost) + r.events);
	set_u64(m, "trace.torn", atomic_load(&t->torn));
	set_u64(m, "trace.refused", r.threads);
	set_u64(m, "trace.refused_rights", r.rights);
	set_u64(m, "trace.refused_away", r.away);
	set_u64(m, "trace.outside", r.events);
}

/* What `moca trace recover` needs to find buffers and to tell the time. */
static void describe_buffers(const struct tracer_session *s,
			     struct moca_meta *m)
{
	describe_session(s, m);
	moca_meta_set(m, "trace.shm", "%s", s->shm.path);
	set_knot(m, "trace.clock_first", s->first_knot);
}

int tracer_describe_begin(struct tracer_session *s)
{
	s->meta = moca_meta_new();
	if (!s->meta)
		return -ENOMEM;
	describe_buffers(s, s->meta);
	set_totals(s);
	s->described_ns = moca_now_ns();
	return moca_meta_write(s->meta, s->dirfd);
}

int tracer_describe_beside(struct tracer_session *s)
{
	struct moca_meta *m = moca_meta_new();
	int err;

	if (!m)
		return -ENOMEM;
	describe_buffers(s, m);
	err = moca_meta_write_as(m, s->dirfd, MOCA_META_SESSION);
	moca_meta_free(m);
	return err;
}

void tracer_describe_now(struct tracer_session *s)
{
	uint64_t now = moca_now_ns();
	struct tracer_knot knot;

	if (!s->meta || now - s->described_ns < DESCRIBE_NS)
		return;
	s->described_ns = now;
	pthread_mutex_lock(&s->lock);
	knot = s->last_knot;
	pthread_mutex_unlock(&s->lock);
	if (knot.ns)
		set_knot(s->meta, "trace.clock_last", knot);
	set_totals(s);
	/* A full disk: the drain says so. */
	moca_meta_write(s->meta, s->dirfd);
}

__attribute__((format(printf, 2, 3)))
static void lose(struct moca_meta *m, const char *fmt, ...)
{
	char buf[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	moca_meta_add_loss(m, buf);
}

static void add_losses(struct tracer_session *s)
{
	struct tracer_totals *t = &s->totals;
	struct moca_meta *m = s->meta;
	struct tracer_refused r;
	unsigned long long n;
	char text[400];
	int err = atomic_load(&s->disk_error);

	tracer_refused_sum(s, &r);
	if (tracer_refused_text(&r, text, sizeof(text)))
		moca_meta_add(m, "note", text);
	if ((n = atomic_load(&t->spoiled)))
		lose(m, "%llu buffers were cut short by their programs: what "
		     "was in them is not here", n);
	if ((n = atomic_load(&t->stuck)))
		lose(m, "%llu times a writer that never returned was given "
		     "up on", n);
	if ((n = atomic_load(&t->dropped)))
		lose(m, "the buffers of %llu ended threads were let go for "
		     "newer ones", n);
	if (err)
		lose(m, "recording ended when the disk could not be written "
		     "to: %s; %llu events that had been written to buffers are "
		     "not here", strerror(-err),
		     (unsigned long long)atomic_load(&t->unread));
}

int tracer_describe_end(struct tracer_session *s)
{
	if (!s->meta)
		return 0;
	set_u64(s->meta, "end_ns", s->end_ns);
	if (s->has_child && !s->child)
		moca_meta_set(s->meta, "exit_status", "%d",
			      s->child_status);
	add_losses(s);
	set_totals(s);
	moca_meta_set(s->meta, "state", "complete");
	return moca_seal_write(s->meta, s->dirfd);
}

int tracer_describe_snapshot(struct tracer_session *s,
			     const struct tracer_job *job)
{
	struct moca_meta *m = moca_meta_new();
	int err;

	if (!m)
		return -ENOMEM;
	describe_session(s, m);
	set_u64(m, "end_ns", moca_now_ns());
	set_u64(m, "trace.streams", job->streams);
	set_u64(m, "trace.events", job->events);
	set_u64(m, "trace.lost", job->lost);
	set_u64(m, "trace.torn", job->torn);
	moca_meta_add(m, "note", "a snapshot of a flight recorder: the latest "
				 "events of each thread");
	moca_meta_set(m, "state", "complete");
	err = moca_seal_write(m, job->dirfd);
	moca_meta_free(m);
	return err;
}

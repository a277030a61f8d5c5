// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/trace/session.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/trace/guard.h"
#include "collect/trace/tracer.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/format/rate-writer.h"
#include "lib/ring/clock.h"

#define TWICE_NS 1000000000ull	/* two ^C within this are meant for us */

static size_t buffer_size(const struct tracer_options *o)
{
	return MOCA_RING_DATA + (size_t)o->subbuf_size * o->subbufs;
}

/* The first buffer must be there for the asking: else say so now. */
static int prove_memory(struct tracer_session *s)
{
	const struct tracer_options *o = &s->opt;
	size_t size = buffer_size(o);
	int err = tracer_shm_prove(&s->shm, size);

	if (err)
		moca_error("cannot have the memory of one thread's buffer, "
			   "%zu KiB (%u subbuffers of %u KiB), in %s: %s; %s",
			   size >> 10, o->subbufs, o->subbuf_size >> 10,
			   s->shm.path, strerror(-err),
			   tracer_shm_advice(err));
	return err;
}

static const char *base_name(const struct tracer_options *o, char *buf,
			     size_t size)
{
	const char *cmd, *slash;

	if (!o->argv) {
		snprintf(buf, size, "moca-trace-%s", o->name);
		return buf;
	}
	cmd = o->argv[0];
	slash = strrchr(cmd, '/');
	snprintf(buf, size, "moca-%s", slash ? slash + 1 : cmd);
	return buf;
}

static int open_directory(struct tracer_session *s)
{
	char base[300];
	int err;

	if (s->opt.beside) {
		/* The samplers of rates write the streams below MOCA_OWN_STREAMS. */
		s->next_stream = MOCA_OWN_STREAMS;
		s->dir = strdup(s->opt.dir);
		return s->dir ? 0 : -ENOMEM;
	}
	err = tracer_directory_make(s->opt.dir,
				    base_name(&s->opt, base, sizeof(base)),
				    &s->dir, &s->dirfd);
	if (err)
		return err;
	err = tracer_directory_open(s);
	if (!err)
		err = tracer_describe_begin(s);
	if (err)
		moca_error("cannot begin the trace in %s: %s; %s", s->dir,
			   strerror(-err),
			   tracer_advice(err, "choose another directory with "
					      "-o"));
	else
		tracer_shm_note_directory(&s->shm, s->dir);
	return err;
}

static int open_loop(struct tracer_session *s)
{
	int err;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->epoll < 0 || s->done_fd < 0)
		err = -errno;
	else
		err = tracer_server_listen(s);
	if (err)
		moca_error("cannot listen for programs at %s/%s.sock: %s; %s",
			   s->slot.reg.path, s->slot.name, strerror(-err),
			   tracer_advice(err, "set MOCA_RUNTIME_DIR to a "
					      "directory of your own"));
	return err;
}

static void discard(struct tracer_session *s)
{
	tracer_server_close(s);
	if (s->epoll >= 0)
		close(s->epoll);
	if (s->done_fd >= 0)
		close(s->done_fd);
	tracer_shm_remove(&s->shm);
	tracer_slot_free(&s->slot);
	moca_event_writer_destroy(s->types);
	moca_event_writer_destroy(s->writer);
	if (s->dirfd >= 0)
		close(s->dirfd);
	moca_meta_free(s->meta);
	tracer_catalog_free(&s->catalog);
	tracer_clock_free(&s->clock);
	pthread_mutex_destroy(&s->lock);
	free(s->dir);
	free(s);
}

static struct tracer_session *new_session(const struct tracer_options *opt)
{
	struct tracer_session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->opt = *opt;
	s->dirfd = s->epoll = s->done_fd = s->listener = -1;
	s->signals = s->control = -1;
	s->shm.dirfd = s->shm.note_fd = -1;
	s->start_ns = moca_now_ns();
	s->start_time = moca_clock_ns(CLOCK_REALTIME);
	s->wish.state = MOCA_SLOT_ACTIVE;
	s->wish.mask = opt->mask;
	snprintf(s->wish.filter, sizeof(s->wish.filter), "%s",
		 opt->filter ? opt->filter : "");
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

/* One descriptor for each process that joins: as many as we may have. */
static void raise_limit(struct tracer_session *s)
{
	struct rlimit lim;

	s->fd_most = 1024;
	if (getrlimit(RLIMIT_NOFILE, &lim))
		return;
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);
	if (!getrlimit(RLIMIT_NOFILE, &lim))
		s->fd_most = lim.rlim_cur > INT_MAX ? INT_MAX :
						      (int)lim.rlim_cur;
}

int tracer_session_open(struct tracer_session **out,
			const struct tracer_options *opt)
{
	struct tracer_session *s = new_session(opt);
	int err;

	if (!s)
		return -ENOMEM;
	raise_limit(s);
	err = tracer_guard_install();
	s->clock_kind = tracer_clock_choose();
	if (!err)
		err = tracer_clock_init(&s->clock, s->clock_kind);
	s->first_knot = s->clock.tip;
	if (!err)
		err = tracer_catalog_init(&s->catalog);
	if (err)
		moca_error("cannot begin a trace: %s", strerror(-err));
	if (!err)
		err = tracer_slot_take(&s->slot, opt->name,
				       opt->is_private ? MOCA_SLOT_PRIVATE : 0,
				       opt->session, opt->quiet);
	if (!err)
		err = tracer_shm_create(&s->shm, s->slot.session);
	/* Beside a page trace most programs never ask for one. */
	if (!err && !opt->beside)
		err = prove_memory(s);
	if (!err)
		err = open_directory(s);
	if (!err)
		err = open_loop(s);
	if (err) {
		discard(s);
		return err;
	}
	*out = s;
	return 0;
}

int tracer_session_begin(struct tracer_session *s)
{
	int err = tracer_slot_set(&s->slot, &s->wish);

	if (!err)
		err = tracer_drain_start(s);
	if (err) {
		moca_error("cannot begin the trace %s: %s", s->slot.name,
			   strerror(-err));
		discard(s);
	}
	return err;
}

int tracer_session_doorbell(const struct tracer_session *s)
{
	return s->shm.doorbell_fd;
}

const char *tracer_session_id(const struct tracer_session *s)
{
	return s->shm.session;
}

const char *tracer_session_dir(const struct tracer_session *s)
{
	return s->dir;
}

void tracer_session_finish(struct tracer_session *s)
{
	if (s->finish)
		return;
	s->wish.state = MOCA_SLOT_STOPPED;
	tracer_slot_set(&s->slot, &s->wish);
	s->last.kind = TRACER_JOB_FINISH;
	s->last.dirfd = -1;
	s->finish = &s->last;
	tracer_job_post(s, s->finish);
}

void tracer_session_check_end(struct tracer_session *s)
{
	if (s->has_child && !s->child && !s->processes)
		tracer_session_finish(s);
}

/* The session is asked to end while programs are still running. */
static void end_early(struct tracer_session *s)
{
	struct tracer_process *p;
	char list[512] = "";
	size_t n = 0;

	for (p = s->processes; p && n < sizeof(list) - 64; p = p->next)
		n += (size_t)(p->pid ?
			snprintf(list + n, sizeof(list) - n, "%s%d",
				 n ? ", " : "", p->pid) :
			snprintf(list + n, sizeof(list) - n,
				 "%sone of another pid namespace",
				 n ? ", " : ""));
	if (s->has_child && s->processes)
		moca_say("these processes are still running, unrecorded from "
			 "now on: %s%s", list, p ? ", ..." : "");
	tracer_session_finish(s);
}

static void on_interrupt(struct tracer_session *s)
{
	uint64_t now = moca_now_ns();

	/* The terminal has sent it to the program as well: its to obey. */
	if (s->child && now - s->interrupt_ns > TWICE_NS) {
		s->interrupt_ns = now;
		return;
	}
	s->left = 1;
	end_early(s);
}

static void reap_child(struct tracer_session *s)
{
	int status;

	if (!s->child || waitpid(s->child, &status, WNOHANG) != s->child)
		return;
	s->child = 0;
	s->child_status = status;
	tracer_session_check_end(s);
}

static void on_signal(struct tracer_session *s, struct tracer_source *src,
		      uint32_t events)
{
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof(info)) != sizeof(info))
		return;
	switch (info.ssi_signo) {
	case SIGCHLD:
		reap_child(s);
		break;
	case SIGINT:
		on_interrupt(s);
		break;
	case SIGQUIT:
		break;
	default:
		if (s->child)
			kill(s->child, (int)info.ssi_signo);
		else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP)
			end_early(s);
	}
}

void tracer_session_set_signals(struct tracer_session *s, int fd)
{
	s->signals = fd;
	s->on_signal.ready = on_signal;
	tracer_watch(s, fd, &s->on_signal);
}

static void on_control(struct tracer_session *s, struct tracer_source *src,
		       uint32_t events)
{
	char word[8];

	epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->control, NULL);
	/* Left unread, it would reset the connection when we are done. */
	if (read(s->control, word, sizeof(word)) < 0)
		s->control = -1;
	tracer_session_finish(s);
}

void tracer_session_set_control(struct tracer_session *s, int fd)
{
	s->control = fd;
	s->on_control.ready = on_control;
	tracer_watch(s, fd, &s->on_control);
}

void tracer_session_set_child(struct tracer_session *s, pid_t pid)
{
	s->child = pid;
	s->has_child = 1;
}

enum tracer_child tracer_session_run(struct tracer_session *s, int *status)
{
	tracer_server_run(s);
	*status = s->child_status;
	return !s->child ? TRACER_CHILD_ENDED :
	       s->left	 ? TRACER_CHILD_LEFT : TRACER_CHILD_RUNS;
}

/* Streams of programs that joined at the very last moment. */
static void drop_fresh(struct tracer_session *s)
{
	struct tracer_stream *st;

	while ((st = s->fresh)) {
		s->fresh = st->next;
		tracer_stream_destroy(s, st);
	}
}

static void fill_result(struct tracer_session *s, struct tracer_result *r)
{
	struct tracer_totals *t = &s->totals;

	r->events = atomic_load(&t->events);
	tracer_refused_sum(s, &r->refused);
	r->lost = atomic_load(&t->lost) + r->refused.events +
		  atomic_load(&t->unread);
	r->torn = atomic_load(&t->torn);
	r->corrupt = atomic_load(&t->corrupt);
	r->bytes = atomic_load(&t->bytes);
	r->streams = atomic_load(&t->streams);
	r->spoiled = atomic_load(&t->spoiled);
	r->processes = atomic_load(&t->processes);
	r->error = atomic_load(&s->disk_error);
}

void tracer_session_close(struct tracer_session *s,
			  struct tracer_result *result)
{
	int err;

	tracer_session_finish(s);
	tracer_drain_join(s);
	s->end_ns = moca_now_ns();
	drop_fresh(s);
	tracer_connection_hear_last(s);
	tracer_server_close(s);
	tracer_slot_free(&s->slot);
	err = tracer_describe_end(s);
	if (err)
		tracer_disk_failed(s, err);
	fill_result(s, result);
	tracer_shm_remove(&s->shm);
	if (s->opt.beside && s->dirfd >= 0)
		unlinkat(s->dirfd, MOCA_META_SESSION, 0);
	tracer_control_end(s, result);
	tracer_connection_expire(s, 1);
	tracer_process_free_all(s);
	discard(s);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The processes that joined: noticing that they, their threads or their
 * programs have come to an end, with or without a word.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collect/trace/tracer.h"
#include "lib/base/proc.h"

#define SPARE_FDS 160	/* for connections and files */

/* Since 6.15: what became of a process, though it is not our child. */
struct pidfd_info_v0 {
	uint64_t mask;
	uint64_t cgroupid;
	uint32_t pid, tgid, ppid;
	uint32_t ids[8];
	int32_t exit_code;
};
#define PIDFD_EXIT (1ull << 3)
#define PIDFD_INFO _IOWR(0xff, 11, struct pidfd_info_v0)

_Static_assert(sizeof(struct pidfd_info_v0) == 64, "layout");

/* Until its parent has asked, /proc has it: the last field. 0: unknown. */
static int zombie_status(pid_t pid)
{
	char text[1024], *last;

	moca_proc_stat(text, sizeof(text), pid);
	last = strrchr(text, ' ');
	return last && text[0] == 'Z' ? atoi(last + 1) : 0;
}

/* As of wait(2), or 0 when it cannot be had. */
static int exit_status(const struct tracer_process *p)
{
	struct pidfd_info_v0 info = { .mask = PIDFD_EXIT };

	if (!ioctl(p->pidfd, PIDFD_INFO, &info) && info.mask & PIDFD_EXIT)
		return info.exit_code;
	return zombie_status(p->pid);
}

/* In another pid namespace all have pid 0: their incarnations differ. */
static struct tracer_process *find(struct tracer_session *s, pid_t pid,
				   uint64_t incarnation)
{
	struct tracer_process *p = s->processes;

	while (p && (p->pid != pid || (!pid && p->incarnation != incarnation)))
		p = p->next;
	return p;
}

/* The process has ended. The drain reads its streams to their end. */
static void forget(struct tracer_session *s, struct tracer_process *p,
		   int status)
{
	struct tracer_process **q;
	struct tracer_stream *st, *next;

	pthread_mutex_lock(&s->lock);
	for (st = p->streams; st; st = next) {
		next = st->sibling;
		/* The drain may free it as soon as it is gone: this is last. */
		st->process = NULL;
		if (st->tid == st->pid)
			atomic_store(&st->status, status);
		atomic_store(&st->gone, 1);
	}
	pthread_mutex_unlock(&s->lock);
	for (q = &s->processes; *q != p; q = &(*q)->next)
		;
	*q = p->next;
	if (p->pidfd >= 0)
		close(p->pidfd);
	free(p);
	tracer_drain_wake(s);
	tracer_session_check_end(s);
}

static void on_exit_of(struct tracer_session *s, struct tracer_source *src,
		       uint32_t events)
{
	struct tracer_process *p = (struct tracer_process *)src;

	forget(s, p, exit_status(p));
}

struct tracer_process *tracer_process_get(struct tracer_session *s, pid_t pid,
					  uint64_t incarnation,
					  struct tracer_connection *c)
{
	struct tracer_process *p = find(s, pid, incarnation);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->source.ready = on_exit_of;
	p->pid = pid;
	p->incarnation = incarnation;
	p->pidfd = tracer_peer_pidfd(c, pid);
	/* Too many to have one for each: the others are polled. */
	if (p->pidfd >= 0 && (p->pidfd >= s->fd_most - SPARE_FDS ||
			      tracer_watch(s, p->pidfd, &p->source))) {
		close(p->pidfd);
		p->pidfd = -1;
	}
	p->next = s->processes;
	s->processes = p;
	atomic_fetch_add(&s->totals.processes, 1);
	return p;
}

/*
 * Of a program before its exec, or of a thread that had this number before. A
 * second copy of the library in the program has the same incarnation as the
 * first (one of another version may have another).
 */
static int is_earlier(const struct tracer_stream *st, uint64_t incarnation,
		      uint32_t tid)
{
	return st->incarnation != incarnation || st->tid == tid;
}

/*
 * Of such a stream nobody has told that it has ended: neither the collector nor
 * its thread, as one does that writes again while it ends. The drain takes care
 * of those; to look for their mappings is slow in a process with many threads.
 */
static int is_open(struct tracer_stream *st)
{
	struct tracer_peek peek;

	return !atomic_load(&st->gone) &&
	       !tracer_ring_peek(&st->ring, &peek) && !peek.ended;
}

/* Sets `mapped` of the stream whose buffer this is. */
static void see_mapped(const struct tracer_session *s, struct tracer_process *p,
		       const char *name)
{
	size_t len = strlen(s->shm.session);
	uint32_t number;

	name = strstr(name, s->shm.session);
	if (!name || name[len] != '/' ||
	    tracer_shm_stream_number(name + len + 1, &number))
		return;
	for (struct tracer_stream *st = p->streams; st; st = st->sibling)
		st->mapped |= st->number == number;
}

/* Which streams' buffers the process has. 0 or -errno. */
static int look_mapped(const struct tracer_session *s, struct tracer_process *p)
{
	char buf[MOCA_MAPS_BUF];
	struct moca_maps m;
	struct moca_maps_line l;
	int err, any = 0;

	if (!p->pid)
		return -ESRCH;
	for (struct tracer_stream *st = p->streams; st; st = st->sibling)
		st->mapped = 0;
	err = moca_proc_maps(&m, p->pid, buf, sizeof(buf));
	if (err)
		return err;
	while ((err = moca_maps_next(&m, &l)) > 0) {
		see_mapped(s, p, l.name);
		any = 1;
	}
	close(m.fd);
	return any ? err : -ESRCH;
}

/*
 * End the streams of what was there before, if their buffers are no longer
 * mapped: else they are those of another copy of the library, or of a thread
 * of which nobody told that it has ended. Where mappings cannot be read,
 * nothing is ended.
 */
static void end_earlier(struct tracer_session *s, struct tracer_process *p,
			uint64_t incarnation, uint32_t tid)
{
	struct tracer_stream *st;
	int any = 0;

	for (st = p->streams; st; st = st->sibling)
		any |= is_earlier(st, incarnation, tid) && is_open(st);
	if (!any || look_mapped(s, p))
		return;
	for (st = p->streams; st; st = st->sibling)
		if (is_earlier(st, incarnation, tid) && !st->mapped)
			atomic_store(&st->gone, 1);
}

void tracer_process_replace(struct tracer_session *s, struct tracer_process *p,
			    uint64_t incarnation, uint32_t tid)
{
	pthread_mutex_lock(&s->lock);
	end_earlier(s, p, incarnation, tid);
	pthread_mutex_unlock(&s->lock);
	p->incarnation = incarnation;
}

int tracer_thread_exists(pid_t pid, uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%u", pid, tid);
	return !access(path, F_OK);
}

uint32_t tracer_thread_number(pid_t pid, uint32_t tid)
{
	struct dirent *e;
	char path[64];
	pid_t own = 0;
	DIR *d;

	if (!pid || moca_proc_numbers(pid, &own) <= moca_proc_numbers(0, &own))
		return tid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		pid_t ours = atoi(e->d_name);

		own = 0;
		if (ours > 0 && moca_proc_numbers(ours, &own) &&
		    (uint32_t)own == tid) {
			tid = (uint32_t)ours;
			break;
		}
	}
	if (d)
		closedir(d);
	return tid;
}

/* Threads that were silent since the last look: are they still there? */
static int poll_threads(struct tracer_session *s, struct tracer_process *p)
{
	struct tracer_stream *st;
	int found = 0;

	pthread_mutex_lock(&s->lock);
	for (st = p->streams; st; st = st->sibling) {
		if (!st->tid_known || atomic_exchange(&st->wrote, 0) ||
		    tracer_thread_exists(p->pid, st->tid))
			continue;
		atomic_store(&st->gone, 1);
		found = 1;
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

static int has_streams(struct tracer_session *s, struct tracer_process *p)
{
	int has;

	pthread_mutex_lock(&s->lock);
	has = p->streams != NULL;
	pthread_mutex_unlock(&s->lock);
	return has;
}

void tracer_process_poll(struct tracer_session *s)
{
	struct tracer_process *p, *next;
	int found = 0;

	for (p = s->processes; p; p = next) {
		next = p->next;
		if (p->pid && p->pidfd < 0 && kill(p->pid, 0) &&
		    errno == ESRCH)
			forget(s, p, 0);
		else if (p->pid)
			found |= poll_threads(s, p);
		/* Of another pid namespace, and with nothing to watch. */
		else if (p->pidfd < 0 && !has_streams(s, p))
			forget(s, p, 0);
	}
	if (found)
		tracer_drain_wake(s);
}

void tracer_process_free_all(struct tracer_session *s)
{
	struct tracer_process *p;

	while ((p = s->processes)) {
		s->processes = p->next;
		if (p->pidfd >= 0)
			close(p->pidfd);
		free(p);
	}
}

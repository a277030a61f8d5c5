// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recorder attaches to one process and follows the children that it makes from
 * then on. So this process looks at the list of members again and again, and
 * starts a recorder for each that no recorder follows.
 */
#include "cli/record-cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/run/attach-check.h"
#include "collect/run/cgroup.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/plural.h"
#include "lib/base/proc.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"

#define EXIT_OURS 125
#define LOOK_NS 20000000	/* between two looks at the list, or more: */
#define LOOK_SHARE 20		/* one part of the time for looks, at most, */
#define LOOK_MOST_NS 1000000000	/* but so often at least */
#define FROZEN_LOOKS 50		/* between two looks at who is frozen */
#define RECORDERS_MOST 256	/* at once: each takes some 10 MB */
#define DEEPEST 24		/* cgroups below the one that was named */
#define ANCESTORS_MOST 64

struct member {
	pid_t pid;
	uint64_t start;		/* ticks since boot: which of this number */
	pid_t recorder;		/* 0: none of its own */
	int settled;		/* what to do about it was decided */
	int waits;		/* for a recorder: RECORDERS_MOST run */
	int seen;		/* in the last look */
};

/* Which of the members it is. */
struct seat {
	pid_t pid;		/* 0: none */
	uint64_t start;
	size_t at;
};

static uint64_t seat_hash(const struct seat *s)
{
	return moca_mix(moca_mix((uint64_t)s->pid) ^ s->start);
}

static int seat_same(const struct seat *a, const struct seat *b)
{
	return a->pid == b->pid && a->start == b->start;
}

static int seat_used(const struct seat *s)
{
	return s->pid != 0;
}

MOCA_TABLE(seat, struct seat, seat_hash, seat_same, seat_used);

struct cgroup {
	const char *path;
	struct moca_record_options *o;
	const struct cgroup_way *way;
	struct member *members;
	size_t count, room;
	struct seat *seats;	/* of the members */
	size_t seats_cap, seats_count;
	size_t looks;
	size_t recorders;	/* that run */
	uint32_t next;		/* rank */
	size_t good;		/* recorders that ended well */
	int made_dir;		/* it was not there before */
	int outside;		/* members of another PID namespace were told */
	int crowded;		/* RECORDERS_MOST was told */
	int gone;		/* the cgroup was removed */
	int ending;		/* by a signal */
	int frozen;		/* members that do not stop were told */
};

/* --- who it is ---------------------------------------------------------- */

/* Field 22 of /proc/PID/stat. 0: it is gone, or a zombie. */
static uint64_t start_of(pid_t pid)
{
	char text[1024], *at = text;
	int i;

	if (moca_proc_stat(text, sizeof(text), pid) || *text == 'Z' ||
	    *text == 'X')
		return 0;
	for (i = 3; i < 22 && at; i++) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	return at ? strtoull(at, NULL, 10) : 0;
}

/* Ours are in the cgroup as well, if we are. We may be 1: a container's command. */
static int is_ours(pid_t pid)
{
	pid_t self = getpid();
	int i;

	for (i = 0; i < ANCESTORS_MOST && pid > 0; i++) {
		if (pid == self)
			return 1;
		pid = (pid_t)moca_proc_number(pid, "PPid:");
	}
	return 0;
}

/*
 * A vfork's child, a task that a recorder put there: it has the memory of a
 * process that is recorded, and cannot be recorded apart from it.
 */
static int shares_memory(const struct cgroup *c, pid_t pid)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->members[i].recorder &&
		    !syscall(SYS_kcmp, pid, c->members[i].pid, KCMP_VM, 0, 0))
			return 1;
	return 0;
}

/* --- its recorder ------------------------------------------------------- */

static void record_member(const struct cgroup *c, pid_t pid, pid_t parent)
{
	struct moca_record_options *o = c->o;
	char *dir, *rank;

	/* Signals stay blocked: the recorder's front takes them, once it can. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent ||
	    asprintf(&dir, "%s/rank-%u", o->dir, c->next) < 0 ||
	    asprintf(&rank, "%u", c->next) < 0)
		_exit(EXIT_OURS);
	o->dir = dir;
	o->rank = rank;
	o->attach = pid;
	o->quiet = 1;
	attach_expect_ends();
	exit(c->way->record(c->way->arg, pid));
}

/*
 * Whoever is frozen does not stop for a recorder, which waits for it. Told once,
 * for the first that is found.
 */
static void tell_frozen(struct cgroup *c, const struct member *m)
{
	char name[64] = "", *thaw;

	if (c->frozen)
		return;
	thaw = cgroup_frozen(m->pid);
	if (!thaw)
		return;
	c->frozen = 1;
	moca_proc_status(name, sizeof(name), m->pid, "Name:");
	moca_warn("process %d (%s) is frozen by its cgroup: %s only once it is thawed (podman unpause, docker unpause, or %s)",
		  m->pid, name, c->ending ? "its recording may end" :
					    "it may be attached to", thaw);
	free(thaw);
}

static void start_recorder(struct cgroup *c, struct member *m)
{
	char name[64] = "";
	pid_t self = getpid(), pid;

	m->waits = c->recorders == RECORDERS_MOST;
	if (m->waits) {
		if (!c->crowded++)
			moca_warn("%s has more than %d processes: others are recorded when some of these end",
				  c->path, RECORDERS_MOST);
		return;
	}
	moca_proc_status(name, sizeof(name), m->pid, "Name:");
	fflush(NULL);
	pid = fork();
	if (!pid)
		record_member(c, m->pid, self);
	m->settled = 1;
	if (pid < 0) {
		moca_warn("cannot start a recorder for process %d: %s", m->pid,
			  strerror(errno));
		return;
	}
	m->recorder = pid;
	if (!c->o->quiet)
		moca_say("process %d (%s): %s/rank-%u", m->pid, name, c->o->dir,
			 c->next);
	c->next++;
	c->recorders++;
	tell_frozen(c, m);
}

static struct member *member_of(const struct cgroup *c, pid_t recorder)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->members[i].recorder == recorder)
			return &c->members[i];
	return NULL;
}

/* Who executed us may have left children that are no recorders. */
static void take_ends(struct cgroup *c)
{
	struct member *m;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		m = member_of(c, pid);
		if (!m)
			continue;
		m->recorder = 0;
		c->recorders--;
		c->good += WIFEXITED(status) && !WEXITSTATUS(status);
	}
}

/* --- the list ----------------------------------------------------------- */

/*
 * What comes later is looked at twice: what the recorders do in programs, a clone
 * of a task that they trace at once, is not seen half done.
 */
static void decide(struct cgroup *c, struct member *m, int is_new)
{
	if ((is_new && c->looks) ||
	    (m->waits && c->recorders == RECORDERS_MOST))
		return;
	if (is_ours(m->pid) || shares_memory(c, m->pid) ||
	    is_ours((pid_t)moca_proc_number(m->pid, "TracerPid:"))) {
		m->settled = 1;
		return;
	}
	/* Who traces it, or may not be attached to: its recorder says so. */
	start_recorder(c, m);
}

static int see(struct cgroup *c, pid_t pid)
{
	struct seat key = { .pid = pid, .start = start_of(pid) }, *seat;
	struct member *m;
	int is_new;

	if (!key.start)
		return 0;
	if (seat_fit(&c->seats, &c->seats_cap, c->seats_count))
		return -ENOMEM;
	seat = seat_at(c->seats, c->seats_cap, &key);
	is_new = !seat->pid;
	if (is_new) {
		m = moca_vec_add(c->members, c->count, c->room);
		if (!m)
			return -ENOMEM;
		*m = (struct member){ .pid = pid, .start = key.start };
		key.at = c->count - 1;
		*seat = key;
		c->seats_count++;
	}
	m = &c->members[seat->at];
	m->seen = 1;
	if (!m->settled && !c->ending)
		decide(c, m, is_new);
	return 0;
}

static int read_list(struct cgroup *c, const char *path)
{
	char *file, *line = NULL;
	size_t size = 0;
	int err = 0;
	long pid;
	FILE *f;

	if (asprintf(&file, "%s/cgroup.procs", path) < 0)
		return -ENOMEM;
	f = fopen(file, "re");
	free(file);
	if (!f)
		return -errno;
	while (!err && getline(&line, &size, f) > 0) {
		pid = strtol(line, NULL, 10);
		if (pid > 0)
			err = see(c, (pid_t)pid);
		else if (!c->outside++)
			moca_warn("%s has processes that this PID namespace does not show: record from the host, or from their own",
				  c->path);
	}
	free(line);
	fclose(f);
	return err;
}

/* Of this cgroup and of all below. Only the first must be there. */
static int look(struct cgroup *c, const char *path, int depth)
{
	int err = read_list(c, path);
	struct dirent *e;
	char *below;
	DIR *d;

	/* What is threaded is listed by the cgroup above it. */
	if (err == -EOPNOTSUPP)
		err = 0;
	if (err || depth == DEEPEST)
		return err;
	d = opendir(path);
	while (d && !err && (e = readdir(d))) {
		if (e->d_type != DT_DIR || *e->d_name == '.')
			continue;
		if (asprintf(&below, "%s/%s", path, e->d_name) < 0) {
			err = -ENOMEM;
			break;
		}
		err = look(c, below, depth + 1);
		if (err == -ENOENT || err == -ENODEV)
			err = 0;	/* removed meanwhile */
		free(below);
	}
	if (d)
		closedir(d);
	return err;
}

/* Those that are left have other seats. */
static size_t forget_gone(struct cgroup *c)
{
	struct seat key, *seat;
	size_t n = 0;

	if (c->seats_cap)
		memset(c->seats, 0, c->seats_cap * sizeof(*c->seats));
	for (size_t i = 0; i < c->count; i++) {
		if (!c->members[i].seen && !c->members[i].recorder)
			continue;
		c->members[n] = c->members[i];
		c->members[n].seen = 0;
		key = (struct seat){ c->members[n].pid, c->members[n].start, n };
		seat = seat_at(c->seats, c->seats_cap, &key);
		*seat = key;
		n++;
	}
	c->count = c->seats_count = n;
	return n;
}

/* --- all of it ---------------------------------------------------------- */

static void end_all(struct cgroup *c, int sig)
{
	if (!c->ending)
		c->frozen = 0;	/* what it means now is something else */
	if (!c->ending && !c->o->quiet && sig == SIGINT)
		moca_say("the recording ends; the processes go on");
	c->ending = 1;
	for (size_t i = 0; i < c->count; i++)
		if (c->members[i].recorder)
			kill(c->members[i].recorder, SIGTERM);
}

/* After a signal nothing more may be said for as long as the user leaves them so. */
static void look_for_frozen(struct cgroup *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->members[i].recorder)
			tell_frozen(c, &c->members[i]);
}

/* Blocked, a SIGHUP that nohup has us ignore would be queued all the same. */
static void block_signals(sigset_t *set)
{
	struct sigaction hangup;

	sigemptyset(set);
	for (const int *s = (const int[]){ SIGINT, SIGTERM, SIGCHLD, 0 }; *s; s++)
		sigaddset(set, *s);
	if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
		sigaddset(set, SIGHUP);
	sigprocmask(SIG_BLOCK, set, NULL);
	signal(SIGCHLD, SIG_DFL);
}

static int follow(struct cgroup *c)
{
	uint64_t cpu, wait_ns;
	sigset_t set;
	int err, sig, had = 0;

	block_signals(&set);
	for (;; c->looks++) {
		cpu = moca_thread_cpu_ns();
		err = c->ending ? 0 : look(c, c->path, 0);
		c->gone = err == -ENOENT || err == -ENODEV;
		if (err && !c->gone) {
			moca_error("cannot read the members of %s: %s; the recording ends",
				   c->path, strerror(-err));
			end_all(c, SIGTERM);
		}
		take_ends(c);
		if (c->ending || c->gone ? !c->recorders :
					   !forget_gone(c) && had)
			return err && !c->gone ? err : 0;
		had |= c->count != 0;
		if (!c->looks && !c->count && !c->o->quiet)
			moca_say("%s has no processes yet: those that come are recorded",
				 c->path);
		wait_ns = (moca_thread_cpu_ns() - cpu) * LOOK_SHARE;
		if (wait_ns > LOOK_MOST_NS)
			wait_ns = LOOK_MOST_NS;
		sig = sigtimedwait(&set, NULL, &(struct timespec){
			.tv_sec = (time_t)(wait_ns / 1000000000),
			.tv_nsec = wait_ns < LOOK_NS ? LOOK_NS :
					(long)(wait_ns % 1000000000),
		});
		if (sig > 0 && sig != SIGCHLD)
			end_all(c, sig);
		if (c->ending && c->looks % FROZEN_LOOKS == 0)
			look_for_frozen(c);
	}
}

/* 0 or -errno. The user's own keeps its owner and mode. */
static int empty_folder(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int err = 0;

	if (!d)
		return -errno;
	while (!err && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			err = -ENOTEMPTY;
	if (!err && faccessat(dirfd(d), ".", W_OK, 0))
		err = -errno;
	closedir(d);
	return err;
}

/* The folder of all traces. 0 or EXIT_OURS after a message. */
static int make_folder(struct cgroup *c, const char *name)
{
	char when[64], *dir;
	time_t now = time(NULL);
	struct tm tm;
	int err;

	if (!c->o->dir) {
		localtime_r(&now, &tm);
		strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
		if (asprintf(&dir, "moca-%s-%s", name, when) < 0) {
			moca_error("out of memory");
			return EXIT_OURS;
		}
		c->o->dir = dir;	/* for as long as we run */
	}
	c->made_dir = !mkdir(c->o->dir, 0700);
	if (c->made_dir)
		return 0;
	err = errno == EEXIST ? empty_folder(c->o->dir) : -errno;
	if (!err)
		return 0;
	moca_error("cannot make the directory %s for the traces: %s; choose another with -o",
		   c->o->dir, strerror(-err));
	return EXIT_OURS;
}

int cgroup_record(const struct cgroup_options *g, struct moca_record_options *o,
		  const struct cgroup_way *way)
{
	char *path = cgroup_find(g);
	struct cgroup c = { .path = path, .o = o, .way = way };
	int ret = EXIT_OURS;

	if (!path)
		return EXIT_OURS;
	while (strlen(path) > 1 && path[strlen(path) - 1] == '/')
		path[strlen(path) - 1] = 0;
	o->job = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	if (make_folder(&c, o->job))
		goto out;
	if (!follow(&c) && c.good)
		ret = 0;
	if (!c.next && c.ending)
		ret = 0;	/* none came */
	if (!c.good && c.made_dir)
		rmdir(o->dir);	/* with nothing in it only */
	if (c.good && !o->quiet)
		moca_say("next: moca summary %s (%zu process%s)", o->dir, c.good,
			 c.good == 1 ? "" : "es");
	if (c.next && !c.good)
		moca_error("none of the %u process%s of %s that were tried could be recorded",
			   c.next, c.next == 1 ? "" : "es", path);
out:
	free(c.members);
	free(c.seats);
	free(path);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/native/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/native/rwp.h"
#include "collect/native/space.h"
#include "collect/ptrace/event.h"
#include "collect/ptrace/preload.h"
#include "collect/ptrace/supervisor.h"
#include "collect/ptrace/tracee.h"
#include "collect/ptrace/vdso.h"
#include "collect/run/queue.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"

#define CS_32BIT 0x23

/*
 * Have t make a userfaultfd and give it to us. It takes the lowest number that is
 * free, which is free again before the program goes on. A descriptor, or -errno;
 * -ESRCH: it died.
 */
static int make_uffd(const struct recorder *rec, struct task *t,
		     const struct user_regs_struct *regs)
{
	uint64_t insn = vdso_syscall(t->tid), args[6] = { RWP_FLAGS };
	struct tracee_calls c;
	int err, fd = -1, ended;
	long remote = -1, ret;

	if (!insn)
		return -ENOEXEC;
	/* Killed with us, rather than to go on amid the call. */
	err = supervisor_guard(rec, t, 1);
	if (err)
		return err;
	err = tracee_begin(&c, t, regs);
	if (err)
		goto out;
	err = tracee_raw_call(&c, insn, SYS_userfaultfd, args, &remote);
	if (!err && remote < 0)
		err = (int)remote;
	if (!err) {
		fd = tracee_fetch_fd(t->pid, (int)remote);
		args[0] = (uint64_t)remote;
		err = tracee_raw_call(&c, insn, SYS_close, args, &ret);
	}
	ended = err == -ESRCH ? 0 : tracee_end(&c);
	if (!err && ended)
		err = -ESRCH;
out:
	if (err != -ESRCH)
		supervisor_guard(rec, t, 0);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

static int open_file(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* From its first instruction on, all pages fault. 0 or -errno. */
static int take(const struct recorder *rec, struct task *t,
		const struct user_regs_struct *regs)
{
	struct native_space *s = native_space_of(t->space);
	int err, fd = make_uffd(rec, t, regs);

	if (fd < 0)
		return fd;
	err = rwp_begin(fd);
	if (!err)
		err = s->pagemap = open_file(t->pid, "pagemap");
	if (err >= 0)
		err = s->maps = open_file(t->pid, "maps");
	if (err < 0) {
		close(fd);
		return err;
	}
	s->uffd = fd;
	return native_space_protect(s, t->pid, NULL, NULL, NULL, &s->now);
}

struct tell_args {
	struct recorder *rec;
	struct task *t;
};

static void tell_one(void *arg, const struct moca_change *e, int ended)
{
	const struct moca_identity of = {
		.memory = e->memory, .dev = e->dev, .ino = e->ino,
	};
	struct tell_args *a = arg;

	task_event_map(a->rec, a->t, e->addr, e->len, e->offset, e->prot,
		       e->flags, e->name, &of);
}

/* The program's memory as it begins, for the trace. */
static void tell_mappings(struct recorder *rec, struct task *t)
{
	const struct native_maps none = { 0 };
	struct native_space *s = native_space_of(t->space);
	struct tell_args a = { rec, t };

	native_maps_differ(&none, &s->now, t->pid, tell_one, &a);
	s->told = 1;
	/* Pairs with the collector's load: it has all of it from now on. */
	atomic_store_explicit(&s->ready, 1, memory_order_release);
}

/* It runs as it is, and so do its forks: first touches alone are seen. */
static void leave(struct recorder *rec, struct task *t, const char *why)
{
	char text[200];

	native_space_of(t->space)->left = why;
	snprintf(text, sizeof(text), "its memory is not watched (%s): real faults "
		 "only", why);
	task_event_unmapped(rec, t, text);
}

static void leave_failed(struct recorder *rec, struct task *t, int err)
{
	leave(rec, t, err == -EMFILE || err == -ENFILE ? "no descriptor is free" :
		      err == -ENOEXEC ? "no vDSO in the program" :
		      err == -EPERM || err == -EACCES ? "the kernel does not allow it" :
		      err == -ENOMEM ? "no memory" : "userfaultfd failed");
	moca_debug("process %d is not watched: %s", t->pid, strerror(-err));
}

int native_after_exec(struct recorder *rec, struct task *t, const char *path)
{
	int limited = supervisor_limited(rec, t->tid), err, loads;
	struct user_regs_struct regs;
	const char *sanitizer;

	if (!record_wanted(rec, t->pid, path)) {
		native_space_of(t->space)->left = "left out by the user's choice";
		supervisor_gap(rec, t, native_space_of(t->space)->left);
		return 0;
	}
	err = tracee_get_regs(t, &regs);
	if (err)
		return err;
	if (regs.cs == CS_32BIT) {
		leave(rec, t, "a 32-bit program");
		return 0;
	}
	sanitizer = preload_sanitizer(t->tid, regs.rsp);
	if (sanitizer || limited) {
		/* A leak checker attaches to all threads: it must be alone. */
		t->let_go = sanitizer != NULL;
		leave(rec, t, sanitizer ? "its sanitizer must be alone: it and what "
					  "it starts run plain" :
					  "its system calls are limited by seccomp");
		return 0;
	}
	loads = supervisor_preload(rec, t, &regs);
	if (loads < 0)
		return loads;
	if (loads == PRELOAD_STATIC)
		supervisor_gap(rec, t, "allocations are not recorded: a static "
			       "program, with --via native");
	err = take(rec, t, &regs);
	if (err == -ESRCH)
		return err;
	if (err)
		leave_failed(rec, t, err);
	else
		tell_mappings(rec, t);
	return 0;
}

void native_after_fork(struct recorder *rec, struct task *t, struct task *child)
{
	struct native_space *s = native_space_of(child->space);
	const char *left = native_space_of(t->space)->left;
	struct user_regs_struct regs;
	int err;

	s->left = left;
	if (left)
		return;
	/* Its descriptors are its parent's as well: another task may take ours. */
	if (!syscall(SYS_kcmp, t->tid, child->tid, KCMP_FILES, 0, 0)) {
		s->left = "it shares its parent's descriptors";
		return;
	}
	err = tracee_get_regs(child, &regs);
	if (!err)
		err = take(rec, child, &regs);
	if (err) {
		moca_debug("process %d is not watched: %s", child->pid,
			   strerror(-err));
		s->left = "userfaultfd failed in a child";
	} else {
		atomic_store_explicit(&s->ready, 1, memory_order_release);
	}
}

void native_child_announced(struct recorder *rec, struct task *child)
{
	const char *left = native_space_of(child->space)->left;

	if (left)
		leave(rec, child, left);
}

struct last_look {
	struct extent *runs;
	size_t count, room, lost;
};

static void keep_run(void *arg, uint64_t start, uint64_t end)
{
	struct last_look *l = arg;

	if (moca_vec_fit(l->runs, l->room, l->count + 1))
		l->lost++;
	else
		l->runs[l->count++] = (struct extent){ start, end };
}

/*
 * The last look at the memory of a process. Other tasks may have it, and go on: so
 * it is protected again, as in a sweep.
 */
void native_exiting(struct recorder *rec, struct task *t)
{
	struct native_space *s = native_space_of(t->space);
	struct last_look l = { 0 };
	struct native_maps now;
	struct message *m = NULL;
	int err;

	if (!atomic_load_explicit(&s->ready, memory_order_relaxed))
		return;
	pthread_mutex_lock(&s->lock);
	err = native_space_protect(s, t->pid, &s->now, keep_run, &l, &now);
	if (!err)
		m = message_of_extents(rec->queue, MSG_WITNESS, t->space, 0, 0,
				       l.runs, l.count, NULL);
	if (m) {
		/* One that nobody has taken yet is older. */
		native_maps_free(&s->last);
		s->last = now;
	} else if (!err) {
		native_maps_free(&now);
	}
	pthread_mutex_unlock(&s->lock);
	free(l.runs);
	if (m)
		queue_push(rec->queue, m);
}

/* The program makes a userfaultfd of its own: ours goes first, for good. */
int native_call(struct recorder *rec, struct task *t,
		const struct user_regs_struct *regs)
{
	struct native_space *s = t->space ? native_space_of(t->space) : NULL;
	int had;

	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	had = s->uffd >= 0;
	if (had)
		close(s->uffd);
	s->uffd = -1;
	pthread_mutex_unlock(&s->lock);
	if (had)
		supervisor_gap(rec, t, "it uses userfaultfd itself, which memory "
			       "has one of: real faults only from here on");
	s->left = "it uses userfaultfd itself";
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/run/jit-read.h"
#include "collect/run/queue.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/plural.h"
#include "lib/base/proc.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"
#include "lib/format/meta.h"
#include "lib/format/quota.h"
#include "lib/format/writer.h"

#define PROCESSES (1u << 16)	/* that are known at a time */
#define DIRECTORIES 32u		/* /tmp of other namespaces that are held */
#define DUMPS 64u
#define OURS (-1)		/* the recorder's own /tmp */
#define TICK_NS 20000000ull	/* clocks of files and of processes are coarse */
#define LOOK_NS 10000000ull	/* between two looks at a process's user */
#define NAME_BYTES 64u		/* of a compressed name in the trace, about */

struct process {
	uint32_t pid, inner;	/* for us, and for itself */
	uint32_t uid;
	uint32_t task;		/* the first one's number */
	int tmp;		/* in directories; or OURS */
	int nested;		/* it has numbers of its own */
	uint64_t begin_ns;	/* Unix time; 0: in the recording */
	uint64_t looked_ns;	/* at its user */
};

struct held {
	int fd;
	uint64_t dev, ino;
};

struct dump {
	int fd;
	uint32_t pid;
	uint64_t dev, ino;
};

struct jit {
	pthread_mutex_t lock;
	int attach;
	uint64_t begin_ns;	/* of the recording, Unix time */
	struct stat tmp;	/* ours */
	struct process *list;
	size_t count, room;
	struct moca_index index;	/* by pid */
	struct moca_index by_task;
	struct held directories[DIRECTORIES];
	size_t directory_count;
	struct dump dumps[DUMPS];
	size_t dump_count;
	/* Files that were not read: of others, more than are kept. */
	uint64_t foreign, many, unreadable;
};

struct jit *jit_new(int attach)
{
	struct jit *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	pthread_mutex_init(&j->lock, NULL);
	j->attach = attach;
	j->begin_ns = moca_clock_ns(CLOCK_REALTIME);
	if (stat("/tmp", &j->tmp))
		j->tmp = (struct stat){ 0 };
	return j;
}

void jit_free(struct jit *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->directory_count; i++)
		close(j->directories[i].fd);
	for (size_t i = 0; i < j->dump_count; i++)
		if (j->dumps[i].fd >= 0)
			close(j->dumps[i].fd);
	free(j->list);
	moca_index_free(&j->index);
	moca_index_free(&j->by_task);
	pthread_mutex_destroy(&j->lock);
	free(j);
}

/* --- processes ------------------------------------------------------------ */

/* Below the root of a process, whatever links there are. -errno. */
static int open_below(pid_t pid, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char root[32];
	int at, fd;

	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
	if (fd < 0)
		fd = -errno;
	close(at);
	return fd;
}

/* Its /tmp is held, so that it is there when the process is not. */
static int find_tmp(struct jit *j, pid_t pid)
{
	int fd = open_below(pid, "/tmp", O_PATH | O_DIRECTORY);
	struct stat st;
	size_t i;

	if (fd < 0)
		return OURS;
	if (fstat(fd, &st) ||
	    (st.st_dev == j->tmp.st_dev && st.st_ino == j->tmp.st_ino))
		goto ours;
	for (i = 0; i < j->directory_count; i++)
		if (j->directories[i].dev == st.st_dev &&
		    j->directories[i].ino == st.st_ino)
			break;
	if (i < j->directory_count) {
		close(fd);
		return (int)i;
	}
	if (i == DIRECTORIES) {
		j->many++;
		goto ours;
	}
	j->directories[j->directory_count++] =
		(struct held){ fd, st.st_dev, st.st_ino };
	return (int)i;
ours:
	close(fd);
	return OURS;
}

/* When it began, Unix time; 0: not known. */
static uint64_t begin_of(pid_t pid)
{
	uint64_t ticks = 0, boot;
	char buf[1024], *p = buf;

	if (moca_proc_stat(buf, sizeof(buf), pid))
		return 0;
	/* The 22nd field; the third is the first here. */
	for (int i = 3; i < 22 && p; i++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	if (p)
		ticks = strtoull(p, NULL, 10);
	boot = moca_clock_ns(CLOCK_REALTIME) - moca_clock_ns(CLOCK_BOOTTIME);
	return boot + ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
}

static struct process *find_process(struct jit *j, uint32_t pid)
{
	struct process *found = NULL;
	uint32_t i;

	/* A number is used again: the last one counts. */
	moca_index_each(i, &j->index, moca_mix(pid))
		if (j->list[i].pid == pid)
			found = &j->list[i];
	return found;
}

static struct process *find_by_task(struct jit *j, uint32_t task)
{
	uint32_t i;

	moca_index_each(i, &j->by_task, moca_mix(task))
		if (j->list[i].task == task)
			return &j->list[i];
	return NULL;
}

/* As which user it makes files; if it is gone, the last that is known. */
static void look_at_user(struct process *p)
{
	char uids[64];
	uint32_t uid;

	p->looked_ns = moca_now_ns();
	/* Real, effective, saved, and that of files. */
	if (!moca_proc_status(uids, sizeof(uids), (pid_t)p->pid, "Uid:") &&
	    sscanf(uids, "%*u %*u %*u %u", &uid) == 1)
		p->uid = uid;
}

/* What the kernel says of it: it has begun a program, or is attached to. */
static void look(struct jit *j, struct process *p)
{
	pid_t last = 0;

	look_at_user(p);
	p->nested = moca_proc_numbers((pid_t)p->pid, &last) > 1;
	p->inner = p->nested && last > 0 ? (uint32_t)last : p->pid;
	p->tmp = find_tmp(j, (pid_t)p->pid);
	p->begin_ns = j->attach ? begin_of((pid_t)p->pid) : 0;
}

static void add_process(struct jit *j, uint32_t task,
			const struct moca_change *c)
{
	struct process *p = find_process(j, c->pid);
	const struct process *parent = find_by_task(j, c->parent);
	struct process new = {
		.pid = c->pid, .inner = c->pid, .uid = geteuid(),
		.task = task, .tmp = OURS,
	};
	pid_t last = 0;

	if (p || j->count >= PROCESSES) {
		j->many += !p;
		return;
	}
	if (parent) {
		new = *parent;
		new.pid = new.inner = c->pid;
		new.task = task;
		if (parent->nested && moca_proc_numbers((pid_t)c->pid, &last) > 1)
			new.inner = (uint32_t)last;
	}
	if (moca_vec_fit(j->list, j->room, j->count + 1) ||
	    moca_index_add(&j->index, moca_mix(c->pid), (uint32_t)j->count) ||
	    moca_index_add(&j->by_task, moca_mix(task), (uint32_t)j->count)) {
		j->many++;
		return;
	}
	j->list[j->count++] = new;
	if (!parent)
		look(j, &j->list[j->count - 1]);
}

/* "/any/where/jit-12.dump", as perf finds it. */
static int is_dump(const char *name)
{
	const char *base = strrchr(name, '/');
	size_t len = base ? strlen(base) : 0;

	return len > 10 && !strncmp(base, "/jit-", 5) &&
	       !strcmp(base + len - 5, ".dump");
}

/*
 * Who got rid of root's rights without an exec did it before it maps memory for code,
 * most often; it may also map other memory, and make code of that later.
 */
static void look_again(struct jit *j, const struct moca_change *c)
{
	int for_code = c->prot & PROT_EXEC && !(c->flags & MOCA_MAP_FILE);
	struct process *p = find_process(j, c->pid);

	if (p && !p->uid && (for_code || moca_now_ns() - p->looked_ns > LOOK_NS))
		look_at_user(p);
}

/* Is it the process's own? Says also what is not, but for what is no file. */
static int is_own(struct jit *j, int fd, uint32_t uid, struct stat *st)
{
	if (fstat(fd, st) || !S_ISREG(st->st_mode))
		return 0;
	if (st->st_uid == uid)
		return 1;
	j->foreign++;
	return 0;
}

#define OPEN_FILE (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

/*
 * The change was told late, and the process is gone: by our own root, as long as it had
 * the same. Nothing is opened but a regular file of its own user.
 */
static int open_outside(const struct process *p, const char *path)
{
	char self[32];
	struct stat st;
	int at, fd;

	if (p->tmp != OURS)
		return -ENOENT;
	at = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0)
		return -errno;
	if (fstat(at, &st) || !S_ISREG(st.st_mode) || st.st_uid != p->uid) {
		close(at);
		return -EACCES;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	fd = open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(at);
	return fd;
}

static void add_dump(struct jit *j, const struct moca_change *c)
{
	struct process *p = find_process(j, c->pid);
	struct stat st;
	int fd;

	for (size_t i = 0; i < j->dump_count; i++)
		if (j->dumps[i].pid == c->pid && j->dumps[i].dev == c->dev &&
		    j->dumps[i].ino == c->ino)
			return;
	if (!p || j->dump_count == DUMPS) {
		j->many++;
		return;
	}
	look_at_user(p);
	fd = open_below((pid_t)c->pid, c->name, OPEN_FILE);
	if (fd < 0)
		fd = open_outside(p, c->name);
	if (fd < 0) {
		j->unreadable++;
		return;
	}
	/* Another file may have its name by now. */
	if (!is_own(j, fd, p->uid, &st) || (c->ino && st.st_ino != c->ino)) {
		close(fd);
		return;
	}
	j->dumps[j->dump_count++] = (struct dump){ fd, c->pid, c->dev, c->ino };
}

void jit_change(struct jit *j, uint32_t task, const struct moca_change *c)
{
	struct process *p;

	/* Nothing else says who a process is, and what it writes. */
	if (!j || !(c->type == MOCA_CHANGE_EXEC ||
	      (c->type == MOCA_CHANGE_TASK_START &&
	       !(c->flags & MOCA_TASK_THREAD)) ||
	      c->type == MOCA_CHANGE_MMAP))
		return;
	pthread_mutex_lock(&j->lock);
	if (c->type == MOCA_CHANGE_MMAP && is_dump(c->name)) {
		add_dump(j, c);
	} else if (c->type == MOCA_CHANGE_MMAP) {
		look_again(j, c);
	} else {
		p = find_process(j, c->pid);
		if (!p)
			add_process(j, task, c);
		else if (c->type == MOCA_CHANGE_EXEC)
			look(j, p);
	}
	pthread_mutex_unlock(&j->lock);
}

void jit_message(struct jit *j, const struct message *m)
{
	if (m->kind == MSG_EVENT)
		jit_change(j, m->task, &m->event);
}

/* --- the end -------------------------------------------------------------- */

/* The map of a process; -1: there is none, or one of another. */
static int open_map(struct jit *j, const struct process *p)
{
	uint64_t begin = p->begin_ns ? p->begin_ns : j->begin_ns, changed;
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%sperf-%u.map", p->tmp == OURS ? "/tmp/" :
		 "", p->inner);
	fd = openat(p->tmp == OURS ? AT_FDCWD : j->directories[p->tmp].fd, path,
		    OPEN_FILE | O_CLOEXEC);
	if (fd < 0) {
		j->unreadable += errno != ENOENT;
		return -1;
	}
	if (is_own(j, fd, p->uid, &st)) {
		changed = (uint64_t)st.st_mtim.tv_sec * 1000000000ull +
			  (uint64_t)st.st_mtim.tv_nsec;
		/* Else it is of one that had the number before. */
		if (changed + TICK_NS >= begin)
			return fd;
	}
	close(fd);
	return -1;
}

static int read_all(struct jit *j, struct jit_read *r, uint64_t *files)
{
	int err = 0, fd;

	for (size_t i = 0; i < j->count && err != -ENOMEM && !jit_read_over(r);
	     i++) {
		fd = open_map(j, &j->list[i]);
		if (fd < 0)
			continue;
		r->pid = j->list[i].pid;
		err = jit_read_map(r, fd);
		j->unreadable += err != 0;
		*files += !err;
	}
	for (size_t i = 0;
	     i < j->dump_count && err != -ENOMEM && !jit_read_over(r); i++) {
		r->pid = j->dumps[i].pid;
		err = jit_read_dump(r, j->dumps[i].fd);
		j->dumps[i].fd = -1;
		j->unreadable += err != 0;
		*files += !err;
	}
	return err == -ENOMEM ? err : 0;
}

static void tell(const struct jit *j, const struct jit_read *r, uint64_t files,
		 struct moca_meta *m)
{
	uint64_t left = j->foreign + j->many + j->unreadable;
	char text[440];

	if (files) {
		moca_meta_set(m, "jit.files", "%lu", files);
		moca_meta_set(m, "jit.count", "%zu", r->out->count);
		moca_meta_set(m, "jit.full", "%lu", r->full);
		moca_meta_set(m, "jit.damaged", "%lu", r->damaged);
	}
	if (jit_read_over(r)) {
		snprintf(text, sizeof(text), "not all files with names of compiled "
			 "code were read: %s; code that they name has none",
			 r->bytes >= JIT_BYTES_MAX ? "they have more than 256 MiB" :
			 r->full >= JIT_FULL_MAX ?
			 "they have more names than a trace has room for" :
			 "a signal ended it");
		moca_meta_add(m, "note", text);
	}
	if (!left)
		return;
	snprintf(text, sizeof(text), "%lu file%s with names of compiled code "
		 "%s left out: %lu of another user than the process when it was last seen, %lu that "
		 "cannot be read or %s no map and no dump with times of "
		 "CLOCK_MONOTONIC, %lu as there are too many; that code has no names",
		 left, PLURAL(left), left == 1 ? "was" : "were", j->foreign,
		 j->unreadable, j->unreadable == 1 ? "is" : "are", j->many);
	moca_meta_add(m, "note", text);
}

int jit_write(struct jit *j, struct moca_writer *w, struct moca_meta *m,
	      struct moca_quota *quota, const atomic_int *stop)
{
	struct moca_jits names = { 0 };
	struct jit_read r = { .out = &names, .stop = stop };
	uint64_t files = 0;
	int err;

	pthread_mutex_lock(&j->lock);
	err = read_all(j, &r, &files);
	pthread_mutex_unlock(&j->lock);
	if (!err && names.count && quota &&
	    moca_quota_full(quota, names.count * NAME_BYTES)) {
		moca_meta_add_loss(m, "names of compiled code are left out: they "
				   "do not fit --max-size");
		names.count = 0;
	}
	if (!err && names.count)
		err = moca_writer_jit(w, &names);
	if (!err)
		tell(j, &r, files, m);
	moca_jits_free(&names);
	return err;
}

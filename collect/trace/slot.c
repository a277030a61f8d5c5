// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/trace/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "collect/trace/guard.h"
#include "collect/trace/shm.h"
#include "lib/base/err.h"

#define LOCK_TRIES 500		/* 10 ms each */

int tracer_name_is_valid(const char *name)
{
	size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"abcdefghijklmnopqrstuvwxyz0123456789_.-");

	return n && n <= MOCA_SESSION_NAME_MAX && !name[n] && name[0] != '.' &&
	       name[0] != '-';
}

static void complain(const struct tracer_registry *r, int err)
{
	if (err == -EPERM)
		moca_error("cannot use %s to tell programs about the trace: it "
			   "is another user's, a link, or open to others; "
			   "remove it, or set MOCA_RUNTIME_DIR to a directory "
			   "of your own", r->path);
	else if (err == -EPROTO)
		moca_error("cannot use %s/%s to tell programs about the trace: "
			   "it is of another version of Moca; end that one's "
			   "traces and remove the file", r->path,
			   MOCA_REGISTRY_FILE);
	else
		moca_error("cannot use %s to tell programs about the trace: "
			   "%s; %s", r->path, strerror(-err),
			   tracer_advice(err, "set MOCA_RUNTIME_DIR to a "
					      "directory of your own"));
}

void tracer_registry_close(struct tracer_registry *r)
{
	if (!r->map)
		return;
	munmap(r->map, sizeof(*r->map));
	close(r->fd);
	close(r->dirfd);
	r->map = NULL;
}

static off_t lock_offset(unsigned int i)
{
	return (off_t)(offsetof(struct moca_registry, slots) +
		       i * sizeof(struct moca_registry_slot));
}

static int lock_byte(int fd, int cmd, short type, off_t at,
		     struct flock *out)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET,
			   .l_start = at, .l_len = 1 };
	int err = fcntl(fd, cmd, &l) ? -errno : 0;

	if (out)
		*out = l;
	return err;
}

int tracer_registry_is_held(const struct tracer_registry *r, unsigned int i)
{
	struct flock l;

	return !lock_byte(r->fd, F_OFD_GETLK, F_WRLCK, lock_offset(i), &l) &&
	       l.l_type != F_UNLCK;
}

/* Nobody holds this one for long; one who does is stuck. */
static int lock_all(struct tracer_registry *r)
{
	struct timespec nap = { 0, 10000000 };
	int tries, err;

	for (tries = 0; tries < LOCK_TRIES; tries++) {
		err = lock_byte(r->fd, F_OFD_SETLK, F_WRLCK, 0, NULL);
		if (err != -EAGAIN && err != -EACCES)
			return err;
		nanosleep(&nap, NULL);
	}
	return -ETIMEDOUT;
}

static void unlock_all(struct tracer_registry *r)
{
	lock_byte(r->fd, F_OFD_SETLK, F_UNLCK, 0, NULL);
}

struct access {
	struct moca_registry *map;
	unsigned int index;
	struct moca_registry_slot *slot;	/* what is read or written */
	int fresh;		/* a new session: the epoch counts on */
	int error;
};

static void read_slot(void *arg)
{
	struct access *a = arg;

	a->error = moca_registry_read_slot(a->map, a->index, a->slot);
}

static void write_slot(void *arg)
{
	struct access *a = arg;
	struct moca_registry_slot *s = &a->map->slots[a->index];
	size_t head = offsetof(struct moca_registry_slot, epoch) +
		      sizeof(s->epoch);
	uint32_t seq = __atomic_load_n(&s->seq, __ATOMIC_RELAXED) | 1, g, next;

	/* Odd before anything changes: pairs with the reader's second look. */
	__atomic_store_n(&s->seq, seq, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&s->state, a->slot->state, __ATOMIC_RELAXED);
	if (a->fresh)
		__atomic_store_n(&s->epoch, s->epoch + 1, __ATOMIC_RELAXED);
	memcpy((char *)s + head, (char *)a->slot + head, sizeof(*s) - head);
	__atomic_store_n(&s->seq, seq + 1, __ATOMIC_RELEASE);
	/* After the slot: who sees the new number reads the new slot. */
	g = __atomic_load_n(&a->map->generation, __ATOMIC_RELAXED);
	do {
		next = g + 1;
		while (next == 0 || next == MOCA_GENERATION_NONE)
			next++;
	} while (!__atomic_compare_exchange_n(&a->map->generation, &g, next, 0,
					      __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

int tracer_registry_read(const struct tracer_registry *r, unsigned int i,
			 struct moca_registry_slot *out)
{
	struct access a = { .map = r->map, .index = i, .slot = out };
	int err = tracer_guard(read_slot, &a);

	return err ? err : a.error;
}

static int write_one(struct tracer_registry *r, unsigned int i,
		     struct moca_registry_slot *slot, int fresh)
{
	struct access a = { .map = r->map, .index = i, .slot = slot,
			    .fresh = fresh };

	return tracer_guard(write_slot, &a);
}

/* As it is, torn where its writer died. */
static void copy_slot(void *arg)
{
	struct access *a = arg;

	*a->slot = a->map->slots[a->index];
	a->slot->name[sizeof(a->slot->name) - 1] = 0;
}

/* May a living collector have that name? */
static int is_name_held(const struct tracer_registry *r, const char *name)
{
	struct moca_registry_slot s;
	unsigned int i;

	for (i = 0; i < MOCA_REGISTRY_SLOTS; i++)
		if (tracer_registry_is_held(r, i) &&
		    (tracer_registry_read(r, i, &s) || !strcmp(s.name, name)))
			return 1;
	return 0;
}

/* What is done about the buffers of a slot that is freed. */
enum buffers { BUFFERS_STAY, BUFFERS_QUIETLY, BUFFERS_SAY };

/*
 * Free slot i, whose collector is dead, and what it left beside; under the
 * lock. Drop buffers that nobody can have, or say how to get what is in them.
 */
static int clear_slot(struct tracer_registry *r, unsigned int i,
		      enum buffers buffers)
{
	int say = buffers == BUFFERS_SAY;
	struct moca_registry_slot s, none = { .state = MOCA_SLOT_FREE };
	struct access a = { .map = r->map, .index = i, .slot = &s };
	char file[MOCA_SESSION_NAME_MAX + 16], dir[PATH_MAX] = "";
	int err = tracer_guard(copy_slot, &a);

	if (!err && !(s.seq & 1) && s.state == MOCA_SLOT_FREE)
		return 0;
	if (!err)
		err = write_one(r, i, &none, 0);
	if (err || !tracer_name_is_valid(s.name))
		return err;
	if (!is_name_held(r, s.name)) {
		snprintf(file, sizeof(file), "%s.sock", s.name);
		unlinkat(r->dirfd, file, 0);
	}
	if (buffers != BUFFERS_STAY)
		tracer_shm_noted_directory(s.session, dir, sizeof(dir));
	if (tracer_shm_is_orphan(dir)) {
		if (say)
			moca_warn("trace %s's collector was killed, and %s is "
				  "gone: what was in its buffers is dropped",
				  s.name, dir);
		tracer_shm_drop(s.session);
	} else if (dir[0] && say)
		moca_warn("trace %s's collector was killed; to get what was in "
			  "its buffers: moca trace recover %s", s.name, dir);
	return 0;
}

/* Is it being written for ever? Under the lock: nobody takes it meanwhile. */
static int is_broken(const struct tracer_registry *r, unsigned int i)
{
	struct moca_registry_slot s;

	return tracer_registry_read(r, i, &s) == -EAGAIN &&
	       !tracer_registry_is_held(r, i);
}

/* Programs look again and again at a slot whose collector died writing it. */
static void repair(struct tracer_registry *r)
{
	unsigned int i;
	int err, broken = 0;

	for (i = 0; i < MOCA_REGISTRY_SLOTS; i++)
		broken |= is_broken(r, i);
	if (!broken)
		return;
	err = lock_all(r);
	for (i = 0; i < MOCA_REGISTRY_SLOTS && !err; i++)
		if (is_broken(r, i))
			err = clear_slot(r, i, BUFFERS_SAY);
	unlock_all(r);
}

int tracer_registry_open(struct tracer_registry *r)
{
	int err;

	memset(r, 0, sizeof(*r));
	r->fd = r->dirfd = -1;
	err = moca_registry_dir(r->path, sizeof(r->path));
	if (!err) {
		r->dirfd = moca_registry_open_dir(r->path);
		err = r->dirfd < 0 ? r->dirfd : 0;
	}
	if (!err) {
		err = moca_registry_map(r->dirfd, 1, &r->map, &r->fd);
		if (err)
			close(r->dirfd);
	}
	if (err)
		complain(r, err);
	else
		repair(r);	/* if not, it is as it was */
	return err;
}

int tracer_registry_reclaim(struct tracer_registry *r, uint64_t session)
{
	struct moca_registry_slot s;
	int err = lock_all(r);
	unsigned int i;

	for (i = 0; i < MOCA_REGISTRY_SLOTS && !err; i++) {
		if (tracer_registry_read(r, i, &s) ||
		    s.state == MOCA_SLOT_FREE || s.session != session)
			continue;
		err = tracer_registry_is_held(r, i) ? -EBUSY :
						      clear_slot(r, i, BUFFERS_STAY);
	}
	unlock_all(r);
	return err;
}

/*
 * The slot for a new session called name: that of a dead one with this name,
 * else a free one, else any dead one's.
 */
static int choose(struct tracer_registry *r, const char *name)
{
	struct moca_registry_slot s;
	int best = -EBUSY, rank = 0;
	unsigned int i;

	for (i = 0; i < MOCA_REGISTRY_SLOTS; i++) {
		int now = 0, bad = tracer_registry_read(r, i, &s);

		if (bad && bad != -EAGAIN)
			return bad;
		if (!tracer_registry_is_held(r, i))
			now = bad || s.state == MOCA_SLOT_FREE ? 2 :
			      strcmp(s.name, name) ? 1 : 3;
		else if (!bad && s.state != MOCA_SLOT_FREE &&
			 !strcmp(s.name, name))
			return -EEXIST;
		if (now > rank) {
			rank = now;
			best = (int)i;
		}
	}
	return best;
}

static void explain_take(const struct tracer_slot *s, int err)
{
	if (err == -EEXIST)
		moca_error("cannot start trace %s: there is one of this name; "
			   "choose another name, or end it with: moca trace "
			   "destroy %s", s->name, s->name);
	else if (err == -EBUSY)
		moca_error("cannot start trace %s: there are %u traces of this "
			   "user already, which is as many as there can be; "
			   "`moca trace status` lists them, `moca trace "
			   "destroy NAME` ends one", s->name,
			   MOCA_REGISTRY_SLOTS);
	else
		moca_error("cannot start trace %s: cannot write to %s/%s: %s; "
			   "remove it when no trace is running", s->name,
			   s->reg.path, MOCA_REGISTRY_FILE, strerror(-err));
}

uint64_t tracer_random_session(void)
{
	uint64_t id = 0;

	while (!id)
		if (getrandom(&id, sizeof(id), 0) != sizeof(id))
			id = (uint64_t)time(NULL) << 32 | (uint32_t)getpid();
	return id;
}

int tracer_slot_take(struct tracer_slot *s, const char *name, uint32_t flags,
		     uint64_t session, int quiet)
{
	struct moca_registry_slot new = { .state = MOCA_SLOT_STOPPED };
	int err, i;

	memset(s, 0, sizeof(*s));
	if (*name)
		snprintf(s->name, sizeof(s->name), "%s", name);
	else
		snprintf(s->name, sizeof(s->name), "run-%d", getpid());
	err = tracer_registry_open(&s->reg);
	if (err)
		return err;
	s->session = session ? session : tracer_random_session();
	s->flags = flags;
	err = lock_all(&s->reg);
	if (err)
		goto err_close;
	i = choose(&s->reg, s->name);
	if (i == -EEXIST && !*name) {	/* of another pid namespace */
		snprintf(s->name, sizeof(s->name), "run-%d-%08x", getpid(),
			 (uint32_t)s->session);
		i = choose(&s->reg, s->name);
	}
	err = i < 0 ? i : clear_slot(&s->reg, (unsigned int)i,
					 quiet ? BUFFERS_QUIETLY : BUFFERS_SAY);
	if (!err)
		err = lock_byte(s->reg.fd, F_OFD_SETLK, F_WRLCK,
				lock_offset((unsigned int)i), NULL);
	if (err)
		goto err_unlock;
	s->index = (unsigned int)i;
	new.session = s->session;
	new.flags = flags;
	new.owner = (uint32_t)getpid();
	strcpy(new.name, s->name);
	err = write_one(&s->reg, s->index, &new, 1);
	if (err)
		goto err_unlock;
	unlock_all(&s->reg);
	return 0;

err_unlock:
	unlock_all(&s->reg);
err_close:
	explain_take(s, err);
	tracer_registry_close(&s->reg);
	return err;
}

int tracer_slot_set(struct tracer_slot *s, const struct tracer_wish *w)
{
	struct moca_registry_slot new = {
		.state = w->state, .mask = w->mask, .flags = s->flags,
		.session = s->session, .owner = (uint32_t)getpid(),
	};

	strcpy(new.name, s->name);
	memcpy(new.filter, w->filter, sizeof(new.filter));
	return write_one(&s->reg, s->index, &new, 0);
}

void tracer_slot_free(struct tracer_slot *s)
{
	struct moca_registry_slot none = { .state = MOCA_SLOT_FREE };

	if (!s->reg.map)
		return;
	write_one(&s->reg, s->index, &none, 0);
	tracer_registry_close(&s->reg);
}

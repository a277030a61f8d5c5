// SPDX-License-Identifier: GPL-2.0-only
#include <linux/hashtable.h>
#include <linux/kernel.h>
#include <linux/llist.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "map-pages.h"
#include "session.h"
#include "user-buffer.h"
#include "user.h"

/* SIGRTMIN + 3 as the C library counts: it keeps the first two. */
#define SIGNAL 37

#define BYTES_MIN 4096u
#define BYTES_MAX (1u << 20)
#define BYTES_DEFAULT (64u << 10)

/* Offsets of buffers in /dev/moca: behind all rings, one after the other. */
#define OFFSET_BASE (1ull << 40)
#define PGOFF_BASE ((unsigned long)(OFFSET_BASE >> PAGE_SHIFT))
#define PGOFF_STRIDE (BYTES_MAX >> PAGE_SHIFT)

static unsigned int buffer_mb = 64;
module_param(buffer_mb, uint, 0644);
MODULE_PARM_DESC(buffer_mb,
		 "memory for events of all programs together, MB (default 64)");

/* A thread that was told of a session. It has a buffer, with or without data. */
struct thread {
	struct hlist_node node;
	struct task_struct *task;
	u64 told;		/* id of the session it was told of last */
	struct list_head buffers;
};

struct buffer {
	struct list_head of_thread, of_session;
	struct thread *thread;
	struct moca_buffers *owner;
	struct llist_node freed;
	u32 number;		/* its place among the offsets */
	u32 bytes;
	void *data;		/* NULL: the session was not active */
	struct moca_user *user;	/* who is charged for data */
};

/* Innermost. Protects lists, users, closing, and who is told what. */
static DEFINE_SPINLOCK(lock);
static LIST_HEAD(sessions);
static u64 last_id;
static DEFINE_HASHTABLE(threads, 8);
static unsigned int thread_count;
static DECLARE_WAIT_QUEUE_HEAD(idle);
static atomic_t numbers;
static atomic64_t in_use;	/* bytes */

/* --- sessions and their users ----------------------------------------------- */

void moca_buffers_init(struct moca_buffers *b, struct moca_session *s)
{
	memset(b, 0, sizeof(*b));
	INIT_LIST_HEAD(&b->buffers);
	b->session = s;
	b->bytes = BYTES_DEFAULT;
	spin_lock(&lock);
	b->id = ++last_id;
	list_add_tail(&b->node, &sessions);
	spin_unlock(&lock);
}

/* A session by its id, or the first one behind it: not to end before put. */
static struct moca_buffers *get_session(u64 id, bool next)
{
	struct moca_buffers *b, *found = NULL;

	spin_lock(&lock);
	list_for_each_entry(b, &sessions, node) {
		if (next ? b->id > id : b->id == id) {
			b->users++;
			found = b;
			break;
		}
	}
	spin_unlock(&lock);
	return found;
}

static void put_session(struct moca_buffers *b)
{
	spin_lock(&lock);
	if (!--b->users && b->closing)
		wake_up(&idle);
	spin_unlock(&lock);
}

static bool is_idle(struct moca_buffers *b)
{
	bool yes;

	spin_lock(&lock);
	yes = !b->users;
	spin_unlock(&lock);
	return yes;
}

/* --- threads and their buffers ----------------------------------------------- */

static struct thread *find_thread(struct task_struct *t)
{
	struct thread *th;

	hash_for_each_possible(threads, th, node, (unsigned long)t)
		if (th->task == t)
			return th;
	return NULL;
}

static struct buffer *find_buffer(const struct moca_buffers *b)
{
	struct thread *th = find_thread(current);
	struct buffer *buf;

	if (th)
		list_for_each_entry(buf, &th->buffers, of_thread)
			if (buf->owner == b)
				return buf;
	return NULL;
}

static void forget_thread(struct thread *th)
{
	hash_del(&th->node);
	WRITE_ONCE(thread_count, thread_count - 1);
	kfree(th);
}

static void free_data(struct buffer *buf)
{
	if (!buf->data)
		return;
	atomic64_sub(buf->bytes, &in_use);
	moca_user_uncharge(buf->user, buf->bytes);
	moca_user_put(buf->user);
	vfree(buf->data);
	buf->data = NULL;
}

static void free_buffer(struct buffer *buf)
{
	free_data(buf);
	kfree(buf);
}

static LLIST_HEAD(to_free);

static void free_all(struct work_struct *unused)
{
	struct llist_node *first = llist_del_all(&to_free);
	struct buffer *buf, *after;

	llist_for_each_entry_safe(buf, after, first, freed)
		free_buffer(buf);
}
static DECLARE_WORK(free_work, free_all);

/* What programs have no handler for ends them: these do not listen. */
static void tell_task(struct task_struct *t)
{
	struct sighand_struct *hand;
	bool listens = false;

	rcu_read_lock();
	hand = rcu_dereference(t->sighand);
	if (hand) {
		void __user *handler = READ_ONCE(
			hand->action[SIGNAL - 1].sa.sa_handler);

		listens = handler != SIG_DFL && handler != SIG_IGN;
	}
	if (listens)
		send_sig_info(SIGNAL, SEND_SIG_PRIV, t);
	rcu_read_unlock();
}

void moca_buffers_release(struct moca_buffers *b)
{
	struct buffer *buf, *after;

	spin_lock(&lock);
	b->closing = true;
	list_del(&b->node);
	list_for_each_entry(buf, &b->buffers, of_session) {
		tell_task(buf->thread->task);
		list_del(&buf->of_thread);
		if (list_empty(&buf->thread->buffers))
			forget_thread(buf->thread);
	}
	spin_unlock(&lock);
	/* A thread that has found its buffer before hands it over yet. */
	wait_event(idle, is_idle(b));
	list_for_each_entry_safe(buf, after, &b->buffers, of_session)
		free_buffer(buf);
}

/*
 * A structure that begins with its size, of which there must be `least` bytes;
 * longer ones only if the rest is zero. 0 or -errno.
 */
static int get_sized(void *to, size_t size, size_t least,
		     const void __user *from)
{
	u32 n;

	if (get_user(n, (const u32 __user *)from))
		return -EFAULT;
	if (n < least)
		return -EINVAL;
	if (n > PAGE_SIZE)
		return -E2BIG;
	return copy_struct_from_user(to, size, from, n);
}

/* --- what the owner wants ---------------------------------------------------- */

long moca_buffers_control(struct moca_buffers *b, void __user *arg)
{
	struct moca_buffer_control c;
	int err = get_sized(&c, sizeof(c), offsetofend(typeof(c), filter), arg);

	if (err)
		return err;
	if (!c.buffer_bytes)
		c.buffer_bytes = BYTES_DEFAULT;
	if (!is_power_of_2(c.buffer_bytes) || c.buffer_bytes < BYTES_MIN ||
	    c.buffer_bytes > BYTES_MAX)
		return -EINVAL;
	spin_lock(&lock);
	b->active = !!c.active;
	b->filter = c.filter;
	b->bytes = max_t(u32, c.buffer_bytes, PAGE_SIZE);
	spin_unlock(&lock);
	moca_session_each_task(b->session, tell_task);
	return 0;
}

/* --- what programs ask --------------------------------------------------------- */

/* The current thread's, of this session; NULL: no memory. */
static struct buffer *new_buffer(struct moca_buffers *b)
{
	struct buffer *buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);
	struct thread *th = kzalloc(sizeof(*th), GFP_KERNEL_ACCOUNT), *old;

	if (!buf || !th)
		goto err;
	spin_lock(&lock);
	if (b->closing) {
		spin_unlock(&lock);
		goto err;
	}
	old = find_thread(current);
	if (!old) {
		th->task = current;
		INIT_LIST_HEAD(&th->buffers);
		hash_add(threads, &th->node, (unsigned long)current);
		WRITE_ONCE(thread_count, thread_count + 1);
	}
	buf->thread = old ?: th;
	buf->owner = b;
	list_add(&buf->of_thread, &buf->thread->buffers);
	list_add(&buf->of_session, &b->buffers);
	spin_unlock(&lock);
	if (old)
		kfree(th);
	return buf;
err:
	kfree(th);
	kfree(buf);
	return NULL;
}

static int add_data(struct moca_buffers *b, struct buffer *buf)
{
	struct moca_user *user = b->session->user;
	u32 bytes = READ_ONCE(b->bytes);
	void *data;

	if (!moca_take(&in_use, bytes, moca_user_may_fill(
			user, (u64)READ_ONCE(buffer_mb) << 20)))
		return -ENOMEM;
	if (moca_user_charge(user, bytes))
		goto err;
	data = moca_pages_new(bytes, true);
	if (!data)
		goto err_charged;
	buf->number = (u32)atomic_inc_return(&numbers);
	buf->bytes = bytes;
	buf->user = moca_user_hold(user);
	buf->data = data;
	return 0;
err_charged:
	moca_user_uncharge(user, bytes);
err:
	atomic64_sub(bytes, &in_use);
	return -ENOMEM;
}

/* The caller holds the session. */
static int tell_current(struct moca_buffers *b, struct moca_buffer_update *u)
{
	struct buffer *buf;
	u32 active;
	int err;

	spin_lock(&lock);
	active = b->active;
	u->filter = b->filter;
	buf = find_buffer(b);
	spin_unlock(&lock);
	if (!buf)
		buf = new_buffer(b);
	if (!buf)
		return -ENOMEM;
	if (active && !buf->data) {
		err = add_data(b, buf);
		if (err)
			return err;
	}
	u->active = active;
	u->session = b->id;
	u->buffer_bytes = buf->data ? buf->bytes : 0;
	u->offset = buf->data ?
		OFFSET_BASE + (u64)buf->number * BYTES_MAX : 0;
	return 0;
}

static u64 told_of(void)
{
	struct thread *th;
	u64 id;

	spin_lock(&lock);
	th = find_thread(current);
	id = th ? th->told : 0;
	spin_unlock(&lock);
	return id;
}

static void set_told(u64 id)
{
	struct thread *th;

	spin_lock(&lock);
	th = find_thread(current);
	if (th)
		th->told = id;
	spin_unlock(&lock);
}

/* The next session that has the current thread. */
static int update_next(struct moca_buffer_update *u)
{
	u64 id = told_of();
	struct moca_buffers *b;
	int err;

	while ((b = get_session(id, true))) {
		id = b->id;
		if (moca_session_has_current(b->session)) {
			err = tell_current(b, u);
			put_session(b);
			if (!err)
				set_told(id);
			return err;
		}
		put_session(b);
	}
	/* All were told: the next time it begins with the first. */
	set_told(0);
	memset(u, 0, sizeof(*u));
	return 0;
}

static int update_one(struct moca_buffer_update *u)
{
	struct moca_buffers *b = get_session(u->session, false);
	int err = -ESRCH;

	if (!b)
		return -ESRCH;
	if (moca_session_has_current(b->session))
		err = tell_current(b, u);
	put_session(b);
	return err;
}

long moca_buffers_update(void __user *arg)
{
	struct moca_buffer_update u;
	int err = get_sized(&u, sizeof(u), sizeof(u), arg);
	u32 size;

	if (err)
		return err;
	size = u.size;
	err = u.session ? update_one(&u) : update_next(&u);
	if (err)
		return err;
	u.size = size;
	return copy_to_user(arg, &u, sizeof(u)) ? -EFAULT : 0;
}

static void hand_over(struct buffer *buf, u32 used, u32 flags)
{
	struct moca_session *s = buf->owner->session;

	moca_session_put_events(s, moca_session_tid(s, current),
				moca_session_pid(s, current), buf->data, used,
				flags);
}

static int switch_buffer(struct moca_buffers *b, u32 used)
{
	struct buffer *buf;
	bool last;

	spin_lock(&lock);
	buf = find_buffer(b);
	last = !b->active;
	spin_unlock(&lock);
	/* Only this thread, or who waits for us, takes its data away. */
	if (!buf || !buf->data)
		return -ENOENT;
	if (used > buf->bytes)
		return -EINVAL;
	if (used)
		hand_over(buf, used, 0);
	memset(buf->data, 0, used);
	if (last)
		free_data(buf);
	return 0;
}

long moca_buffers_switch(void __user *arg)
{
	struct moca_buffer_switch w;
	struct moca_buffers *b;
	int err = get_sized(&w, sizeof(w), sizeof(w), arg);

	if (err)
		return err;
	b = get_session(w.session, false);
	if (!b)
		return -ESRCH;
	err = switch_buffer(b, w.used);
	put_session(b);
	return err;
}

/* --- mapping ------------------------------------------------------------------- */

bool moca_buffers_has_offset(const struct vm_area_struct *vma)
{
	return vma->vm_pgoff >= PGOFF_BASE;
}

/* The current thread's buffer there, with its session held. */
static struct buffer *get_at(unsigned long pgoff)
{
	struct thread *th;
	struct buffer *buf, *found = NULL;

	spin_lock(&lock);
	th = find_thread(current);
	if (th)
		list_for_each_entry(buf, &th->buffers, of_thread) {
			if (!buf->data || buf->number != pgoff / PGOFF_STRIDE)
				continue;
			buf->owner->users++;
			found = buf;
			break;
		}
	spin_unlock(&lock);
	return found;
}

int moca_buffers_mmap(struct vm_area_struct *vma)
{
	unsigned long at = vma->vm_pgoff - PGOFF_BASE;
	struct moca_buffers *owner;
	struct buffer *buf;
	int err;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	buf = get_at(at);
	if (!buf)
		return -ENXIO;
	owner = buf->owner;
	moca_map_not_inherited(vma);
	err = moca_map_pages(vma, buf->data, buf->bytes >> PAGE_SHIFT,
			     at % PGOFF_STRIDE);
	put_session(owner);
	return err;
}

/* --- the end of a thread --------------------------------------------------------- */

static u32 filled(const struct buffer *buf)
{
	const u64 *p = buf->data;
	u32 n = buf->bytes / sizeof(*p);

	while (n && !READ_ONCE(p[n - 1]))
		n--;
	return n * sizeof(*p);
}

/* The next of its buffers, taken off, with its session held. */
static struct buffer *take_buffer(struct task_struct *t)
{
	struct buffer *buf = NULL;
	struct thread *th;

	spin_lock(&lock);
	th = find_thread(t);
	if (th) {
		buf = list_first_entry(&th->buffers, struct buffer, of_thread);
		list_del(&buf->of_thread);
		list_del(&buf->of_session);
		buf->owner->users++;
		if (list_empty(&th->buffers))
			forget_thread(th);
	}
	spin_unlock(&lock);
	return buf;
}

void moca_buffers_task_gone(struct task_struct *t)
{
	struct moca_buffers *owner;
	struct buffer *buf;
	u32 used;

	/* Nearly always. A thread only waits for what itself has made. */
	if (!READ_ONCE(thread_count))
		return;
	while ((buf = take_buffer(t))) {
		owner = buf->owner;
		used = buf->data ? filled(buf) : 0;
		if (used)
			hand_over(buf, used, 1);
		put_session(owner);
		/* vfree() may sleep. */
		llist_add(&buf->freed, &to_free);
		schedule_work(&free_work);
	}
}

void moca_buffers_exit(void)
{
	flush_work(&free_work);
}

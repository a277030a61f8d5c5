// SPDX-License-Identifier: GPL-2.0-only
#include "device.h"

#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "fault.h"
#include "flush.h"
#include "heat.h"
#include "permit.h"
#include "session.h"
#include "space.h"
#include "user-buffer.h"

static bool allow_own;
module_param(allow_own, bool, 0644);
MODULE_PARM_DESC(allow_own, "users may trace their own processes; else it "
			    "takes CAP_PERFMON or CAP_SYS_ADMIN");

static bool is_privileged(void)
{
	return perfmon_capable();
}

static int open(struct inode *inode, struct file *f)
{
	struct moca_session *s = moca_session_create();

	if (!s)
		return -ENOMEM;
	f->private_data = s;
	return 0;
}

static int release(struct inode *inode, struct file *f)
{
	moca_session_destroy(f->private_data);
	return 0;
}

static __poll_t poll(struct file *f, poll_table *wait)
{
	struct moca_session *s = f->private_data;

	/* Pairs with the release in moca_session_setup. */
	if (!smp_load_acquire(&s->ready))
		return EPOLLERR;
	poll_wait(f, &s->readers, wait);
	for (u32 i = 0; i < s->list_rings; i++) {
		const struct moca_ring *r = s->list[i];

		if (READ_ONCE(r->user->consumed) !=
		    READ_ONCE(r->kernel->produced))
			return EPOLLIN | EPOLLRDNORM;
	}
	return 0;
}

static int map(struct file *f, struct vm_area_struct *vma)
{
	struct moca_session *s = f->private_data;
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 ring;

	if (moca_buffers_has_offset(vma))
		return moca_buffers_mmap(vma);
	/* Pairs with the release in moca_session_setup. */
	if (!smp_load_acquire(&s->ready))
		return -EINVAL;
	ring = div64_u64(offset, s->ring_stride);
	if (vma->vm_pgoff > ULONG_MAX >> PAGE_SHIFT || ring >= s->list_rings)
		return -EINVAL;
	return moca_ring_mmap(s->list[ring], vma, offset - ring * s->ring_stride);
}

/*
 * A structure that begins with its size: copied in, longer ones only if the rest
 * is zero. 0 or -errno.
 */
static int get_sized(void *to, size_t size, size_t least,
		     const void __user *from)
{
	u32 n;

	if (get_user(n, (const u32 __user *)from))
		return -EFAULT;
	if (n < least || n > PAGE_SIZE)
		return -EINVAL;
	return copy_struct_from_user(to, size, from, n);
}

/* And back: what the caller has room for. */
static int put_sized(void __user *to, const void *from, size_t size, u32 n)
{
	return copy_to_user(to, from, min_t(size_t, size, n)) ? -EFAULT : 0;
}

#define get_arg(a, arg, last) \
	get_sized(a, sizeof(*(a)), offsetofend(typeof(*(a)), last), arg)
#define put_arg(a, arg) put_sized(arg, a, sizeof(*(a)), (a)->size)

static long about(void __user *arg)
{
	struct moca_about a = { 0 };
	int err = get_arg(&a, arg, abi);

	if (err)
		return err;
	a.abi = MOCA_ABI;
	a.features = moca_fault_features() | moca_flush_features() |
		     moca_heat_features();
	a.page_shift = PAGE_SHIFT;
	return put_arg(&a, arg);
}

static long setup(struct moca_session *s, void __user *arg)
{
	struct moca_setup a = { 0 };
	int err = get_arg(&a, arg, ring_stride);

	if (!err && !is_privileged() && !READ_ONCE(allow_own))
		err = -EPERM;
	if (!err)
		err = moca_session_setup(s, &a);
	return err ?: put_arg(&a, arg);
}

/*
 * exec changes rights and memory with this lock held: who was allowed to trace the
 * old program does not get the memory of the new one. It is held for the question
 * and for taking the memory. What takes long comes after it, as exec and
 * ptrace of the task wait for the lock.
 */
static int change_task(struct moca_session *s, struct task_struct *t, bool add)
{
	struct moca_space *sp = NULL;
	int err = down_read_killable(&t->signal->exec_update_lock);

	if (err)
		return err;
	if (!moca_may_trace(t) || !moca_cred_may_trace(s->cred, t))
		err = -EPERM;
	else if (t->flags & PF_KTHREAD)
		err = -EINVAL;
	else
		err = add ? moca_space_register(s, t, &sp) :
			    moca_space_unregister(s, t, &sp);
	up_read(&t->signal->exec_update_lock);
	if (err)
		return err;
	if (add)
		moca_space_registered(s, sp);
	else
		moca_space_unregistered(s, sp);
	return 0;
}

static long change_target(struct moca_session *s, void __user *arg, bool add)
{
	struct moca_target a = { 0 };
	struct task_struct *t;
	struct pid *pid;
	int err = get_arg(&a, arg, pid);

	if (err)
		return err;
	if (!smp_load_acquire(&s->ready))	/* moca_session_setup */
		return -EINVAL;
	if (a.pid <= 0)
		return -ESRCH;
	pid = find_get_pid(a.pid);
	t = pid ? get_pid_task(pid, PIDTYPE_PID) : NULL;
	put_pid(pid);
	if (!t)
		return -ESRCH;
	err = change_task(s, t, add);
	put_task_struct(t);
	return err;
}

static long pace(struct moca_session *s, void __user *arg)
{
	struct moca_pace a = { 0 };

	return get_arg(&a, arg, interval_ns) ?: moca_session_pace(s, &a);
}

static long totals(struct moca_session *s, void __user *arg)
{
	struct moca_totals a = { 0 };
	int err = get_arg(&a, arg, size);

	if (err)
		return err;
	moca_session_totals(s, &a);
	return put_arg(&a, arg);
}

static long ioctl(struct file *f, unsigned int cmd, unsigned long arg)
{
	struct moca_session *s = f->private_data;
	void __user *p = (void __user *)arg;

	switch (cmd) {
	case MOCA_IOC_ABOUT:
		return about(p);
	case MOCA_IOC_SETUP:
		return setup(s, p);
	case MOCA_IOC_REGISTER:
		return change_target(s, p, true);
	case MOCA_IOC_UNREGISTER:
		return change_target(s, p, false);
	case MOCA_IOC_START:
		return moca_session_start(s);
	case MOCA_IOC_STOP:
		return moca_session_stop(s);
	case MOCA_IOC_PACE:
		return pace(s, p);
	case MOCA_IOC_TICK:
		return moca_session_tick(s);
	case MOCA_IOC_LOOK:
		return moca_session_look(s);
	case MOCA_IOC_TOTALS:
		return totals(s, p);
	case MOCA_IOC_BUFFERS:
		/* Pairs with the release in moca_session_setup. */
		return smp_load_acquire(&s->ready) ?
			       moca_buffers_control(&s->buffers, p) : -EINVAL;
	case MOCA_IOC_UPDATE:
		return moca_buffers_update(p);
	case MOCA_IOC_SWITCH:
		return moca_buffers_switch(p);
	}
	return -ENOTTY;
}

static const struct file_operations ops = {
	.owner = THIS_MODULE,
	.open = open,
	.release = release,
	.poll = poll,
	.mmap = map,
	.unlocked_ioctl = ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "moca",
	.fops = &ops,
	.mode = 0666,	/* each call asks who it is */
};

int moca_device_init(void)
{
	return misc_register(&device);
}

void moca_device_exit(void)
{
	misc_deregister(&device);
}

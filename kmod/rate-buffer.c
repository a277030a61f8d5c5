// SPDX-License-Identifier: GPL-2.0-only
/*
 * The samples, and the character device that shows them. Programs map the
 * buffer and may write to it: it is data, and nothing here reads it.
 */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#include <uapi/moca-rate.h>

#include "map-pages.h"
#include "rate.h"

/* What programs written for the course's interface map. */
#define PAGES_MIN 128ul
#define SAMPLES_MIN 16u
#define SAMPLES_MAX (1u << 20)

static unsigned int rate_samples = 12000;

static int set_samples(const char *text, const struct kernel_param *p)
{
	return param_set_uint_minmax(text, p, SAMPLES_MIN, SAMPLES_MAX);
}

static const struct kernel_param_ops samples_ops = {
	.set = set_samples, .get = param_get_uint,
};
module_param_cb(rate_samples, &samples_ops, &rate_samples, 0444);
MODULE_PARM_DESC(rate_samples, "samples in the buffer (default 12000)");

static ushort rate_mode = 0666;
module_param(rate_mode, ushort, 0444);
MODULE_PARM_DESC(rate_mode, "rights of /dev/mp3 (default 0666)");

static struct moca_rate_slot *slots;
static unsigned long pages;		/* of slots */
static struct moca_rate_info *info;	/* a page of its own, behind them */
static unsigned int next;		/* slot */
static u64 left_ns;			/* CPU time short of a jiffy */
static int major;

static void clear(struct moca_rate_slot *s)
{
	WRITE_ONCE(s->jiffies, -1ul);
	WRITE_ONCE(s->minor, -1ul);
	WRITE_ONCE(s->major, -1ul);
	WRITE_ONCE(s->cpu, -1ul);
}

void moca_rate_buffer_put(const struct moca_rate_sum *sum)
{
	struct moca_rate_slot *s = &slots[next];
	u64 cpu_ns = left_ns + sum->cpu_ns;

	next = (next + 1) % rate_samples;
	/* Readers stop here: the oldest sample gives way to the end. */
	clear(&slots[next]);
	WRITE_ONCE(s->minor, sum->minor);
	WRITE_ONCE(s->major, sum->major);
	WRITE_ONCE(s->cpu, (unsigned long)(cpu_ns / TICK_NSEC));
	/* Pairs with a reader's look at jiffies: then the rest is there. */
	smp_store_release(&s->jiffies, jiffies);
	left_ns = cpu_ns % TICK_NSEC;
	WRITE_ONCE(info->cpu_ns, info->cpu_ns + sum->cpu_ns);
	WRITE_ONCE(info->minor, info->minor + sum->minor);
	WRITE_ONCE(info->major, info->major + sum->major);
	/* Pairs with the reader's acquire: what is told is in the slots. */
	smp_store_release(&info->told, info->told + 1);
}

void moca_rate_buffer_note(unsigned int hz, unsigned int registered)
{
	WRITE_ONCE(info->hz, hz);
	WRITE_ONCE(info->registered, registered);
}

/* --- the device -------------------------------------------------------------- */

static int rate_open(struct inode *inode, struct file *f)
{
	return 0;
}

static int rate_release(struct inode *inode, struct file *f)
{
	return 0;
}

static int rate_mmap(struct file *f, struct vm_area_struct *vma)
{
	/* Our notes are for reading alone. */
	if (vma->vm_pgoff == pages) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		moca_map_readonly(vma);
		return moca_map_pages(vma, info, 1, 0);
	}
	return moca_map_pages(vma, slots, pages, vma->vm_pgoff);
}

static const struct file_operations rate_ops = {
	.owner = THIS_MODULE,
	.open = rate_open,
	.release = rate_release,
	.mmap = rate_mmap,
	.llseek = noop_llseek,
};

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
static char *rate_devnode(const struct device *dev, umode_t *mode)
#else
static char *rate_devnode(struct device *dev, umode_t *mode)
#endif
{
	if (mode)
		*mode = rate_mode & 0777;
	return NULL;
}

static struct class rate_class = {
	.name = "mp3",
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	.owner = THIS_MODULE,
#endif
	.devnode = rate_devnode,
};

static int device_init(void)
{
	struct device *dev;
	int err = class_register(&rate_class);

	if (err)
		return err;
	major = register_chrdev(0, "mp3", &rate_ops);
	if (major < 0) {
		err = major;
		goto err_class;
	}
	dev = device_create(&rate_class, NULL, MKDEV(major, 0), NULL, "mp3");
	if (IS_ERR(dev)) {
		err = PTR_ERR(dev);
		goto err_chrdev;
	}
	return 0;
err_chrdev:
	unregister_chrdev(major, "mp3");
err_class:
	class_unregister(&rate_class);
	return err;
}

int moca_rate_buffer_init(void)
{
	unsigned long i, room;
	int err = -ENOMEM;

	pages = max(PAGES_MIN,
		    DIV_ROUND_UP(rate_samples * sizeof(*slots), PAGE_SIZE));
	slots = moca_pages_new(pages * PAGE_SIZE, false);
	info = moca_pages_new(PAGE_SIZE, false);
	if (!slots || !info)
		goto err_free;
	room = pages * PAGE_SIZE / sizeof(*slots);
	for (i = 0; i < room; i++)
		clear(&slots[i]);
	info->version = MOCA_RATE_VERSION;
	info->samples = rate_samples;
	info->hz_ticks = HZ;
	err = device_init();
	if (err)
		goto err_free;
	return 0;
err_free:
	pr_err("moca: cannot set up the device mp3 and its buffer of %lu pages: error %d\n",
	       pages, err);
	vfree(info);
	vfree(slots);
	return err;
}

void moca_rate_buffer_exit(void)
{
	device_destroy(&rate_class, MKDEV(major, 0));
	unregister_chrdev(major, "mp3");
	class_unregister(&rate_class);
	vfree(info);
	vfree(slots);
}

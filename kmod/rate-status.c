// SPDX-License-Identifier: GPL-2.0-only
/* /proc/mp3/status: "R PID" registers, "U PID" ends that, reading lists. */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "rate.h"

#define LINE 64

/*
 * A letter, blanks, digits; blanks around them. The NUL that ends a string in C
 * is a blank at the end: programs write it, too. 0 or -EINVAL.
 */
static int parse(char *line, size_t n, char *what, pid_t *nr)
{
	char *p;
	u64 v = 0;

	while (n && (!line[n - 1] || isspace(line[n - 1])))
		n--;
	line[n] = 0;
	p = skip_spaces(line);
	*what = *p;
	if ((*what != 'R' && *what != 'U') || !isspace(p[1]))
		return -EINVAL;
	p = skip_spaces(p + 1);
	if (!isdigit(*p))
		return -EINVAL;
	for (; isdigit(*p); p++) {
		v = 10 * v + (*p - '0');
		if (v > INT_MAX)
			return -EINVAL;
	}
	*nr = v;
	return p == line + n && v ? 0 : -EINVAL;
}

static ssize_t status_write(struct file *f, const char __user *from, size_t n,
			    loff_t *pos)
{
	char line[LINE + 1], what;
	pid_t nr;
	int err;

	if (n > LINE)
		return -EINVAL;
	if (copy_from_user(line, from, n))
		return -EFAULT;
	err = parse(line, n, &what, &nr);
	if (!err)
		err = what == 'R' ? moca_rate_register(f, nr) :
				    moca_rate_unregister(f, nr);
	return err ? err : n;
}

static int status_show(struct seq_file *m, void *unused)
{
	moca_rate_list(m->private, m);
	return 0;
}

static int status_open(struct inode *inode, struct file *f)
{
	return single_open(f, status_show, f);
}

static const struct proc_ops status_ops = {
	.proc_open = status_open,
	.proc_read = seq_read,
	.proc_write = status_write,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

static struct proc_dir_entry *dir;

int moca_rate_status_init(void)
{
	dir = proc_mkdir("mp3", NULL);
	if (!dir)
		goto err;
	if (!proc_create("status", 0666, dir, &status_ops))
		goto err_dir;
	return 0;
err_dir:
	proc_remove(dir);
err:
	pr_err("moca: cannot make /proc/mp3/status: another module may have it, or there is no memory; look for one with lsmod\n");
	return -ENOMEM;
}

void moca_rate_status_exit(void)
{
	/* Waits for those who are in it. */
	proc_remove(dir);
}

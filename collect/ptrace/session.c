// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/session.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "collect/ptrace/tracee.h"
#include "lib/base/err.h"
#include "lib/ring/registry.h"

#define VECTORS_MAX (8u << 20)	/* bytes of argc, argv, envp and auxv */

/* What the kernel put at the stack pointer of a new image. */
struct vectors {
	uint64_t sp;
	unsigned int width;	/* bytes of a word */
	unsigned char *bytes;
	size_t len;		/* read */
};

static uint64_t word(const struct vectors *v, size_t i)
{
	uint64_t w = 0;

	memcpy(&w, v->bytes + i * v->width, v->width);
	return w;
}

static void put_pair(const struct vectors *v, size_t i, uint64_t type,
		     uint64_t value)
{
	memcpy(v->bytes + i * v->width, &type, v->width);
	memcpy(v->bytes + (i + 1) * v->width, &value, v->width);
}

/* The index of AT_NULL; 0: it is not within what was read; -EINVAL. */
static ssize_t find_null(const struct vectors *v)
{
	size_t count = v->len / v->width, i = 1;

	while (i < count && word(v, i))
		i++;
	if (i == count)
		return 0;
	/* Words of another width: x32. */
	if (i - 1 != word(v, 0))
		return -EINVAL;
	for (i++; i < count && word(v, i); i++)
		;
	for (i++; i + 1 < count && word(v, i) != AT_NULL; i += 2)
		;
	return i + 1 < count ? (ssize_t)i : 0;
}

/* The index of AT_NULL, with room for two pairs more; or -errno. */
static ssize_t read_vectors(pid_t tid, struct vectors *v)
{
	size_t more = 4 * v->width;
	unsigned char *p;
	ssize_t n, found;

	for (size_t size = 4096; size <= VECTORS_MAX; size *= 2) {
		p = realloc(v->bytes, size + more);
		if (!p)
			return -ENOMEM;
		v->bytes = p;
		n = tracee_read(tid, v->sp, p, size);
		if (n < 0)
			return n;
		v->len = n;
		found = find_null(v);
		if (found)
			return found;
		/* The stack ends here. */
		if (v->len < size)
			return -EFAULT;
	}
	return -E2BIG;
}

static int write_words(pid_t tid, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = { buf, len }, remote = { (void *)addr, len };
	ssize_t n = process_vm_writev(tid, &local, 1, &remote, 1, 0);

	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EFAULT;
}

static int add_entries(struct task *t, uint64_t session)
{
	struct tracee_regs regs;
	struct vectors v = { 0 };
	uint64_t was[2] = { 0 };
	size_t len;
	ssize_t at;
	int err;

	err = tracee_get_regs(t, &regs);
	if (err)
		return err;
	v.sp = regs.reg_sp;
	v.width = regs_are_32bit(&regs) ? 4 : 8;
	at = read_vectors(t->tid, &v);
	if (at < 0) {
		err = (int)at;
		goto out;
	}
	memcpy(was, v.bytes + at * v.width, 2 * v.width);
	put_pair(&v, at, MOCA_AT_SESSION, (uint32_t)session);
	put_pair(&v, at + 2, MOCA_AT_SESSION_HIGH, session >> 32);
	put_pair(&v, at + 4, AT_NULL, 0);
	/* Four words: the stack pointer stays a multiple of 16. */
	regs.reg_sp -= 4 * v.width;
	len = (at + 6) * v.width;
	err = write_words(t->tid, regs.reg_sp, v.bytes, len);
	if (!err)
		err = tracee_set_regs(t, &regs);
	if (err && err != -ESRCH) {
		memcpy(v.bytes + at * v.width, was, 2 * v.width);
		write_words(t->tid, v.sp, v.bytes, (at + 2) * v.width);
	}
out:
	free(v.bytes);
	return err;
}

int session_give(const struct recorder *rec, struct task *t)
{
	int err = rec->session ? add_entries(t, rec->session) : 0;

	if (!err || err == -ESRCH)
		return err;
	moca_debug("task %d: it cannot be told the session: %s", t->tid,
		   strerror(-err));
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/marks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "lib/base/err.h"
#include "lib/base/vec.h"

#ifndef MLOCK_ONFAULT
#define MLOCK_ONFAULT 1
#endif

/* The flags "rd wr mr lo ", of two letters each. */
static int has_flag(const char *line, const char *flag)
{
	const char *at = strstr(line, flag);

	return at && at[-1] == ' ' && (at[2] == ' ' || at[2] == '\n');
}

static int add(struct marks *m, const struct mark *one)
{
	if (!one->key && !one->locked)
		return 0;
	if (moca_vec_fit(m->items, m->room, m->count + 1))
		return -ENOMEM;
	m->items[m->count++] = *one;
	return 0;
}

int marks_read(const struct mm *mm, pid_t tid, uint64_t end, struct marks *out)
{
	char path[64], line[512];
	struct mark one = { 0 };
	int err = 0, begins = 1;
	FILE *f;

	memset(out, 0, sizeof(*out));
	if (!mm->keyed && !mm->locked)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/smaps", tid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (!err && fgets(line, sizeof(line), f)) {
		unsigned long long from, to;
		int whole = strchr(line, '\n') != NULL;

		/* A long name goes on in what is read next. */
		if (begins && sscanf(line, "%llx-%llx ", &from, &to) == 2) {
			err = add(out, &one);
			one = (struct mark){ .start = from, .end = to };
			if (from >= end)
				break;
		} else if (begins) {
			sscanf(line, "ProtectionKey: %d", &one.key);
			one.locked |= !strncmp(line, "VmFlags:", 8) &&
				      has_flag(line, "lo");
		}
		begins = whole;
	}
	if (!err)
		err = add(out, &one);
	if (!err && ferror(f))
		err = -EIO;
	fclose(f);
	if (err)
		marks_free(out);
	return err;
}

void marks_free(struct marks *m)
{
	free(m->items);
	memset(m, 0, sizeof(*m));
}

int marks_apply(const struct marks *m, struct tracee_calls *c, uint64_t start,
		uint64_t end, int made, int prot)
{
	const struct mark *one = NULL;
	uint64_t len = end - start;
	long ret = 0, locked;
	int err = 0;

	for (size_t i = 0; i < m->count && !one; i++)
		if (m->items[i].start <= start && start < m->items[i].end)
			one = &m->items[i];
	if (one && one->key)
		ret = tracee_call(c, &err, SYS_pkey_mprotect, start, len, prot,
				  one->key, 0, 0);
	/*
	 * EINVAL: the program freed the key, or it is the kernel's own key of memory that
	 * may only be executed. mprotect gives the latter.
	 */
	if (!err && (one && one->key ? ret == -EINVAL : prot != made))
		ret = tracee_call(c, &err, SYS_mprotect, start, len, prot, 0, 0,
				  0);
	/* The pages that exist are there: no other is to be made. */
	if (!err && !ret && one && one->locked) {
		locked = tracee_call(c, &err, SYS_mlock2, start, len,
				     MLOCK_ONFAULT, 0, 0, 0);
		/* Its limit is lower now, or its right is gone: no reason to end it. */
		if (!err && locked)
			moca_warn("%lu KiB that process %d had locked are not any more: %s",
				  len >> 10, c->task->pid,
				  strerror((int)-locked));
	}
	return err ? err : (int)ret;
}

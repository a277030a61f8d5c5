// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/filecopy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/ptrace/tracee.h"

struct filecopy {
	struct filecopy *next;
	uint64_t start, end;	/* addresses when it was copied */
	uint64_t offset;	/* of start, in the file */
	dev_t dev;
	ino_t ino;
	int fd;			/* of a file without a name, else -1 */
	char path[];
};

static int add(struct mm *mm, const struct filecopy *f, const char *path)
{
	struct filecopy *n = malloc(sizeof(*n) + strlen(path) + 1);

	if (!n)
		return -ENOMEM;
	*n = *f;
	strcpy(n->path, path);
	/* The newest first: it hides what was at these addresses before. */
	n->next = mm->copies;
	mm->copies = n;
	return 0;
}

int filecopy_add(struct mm *mm, uint64_t start, uint64_t end, uint64_t offset,
		 const char *path, pid_t pid, int remote)
{
	struct filecopy f = { .start = start, .end = end, .offset = offset,
			      .fd = -1 };
	struct stat st;

	if (stat(path, &st)) {
		f.fd = remote < 0 ? -1 : tracee_fetch_fd(pid, remote);
		if (f.fd < 0 || fstat(f.fd, &st))
			return 0;	/* filecopy_can_refill will tell */
	}
	f.dev = st.st_dev;
	f.ino = st.st_ino;
	return add(mm, &f, path);
}

int filecopy_inherit(struct mm *mm, const struct mm *parent)
{
	struct filecopy **tail = &mm->copies;

	for (const struct filecopy *f = parent->copies; f; f = f->next) {
		struct filecopy copy = *f;
		int ret;

		if (f->fd >= 0)
			copy.fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
		ret = add(mm, &copy, f->path);
		if (ret)
			return ret;
	}
	/* Each was put in front: turn the list round. */
	for (struct filecopy *f = mm->copies, *next, *last = NULL; f; f = next) {
		next = f->next;
		f->next = last;
		*tail = last = f;
	}
	return 0;
}

static const struct filecopy *find(const struct mm *mm, uint64_t addr)
{
	const struct filecopy *f = mm->copies;

	while (f && (addr < f->start || addr >= f->end))
		f = f->next;
	return f;
}

static int open_same(const struct filecopy *f)
{
	int fd = f->fd >= 0 ? fcntl(f->fd, F_DUPFD_CLOEXEC, 0) :
			      open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || st.st_dev != f->dev ||
			st.st_ino != f->ino)) {
		close(fd);
		return -ESTALE;
	}
	return fd < 0 ? -errno : fd;
}

/* Where pages are to be written to: the memfd, or a program's own memory. */
struct target {
	struct mm *mm;
	pid_t tid;	/* 0: nothing is written */
	int mem;	/* /proc/PID/mem; -1: not opened yet */
};

/* Memory that the program may not write itself, too. */
static int write_own(struct target *t, const char *page, uint64_t addr)
{
	char path[64];

	if (t->mem < 0) {
		snprintf(path, sizeof(path), "/proc/%d/mem", t->tid);
		t->mem = open(path, O_RDWR | O_CLOEXEC);
	}
	return pwrite(t->mem, page, PAGE_SIZE, addr) == (ssize_t)PAGE_SIZE ?
		       0 : -EIO;
}

static int refill_page(struct target *t, const struct region *r,
		       const struct filecopy *f, int fd, uint64_t addr)
{
	char page[PAGE_SIZE] = "";
	ssize_t n = pread(fd, page, sizeof(page), f->offset + addr - f->start);

	if (n < 0)
		return -errno;
	if (filecopy_is_own(r))
		return write_own(t, page, addr);
	if (!n)
		return 0;
	return pwrite(t->mm->memfd, page, n, r->off + (addr - r->start)) == n ?
		       0 : -EIO;
}

static int walk(struct target *t, uint64_t start, uint64_t end)
{
	struct region r;

	while (moca_regions_next(&t->mm->regions, &start, end, &r)) {
		const struct filecopy *f = NULL;
		int fd = -1, err = 0;

		if (!(r.flags & REGION_FILE_COPY) ||
		    (r.kind != REGION_MEMFD && !filecopy_is_own(&r)))
			continue;
		for (uint64_t a = r.start; a < r.end && !err; a += PAGE_SIZE) {
			const struct filecopy *g = find(t->mm, a);

			if (!g || g != f) {
				if (fd >= 0)
					close(fd);
				fd = g ? open_same(g) : -ESTALE;
				f = g;
			}
			err = fd < 0 ? fd :
			      t->tid ? refill_page(t, &r, f, fd, a) : 0;
		}
		if (fd >= 0)
			close(fd);
		if (err)
			return err;
	}
	return 0;
}

int filecopy_refill(struct mm *mm, pid_t tid, uint64_t start, uint64_t end)
{
	struct target t = { mm, tid, -1 };
	int err = walk(&t, start, end);

	if (t.mem >= 0)
		close(t.mem);
	return err;
}

int filecopy_can_refill(struct mm *mm, uint64_t start, uint64_t end)
{
	struct target t = { mm, 0, -1 };

	return !walk(&t, start, end);
}

void filecopy_free(struct mm *mm)
{
	struct filecopy *f, *next;

	for (f = mm->copies; f; f = next) {
		next = f->next;
		if (f->fd >= 0)
			close(f->fd);
		free(f);
	}
	mm->copies = NULL;
}

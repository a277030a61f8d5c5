// SPDX-License-Identifier: GPL-2.0-or-later
/* Code of processes that are gone: from which file, and how much is kept. */
#include "collect/fault/text.h"

#include <malloc.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/unit/trace-util.h"

static char path[] = "/tmp/moca-text-XXXXXX";

/* A page of each letter. */
static int make_file(void)
{
	static char page[4096];
	int fd = mkstemp(path), i;

	for (i = 0; i < 4; i++) {
		memset(page, 'A' + i, sizeof(page));
		if (write(fd, page, sizeof(page)) != sizeof(page))
			return 1;
	}
	return close(fd);
}

static void map_as(struct text *t, int space, uint64_t addr, uint64_t len,
		   uint64_t offset, const char *name, const struct stat *st)
{
	struct moca_change e = { .type = MOCA_CHANGE_MMAP, .addr = addr,
				.len = len, .offset = offset, .name = name };

	if (st) {
		e.dev = (uint64_t)major(st->st_dev) << 32 | minor(st->st_dev);
		e.ino = st->st_ino;
	}
	text_map(t, space, &e);
}

static void map(struct text *t, int space, uint64_t addr, uint64_t len,
		uint64_t offset, const char *name)
{
	map_as(t, space, addr, len, offset, name, NULL);
}

static char at(struct text *t, int space, uint64_t addr)
{
	char c;

	return text_read(t, space, addr, &c, 1) == 1 ? c : 0;
}

static int t_latest(void)
{
	struct text *t = text_new();

	CHECK(t && !make_file());
	map(t, 1, 0x10000, 0x3000, 0, path);
	map(t, 1, 0x11000, 0x1000, 0x3000, path);
	CHECK(at(t, 1, 0x10005) == 'A' && at(t, 1, 0x11005) == 'D' &&
	      at(t, 1, 0x12005) == 'C' && !at(t, 1, 0x13000));
	text_fork(t, 2, 1);
	map(t, 1, 0x10000, 0x3000, 0x1000, path);
	CHECK(at(t, 1, 0x10005) == 'B' && at(t, 1, 0x11005) == 'C');
	CHECK(at(t, 2, 0x10005) == 'A' && at(t, 2, 0x11005) == 'D' &&
	      at(t, 2, 0x12005) == 'C');
	text_forget(t, 1);
	CHECK(!at(t, 1, 0x10005) && at(t, 2, 0x10005) == 'A');
	text_free(t);
	unlink(path);
	return 0;
}

/* Only the file that it was then, whatever has its name now. */
static int t_same_file(void)
{
	struct text *t = text_new();
	struct text_range r;
	struct stat st;

	strcpy(path, "/tmp/moca-text-XXXXXX");
	CHECK(t && !make_file() && !stat(path, &st));
	map_as(t, 1, 0x10000, 0x3000, 0x1000, path, &st);
	map(t, 1, 0x20000, 0x3000, 0, path);
	CHECK(!text_open(t, 1, 0x12345, &r));
	CHECK(r.start == 0x10000 && r.end == 0x13000 && r.offset == 0x1000 &&
	      r.fd >= 0);
	close(r.fd);
	CHECK(text_open(t, 1, 0x20000, &r) && text_open(t, 1, 0x30000, &r) &&
	      text_open(t, 2, 0x10000, &r));
	st.st_ino++;
	map_as(t, 1, 0x10000, 0x3000, 0x1000, path, &st);
	CHECK(text_open(t, 1, 0x12345, &r));
	text_free(t);
	unlink(path);
	return 0;
}

/* A program that maps code for ever, at one place or everywhere, and forks. */
static int t_bounded(void)
{
	struct text *t = text_new();
	struct mallinfo2 before = mallinfo2();
	uint64_t i;

	CHECK(t);
	for (i = 0; i < 500000; i++)
		map(t, 1, 0x10000, 0x1000, 0, "/nowhere");
	for (i = 0; i < 20000; i++)
		map(t, 1, i << 12, 0x1000, 0, "/nowhere");
	text_fork(t, 2, 1);
	CHECK(mallinfo2().uordblks - before.uordblks < 1 << 20);
	text_free(t);
	return 0;
}

int main(void)
{
	run("text: the latest mapping", t_latest);
	run("text: bounded memory", t_bounded);
	run("same file", t_same_file);
	return failures != 0;
}

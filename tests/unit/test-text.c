// SPDX-License-Identifier: GPL-2.0-or-later
/* Code of processes that are gone: from which file, and how much is kept. */
#include "collect/fault/text.h"

#include <malloc.h>
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

static char at(struct text *t, int space, uint64_t addr)
{
	char c;

	return text_read(t, space, addr, &c, 1) == 1 ? c : 0;
}

static int t_latest(void)
{
	struct text *t = text_new();

	CHECK(t && !make_file());
	text_map(t, 1, 0x10000, 0x3000, 0, path);
	text_map(t, 1, 0x11000, 0x1000, 0x3000, path);
	CHECK(at(t, 1, 0x10005) == 'A' && at(t, 1, 0x11005) == 'D' &&
	      at(t, 1, 0x12005) == 'C' && !at(t, 1, 0x13000));
	text_fork(t, 2, 1);
	text_map(t, 1, 0x10000, 0x3000, 0x1000, path);
	CHECK(at(t, 1, 0x10005) == 'B' && at(t, 1, 0x11005) == 'C');
	CHECK(at(t, 2, 0x10005) == 'A' && at(t, 2, 0x11005) == 'D' &&
	      at(t, 2, 0x12005) == 'C');
	text_forget(t, 1);
	CHECK(!at(t, 1, 0x10005) && at(t, 2, 0x10005) == 'A');
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
		text_map(t, 1, 0x10000, 0x1000, 0, "/nowhere");
	for (i = 0; i < 20000; i++)
		text_map(t, 1, i << 12, 0x1000, 0, "/nowhere");
	text_fork(t, 2, 1);
	CHECK(mallinfo2().uordblks - before.uordblks < 1 << 20);
	text_free(t);
	return 0;
}

int main(void)
{
	run("text: the latest mapping", t_latest);
	run("text: bounded memory", t_bounded);
	return failures != 0;
}

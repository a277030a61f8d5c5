// SPDX-License-Identifier: GPL-2.0-or-later
/* Code of processes: from which file, if that is certain, and how much is kept. */
#include "collect/perf/text.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/clock.h"
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
	/* The kernel's clock of files is up to a tick behind. */
	usleep(20000);
	return close(fd);
}

static void map_as(struct text *t, int space, uint64_t addr, uint64_t len,
		   uint64_t offset, const char *name, const struct stat *st)
{
	struct moca_change e = { .type = MOCA_CHANGE_MMAP, .addr = addr,
				.len = len, .offset = offset, .name = name,
				.time_ns = moca_now_ns() };

	if (st) {
		e.dev = (uint64_t)major(st->st_dev) << 32 | minor(st->st_dev);
		e.ino = st->st_ino;
	}
	text_note(t, space, &e);
}

static void map(struct text *t, int space, uint64_t addr, uint64_t len,
		uint64_t offset, const char *name)
{
	map_as(t, space, addr, len, offset, name, NULL);
}

static char at(struct text *t, int space, uint64_t addr)
{
	size_t n = 0;
	char c;

	return text_code(t, space, addr, &c, 1, &n) && n == 1 ? c : 0;
}

static enum text_known known(struct text *t, int space, uint64_t addr)
{
	size_t n;
	char c;

	return text_code(t, space, addr, &c, 1, &n);
}

static void note(struct text *t, uint64_t addr, uint64_t len,
		 enum moca_change_type type, uint32_t prot, uint32_t flags)
{
	const struct moca_change e = {
		.type = type, .addr = addr, .len = len, .prot = prot,
		.flags = flags, .name = path, .time_ns = moca_now_ns(),
	};

	text_note(t, 1, &e);
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

/* One place of a file for all that map it, until it changes. */
static int t_place(void)
{
	struct text_place a, b;
	struct text *t = text_new();
	struct stat st;
	int fd;

	strcpy(path, "/tmp/moca-text-XXXXXX");
	CHECK(t && !make_file() && !stat(path, &st));
	map_as(t, 1, 0x10000, 0x3000, 0x1000, path, &st);
	map_as(t, 2, 0x50000, 0x4000, 0, path, &st);
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	CHECK(text_place(t, 1, 0x10123, 15, &a));
	CHECK(text_place(t, 2, 0x51123, 15, &b));
	CHECK(!memcmp(&a, &b, sizeof(a)) && a.offset == 0x1123);
	CHECK(text_place(t, 2, 0x51124, 15, &b) && b.offset == 0x1124);
	/* Not what lies behind the mapping, nor where nothing is. */
	CHECK(text_place(t, 1, 0x12ff1, 15, &b));
	CHECK(!text_place(t, 1, 0x12ff2, 15, &b));
	CHECK(!text_place(t, 1, 0x13000, 1, &b));
	/* Written to: what was mapped is known still, and nothing of who asks late. */
	map_as(t, 4, 0x10000, 0x3000, 0x1000, path, &st);
	fd = open(path, O_WRONLY);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1 && !close(fd));
	CHECK(text_place(t, 1, 0x10123, 15, &b) && !memcmp(&a, &b, sizeof(a)));
	CHECK(!text_place(t, 4, 0x10123, 15, &b));
	usleep(20000);
	map_as(t, 3, 0x10000, 0x3000, 0x1000, path, &st);
	CHECK(text_place(t, 3, 0x10123, 15, &b));
	CHECK(a.changed_ns != b.changed_ns && a.offset == b.offset);
	/* Nothing has its name. */
	map_as(t, 5, 0x10000, 0x3000, 0x1000, path, &st);
	unlink(path);
	CHECK(!text_place(t, 5, 0x10123, 15, &b));
	text_free(t);
	return 0;
}

/* What is mapped over code hides it: anonymous memory, and what is written to. */
static int t_hidden(void)
{
	struct text *t = text_new();
	uint32_t era;

	strcpy(path, "/tmp/moca-text-XXXXXX");
	CHECK(t && !make_file());
	map(t, 1, 0x10000, 0x4000, 0, path);
	era = text_era(t, 1);
	map(t, 1, 0x20000, 0x4000, 0, "");
	map(t, 1, 0x30000, 0x4000, 0, "[heap]");
	CHECK(text_era(t, 1) == era);
	map(t, 1, 0x11000, 0x1000, 0, "");
	CHECK(at(t, 1, 0x10fff) == 'A' && !at(t, 1, 0x11000) &&
	      !at(t, 1, 0x11fff) && at(t, 1, 0x12000) == 'C');
	CHECK(text_era(t, 1) != era);
	era = text_era(t, 1);
	note(t, 0x12000, 0x1000, MOCA_CHANGE_MMAP, PROT_READ | PROT_WRITE, 0);
	CHECK(!at(t, 1, 0x12000) && at(t, 1, 0x13000) == 'D');
	CHECK(text_era(t, 1) != era);
	era = text_era(t, 1);
	map(t, 1, 0x10000, 0x4000, 0, "");
	CHECK(!at(t, 1, 0x10000) && !at(t, 1, 0x13000));
	CHECK(text_era(t, 1) != era);
	CHECK(!text_era(t, 2));
	text_free(t);
	unlink(path);
	return 0;
}

/* The same file, mapped privately, and not changed since by anybody. */
static int t_certain(void)
{
	struct text *t = text_new();
	struct stat st;
	uint64_t i;
	int fd;

	strcpy(path, "/tmp/moca-text-XXXXXX");
	CHECK(t && !make_file() && !stat(path, &st));
	for (i = 1; i <= 4; i++)
		map_as(t, 1, i << 16, 0x4000, 0, path, &st);
	CHECK(known(t, 1, 0x10000) == TEXT_CERTAIN &&
	      known(t, 1, 0x20000) == TEXT_CERTAIN);
	/* Became writable. Of nothing, and of neighbours, it says nothing. */
	note(t, 0x21000, 0x1000, MOCA_CHANGE_GAP, 0, 0);
	note(t, 0x14000, 0x1000, MOCA_CHANGE_GAP, 0, 0);
	note(t, 0, 0, MOCA_CHANGE_GAP, 0, 0);
	CHECK(known(t, 1, 0x10000) == TEXT_CERTAIN &&
	      known(t, 1, 0x20000) == TEXT_NAMED);
	map(t, 1, 0x30000, 0x4000, 0, path);	/* device, inode: not known */
	CHECK(known(t, 1, 0x30000) == TEXT_NAMED);
	note(t, 0x50000, 0x4000, MOCA_CHANGE_MMAP, PROT_READ, MOCA_MAP_SHARED);
	/* Memory that is the file agrees with it, whoever writes to it. */
	CHECK(known(t, 1, 0x50000) == TEXT_NONE);
	/* From then on mappings are not told. */
	note(t, 0, 0, MOCA_CHANGE_GAP, 0, MOCA_GAP_MAPPINGS);
	CHECK(known(t, 1, 0x10000) == TEXT_NAMED && at(t, 1, 0x10000) == 'A');
	map_as(t, 2, 0x10000, 0x4000, 0, path, &st);
	CHECK(known(t, 2, 0x10000) == TEXT_CERTAIN);
	/* The kernel's clock of files is a tick behind: any later time will do. */
	fd = open(path, O_WRONLY);
	do
		CHECK(fd >= 0 && pwrite(fd, "Z", 1, 0) == 1 && !fstat(fd, &st));
	while (known(t, 2, 0x10000) == TEXT_CERTAIN);
	close(fd);
	/* What is mapped is the file, so that memory which agrees proves nothing. */
	CHECK(known(t, 2, 0x10000) == TEXT_NONE);
	unlink(path);
	CHECK(known(t, 2, 0x10000) == TEXT_NONE);
	text_free(t);
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
	run("text: what hides code", t_hidden);
	run("text: what is certain", t_certain);
	run("text: places in files", t_place);
	return failures != 0;
}

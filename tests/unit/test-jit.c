// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of compiled code: what is written is read and found; what is hostile, refused. */
#include <sys/mman.h>

#include "collect/run/jit-read.h"
#include "lib/base/table.h"
#include "tests/unit/trace-util.h"

static const char *name_of(const struct moca_jits *j, int64_t at)
{
	return at < 0 ? "" : j->names + j->list[at].name;
}

static int round_trip(void)
{
	struct moca_jits j = { 0 }, got = { 0 };
	struct moca_buf raw = { 0 };
	char longest[2000];

	memset(longest, 'x', sizeof(longest));
	CHECK(!moca_jits_add(&j, 7, 0, 0x1000, 16, "one", 3));
	CHECK(!moca_jits_add(&j, UINT32_MAX, UINT64_MAX, UINT64_MAX, 1, "two",
			     3));
	CHECK(!moca_jits_add(&j, 7, 5, 0, UINT64_MAX, longest, sizeof(longest)));
	CHECK(moca_jits_add(&j, 7, 5, 0, 0, "none", 4) == -EINVAL);
	CHECK(moca_jits_add(&j, 7, 5, 0, 4, "", 0) == -EINVAL);
	CHECK(moca_jits_add(&j, 7, 5, 0, 4, "a\0b", 3) == -EINVAL);
	CHECK(moca_jits_add(&j, 7, 5, UINT64_MAX, 2, "over", 4) == -EINVAL);
	CHECK(moca_jits_encode(&raw, &j, 0) == 3);
	CHECK(!moca_jits_decode(&got, raw.data, raw.len, 3) && got.count == 3);
	for (size_t i = 0; i < 3; i++)
		CHECK(got.list[i].pid == j.list[i].pid &&
		      got.list[i].time_ns == j.list[i].time_ns &&
		      got.list[i].addr == j.list[i].addr &&
		      got.list[i].size == j.list[i].size &&
		      !strcmp(name_of(&got, (int64_t)i),
			      name_of(&j, (int64_t)i)));
	CHECK(strlen(name_of(&got, 2)) == MOCA_JIT_NAME_MAX);
	/* Any part of it is none, and changes nothing. */
	for (size_t n = 0; n < raw.len; n++)
		CHECK(moca_jits_decode(&got, raw.data, n, 3) == -EBADMSG &&
		      got.count == 3);
	CHECK(moca_jits_decode(&got, raw.data, raw.len, 2) == -EBADMSG);
	CHECK(moca_jits_decode(&got, raw.data, raw.len, 0) == -EBADMSG);
	moca_jits_free(&j);
	moca_jits_free(&got);
	moca_buf_free(&raw);
	return 0;
}

/* As it is defined, one after the other. */
static uint32_t slow_find(const struct moca_jits *j, uint32_t pid, uint64_t addr,
			  uint64_t time_ns)
{
	const struct moca_jit *best = NULL;

	for (size_t i = 0; i < j->count; i++) {
		const struct moca_jit *x = &j->list[i];

		if (x->pid == pid && x->addr <= addr &&
		    addr - x->addr < x->size && x->time_ns <= time_ns &&
		    (!best || x->time_ns >= best->time_ns))
			best = x;
	}
	return best ? best->name + 1 : 0;
}

static int found(void)
{
	struct moca_jits j = { 0 }, all = { 0 };
	char name[32];
	uint32_t hits = 0;

	for (int i = 0; i < 3000; i++) {
		uint32_t pid = (uint32_t)(rnd() % 3);
		uint64_t time_ns = rnd() % 4 ? rnd() % 50 : 0;
		uint64_t addr = rnd() % 20000;
		uint64_t size = 1 + rnd() % (i % 50 ? 40 : 2000);

		snprintf(name, sizeof(name), "f%d", i);
		CHECK(!moca_jits_add(&j, pid, time_ns, addr, size, name,
				     strlen(name)));
		CHECK(!moca_jits_add(&all, pid, time_ns, addr, size, name,
				     strlen(name)));
	}
	CHECK(moca_jits_find(&j, 1, 5, 5) == -1);
	CHECK(!moca_jits_index(&j));
	for (int i = 0; i < 20000; i++) {
		uint32_t pid = (uint32_t)(rnd() % 4), want;
		uint64_t addr = rnd() % 23000, time_ns = rnd() % 60;
		int64_t got = moca_jits_find(&j, pid, addr, time_ns);

		want = slow_find(&all, pid, addr, time_ns);
		CHECK(want == (got < 0 ? 0 : j.list[got].name + 1));
		hits += want != 0;
	}
	CHECK(hits > 5000 && hits < 19000);
	moca_jits_free(&j);
	moca_jits_free(&all);
	return 0;
}

/* As many as there may be, all over one another: no search looks at all of them. */
static int over(void)
{
	struct moca_jits j = { 0 };
	size_t n = MOCA_JIT_MAX;
	int64_t got;

	for (size_t i = 0; i < n; i++)
		CHECK(!moca_jits_add(&j, 1, i / 2, i + 1, 1ull << 40, "f", 1));
	CHECK(!moca_jits_index(&j));
	for (size_t i = 0; i < n; i++) {
		got = moca_jits_find(&j, 1, 1ull << 39, i / 2);
		CHECK(got == (int64_t)(i | 1));
		got = moca_jits_find(&j, 1, i + 1, n);
		CHECK(got == (int64_t)i);
		CHECK(moca_jits_changes(&j, 1, i + 1) == (i > 1));
	}
	moca_jits_free(&j);
	/* The whole address space, and its last byte. */
	CHECK(!moca_jits_add(&j, UINT32_MAX, 0, 0, UINT64_MAX, "a", 1));
	CHECK(!moca_jits_add(&j, UINT32_MAX, 0, UINT64_MAX, 1, "b", 1));
	CHECK(!moca_jits_add(&j, 5, 0, UINT64_MAX - 7, 8, "c", 1));
	CHECK(!moca_jits_index(&j));
	got = moca_jits_find(&j, UINT32_MAX, 0, 0);
	CHECK(!strcmp(name_of(&j, got), "a"));
	got = moca_jits_find(&j, UINT32_MAX, UINT64_MAX, 9);
	CHECK(!strcmp(name_of(&j, got), "b"));
	got = moca_jits_find(&j, 5, UINT64_MAX, 0);
	CHECK(!strcmp(name_of(&j, got), "c"));
	CHECK(moca_jits_find(&j, 6, 0, 0) < 0 &&
	      moca_jits_find(&j, 4, UINT64_MAX, 0) < 0);
	moca_jits_free(&j);
	return 0;
}

/* --- what programs write -------------------------------------------------- */

static int file_of(const void *data, size_t len)
{
	int fd = memfd_create("jit", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len || lseek(fd, 0, 0))
		abort();
	return fd;
}

static int maps(void)
{
	static const char text[] =
		"1000 10 with blanks in it \n0x2000 0x20 hex\n\n3000 0 empty\n"
		"x 1 y\n4000 zz y\n5000 10\n6000 10 \nffffffffffffffff 2 over\n"
		"7000 8 \xff\x1b[31m\n11111111111111111 1 y\n9000 1 cut off";
	struct moca_jits j = { 0 };
	struct jit_read r = { .out = &j, .pid = 5 };
	char line[5000];

	CHECK(!jit_read_map(&r, file_of(text, sizeof(text) - 1)));
	CHECK(j.count == 3 && r.damaged == 7 && !r.full);
	CHECK(!strcmp(name_of(&j, 0), "with blanks in it ") &&
	      !strcmp(name_of(&j, 1), "hex") && j.list[1].size == 0x20 &&
	      !strcmp(name_of(&j, 2), "\xff\x1b[31m") && j.list[0].pid == 5 &&
	      !j.list[0].time_ns);
	memset(line, 'n', sizeof(line));
	memcpy(line, "8000 8 ", 7);
	line[sizeof(line) - 1] = '\n';
	CHECK(!jit_read_map(&r, file_of(line, sizeof(line))));
	CHECK(j.count == 4 && strlen(name_of(&j, 3)) == MOCA_JIT_NAME_MAX);
	CHECK(!jit_read_map(&r, file_of("", 0)) && j.count == 4);
	CHECK(!jit_read_over(&r));
	moca_jits_free(&j);
	return 0;
}

/* Without names for more, how many is told. */
static int many(void)
{
	struct moca_jits j = { 0 };
	struct jit_read r = { .out = &j, .pid = 1 };
	size_t n = MOCA_JIT_MAX + 10, len = n * 6;
	char *text = malloc(len + 1);

	CHECK(text);
	for (size_t i = 0; i < n; i++)
		memcpy(text + i * 6, "1 1 a\n", 6);
	CHECK(!jit_read_map(&r, file_of(text, len)));
	CHECK(j.count == MOCA_JIT_MAX && r.full == 10 && !r.damaged);
	CHECK(!moca_jits_index(&j));
	CHECK(moca_jits_find(&j, 1, 1, 0) == (int64_t)j.count - 1);
	free(text);
	moca_jits_free(&j);
	return 0;
}

/* Whatever files programs leave, and however many: reading them has an end. */
static int limits(void)
{
	static char line[JIT_LINE_MAX + 1];
	static const char after[] = "\n1000 10 a\n";
	struct moca_jits j = { 0 };
	struct jit_read r = { .out = &j, .pid = 1 };
	atomic_int stop = 0;
	int fd = memfd_create("jit", MFD_CLOEXEC), n;

	/* A line without an end is damage, and the file's end: 1 TiB of NULs. */
	CHECK(fd >= 0 && !ftruncate(fd, 1ll << 40) && !jit_read_map(&r, fd));
	CHECK(r.damaged == 1 && r.bytes <= JIT_FILE_BYTES + JIT_LINE_MAX);
	fd = file_of(line, JIT_LINE_MAX);
	CHECK(lseek(fd, 0, SEEK_END) > 0 &&
	      write(fd, after, sizeof(after) - 1) == sizeof(after) - 1 &&
	      !lseek(fd, 0, SEEK_SET) && !jit_read_map(&r, fd));
	CHECK(r.damaged == 2 && !j.count && !jit_read_over(&r));
	/* Of all files together; each is some bytes. */
	for (n = 0; !jit_read_over(&r); n++)
		CHECK(n <= (int)(JIT_BYTES_MAX / JIT_FILE_BYTES) &&
		      !jit_read_map(&r, file_of("", 0)));
	CHECK(n > 1000 && r.damaged == 2);
	/* A signal ends it behind the line at hand. */
	r = (struct jit_read){ .out = &j, .pid = 1, .stop = &stop };
	CHECK(!jit_read_map(&r, file_of("1 1 a\n1 1 b\n", 12)) && j.count == 2);
	stop = 1;
	CHECK(!jit_read_map(&r, file_of("1 1 a\n1 1 b\n", 12)) && j.count == 3);
	CHECK(jit_read_over(&r) && !r.damaged);
	moca_jits_free(&j);
	return 0;
}

static uint8_t dump[4096];
static size_t dump_len;

static void put(uint64_t v, size_t bytes)
{
	memcpy(dump + dump_len, &v, bytes);
	dump_len += bytes;
}

static void head(uint64_t flags)
{
	dump_len = 0;
	put(0x4a695444, 4);
	put(1, 4);
	put(48, 4);		/* larger than it is today */
	put(62, 4);
	put(0, 4);
	put(1, 4);
	put(0, 8);
	put(flags, 8);
	put(0, 8);
}

static void record(uint32_t id, uint32_t size, uint64_t time_ns)
{
	put(id, 4);
	put(size, 4);
	put(time_ns, 8);
}

static void load(const char *name, uint64_t time_ns, uint64_t addr, uint64_t size,
		 uint64_t index)
{
	size_t n = strlen(name) + 1;

	record(0, (uint32_t)(16 + 40 + n + 4), time_ns);
	put(1, 4);
	put(1, 4);
	put(addr, 8);
	put(addr, 8);
	put(size, 8);
	put(index, 8);
	memcpy(dump + dump_len, name, n);
	dump_len += n;
	put(0x90909090, 4);
}

static void move(uint64_t time_ns, uint64_t to, uint64_t size, uint64_t index)
{
	record(1, 16 + 48, time_ns);
	put(1, 4);
	put(1, 4);
	put(to, 8);
	put(0, 8);
	put(to, 8);
	put(size, 8);
	put(index, 8);
}

static int dumps(void)
{
	struct moca_jits j = { 0 };
	struct jit_read r = { .out = &j, .pid = 9 };

	head(0);
	load("first", 10, 0x1000, 64, 1);
	record(2, 16 + 24, 11);		/* lines, which nobody wants */
	put(0, 8);
	put(0, 8);
	put(0, 8);
	load("second", 20, 0x1000, 32, 2);
	move(30, 0x9000, 64, 1);
	load("at no time", 0, 0x5000, 8, 3);
	CHECK(!jit_read_dump(&r, file_of(dump, dump_len)));
	CHECK(j.count == 4 && !r.damaged && !moca_jits_index(&j));
	CHECK(!strcmp(name_of(&j, moca_jits_find(&j, 9, 0x1010, 9)), ""));
	CHECK(!strcmp(name_of(&j, moca_jits_find(&j, 9, 0x1010, 10)), "first"));
	CHECK(!strcmp(name_of(&j, moca_jits_find(&j, 9, 0x1010, 20)), "second"));
	CHECK(!strcmp(name_of(&j, moca_jits_find(&j, 9, 0x1030, 20)), "first"));
	CHECK(!strcmp(name_of(&j, moca_jits_find(&j, 9, 0x9001, 30)), "first"));
	CHECK(moca_jits_find(&j, 9, 0x9001, 29) < 0 &&
	      moca_jits_find(&j, 8, 0x1010, 50) < 0);
	CHECK(moca_jits_changes(&j, 9, 0x1010) &&
	      !moca_jits_changes(&j, 9, 0x1040));
	moca_jits_free(&j);
	return 0;
}

/* Whatever it is cut to or made of: no crash, and no name from elsewhere. */
static int hostile(void)
{
	struct moca_jits j = { 0 };
	struct jit_read r = { .out = &j, .pid = 9 };
	uint8_t byte;
	size_t n;

	head(1);
	load("first", 10, 0x1000, 64, 1);
	CHECK(jit_read_dump(&r, file_of(dump, dump_len)) == -EPROTO);
	head(0);
	dump[0] ^= 1;
	CHECK(jit_read_dump(&r, file_of(dump, dump_len)) == -EPROTO);
	CHECK(!j.count);
	head(0);
	load("first", 10, 0x1000, 64, 1);
	move(30, 0x9000, 64, 77);	/* of nothing that was loaded */
	CHECK(!jit_read_dump(&r, file_of(dump, dump_len)));
	CHECK(j.count == 1 && r.damaged == 1);
	head(0);
	load("first", 10, 0x1000, 64, 1);
	move(30, 0x9000, 64, 1);
	for (n = 0; n < dump_len; n++)
		CHECK(jit_read_dump(&r, file_of(dump, n)) ==
		      (n < 40 ? -EPROTO : 0));
	for (n = 0; n < dump_len; n++) {
		for (int bit = 0; bit < 8; bit++) {
			byte = dump[n];
			dump[n] ^= (uint8_t)(1 << bit);
			CHECK(jit_read_dump(&r, file_of(dump, dump_len)) <= 0);
			dump[n] = byte;
		}
	}
	for (size_t i = 0; i < j.count; i++)
		CHECK(strlen(name_of(&j, (int64_t)i)) <= 10);
	head(0);
	record(0, 15, 10);
	CHECK(!jit_read_dump(&r, file_of(dump, dump_len)));
	moca_jits_free(&j);
	return 0;
}

/* The number that moca_mix() makes x of. */
static uint64_t unmix(uint64_t x)
{
	uint64_t k = 0xd6e8feb86659fd93ull, inverse = k;

	for (int i = 0; i < 6; i++)
		inverse *= 2 - k * inverse;
	x ^= x >> 32;
	x *= inverse;
	x ^= x >> 32;
	x *= inverse;
	return x ^ x >> 32;
}

/* Numbers of one hash each: what is there is not searched one by one. */
static int colliding(void)
{
	struct moca_jits j = { 0 };
	struct jit_read r = { .out = &j, .pid = 9 };
	size_t n = 500000, len;
	uint8_t *all;

	CHECK(moca_mix(unmix(12345)) == 12345);
	head(0);
	all = malloc(dump_len + n * 64);
	CHECK(all);
	memcpy(all, dump, len = dump_len);
	for (uint64_t i = 1; i <= n; i++) {
		dump_len = 0;
		load("f", i, i * 16, 16, unmix(i << 32 | ((i ^ 7) & UINT32_MAX)));
		memcpy(all + len, dump, dump_len);
		len += dump_len;
	}
	CHECK(!jit_read_dump(&r, file_of(all, len)));
	CHECK(j.count == n && !r.damaged && !r.full);
	free(all);
	moca_jits_free(&j);
	return 0;
}

int main(void)
{
	run("jit/round-trip", round_trip);
	run("jit/found", found);
	run("jit/over", over);
	run("jit/maps", maps);
	run("jit/many", many);
	run("jit/limits", limits);
	run("jit/dumps", dumps);
	run("jit/hostile", hostile);
	run("jit/colliding", colliding);
	return failures != 0;
}

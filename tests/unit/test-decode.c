// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loads and stores by the code that made them: of files, also when something else is
 * mapped there by now; of memory, where it was the same before and behind.
 */
#include "collect/fault/code.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collect/perf/text.h"
#include "lib/base/clock.h"
#include "tests/unit/trace-util.h"

#define SPACE 7

static const uint8_t load[] = { 0x8a, 0x07, 0xc3 };	/* mov (%rdi), %al */
static const uint8_t store[] = { 0x88, 0x07, 0xc3 };	/* mov %al, (%rdi) */

static char path[] = "/tmp/moca-code-XXXXXX";

struct code_test {
	struct text *text;
	struct decoder *decoder;
	struct mm mm;
	uint8_t *page;
};

static int begin(struct code_test *c)
{
	*c = (struct code_test){ .mm = { .space = { .id = SPACE }, .memfd = -1 } };
	pthread_mutex_init(&c->mm.lock, NULL);
	c->text = text_new();
	c->decoder = decoder_new(c->text);
	c->page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(c->text && c->decoder && c->page != MAP_FAILED);
	return 0;
}

static void end(struct code_test *c)
{
	munmap(c->page, 8192);
	moca_regions_free(&c->mm.regions);
	pthread_mutex_destroy(&c->mm.lock);
	decoder_free(c->decoder);
	text_free(c->text);
}

static char type_at(struct code_test *c, size_t offset, uint64_t time_ns)
{
	const struct sample s = {
		.addr = 0x1000, .ip = (uint64_t)(c->page + offset),
		.time_ns = time_ns, .pid = (uint32_t)getpid(),
		.mode = MOCA_MODE_USER,
	};

	switch (code_type(c->decoder, &c->mm, &s)) {
	case MOCA_ACCESS_READ:
		return 'r';
	case MOCA_ACCESS_WRITE:
		return 'w';
	case MOCA_ACCESS_UNKNOWN:
		return '?';
	default:
		return '!';
	}
}

static char type(struct code_test *c, size_t offset)
{
	return type_at(c, offset, moca_now_ns());
}

/* Map code as a file of the program's; told: its collector hears of it. */
static int map_file(struct code_test *c, const uint8_t *code, int told)
{
	struct moca_change e = {
		.type = MOCA_CHANGE_MMAP, .addr = (uint64_t)c->page,
		.len = 4096, .name = path, .prot = PROT_READ | PROT_EXEC,
	};
	uint8_t bytes[4096] = { 0 };
	struct stat st;
	int fd;

	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	memcpy(bytes, code, 3);
	CHECK(fd >= 0 && write(fd, bytes, 4096) == 4096 && !fstat(fd, &st));
	/* The kernel's clock of files is up to a tick behind. */
	usleep(20000);
	CHECK(mmap(c->page, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
	      c->page);
	close(fd);
	e.time_ns = moca_now_ns();
	e.dev = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
	e.ino = st.st_ino;
	if (told)
		text_note(c->text, SPACE, &e);
	return 0;
}

static void map_anonymous(struct code_test *c)
{
	const struct moca_change e = {
		.type = MOCA_CHANGE_MMAP, .addr = (uint64_t)c->page,
		.len = 4096, .name = "", .prot = PROT_READ | PROT_EXEC,
		.time_ns = moca_now_ns(),
	};

	text_note(c->text, SPACE, &e);
}

/* What was mapped then, and not what is there when samples are looked at. */
static int t_over(void)
{
	struct code_test c;
	char first[sizeof(path)];

	CHECK(!begin(&c) && !map_file(&c, load, 1));
	strcpy(first, path);
	CHECK(!map_file(&c, store, 0));
	CHECK(type(&c, 0) == 'r');
	decoder_turn(c.decoder);
	CHECK(type(&c, 0) == 'r');
	unlink(path);
	/* The mapping is told: no entry of the cache is older. */
	CHECK(!map_file(&c, store, 1));
	CHECK(type(&c, 0) == 'w');
	/* Gone, with memory in its place that has other code. */
	memcpy(mmap(c.page, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), load, 3);
	CHECK(type(&c, 0) == 'w');
	map_anonymous(&c);
	CHECK(type_at(&c, 0, moca_now_ns()) == '?');
	decoder_turn(c.decoder);
	CHECK(type(&c, 0) == 'r');
	unlink(path);
	unlink(first);
	end(&c);
	return 0;
}

/* What was found in a file holds for a fork's child, which has the same mappings. */
static int t_forked(void)
{
	struct code_test c;

	CHECK(!begin(&c) && !map_file(&c, load, 1));
	CHECK(type(&c, 0) == 'r');
	unlink(path);
	text_fork(c.text, SPACE + 1, SPACE);
	CHECK(!map_file(&c, store, 1));
	unlink(path);
	/* Neither its file nor memory has it by now. */
	c.mm.space.id = SPACE + 1;
	CHECK(type(&c, 0) == 'r');
	c.mm.space.id = SPACE;
	CHECK(type(&c, 0) != 'r');
	end(&c);
	return 0;
}

/* Code in memory: told where it was the same before and behind the access. */
static int t_made(void)
{
	struct code_test c;
	uint64_t before, between;

	CHECK(!begin(&c));
	memcpy(c.page, load, 3);
	before = moca_now_ns();
	CHECK(type_at(&c, 0, before) == '?');	/* the first look is later */
	between = moca_now_ns();
	CHECK(type_at(&c, 0, before) == '?');
	decoder_turn(c.decoder);
	CHECK(type_at(&c, 0, between) == 'r');
	CHECK(type_at(&c, 0, before) == '?');	/* before the first look */
	memcpy(c.page, store, 3);
	decoder_turn(c.decoder);
	CHECK(type_at(&c, 0, between) == '?');
	between = moca_now_ns();
	decoder_turn(c.decoder);
	CHECK(type_at(&c, 0, between) == 'w');
	/* An instruction of two pages, of which the second is not there. */
	memcpy(c.page + 4095, store, 1);
	decoder_turn(c.decoder);
	CHECK(type(&c, 4095) == '?');
	decoder_turn(c.decoder);
	CHECK(type(&c, 4095) == '?');
	memcpy(c.page + 4096, store + 1, 2);
	decoder_turn(c.decoder);
	CHECK(type_at(&c, 4095, 1) == '?');
	between = moca_now_ns();
	decoder_turn(c.decoder);
	CHECK(type_at(&c, 4095, between) == 'w');
	end(&c);
	return 0;
}

/* A page that a sweep took is not other code; the memfd has it in any case. */
static int t_swept(void)
{
	struct region r = { .kind = REGION_MEMFD, .off = 4096 };
	struct code_test c;
	uint64_t between;

	CHECK(!begin(&c));
	memcpy(c.page, load, 3);
	CHECK(type_at(&c, 0, 1) == '?');
	between = moca_now_ns();
	decoder_turn(c.decoder);
	mprotect(c.page, 4096, PROT_NONE);	/* it cannot be read */
	CHECK(!madvise(c.page, 4096, MADV_DONTNEED));
	CHECK(type_at(&c, 0, between) == '?');
	decoder_turn(c.decoder);
	CHECK(type_at(&c, 0, between) == '?');
	mprotect(c.page, 4096, PROT_READ | PROT_WRITE);
	memcpy(c.page, load, 3);
	decoder_turn(c.decoder);
	CHECK(type_at(&c, 0, between) == 'r');
	c.mm.memfd = memfd_create("code", MFD_CLOEXEC);
	CHECK(c.mm.memfd >= 0 && pwrite(c.mm.memfd, store, 3, 4096) == 3);
	r.start = (uint64_t)c.page;
	r.end = r.start + 4096;
	CHECK(!moca_regions_add(&c.mm.regions, &r));
	decoder_turn(c.decoder);
	CHECK(type(&c, 0) == '?');
	decoder_turn(c.decoder);
	CHECK(type(&c, 0) == 'w');
	close(c.mm.memfd);
	end(&c);
	return 0;
}

/* Of a string move, registers tell; of code that is not known, they do not. */
static int t_registers(void)
{
	struct code_test c;
	struct sample s = { .addr = 0x1000, .pid = (uint32_t)getpid(),
			    .mode = MOCA_MODE_USER, .at_target = 1 };

	CHECK(!begin(&c));
	s.ip = (uint64_t)c.page;
	memcpy(c.page, "\xa4\xc3", 2);	/* movsb */
	s.time_ns = moca_now_ns();
	CHECK(code_type(c.decoder, &c.mm, &s) == MOCA_ACCESS_UNKNOWN);
	decoder_turn(c.decoder);
	s.time_ns = moca_now_ns();
	CHECK(code_type(c.decoder, &c.mm, &s) == MOCA_ACCESS_WRITE);
	s.at_source = s.at_target--;
	CHECK(code_type(c.decoder, &c.mm, &s) == MOCA_ACCESS_READ);
	s.mode = MOCA_MODE_KERNEL;
	s.ip = 0;
	CHECK(code_type(c.decoder, &c.mm, &s) == MOCA_ACCESS_READ);
	s.at_target = 1;
	CHECK(code_type(c.decoder, &c.mm, &s) == MOCA_ACCESS_UNKNOWN);
	end(&c);
	return 0;
}

/* A file that may be another by now counts as far as memory agrees. */
static int t_named(void)
{
	const struct moca_change gap = {
		.type = MOCA_CHANGE_GAP, .flags = MOCA_GAP_MAPPINGS, .name = "",
	};
	struct code_test c;

	CHECK(!begin(&c) && !map_file(&c, load, 1));
	CHECK(((volatile uint8_t *)c.page)[0] == load[0]);
	text_note(c.text, SPACE, &gap);
	CHECK(type_at(&c, 0, 1) == 'r');
	unlink(path);
	/* Not told any more. */
	CHECK(!map_file(&c, store, 0));
	CHECK(((volatile uint8_t *)c.page)[0] == store[0]);
	decoder_turn(c.decoder);
	CHECK(type_at(&c, 0, 1) == '?');
	unlink(path);
	end(&c);
	return 0;
}

int main(void)
{
	run("decode: files that are mapped over", t_over);
	run("decode: code of a fork's child", t_forked);
	run("decode: code that is made", t_made);
	run("decode: files that may be others", t_named);
	run("decode: code that a sweep took", t_swept);
	run("decode: what registers tell", t_registers);
	return failures != 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tables of functions that are made are those that the linker made, of libraries
 * that have both; and broken descriptions are refused.
 */
#include "collect/ptrace/frames.h"
#include "lib/code/symfile.h"
#include "tests/unit/trace-util.h"

static uint8_t *section(struct moca_symfile *f, const char *name, Elf64_Shdr *s)
{
	uint8_t *p;

	if (moca_symfile_section(f, name, s))
		return NULL;
	p = malloc(s->sh_size);
	if (p && pread(f->fd, p, s->sh_size, (off_t)s->sh_offset) !=
			 (ssize_t)s->sh_size)
		return NULL;
	return p;
}

/* Entry n of a table that is at addr: which code, described where. */
static uint64_t entry(const uint8_t *table, uint64_t addr, uint32_t n, int which)
{
	int32_t v;

	memcpy(&v, table + n + 4 * which, sizeof(v));
	return addr + (uint64_t)v;
}

static int alike(const char *path)
{
	struct moca_symfile f;
	Elf64_Shdr s, h;
	uint8_t *frames, *theirs, *ours;
	uint32_t count, n;
	size_t size;

	CHECK(!moca_symfile_open(&f, path));
	frames = section(&f, ".eh_frame", &s);
	theirs = section(&f, ".eh_frame_hdr", &h);
	CHECK(frames && theirs && h.sh_size > 12);
	/* Theirs has a pointer to the section more. */
	CHECK(theirs[1] == 0x1b && theirs[2] == 3 && theirs[3] == 0x3b);
	ours = moca_frames_table(frames, s.sh_size, s.sh_addr, h.sh_addr + 4,
				 &size);
	CHECK(ours);
	memcpy(&count, theirs + 8, 4);
	memcpy(&n, ours + 4, 4);
	CHECK(n == count && n > 1000 && size == 8 + 8 * (size_t)n);
	for (uint32_t i = 0; i < n; i++)
		for (int k = 0; k < 2; k++)
			CHECK(entry(theirs, h.sh_addr, 12 + 8 * i, k) ==
			      entry(ours, h.sh_addr + 4, 8 + 8 * i, k));
	free(ours);
	free(theirs);
	free(frames);
	moca_symfile_close(&f);
	return 0;
}

static int libc(void)
{
	return alike("/lib/x86_64-linux-gnu/libc.so.6");
}

static int libstdcxx(void)
{
	return alike("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
}

static int far(void)
{
	struct moca_symfile f;
	Elf64_Shdr s;
	uint8_t *frames;
	size_t size;

	CHECK(!moca_symfile_open(&f, "/lib/x86_64-linux-gnu/libc.so.6"));
	frames = section(&f, ".eh_frame", &s);
	CHECK(frames);
	CHECK(!moca_frames_table(frames, s.sh_size, s.sh_addr, 1ull << 40,
				 &size));
	CHECK(errno == ERANGE);
	free(frames);
	moca_symfile_close(&f);
	return 0;
}

/* Bytes are changed at random; each copy is as long as what may be read. */
static int broken(void)
{
	unsigned int refused = 0, turns = 2000;
	struct moca_symfile f;
	uint32_t state = 1;
	uint8_t *frames, *copy;
	Elf64_Shdr s;
	size_t size, len = 2000;
	void *table;

	CHECK(!moca_symfile_open(&f, "/lib/x86_64-linux-gnu/libc.so.6"));
	frames = section(&f, ".eh_frame", &s);
	CHECK(frames && s.sh_size > len);
	for (unsigned int turn = 0; turn < turns; turn++) {
		copy = malloc(len);
		CHECK(copy);
		memcpy(copy, frames, len);
		for (int i = 0; i < 4; i++) {
			state = state * 1664525u + 1013904223u;
			copy[(state >> 8) % (i ? len : 64)] = (uint8_t)state;
		}
		table = moca_frames_table(copy, len, s.sh_addr, s.sh_addr,
					  &size);
		refused += !table;
		free(table);
		free(copy);
	}
	CHECK(refused > turns / 4 && refused < turns);
	free(frames);
	moca_symfile_close(&f);
	return 0;
}

int main(void)
{
	run("as the linker's, of libc", libc);
	run("as the linker's, of libstdc++", libstdcxx);
	run("too far away", far);
	run("broken", broken);
	return failures != 0;
}

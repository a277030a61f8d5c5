// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/perf/decode.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/perf/instruction.h"
#include "collect/perf/text.h"
#include "lib/base/clock.h"
#include <moca/types.h>

#define CACHE_SIZE (1u << 14)

struct code {
	uint8_t bytes[INSTRUCTION_BYTES];
	uint8_t count;
};

/*
 * An instruction, as it was found. A file that is mapped has the same until another
 * mapping hides it. In memory, a program may write others at any time: it is looked
 * at anew in each turn, and counts for the time between two looks that found the same.
 */
struct entry {
	uint64_t ip;
	uint64_t since_ns;	/* it was there then, and at the last look */
	uint64_t turn;		/* of the last look; 0: none */
	uint32_t era;		/* of the space, when it was found in a file */
	int space;
	struct code code;
	uint8_t type;
	uint8_t certain;
	uint8_t seen;		/* the last look found something */
};

/*
 * The same of any space: by its place in a file, which several processes map; and by
 * era and address, for which a fork's child need not ask for files at all.
 */
struct certain {
	struct text_place at;	/* or era, 0, 0, address; all 0: free */
	struct code code;
	uint8_t type;
};

struct decoder {
	const struct text *text;
	uint64_t turn;
	struct entry cache[CACHE_SIZE];
	struct certain certain[CACHE_SIZE];
};

struct decoder *decoder_new(const struct text *text)
{
	struct decoder *d = calloc(1, sizeof(*d));

	if (d) {
		d->text = text;
		d->turn = 1;
	}
	return d;
}

void decoder_turn(struct decoder *d)
{
	d->turn++;
}

void decoder_free(struct decoder *d)
{
	free(d);
}

/* Is the page of addr there? To read one that is not would make it. */
static int is_there(pid_t pid, uint64_t addr)
{
	uint64_t entry = 0;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (pread(fd, &entry, sizeof(entry),
		  (off_t)(addr / 4096 * sizeof(entry))) != sizeof(entry))
		entry = 0;
	close(fd);
	return (int)(entry >> 63);
}

/* len bytes at ip, all in one page, as they are in memory now. */
static size_t read_part(const struct code_space *sp, uint64_t ip, uint8_t *bytes,
			size_t len)
{
	struct iovec local = { bytes, len };
	struct iovec remote = { (void *)ip, len };
	ssize_t n = sp->read ? sp->read(sp->arg, ip, bytes, len) : -1;

	if (n < 0 && sp->pid && is_there(sp->pid, ip))
		n = process_vm_readv(sp->pid, &local, 1, &remote, 1, 0);
	return n > 0 ? (size_t)n : 0;
}

/* The instruction may stand at the end of a page. */
static void read_memory(const struct code_space *sp, uint64_t ip, struct code *c)
{
	size_t first = 4096 - (ip & 4095), n;

	memset(c, 0, sizeof(*c));
	if (first > INSTRUCTION_BYTES)
		first = INSTRUCTION_BYTES;
	n = read_part(sp, ip, c->bytes, first);
	if (n == first && n < INSTRUCTION_BYTES)
		n += read_part(sp, ip + n, c->bytes + n, INSTRUCTION_BYTES - n);
	c->count = (uint8_t)n;
}

static enum text_known read_file(const struct decoder *d, int space,
				 uint64_t ip, struct code *c)
{
	enum text_known known;
	size_t n = 0;

	memset(c, 0, sizeof(*c));
	known = text_code(d->text, space, ip, c->bytes, INSTRUCTION_BYTES, &n);
	c->count = (uint8_t)n;
	return known;
}

static int is_same(const struct code *a, const struct code *b)
{
	return a->count == b->count && !memcmp(a->bytes, b->bytes, a->count);
}

/* What is at e's address in memory; from when on it is known to have been. */
static void look(const struct decoder *d, struct entry *e,
		 const struct code_space *sp, const struct code *named)
{
	struct code now;
	int looked = e->turn != 0;

	read_memory(sp, e->ip, &now);
	e->turn = d->turn;
	e->seen = now.count != 0;
	/* A page that a sweep took may be the same when it comes back. */
	if (!e->seen && looked)
		return;
	if (named && is_same(named, &now))
		e->since_ns = 0;	/* a file that was mapped has it */
	else if (!looked || !is_same(&e->code, &now))
		e->since_ns = moca_now_ns();
	if (is_same(&e->code, &now))
		return;
	e->code = now;
	e->type = instruction_type(now.bytes, now.count);
}

static size_t slot(uint64_t ip, uint64_t of)
{
	return ((ip ^ (of << 40)) * 0x9e3779b97f4a7c15ull) >> 50;
}

static struct certain *certain_at(struct decoder *d, const struct text_place *at)
{
	return &d->certain[slot(at->offset, at->dev ^ at->ino)];
}

static int is_at(const struct certain *c, const struct text_place *at)
{
	return !memcmp(&c->at, at, sizeof(*at));
}

static void note(struct decoder *d, const struct text_place *at,
		 const struct entry *e)
{
	*certain_at(d, at) = (struct certain){ *at, e->code, e->type };
}

/* 1: e is what was found there before. */
static int recall(struct decoder *d, const struct text_place *at, struct entry *e)
{
	const struct certain *c = certain_at(d, at);

	if (!is_at(c, at))
		return 0;
	e->code = c->code;
	e->type = c->type;
	return 1;
}

/* e from the file that was mapped: how well that is known. */
static enum text_known from_file(struct decoder *d, struct entry *e,
				 const struct text_place *here, struct code *file)
{
	struct text_place place;
	int placed =
		text_place(d->text, e->space, e->ip, INSTRUCTION_BYTES, &place);
	enum text_known known = TEXT_CERTAIN;

	if (!placed || !recall(d, &place, e)) {
		known = read_file(d, e->space, e->ip, file);
		if (known != TEXT_CERTAIN)
			return known;
		e->code = *file;
		e->type = instruction_type(file->bytes, file->count);
		/* Certain: the file has not changed since it was mapped. */
		if (placed)
			note(d, &place, e);
	}
	note(d, here, e);
	return known;
}

static void find(struct decoder *d, struct entry *e, const struct code_space *sp)
{
	uint32_t era = text_era(d->text, e->space);
	const struct text_place here = { .dev = era, .offset = e->ip };
	enum text_known known = TEXT_CERTAIN;
	struct code file;

	if (e->era == era && (e->certain || e->turn == d->turn))
		return;
	if (!era || !recall(d, &here, e))
		known = from_file(d, e, &here, &file);
	e->era = era;
	e->certain = known == TEXT_CERTAIN;
	if (!e->certain) {
		look(d, e, sp, known == TEXT_NAMED ? &file : NULL);
		return;
	}
	e->since_ns = 0;
	e->seen = 1;
	e->turn = 0;
}

static uint8_t type_at(struct decoder *d, const struct code_space *sp,
		       const struct sample *s)
{
	struct entry *e = &d->cache[slot(s->ip, (uint64_t)sp->id)];

	/* The fetch of the instruction itself, which may straddle pages. */
	if (s->addr >= s->ip && s->addr - s->ip < INSTRUCTION_BYTES)
		return MOCA_ACCESS_EXEC;
	if (e->ip != s->ip || e->space != sp->id)
		*e = (struct entry){ .ip = s->ip, .space = sp->id };
	find(d, e, sp);
	return e->seen && s->time_ns >= e->since_ns ? e->type
						    : INSTRUCTION_NOT_KNOWN;
}

uint8_t decoder_type(struct decoder *d, const struct code_space *space,
		     const struct sample *s)
{
	uint8_t type = INSTRUCTION_DOES_BOTH; /* the kernel, which copies */

	if (s->mode == MOCA_MODE_USER)
		type = type_at(d, space, s);
	if (type != INSTRUCTION_DOES_BOTH)
		return type;
	/* As string moves have it, and the kernel's copies, which are such. */
	if (s->at_source == s->at_target)
		return MOCA_ACCESS_UNKNOWN;
	return s->at_target ? MOCA_ACCESS_WRITE : MOCA_ACCESS_READ;
}

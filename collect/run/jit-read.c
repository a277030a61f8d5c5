// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/jit-read.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib/base/bytes.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"

static int add(struct jit_read *r, uint64_t time_ns, uint64_t addr,
	       uint64_t size, const char *name, size_t len)
{
	int err = moca_jits_add(r->out, r->pid, time_ns, addr, size, name, len);

	if (err == -E2BIG)
		r->full++;
	else if (err == -EINVAL)
		r->damaged++;
	return err == -ENOMEM ? err : 0;
}

int jit_read_over(const struct jit_read *r)
{
	return r->bytes >= JIT_BYTES_MAX || r->full >= JIT_FULL_MAX ||
	       (r->stop && atomic_load_explicit(r->stop, memory_order_relaxed));
}

/* --- maps ----------------------------------------------------------------- */

static int hex(const char **p, uint64_t *out)
{
	char *end;

	if (!isxdigit((unsigned char)**p))
		return -EINVAL;
	errno = 0;
	*out = strtoull(*p, &end, 16);
	if (errno || *end != ' ')
		return -EINVAL;
	*p = end + 1;
	return 0;
}

/* One line, without its end. Sizes of 0 are of code that was not kept. */
static int read_line(struct jit_read *r, const char *line, size_t len)
{
	uint64_t addr, size;
	const char *p = line;

	if (!len)
		return 0;
	if (hex(&p, &addr) || hex(&p, &size) || p >= line + len) {
		r->damaged++;
		return 0;
	}
	return size ? add(r, 0, addr, size, p, (size_t)(line + len - p)) : 0;
}

int jit_read_map(struct jit_read *r, int fd)
{
	char line[MOCA_JIT_NAME_MAX + 64];
	size_t len = 0, bytes = 0;	/* kept, and read, of a line */
	int err = 0, c;
	FILE *f = fdopen(fd, "r");

	if (!f) {
		err = -errno;
		close(fd);
		return err;
	}
	r->bytes += JIT_FILE_BYTES;
	/* The end of a line that is longer is left out. */
	while (!err && bytes < JIT_LINE_MAX && (c = getc_unlocked(f)) != EOF) {
		bytes++;
		if (c != '\n') {
			if (len < sizeof(line) - 1)
				line[len++] = (char)c;
			continue;
		}
		line[len] = 0;
		err = read_line(r, line, len);
		r->bytes += bytes;
		len = bytes = 0;
		if (jit_read_over(r))
			break;
	}
	/* The last line has no end where it was being written. */
	r->damaged += len != 0;
	r->bytes += bytes;
	if (!err && ferror(f))
		err = -EIO;
	fclose(f);
	return err;
}

/* --- dumps ---------------------------------------------------------------- */

#define MAGIC 0x4a695444u
#define HEADER 40u		/* bytes of the file's, */
#define RECORD 16u		/* of a record's, */
#define LOAD 40u		/* and of what follows it in a load or a move: */
#define MOVE 48u
#define ARCH_TIMES 1u		/* flag: times are the CPU's own */

enum { CODE_LOAD, CODE_MOVE };

/* Code that was loaded, by its index: it may be moved. */
struct loaded {
	uint64_t index;
	uint32_t name;		/* in the list's names */
};

struct dump {
	struct jit_read *r;
	FILE *f;
	struct loaded *loaded;
	size_t count, room;
	struct moca_index index;
	uint64_t secret[2];	/* so that no program can make hashes collide */
};

static uint32_t u32(const uint8_t *p)
{
	return moca_get32(p);
}

static int take(struct dump *d, void *to, size_t n)
{
	if (fread(to, 1, n, d->f) != n)
		return -ENODATA;
	d->r->bytes += n;
	return 0;
}

/* A part of a page is read for it, at most; n has 32 bits. */
static int skip(struct dump *d, uint64_t n)
{
	if (n && fseeko(d->f, (off_t)n, SEEK_CUR))
		return -ENODATA;
	d->r->bytes += n < JIT_FILE_BYTES ? n : JIT_FILE_BYTES;
	return 0;
}

static uint64_t hash_of(const struct dump *d, uint64_t index)
{
	return moca_mix(moca_mix(index ^ d->secret[0]) + d->secret[1]);
}

static struct loaded *find_loaded(const struct dump *d, uint64_t index)
{
	struct loaded *found = NULL;
	uint32_t i;

	moca_index_each(i, &d->index, hash_of(d, index))
		if (d->loaded[i].index == index)
			found = &d->loaded[i];
	return found;
}

static int remember(struct dump *d, uint64_t index, uint32_t name)
{
	struct loaded *l = find_loaded(d, index);

	if (l) {
		l->name = name;
		return 0;
	}
	if (moca_vec_fit(d->loaded, d->room, d->count + 1) ||
	    moca_index_add(&d->index, hash_of(d, index), (uint32_t)d->count))
		return -ENOMEM;
	d->loaded[d->count++] = (struct loaded){ index, name };
	return 0;
}

/* The record has `left` bytes more. 0; 1: it is damaged; -errno. */
static int read_load(struct dump *d, uint64_t time_ns, uint64_t left)
{
	char name[MOCA_JIT_NAME_MAX + 1];
	struct moca_jits *out = d->r->out;
	size_t n, count = out->count;
	uint8_t b[LOAD];
	int err;

	if (left < LOAD + 1)
		return 1;
	if (take(d, b, LOAD))
		return -ENODATA;
	left -= LOAD;
	n = left < sizeof(name) ? (size_t)left : sizeof(name);
	if (take(d, name, n))
		return -ENODATA;
	err = skip(d, left - n);
	if (err)
		return err;
	/* One that is longer is cut. */
	n = strnlen(name, n < sizeof(name) ? n : sizeof(name) - 1);
	err = add(d->r, time_ns, moca_get64(b + 16), moca_get64(b + 24), name,
		  n);
	if (!err && out->count > count)
		err = remember(d, moca_get64(b + 32), out->list[count].name);
	return err;
}

static int read_move(struct dump *d, uint64_t time_ns, uint64_t left)
{
	char name[MOCA_JIT_NAME_MAX + 1];
	const struct loaded *l;
	uint8_t b[MOVE];
	int err;

	if (left < MOVE)
		return 1;
	if (take(d, b, MOVE))
		return -ENODATA;
	err = skip(d, left - MOVE);
	l = err ? NULL : find_loaded(d, moca_get64(b + 40));
	if (err || !l)
		return err ? err : 1;
	/* The names may be moved when there is one more. */
	snprintf(name, sizeof(name), "%s", d->r->out->names + l->name);
	return add(d->r, time_ns, moca_get64(b + 24), moca_get64(b + 32),
		   name, strlen(name));
}

static int read_records(struct dump *d)
{
	uint8_t b[RECORD];
	uint64_t left, time_ns;
	int ret = 0;

	while (!jit_read_over(d->r) && !take(d, b, RECORD)) {
		if (u32(b + 4) < RECORD)
			return 1;
		left = u32(b + 4) - RECORD;
		/* No time would be: at all times. */
		time_ns = moca_get64(b + 8);
		time_ns += !time_ns;
		switch (u32(b)) {
		case CODE_LOAD:
			ret = read_load(d, time_ns, left);
			break;
		case CODE_MOVE:
			ret = read_move(d, time_ns, left);
			break;
		default:
			ret = skip(d, left);
		}
		if (ret)
			return ret;
	}
	return 0;
}

int jit_read_dump(struct jit_read *r, int fd)
{
	struct dump d = { .r = r };
	uint8_t b[HEADER];
	int ret;

	/* So few bytes are there at once, or never. */
	if (getrandom(d.secret, sizeof(d.secret), 0) == sizeof(d.secret))
		d.f = fdopen(fd, "r");
	if (!d.f) {
		ret = -errno;
		close(fd);
		return ret;
	}
	r->bytes += JIT_FILE_BYTES;
	ret = take(&d, b, HEADER);
	if (ret || u32(b) != MAGIC || u32(b + 4) < 1 || u32(b + 8) < HEADER ||
	    moca_get64(b + 32) & ARCH_TIMES)
		ret = -EPROTO;
	else
		ret = skip(&d, u32(b + 8) - HEADER);
	if (!ret)
		ret = read_records(&d);
	/* What is cut off is as far as it goes. */
	if (ret == 1 || ret == -ENODATA) {
		r->damaged++;
		ret = 0;
	}
	fclose(d.f);
	free(d.loaded);
	moca_index_free(&d.index);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/perf/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define SPACES 1024u	/* buckets */
#define TICK_NS 10000000u /* of the clock of files, at most */
#define MAPS_MAX 4096u	/* of a space: the earliest is forgotten */

struct mapped {
	struct mapped *next;	/* of the same space, the latest first */
	uint64_t addr, len, offset;
	uint64_t dev, ino;	/* as of struct moca_change; 0 = not known */
	uint64_t clock_ns;	/* when it was mapped, CLOCK_REALTIME */
	uint64_t changed_ns;	/* its file, before that; 0: nobody has asked */
	int doubtful;		/* what is there may not be what the file has */
	int shared;		/* writers need not show in the file's times */
	int ours;		/* a file of Moca's: its name is enough */
	char path[];		/* "": no file, or one that is written to */
};

struct space {
	struct space *next;
	int number;
	uint32_t era;
	struct mapped *maps;
};

struct text {
	struct space *spaces[SPACES];
	uint32_t era;		/* the last one that any space got */
};

struct text *text_new(void)
{
	return calloc(1, sizeof(struct text));
}

static struct space **find(const struct text *t, int number)
{
	struct space **p;

	p = (struct space **)&t->spaces[(unsigned int)number % SPACES];
	while (*p && (*p)->number != number)
		p = &(*p)->next;
	return p;
}

void text_forget(struct text *t, int number)
{
	struct space **p = find(t, number), *s = *p;
	struct mapped *m;

	if (!s)
		return;
	*p = s->next;
	while ((m = s->maps)) {
		s->maps = m->next;
		free(m);
	}
	free(s);
}

void text_free(struct text *t)
{
	unsigned int i;

	for (i = 0; t && i < SPACES; i++)
		while (t->spaces[i])
			text_forget(t, t->spaces[i]->number);
	free(t);
}

/*
 * What m is mapped over is seen no more; nor is what is one too many. How many
 * these were.
 */
static unsigned int forget_hidden(struct space *s, const struct mapped *m)
{
	struct mapped **p = &s->maps, *old;
	unsigned int n = 0, gone = 0;

	while ((old = *p)) {
		if (++n < MAPS_MAX && (old->addr < m->addr ||
				       old->addr - m->addr >= m->len ||
				       old->len > m->len - (old->addr - m->addr))) {
			p = &old->next;
			continue;
		}
		*p = old->next;
		free(old);
		gone++;
	}
	return gone;
}

static struct mapped *new_mapped(const struct mapped *like, const char *path)
{
	struct mapped *m = malloc(sizeof(*m) + strlen(path) + 1);

	if (!m)
		return NULL;	/* some accesses are of unknown type then */
	*m = *like;
	m->next = NULL;
	strcpy(m->path, path);
	return m;
}

static struct space *get(struct text *t, int number)
{
	struct space **p = find(t, number);

	if (!*p && (*p = calloc(1, sizeof(**p)))) {
		(*p)->number = number;
		(*p)->era = ++t->era;
	}
	return *p;
}

static int overlaps(const struct mapped *m, uint64_t addr, uint64_t len)
{
	return m->addr < addr ? addr - m->addr < m->len : m->addr - addr < len;
}

static int hides_part(const struct space *s, const struct mapped *m)
{
	const struct mapped *old;

	for (old = s->maps; old; old = old->next)
		if (overlaps(old, m->addr, m->len))
			return 1;
	return 0;
}

/* Times of files are CLOCK_REALTIME, those of changes CLOCK_MONOTONIC. */
static uint64_t clock_of(uint64_t time_ns)
{
	return moca_clock_ns(CLOCK_REALTIME) - (moca_now_ns() - time_ns);
}

static void map(struct text *t, int number, const struct moca_change *e)
{
	const int file = e->name[0] == '/' && !(e->prot & PROT_WRITE);
	const struct mapped like = {
		.addr = e->addr, .len = e->len, .offset = e->offset,
		.dev = file ? e->dev : 0, .ino = file ? e->ino : 0,
		.clock_ns = file ? clock_of(e->time_ns) : 0,
		/* Of shared memory, writers need not show in the file's times. */
		.doubtful = (e->flags & MOCA_MAP_SHARED) != 0,
		.shared = (e->flags & MOCA_MAP_SHARED) != 0,
		.ours = (e->flags & MOCA_MAP_MOCA) != 0,
	};
	struct space *s = file ? get(t, number) : *find(t, number);
	struct mapped *m;
	int gone, part;

	if (!s)
		return;
	gone = forget_hidden(s, &like) != 0;
	part = hides_part(s, &like);
	if (file || gone || part)
		s->era = ++t->era;
	if (!file && !part)
		return;
	m = new_mapped(&like, file ? e->name : "");
	if (!m) {
		/* Better nothing than what is hidden now. */
		text_forget(t, number);
		return;
	}
	m->next = s->maps;
	s->maps = m;
}

static void doubt(struct text *t, int number, uint64_t addr, uint64_t len)
{
	struct space *s = *find(t, number);
	struct mapped *m;

	for (m = s ? s->maps : NULL; m; m = m->next) {
		if (m->doubtful || !overlaps(m, addr, len))
			continue;
		m->doubtful = 1;
		s->era = ++t->era;
	}
}

void text_note(struct text *t, int number, const struct moca_change *e)
{
	if (e->type == MOCA_CHANGE_MMAP)
		map(t, number, e);
	else if (e->type == MOCA_CHANGE_GAP && e->flags & MOCA_GAP_MAPPINGS)
		doubt(t, number, 0, UINT64_MAX);
	else if (e->type == MOCA_CHANGE_GAP)
		doubt(t, number, e->addr, e->len);
}

uint32_t text_era(const struct text *t, int number)
{
	const struct space *s = *find(t, number);

	return s ? s->era : 0;
}

void text_fork(struct text *t, int number, int parent)
{
	const struct space *from = *find(t, parent);
	const struct mapped *m;
	struct mapped **end;
	struct space *s;

	if (!from || number == parent)
		return;
	text_forget(t, number);
	s = get(t, number);
	if (!s)
		return;
	end = &s->maps;
	for (m = from->maps; m; m = m->next) {
		*end = new_mapped(m, m->path);
		if (!*end)
			return;
		end = &(*end)->next;
	}
	/* What holds for the parent's code holds for the same code here. */
	s->era = from->era;
}

static struct mapped *mapped_at(const struct text *t, int number, uint64_t addr)
{
	const struct space *s = *find(t, number);
	struct mapped *m;

	for (m = s ? s->maps : NULL; m; m = m->next)
		if (addr - m->addr < m->len)
			break;
	return m;
}

static uint64_t dev_of(const struct stat *st)
{
	return (uint64_t)major(st->st_dev) << 32 | minor(st->st_dev);
}

/* Is the file of that status the one that was mapped? */
static int is_of(const struct stat *st, const struct mapped *m)
{
	return S_ISREG(st->st_mode) && m->ino && st->st_ino == m->ino &&
	       dev_of(st) == m->dev;
}

/* The same of an open file. *st: what it is. */
static int is_same(int fd, const struct mapped *m, struct stat *st)
{
	return !fstat(fd, st) && is_of(st, m);
}

/* Did it not change since it was mapped? */
static int is_older(const struct stat *st, const struct mapped *m)
{
	return moca_timespec_ns(st->st_ctim) + TICK_NS <= m->clock_ns;
}

int text_open(const struct text *t, int number, uint64_t addr,
	      struct text_range *out)
{
	const struct mapped *m = mapped_at(t, number, addr);
	struct stat st;

	if (!m || !m->ino)
		return -ENOENT;
	*out = (struct text_range){ m->addr, m->addr + m->len, m->offset,
				    m->dev, m->ino, -1 };
	out->fd = open(m->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (out->fd < 0)
		return -ENOENT;
	if (is_same(out->fd, m, &st))
		return 0;
	close(out->fd);
	return -ENOENT;
}

enum text_known text_code(const struct text *t, int number, uint64_t addr,
			  void *buf, size_t len, size_t *n)
{
	const struct mapped *m = mapped_at(t, number, addr);
	enum text_known known = TEXT_NONE;
	struct stat st = { 0 };
	ssize_t got;
	int fd, same;

	if (!m || !m->path[0])
		return TEXT_NONE;
	if (len > m->len - (addr - m->addr))
		len = m->len - (addr - m->addr);
	fd = open(m->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return TEXT_NONE;
	same = is_same(fd, m, &st) || m->ours;
	if (S_ISREG(st.st_mode)) {
		got = pread(fd, buf, len,
			    (off_t)(m->offset + (addr - m->addr)));
		/* Behind the read: what changes the file before it shows. */
		same = same && !fstat(fd, &st) && !m->doubtful &&
		       is_older(&st, m);
		if (got > 0) {
			*n = (size_t)got;
			known = same ? TEXT_CERTAIN : TEXT_NAMED;
			/* Memory that is the file agrees with it, whoever wrote to it. */
			if (!same && (m->shared || (st.st_ino == m->ino &&
						    !is_older(&st, m))))
				known = TEXT_NONE;
		}
	}
	close(fd);
	return known;
}

int text_place(const struct text *t, int number, uint64_t addr, size_t len,
	       struct text_place *out)
{
	struct mapped *m = mapped_at(t, number, addr);
	struct stat st;

	if (!m || m->doubtful || !m->path[0] ||
	    len > m->len - (addr - m->addr))
		return 0;
	out->offset = m->offset + (addr - m->addr);
	out->dev = m->dev;
	out->ino = m->ino;
	out->changed_ns = m->changed_ns;
	if (m->changed_ns)
		return 1;
	if (stat(m->path, &st) || !S_ISREG(st.st_mode) ||
	    (!m->ours && !is_of(&st, m)) || !is_older(&st, m))
		return 0;
	out->dev = dev_of(&st);
	out->ino = st.st_ino;
	out->changed_ns = moca_timespec_ns(st.st_ctim);
	/* Of ours the number is not told. */
	if (is_of(&st, m))
		m->changed_ns = out->changed_ns;
	return 1;
}

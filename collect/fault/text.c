// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SPACES 1024u	/* buckets */
#define MAPS_MAX 4096u	/* of a space: the earliest is forgotten */

struct mapped {
	struct mapped *next;	/* of the same space, the latest first */
	uint64_t addr, len, offset;
	uint64_t dev, ino;	/* as of struct moca_change; 0 = not known */
	char path[];
};

struct space {
	struct space *next;
	int number;
	struct mapped *maps;
};

struct text {
	struct space *spaces[SPACES];
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

/* What m is mapped over is seen no more; nor is what is one too many. */
static void forget_hidden(struct space *s, const struct mapped *m)
{
	struct mapped **p = &s->maps, *old;
	unsigned int n = 0;

	while ((old = *p)) {
		if (++n < MAPS_MAX && (old->addr < m->addr ||
				       old->addr - m->addr >= m->len ||
				       old->len > m->len - (old->addr - m->addr))) {
			p = &old->next;
			continue;
		}
		*p = old->next;
		free(old);
	}
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

	if (!*p && (*p = calloc(1, sizeof(**p))))
		(*p)->number = number;
	return *p;
}

void text_map(struct text *t, int number, const struct moca_change *e)
{
	const struct mapped like = { .addr = e->addr, .len = e->len,
				     .offset = e->offset, .dev = e->dev,
				     .ino = e->ino };
	struct space *s;
	struct mapped *m;

	if (e->name[0] != '/')
		return;
	s = get(t, number);
	m = s ? new_mapped(&like, e->name) : NULL;
	if (!m)
		return;
	forget_hidden(s, m);
	m->next = s->maps;
	s->maps = m;
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
}

static const struct mapped *mapped_at(const struct text *t, int number,
				      uint64_t addr)
{
	const struct space *s = *find(t, number);
	const struct mapped *m;

	for (m = s ? s->maps : NULL; m; m = m->next)
		if (addr - m->addr < m->len)
			break;
	return m;
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
	if (!fstat(out->fd, &st) && S_ISREG(st.st_mode) &&
	    st.st_ino == m->ino &&
	    ((uint64_t)major(st.st_dev) << 32 | minor(st.st_dev)) == m->dev)
		return 0;
	close(out->fd);
	return -ENOENT;
}

ssize_t text_read(const struct text *t, int number, uint64_t addr, void *buf,
		  size_t len)
{
	const struct mapped *m = mapped_at(t, number, addr);
	struct stat st;
	ssize_t n = -ENOENT;
	int fd;

	if (!m)
		return -ENOENT;
	if (len > m->len - (addr - m->addr))
		len = m->len - (addr - m->addr);
	fd = open(m->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -ENOENT;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		n = pread(fd, buf, len, (off_t)(m->offset + (addr - m->addr)));
	close(fd);
	return n < 0 ? -ENOENT : n;
}

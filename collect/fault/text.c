// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPACES 1024u	/* buckets */

struct mapped {
	struct mapped *next;	/* of the same space, the latest first */
	uint64_t addr, len, offset;
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

void text_map(struct text *t, int number, uint64_t addr, uint64_t len,
	      uint64_t offset, const char *path)
{
	struct space **p = find(t, number);
	struct mapped *m;

	if (path[0] != '/')
		return;
	if (!*p)
		*p = calloc(1, sizeof(**p));
	m = *p ? malloc(sizeof(*m) + strlen(path) + 1) : NULL;
	if (!m)
		return;		/* some accesses are of unknown type then */
	(*p)->number = number;
	m->addr = addr;
	m->len = len;
	m->offset = offset;
	strcpy(m->path, path);
	m->next = (*p)->maps;
	(*p)->maps = m;
}

/* The latest comes first, so it is copied last. */
static void copy(struct text *t, int number, const struct mapped *m)
{
	if (!m)
		return;
	copy(t, number, m->next);
	text_map(t, number, m->addr, m->len, m->offset, m->path);
}

void text_fork(struct text *t, int number, int parent)
{
	const struct space *s = *find(t, parent);

	if (s && number != parent)
		copy(t, number, s->maps);
}

ssize_t text_read(const struct text *t, int number, uint64_t addr, void *buf,
		  size_t len)
{
	const struct space *s = *find(t, number);
	const struct mapped *m;
	struct stat st;
	ssize_t n = -ENOENT;
	int fd;

	for (m = s ? s->maps : NULL; m; m = m->next)
		if (addr - m->addr < m->len)
			break;
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

// SPDX-License-Identifier: GPL-2.0-or-later
/* The set of modules, and the memory that their names live in. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/symbols/internal.h"
#include "analysis/symbols/source.h"

#define ARENA_BLOCK (64u << 10)

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	max_align_t data[];
};

void *arena_alloc(struct moca_symbols *s, size_t size)
{
	struct arena_block *b = s->arena;
	size_t need = (size + 15) & ~(size_t)15, room;
	void *p;

	if (need < size)
		return NULL;
	if (!b || b->size - b->used < need) {
		room = need > ARENA_BLOCK ? need : ARENA_BLOCK;
		b = malloc(sizeof(*b) + room);
		if (!b)
			return NULL;
		b->next = s->arena;
		b->used = 0;
		b->size = room;
		s->arena = b;
	}
	p = (char *)b->data + b->used;
	b->used += need;
	return memset(p, 0, size);
}

char *arena_string(struct moca_symbols *s, const char *from, size_t len)
{
	char *p = arena_alloc(s, len + 1);

	if (p)
		memcpy(p, from, len);
	return p;
}

char *arena_printf(struct moca_symbols *s, const char *fmt, ...)
{
	char *p, *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return NULL;
	p = arena_string(s, text, (size_t)n);
	free(text);
	return p;
}

int grow(void *array, size_t n, size_t *room, size_t size)
{
	void **a = array, *more;
	size_t want;

	if (n < *room)
		return 0;
	want = *room ? 2 * *room : 16;
	more = reallocarray(*a, want, size);
	if (!more)
		return -ENOMEM;
	*a = more;
	*room = want;
	return 0;
}

int moca_symbols_open(struct moca_symbols **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void moca_symbols_close(struct moca_symbols *s)
{
	struct arena_block *b;

	if (!s)
		return;
	for (size_t i = 0; i < s->module_room; i++)
		if (s->modules[i])
			module_free(s->modules[i]);
	free(s->modules);
	sources_free(s->sources);
	while ((b = s->arena)) {
		s->arena = b->next;
		free(b);
	}
	free(s);
}

/* Where in a hash table of room entries (a power of two) path is, or goes. */
static size_t place(struct moca_module **table, size_t room, const char *path)
{
	uint64_t h = 14695981039346656037u;	/* FNV-1a */
	size_t i;

	for (const char *p = path; *p; p++)
		h = (h ^ (unsigned char)*p) * 1099511628211u;
	for (i = h & (room - 1); table[i]; i = (i + 1) & (room - 1))
		if (!strcmp(table[i]->path, path))
			break;
	return i;
}

static int more_modules(struct moca_symbols *s)
{
	size_t room = s->module_room ? 2 * s->module_room : 64;
	struct moca_module **table, *m;

	if (2 * (s->module_count + 1) <= s->module_room)
		return 0;
	table = calloc(room, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < s->module_room; i++) {
		m = s->modules[i];
		if (m)
			table[place(table, room, m->path)] = m;
	}
	free(s->modules);
	s->modules = table;
	s->module_room = room;
	return 0;
}

struct moca_module *moca_symbols_module(struct moca_symbols *s,
					const char *path)
{
	struct moca_module *m;
	size_t i;

	if (more_modules(s) < 0)
		return NULL;
	i = place(s->modules, s->module_room, path);
	if (s->modules[i])
		return s->modules[i];
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->symbols = s;
	m->path = arena_string(s, path, strlen(path));
	if (!m->path) {
		free(m);
		return NULL;
	}
	s->modules[i] = m;
	s->module_count++;
	return m;
}

const char *moca_module_path(const struct moca_module *m)
{
	return m->path;
}

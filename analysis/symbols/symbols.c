// SPDX-License-Identifier: GPL-2.0-or-later
/* The set of modules, and the memory that their names live in. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/symbols/source.h"
#include "analysis/symbols/tables.h"

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

int moca_symbols_open(struct moca_symbols **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

int moca_symbols_root(struct moca_symbols *s, const char *root)
{
	s->root = root ? arena_string(s, root, strlen(root)) : NULL;
	return root && !s->root ? -ENOMEM : 0;
}

void moca_symbols_close(struct moca_symbols *s)
{
	struct arena_block *b;

	if (!s)
		return;
	for (size_t i = 0; i < s->module_count; i++)
		module_free(s->modules[i]);
	free(s->modules);
	moca_index_free(&s->module_index);
	sources_free(s->sources);
	while ((b = s->arena)) {
		s->arena = b->next;
		free(b);
	}
	free(s);
}

struct moca_module *moca_symbols_module(struct moca_symbols *s,
					const char *path)
{
	uint64_t hash = moca_hash_bytes(0, path, strlen(path));
	struct moca_module *m;
	uint32_t i;

	moca_index_each(i, &s->module_index, hash)
		if (!strcmp(s->modules[i]->path, path))
			return s->modules[i];
	if (moca_vec_fit(s->modules, s->module_room, s->module_count + 1))
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->symbols = s;
	m->path = arena_string(s, path, strlen(path));
	if (!m->path || moca_index_add(&s->module_index, hash,
				       (uint32_t)s->module_count)) {
		free(m);
		return NULL;
	}
	s->modules[s->module_count++] = m;
	return m;
}

const char *moca_module_path(const struct moca_module *m)
{
	return m->path;
}

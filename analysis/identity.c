// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/identity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/format/trace.h"

/* Bytes of a name that tell; the rest only says that the file is gone. */
static size_t name_len(uint32_t memory, const char *name)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(name), d = sizeof(deleted) - 1;

	if (memory != MOCA_MEMORY_FILE)
		return 0;
	return n > d && !strcmp(name + n - d, deleted) ? n - d : n;
}

static uint64_t hash_of(uint32_t memory, uint64_t dev, uint64_t ino,
			const char *name, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ull ^ memory ^ dev << 8;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)name[i]) * 0x100000001b3ull;
	h = (h ^ ino) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static int same(const struct moca_memory_of *m, uint32_t memory, uint64_t dev,
		uint64_t ino, const char *name, size_t len)
{
	return m->memory == memory && m->dev == dev && m->ino == ino &&
	       (memory != MOCA_MEMORY_FILE ||
		(strlen(m->name) == len && !memcmp(m->name, name, len)));
}

uint32_t moca_identities_find(const struct moca_identities *x, uint32_t memory,
			      uint64_t dev, uint64_t ino, const char *name)
{
	size_t len;
	uint32_t i;

	if (!ino || !x->hash_cap)
		return 0;
	len = name_len(memory, name);
	i = x->hash[hash_of(memory, dev, ino, name, len) & (x->hash_cap - 1)];
	while (i && !same(&x->of[i], memory, dev, ino, name, len))
		i = x->of[i].next;
	return i;
}

static int grow(struct moca_identities *x)
{
	size_t cap = x->cap ? 2 * x->cap : 64, i, at;
	struct moca_memory_of *of;
	uint32_t *hash;

	if (cap > UINT32_MAX / 2)
		return -ENOMEM;
	of = realloc(x->of, cap * sizeof(*of));
	if (!of)
		return -ENOMEM;
	x->of = of;
	hash = calloc(cap, sizeof(*hash));
	if (!hash)
		return -ENOMEM;
	for (i = 1; i < x->count; i++) {
		at = hash_of(of[i].memory, of[i].dev, of[i].ino, of[i].name,
			     name_len(of[i].memory, of[i].name)) & (cap - 1);
		of[i].next = hash[at];
		hash[at] = (uint32_t)i;
	}
	free(x->hash);
	x->hash = hash;
	x->cap = x->hash_cap = cap;
	if (!x->count)
		x->of[x->count++] = (struct moca_memory_of){ 0 };
	return 0;
}

static int add(struct moca_identities *x, const struct moca_event *e)
{
	size_t len = name_len(e->memory, e->name), at;
	struct moca_memory_of *m;

	if (x->count == x->cap && grow(x))
		return -ENOMEM;
	at = hash_of(e->memory, e->dev, e->ino, e->name, len) &
	     (x->hash_cap - 1);
	m = &x->of[x->count];
	*m = (struct moca_memory_of){
		.memory = e->memory, .dev = e->dev, .ino = e->ino,
		.name = e->memory == MOCA_MEMORY_FILE ?
				strndup(e->name, len) : strdup(e->name),
		.addr = e->addr, .len = e->len, .base = e->addr - e->offset,
		.next = x->hash[at],
	};
	if (!m->name)
		return -ENOMEM;
	x->hash[at] = (uint32_t)x->count++;
	return 0;
}

/* More of it is mapped: by offsets, as addresses differ. */
static void extend(struct moca_memory_of *m, const struct moca_event *e)
{
	uint64_t first = m->addr - m->base, end = first + m->len;
	uint64_t last = e->offset + e->len < e->offset ? UINT64_MAX :
							 e->offset + e->len;

	if (e->offset < first)
		first = e->offset;
	if (last > end)
		end = last;
	m->addr = m->base + first;
	m->len = end - first;
}

int moca_identities_build(struct moca_identities *x, struct moca_trace *t)
{
	const struct moca_event *e;
	struct moca_cursor *c;
	uint32_t task, i;
	int ret;

	*x = (struct moca_identities){ 0 };
	ret = moca_cursor_open(&c, t, NULL);
	if (ret)
		return ret;
	moca_task_events_only(c);
	while ((ret = moca_cursor_event(c, &e, &task)) > 0) {
		if (e->type != MOCA_EVENT_MMAP)
			continue;
		x->known |= e->memory != MOCA_MEMORY_UNKNOWN;
		if (!e->ino || !e->len || e->flags & MOCA_MAP_MOCA)
			continue;
		i = moca_identities_find(x, e->memory, e->dev, e->ino, e->name);
		if (i) {
			extend(&x->of[i], e);
			continue;
		}
		ret = add(x, e);
		if (ret)
			break;
	}
	moca_cursor_close(c);
	return ret;
}

void moca_identities_free(struct moca_identities *x)
{
	for (size_t i = 1; i < x->count; i++)
		free(x->of[i].name);
	free(x->of);
	free(x->hash);
	*x = (struct moca_identities){ 0 };
}

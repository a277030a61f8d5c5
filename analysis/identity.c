// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/identity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"
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
	return moca_mix(moca_hash_bytes(memory ^ dev << 8, name, len) ^ ino);
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

	if (!ino)
		return 0;
	len = name_len(memory, name);
	moca_index_each(i, &x->index, hash_of(memory, dev, ino, name, len))
		if (same(&x->of[i], memory, dev, ino, name, len))
			return i;
	return 0;
}

static int add(struct moca_identities *x, const struct moca_change *e)
{
	size_t len = name_len(e->memory, e->name);
	struct moca_memory_of *m;

	if (moca_vec_fit(x->of, x->cap, x->count + 2))
		return -ENOMEM;
	if (!x->count)
		x->of[x->count++] = (struct moca_memory_of){ 0 };
	m = &x->of[x->count];
	*m = (struct moca_memory_of){
		.memory = e->memory, .dev = e->dev, .ino = e->ino,
		.name = e->memory == MOCA_MEMORY_FILE ?
				strndup(e->name, len) : strdup(e->name),
		.addr = e->addr, .len = e->len, .base = e->addr - e->offset,
	};
	if (!m->name)
		return -ENOMEM;
	return moca_index_add(&x->index,
			      hash_of(e->memory, e->dev, e->ino, e->name, len),
			      (uint32_t)x->count++);
}

/* More of it is mapped: by offsets, as addresses differ. */
static void extend(struct moca_memory_of *m, const struct moca_change *e)
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
	const struct moca_change *e;
	struct moca_cursor *c;
	uint32_t task, i;
	int ret;

	*x = (struct moca_identities){ 0 };
	ret = moca_cursor_open(&c, t, NULL);
	if (ret)
		return ret;
	moca_task_changes_only(c);
	while ((ret = moca_cursor_change(c, &e, &task)) > 0) {
		if (e->type != MOCA_CHANGE_MMAP)
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
	moca_index_free(&x->index);
	*x = (struct moca_identities){ 0 };
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/trace/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_SIZE 32768u	/* twice as many as ids */

int tracer_catalog_init(struct tracer_catalog *c)
{
	/* Large, and untouched memory costs nothing. */
	c->types = calloc(MOCA_REC_LAST + 1, sizeof(*c->types));
	c->table = calloc(TABLE_SIZE, sizeof(*c->table));
	c->end = MOCA_REC_FIRST;
	if (c->types && c->table)
		return 0;
	tracer_catalog_free(c);
	return -ENOMEM;
}

void tracer_catalog_free(struct tracer_catalog *c)
{
	uint32_t id;

	for (id = MOCA_REC_FIRST; c->types && id < c->end; id++)
		free((char *)c->types[id].facility);
	free(c->types);
	free(c->table);
	c->types = NULL;
	c->table = NULL;
}

/* FNV-1a, the NULs included, so that parts cannot run together. */
static uint32_t hash(uint32_t h, const char *s)
{
	do
		h = (h ^ (unsigned char)*s) * 16777619u;
	while (*s++);
	return h;
}

static uint32_t hash_type(const char *facility, const char *name,
			  const char *fields)
{
	return hash(hash(hash(2166136261u, facility), name), fields);
}

uint32_t tracer_catalog_find(const struct tracer_catalog *c,
			     const char *facility, const char *name,
			     const char *fields)
{
	uint32_t h = hash_type(facility, name, fields), i;
	const struct tracer_type *t;

	for (i = h % TABLE_SIZE; c->table[i]; i = (i + 1) % TABLE_SIZE) {
		t = &c->types[c->table[i]];
		if (t->hash == h && !strcmp(t->facility, facility) &&
		    !strcmp(t->name, name) && !strcmp(t->fields, fields))
			return c->table[i];
	}
	return 0;
}

uint32_t tracer_catalog_next(const struct tracer_catalog *c)
{
	return c->end > MOCA_REC_LAST ? 0 : c->end;
}

int tracer_catalog_add(struct tracer_catalog *c, const char *facility,
		       const char *name, const char *fields)
{
	size_t a = strlen(facility) + 1, b = strlen(name) + 1;
	size_t n = strlen(fields) + 1;
	struct tracer_type *t = &c->types[c->end];
	char *p = malloc(a + b + n);
	uint32_t i;

	if (!p)
		return -ENOMEM;
	t->facility = memcpy(p, facility, a);
	t->name = memcpy(p + a, name, b);
	t->fields = memcpy(p + a + b, fields, n);
	t->hash = hash_type(facility, name, fields);
	for (i = t->hash % TABLE_SIZE; c->table[i]; i = (i + 1) % TABLE_SIZE)
		;
	c->table[i] = (uint16_t)c->end;
	/* Pairs with tracer_catalog_end: the entry is there. */
	__atomic_store_n(&c->end, c->end + 1, __ATOMIC_RELEASE);
	return 0;
}

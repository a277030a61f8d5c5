/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plan: what shall become of the memory that named sites allocate, and of named
 * variables. Written in a part of TOML: comments, tables [[place]], and keys with
 * strings, integers, booleans and arrays of integers, each on one line.
 */
#ifndef MOCA_PLACE_PLAN_H
#define MOCA_PLACE_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "include/abi/place.h"

/* One table [[place]]. */
struct place_entry {
	unsigned line;		/* where it begins, from 1 */
	char *site;		/* "FILE:LINE" or a function; NULL: object is there */
	char *object;		/* a variable's name */
	char *through;		/* wrappers that the site calls, "a, b"; NULL */
	char *module;		/* path of the file with it; NULL: the program */
	int huge, prefault;
	uint32_t align, pad;	/* bytes; 0: not said */
	enum moca_place_memory memory;
	uint64_t nodes[MOCA_PLACE_NODES / 64];
	int has_nodes;
};

struct place_plan {
	struct place_entry *items;
	size_t count, room;
};

/* What is wrong with a plan, and where. */
struct place_problem {
	unsigned line;		/* from 1; 0: the file as a whole */
	char text[256];
};

/*
 * The plan in a text of n bytes. 0; -EINVAL: *problem says why not; -ENOMEM. To be
 * freed in any case.
 */
int place_plan_parse(struct place_plan *out, const char *text, size_t n,
		     struct place_problem *problem);
/* The same of a file; -errno: it cannot be read. */
int place_plan_read(struct place_plan *out, const char *path,
		    struct place_problem *problem);
void place_plan_free(struct place_plan *p);

/* "site 'a.c:12'", "object 'grid'"; buf is filled and returned. */
const char *place_entry_name(const struct place_entry *e, char *buf,
			     size_t size);

#endif

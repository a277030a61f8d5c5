/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accesses and allocations by the functions that led to them, as a tree: a flame graph. */
#ifndef MOCA_FLAME_TREE_H
#define MOCA_FLAME_TREE_H

#include "analysis/callers.h"
#include "analysis/flame.h"
#include "lib/base/strings.h"

#define MOCA_FLAME_ROOT 0u	/* the node that all stacks begin at; has no name */

/* A function, as called by its parent. */
struct moca_flame_node {
	uint32_t parent;	/* a lower number; of the root: itself */
	uint32_t function;	/* number of its name */
	const char *file;	/* of its line in the stack with most of them; NULL.
				   It is the callers' */
	unsigned line;		/* 0: not known */
};

/* What accesses at a node's own code, not in what it calls, by a thread. */
struct moca_flame_leaf {
	uint32_t node;
	uint32_t task;		/* MOCA_NO_TASK: of all, or of those that did not fit */
	uint64_t counts[MOCA_FLAME_COUNTS];
};

struct moca_flame_tree {
	struct moca_flame_node *nodes;
	struct moca_flame_leaf *leaves;		/* of those with most first */
	struct moca_strings functions;		/* names */
	size_t node_count, leaf_count;
	size_t node_room, leaf_room;
	uint64_t all[MOCA_FLAME_COUNTS];
	uint64_t without;	/* of the accesses: no stack is known */
	uint64_t cut;		/* their outermost callers are not known */
	uint64_t shortened;	/* their innermost functions did not fit */
	struct {
		uint64_t without, cut, shortened;
	} bytes;		/* the same, of those that were allocated */
	/* With _over_time: what leaves have of accesses in parts of the run, by number. */
	struct moca_flame_windows over_time;
};

/*
 * Of all accesses, and with heap (of the same trace, whose symbols c has been opened
 * with) of all that was allocated; then accesses are left out of a trace that has no
 * stacks of them. c, of the same trace, must outlive the tree. At most `nodes` nodes, 1
 * or more, and as many leaves of single threads (0: none): stacks with the largest share
 * of all accesses, or bytes, have them first, what is left ends at the innermost node
 * that there is. 0 or -errno, with nothing to free.
 */
int moca_flame_tree_build(struct moca_flame_tree *out, struct moca_trace *t,
			  struct moca_callers *c,
			  const struct moca_objects *heap, size_t nodes,
			  int by_task);
/* The same by task, with x->over_time of [begin_ns, end_ns). */
int moca_flame_tree_over_time(struct moca_flame_tree *out, struct moca_trace *t,
			      struct moca_callers *c,
			      const struct moca_objects *heap, size_t nodes,
			      uint64_t begin_ns, uint64_t end_ns);
void moca_flame_tree_free(struct moca_flame_tree *x);

/* A function, wherever it is called. */
struct moca_flame_function {
	const char *name;
	uint64_t self[MOCA_FLAME_COUNTS];
	uint64_t total[MOCA_FLAME_COUNTS];	/* with what it calls, each once */
};

/* Of the tree, by number of the name; the caller frees it. NULL: no memory. */
struct moca_flame_function *
moca_flame_functions(const struct moca_flame_tree *x);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of `moca objects` share. */
#ifndef MOCA_REPORT_OBJECTS_H
#define MOCA_REPORT_OBJECTS_H

#include "analysis/objects/objects.h"
#include "report/fold.h"

enum objects_by { BY_NONE, BY_LINE, BY_FUNCTION, BY_THREAD, BY_RANGE };

struct objects_view {
	const char *path;		/* of the trace */
	struct moca_trace *trace;
	struct moca_objects *objects;
	struct moca_objects_totals totals;
	/* What is listed, sorted. */
	const struct moca_object **rows;
	size_t count;
	struct objects_fold fold;	/* some of these */
	size_t hidden_few;		/* not listed: too few accesses */
	size_t hidden_small;		/* not listed: too small */
	uint64_t hidden_accesses;
	/* Command line. */
	const char *name;		/* only these; NULL: all */
	enum objects_by by;
	int all;
	int instances;
	uint64_t min_size;
	const struct moca_objects_options *narrow;	/* time, task */
};

/* One line of --by: who touched what is listed. */
struct objects_toucher {
	const char *function;	/* NULL: not known, or not asked for */
	const char *file;
	unsigned line;
	const struct moca_task *task;	/* NULL likewise */
	const struct moca_module *module; /* of a function that is not known */
	uint64_t reads, writes, accesses;
};

/* By accesses, most first. 0 or -ENOMEM. The caller frees *out. */
int objects_touchers(const struct objects_view *v,
		     struct objects_toucher **out, size_t *count);

/* A part of an object, of which all pages were as much accessed or not. */
struct objects_range {
	const struct moca_object *object;
	uint64_t begin, end;	/* bytes in the object */
	uint64_t pages;
	uint64_t accesses, reads, writes;
};

/* By object and begin. 0 or -ENOMEM. The caller frees *out. */
int objects_ranges(const struct objects_view *v, struct objects_range **out,
		   size_t *count);

/* Accesses that went to nothing known, by what held them, most first. */
struct objects_remainder {
	const char *name;
	uint64_t accesses;
};
int objects_remainders(const struct objects_view *v,
		       struct objects_remainder **out, size_t *count);

const char *objects_kind(enum moca_object_kind kind);
#define OBJECTS_SHARING_LEN 40
/* "private", "shared write", "shared write, 8 processes"; "-": no page. buf. */
const char *objects_sharing(const struct moca_object *o, char *buf, size_t len);
/* The task with that number, or NULL. */
const struct moca_task *objects_task(const struct objects_view *v, uint32_t id);
/* 0 or -ENOMEM */
int objects_print(const struct objects_view *v);
int objects_json(const struct objects_view *v);
/* Members of an object: its pages, its accesses, and who shares it. */
struct json;
void objects_json_use(struct json *j, const struct moca_object *o);

#endif

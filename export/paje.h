/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace of Pajé: containers, and what changes in them, in order of time. The caller
 * numbers the containers.
 */
#ifndef MOCA_EXPORT_PAJE_H
#define MOCA_EXPORT_PAJE_H

#include "export/out.h"

/* Kinds of containers, and what each is in. */
enum paje_kind {
	PAJE_TRACE,	/* in nothing */
	PAJE_PROCESS,	/* in the trace */
	PAJE_THREAD,	/* in a process */
	PAJE_USE,	/* in a thread: of a data structure */
	PAJE_HEAP,	/* in a process: a data structure */
	PAJE_KINDS
};

#define PAJE_NOWHERE UINT32_MAX

/*
 * The definitions: of a variable of PAJE_USE for each name, of one of PAJE_HEAP, of
 * states of PAJE_TRACE.
 */
void paje_begin(struct out *o, const char *const *uses, size_t count,
		const char *heap, const char *states);
/* At that moment there is container number `id` in `parent`, or PAJE_NOWHERE. */
void paje_container(struct out *o, uint64_t ns, uint32_t id, enum paje_kind kind,
		    uint32_t parent, const char *name);
void paje_container_end(struct out *o, uint64_t ns, uint32_t id,
			enum paje_kind kind);
/* The n-th variable of a container's kind. */
void paje_value(struct out *o, uint64_t ns, uint32_t id, enum paje_kind kind,
		size_t n, int64_t value);
/* A state of the trace begins; name NULL: none goes on. */
void paje_state(struct out *o, uint64_t ns, uint32_t id, const char *name);

#endif

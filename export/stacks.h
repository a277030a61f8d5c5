/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call stacks with sums, for viewers of profiles. Each writes stack after stack; memory
 * grows with the names alone.
 */
#ifndef MOCA_EXPORT_STACKS_H
#define MOCA_EXPORT_STACKS_H

#include "export/out.h"
#include "lib/text/samples.h"

/* What stands where functions are not known. */
#define STACKS_NONE "[no stack]"
#define STACKS_CUT "[cut off]"
#define STACKS_UNNAMED "[unnamed]"

/*
 * *count: the stacks that were written. 0; -errno of the samples, or of o: then
 * o->error is set.
 */
/* "thread;outermost;...;innermost SUM" a line, of one kind. */
int stacks_folded(struct out *o, struct samples *s, size_t kind,
		  uint64_t *count);
/* speedscope's JSON: a profile of each kind. */
int stacks_speedscope(struct out *o, struct samples *s, uint64_t *count);
/* pprof's profile.proto, packed by gzip: all kinds. */
int stacks_pprof(struct out *o, struct samples *s, uint64_t *count);
/* Perfetto's profiles of heaps, of that moment: all kinds. Memory grows with stacks. */
struct perfetto;
int stacks_perfetto(struct perfetto *p, struct samples *s, uint64_t ns,
		    uint64_t *count);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* OpenMP's threads stay on their CPUs. */
#include "try/list.h"

const char *try_bind_threads(const struct try_subject *s, struct try_made *out)
{
	if (!s->openmp)
		return "the program does not use OpenMP";
	if (s->threads < 2)
		return "the program has one thread";
	out->title = "OpenMP's threads stay on their CPUs";
	out->setting = "OMP_PROC_BIND=spread OMP_PLACES=cores";
	return NULL;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/identity.h"

#include <stddef.h>
#include <string.h>

#include <moca/types.h>

static int begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static uint32_t memory_of(const char *name)
{
	/* These have no other name in the kernel, whoever maps them. */
	if (begins(name, "/memfd:"))
		return MOCA_MEMORY_MEMFD;
	if (begins(name, "/SYSV"))
		return MOCA_MEMORY_SYSV;
	if (begins(name, "/dev/zero"))
		return MOCA_MEMORY_ANONYMOUS;
	if (begins(name, "/anon_hugepage"))
		return MOCA_MEMORY_HUGETLB;
	return MOCA_MEMORY_FILE;
}

struct moca_identity moca_identity_of(const char *name, uint64_t dev,
				      uint64_t ino, int ours)
{
	if (!ino || ours)
		return (struct moca_identity){ .memory = MOCA_MEMORY_PRIVATE };
	return (struct moca_identity){ memory_of(name), dev, ino };
}

int moca_identity_own(const char *name)
{
	const char *base = strrchr(name, '/');

	base = base ? base + 1 : name;
	return begins(name, "/dev/shm/moca-") || begins(name, "/memfd:moca-") ||
	       begins(base, "libmoca-alloc.so") ||
	       begins(base, "libmocatrace.so") || !strcmp(name, "[moca]") ||
	       (begins(base, "registry") && strstr(name, "/moca-"));
}

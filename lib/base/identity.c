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
	uint32_t memory = memory_of(name);

	/* The kernel shows the segment's id there, which may be 0. */
	if (memory == MOCA_MEMORY_SYSV)
		ino++;
	if (!ino || ours)
		return (struct moca_identity){ .memory = MOCA_MEMORY_PRIVATE };
	return (struct moca_identity){ memory, dev, ino };
}

/*
 * Buffers are in DIR/moca-UID/SESSION/, where SESSION is 16 hexadecimal digits,
 * and what tells programs of sessions is DIR/moca-UID/registry or, where there is
 * $XDG_RUNTIME_DIR, its moca/registry.
 */
static int in_own_folder(const char *name)
{
	static const char folder[] = "/moca-";
	static const char registry[] = "/moca/registry";
	const char *p = strstr(name, registry);
	size_t n;

	if (p && (!p[sizeof(registry) - 1] || p[sizeof(registry) - 1] == ' '))
		return 1;
	p = name;

	while ((p = strstr(p, folder))) {
		p += sizeof(folder) - 1;
		n = strspn(p, "0123456789");
		if (!n || p[n] != '/')
			continue;
		p += n + 1;
		if (begins(p, "registry") ||
		    (strspn(p, "0123456789abcdef") == 16 && p[16] == '/'))
			return 1;
	}
	return 0;
}

int moca_identity_maybe_own(const char *name)
{
	const char *base = strrchr(name, '/');

	base = base ? base + 1 : name;
	return begins(name, "/memfd:moca-") || in_own_folder(name) ||
	       begins(base, "libmoca-alloc.so") ||
	       begins(base, "libmoca-place.so") ||
	       begins(base, "libmocatrace.so");
}

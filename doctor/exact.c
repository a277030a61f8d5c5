// SPDX-License-Identifier: GPL-2.0-or-later
/* Probes of what exact mode needs besides tracing: its translator, and room. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collect/exact/record.h"
#include "doctor/probe.h"
#include "include/abi/exact-arena.h"
#include "lib/base/arch.h"

void probe_translator(struct probe *p)
{
	const char *missing = moca_exact_missing();

	if (!missing) {
		probe_set(p, PROBE_OK, "it is there, and so are FSGSBASE and "
				       "libZydis");
		return;
	}
	probe_set(p, PROBE_NO, "%s", missing);
	p->without = "no counting of every access (--exact)";
	if (MOCA_IS_X86)
		p->fix = "use Linux 5.9 or newer on a CPU with FSGSBASE (Intel since 2012, AMD since 2015), and Moca as it was built";
}

/* The memory that threads count in, as a program would have it. -errno. */
static int try_arena(void)
{
	int fd = memfd_create("moca-doctor", MFD_CLOEXEC), err = 0;
	char *map = MAP_FAILED;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)MOCA_EXACT_ARENA_SIZE))
		map = mmap(NULL, MOCA_EXACT_ARENA_SIZE, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (map == MAP_FAILED) {
		err = -errno;
	} else {
		map[MOCA_EXACT_ARENA_SIZE - 1] = 1;
		munmap(map, MOCA_EXACT_ARENA_SIZE);
	}
	close(fd);
	return err;
}

/* The recorder does it too: no file becomes so large. */
static int try_unlimited(void)
{
	struct rlimit own, most;
	int err;

	if (getrlimit(RLIMIT_FSIZE, &own))
		return -errno;
	if (own.rlim_max < MOCA_EXACT_ARENA_SIZE)
		return -EFBIG;	/* which would be a signal as well */
	most = (struct rlimit){ own.rlim_max, own.rlim_max };
	setrlimit(RLIMIT_FSIZE, &most);
	err = try_arena();
	setrlimit(RLIMIT_FSIZE, &own);
	return err;
}

void probe_address_space(struct probe *p)
{
	int tib = MOCA_EXACT_ARENA_SIZE >> 40, err = try_unlimited();

	if (!err) {
		probe_set(p, PROBE_OK, "%d TiB of address space, a page of it "
			  "written", tib);
		return;
	}
	probe_set(p, PROBE_NO, "%d TiB of address space: %s", tib,
		  strerror(-err));
	p->without = "no counting of every access (--exact)";
	p->fix = err == -EFBIG ? "ulimit -f unlimited" : "ulimit -v unlimited";
}

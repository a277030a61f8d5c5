// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Linked with --wrap into libmocatrace.so and libmoca-alloc.so, as LIBRARY:
 * LIBRARY_FAILS=trace:mmap:3 makes the third of its own mmaps fail in each process,
 * and a line on stderr says that it came to it. "call" stands for all by syscall().
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SAID "faults: the call failed\n"

#define WRAP(type, name, ...) \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

static int fails(const char *call, int error)
{
	static unsigned long count;
	const char *which = getenv("LIBRARY_FAILS");
	char name[32];
	int n = snprintf(name, sizeof(name), LIBRARY ":%s:", call);

	if (!which || strncmp(which, name, n) ||
	    __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) !=
		    strtoul(which + n, NULL, 10) ||
	    write(2, SAID, sizeof(SAID) - 1) < 0)
		return 0;
	errno = error;
	return 1;
}

WRAP(void *, mmap, void *addr, size_t len, int prot, int flags, int fd,
     off_t offset)
{
	return fails("mmap", ENOMEM) ?
		       MAP_FAILED :
		       __real_mmap(addr, len, prot, flags, fd, offset);
}

WRAP(int, open, const char *path, int flags, mode_t mode)
{
	return fails("open", EMFILE) ? -1 : __real_open(path, flags, mode);
}

WRAP(int, openat, int dir, const char *path, int flags, mode_t mode)
{
	return fails("open", EMFILE) ? -1 :
				       __real_openat(dir, path, flags, mode);
}

/* What a kernel may refuse; what maps is the program's own. */
static int may_fail(long nr)
{
	return nr == SYS_open || nr == SYS_openat || nr == SYS_read ||
	       nr == SYS_socket || nr == SYS_connect || nr == SYS_sendmsg ||
	       nr == SYS_recvmsg || nr == SYS_poll || nr == SYS_ppoll;
}

WRAP(long, syscall, long nr, long a, long b, long c, long d, long e, long f)
{
	return may_fail(nr) && fails("call", EMFILE) ?
		       -1 : __real_syscall(nr, a, b, c, d, e, f);
}

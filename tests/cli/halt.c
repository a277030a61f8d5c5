// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preloaded: the thread that makes the call HALT_AT, once there is HALT_AFTER, makes
 * the file HALT_FILE and waits in its place until a signal ends it. A test that has
 * seen the file knows where the command is. write: to a file, not to the standard
 * streams.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void halt_at(const char *call)
{
	const char *at = getenv("HALT_AT"), *file = getenv("HALT_FILE");
	const char *after = getenv("HALT_AFTER");

	if (!at || !file || strcmp(at, call) || (after && access(after, F_OK)))
		return;
	close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	for (;;)
		pause();
}

int fchmod(int fd, mode_t mode)
{
	int (*next)(int, mode_t) = dlsym(RTLD_NEXT, "fchmod");

	halt_at("fchmod");
	return next(fd, mode);
}

void qsort(void *p, size_t n, size_t size, int (*compare)(const void *,
							    const void *))
{
	void (*next)(void *, size_t, size_t, int (*)(const void *,
						     const void *)) =
		dlsym(RTLD_NEXT, "qsort");

	halt_at("qsort");
	next(p, n, size, compare);
}

ssize_t write(int fd, const void *p, size_t len)
{
	ssize_t (*next)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");

	if (fd > STDERR_FILENO)
		halt_at("write");
	return next(fd, p, len);
}

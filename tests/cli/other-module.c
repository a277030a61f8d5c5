// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preloaded: there is a /dev/moca, of a module whose interface has the number
 * OTHER_ABI. It answers that alone: the numbers of other ioctls have changed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <uapi/moca.h>

static int device = -1;

int open(const char *path, int flags, ...)
{
	int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	if (strcmp(path, "/dev/moca"))
		return next(path, flags, mode);
	return device = next("/dev/null", flags);
}

int ioctl(int fd, unsigned long what, ...)
{
	int (*next)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
	struct moca_about *about;
	va_list ap;
	void *arg;

	va_start(ap, what);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (fd < 0 || fd != device || _IOC_TYPE(what) != MOCA_IOC_MAGIC)
		return next(fd, what, arg);
	if (what != MOCA_IOC_ABOUT) {
		errno = ENOTTY;
		return -1;
	}
	about = arg;
	about->abi = (uint32_t)atoi(getenv("OTHER_ABI"));
	about->features = MOCA_HAS_HEAT;
	about->page_shift = 12;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For tests of the rate profiler, in the guest. */
#ifndef TESTS_VM_RATE_H
#define TESTS_VM_RATE_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "include/uapi/moca-rate.h"

#define STATUS "/proc/mp3/status"
#define DEVICE "/dev/mp3"

static int failures;

__attribute__((format(printf, 3, 4), unused))
static void check(const char *what, int good, const char *why, ...)
{
	va_list ap;

	printf(good ? "ok %s" : "not ok %s: ", what);
	if (!good) {
		va_start(ap, why);
		vprintf(why, ap);
		va_end(ap);
		failures++;
	}
	printf("\n");
	fflush(stdout);
}

__attribute__((noreturn, unused))
static void give_up(const char *what)
{
	printf("not ok %s: %s\n", what, strerror(errno));
	exit(1);
}

/* 0 or an errno. */
__attribute__((unused))
static int put(const char *text, size_t n)
{
	int fd = open(STATUS, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, n) != (ssize_t)n)
		err = errno;
	close(fd);
	return err;
}

__attribute__((unused))
static int tell(char what, pid_t pid)
{
	char line[32];

	return put(line, (size_t)snprintf(line, sizeof(line), "%c %d", what,
					  pid));
}

/* How often it is listed. */
__attribute__((unused))
static int listed(pid_t pid)
{
	FILE *f = fopen(STATUS, "re");
	int nr, n = 0;

	if (!f)
		give_up("open " STATUS);
	while (fscanf(f, "%d\n", &nr) == 1)
		n += !pid || nr == pid;
	fclose(f);
	return n;
}

__attribute__((unused))
static const struct moca_rate_info *map_info(void)
{
	int fd = open(DEVICE, O_RDONLY | O_CLOEXEC);
	void *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd,
		       MOCA_RATE_PAGES * 4096);

	if (p == MAP_FAILED)
		give_up("map the profiler's notes");
	close(fd);
	return p;
}

__attribute__((unused))
static struct moca_rate_slot *map_slots(void)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	void *p = mmap(NULL, MOCA_RATE_PAGES * 4096, PROT_READ | PROT_WRITE,
		       MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		give_up("map " DEVICE);
	close(fd);
	return p;
}

__attribute__((unused))
static void sleep_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

__attribute__((unused))
static uint64_t clock_ns(clockid_t c)
{
	struct timespec ts;

	clock_gettime(c, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif

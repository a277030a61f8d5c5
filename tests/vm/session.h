/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session of /dev/moca for tests: what fails ends the program. */
#ifndef MOCA_TESTS_VM_SESSION_H
#define MOCA_TESTS_VM_SESSION_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <uapi/moca.h>

#define PAGE 4096ul
#define MAX_RINGS 16

struct session {
	int fd;
	struct moca_setup setup;
	struct moca_ring_user *user[MAX_RINGS];
	const struct moca_ring_kernel *kernel[MAX_RINGS];
	const char *chunks[MAX_RINGS];
	uint64_t lost;		/* as the chunks say */
};

static int failures;

/* A result line; 1 if it was good. */
__attribute__((format(printf, 3, 4), unused))
static int check(int good, const char *name, const char *why, ...)
{
	va_list ap;

	if (good) {
		printf("ok %s\n", name);
		return 1;
	}
	printf("not ok %s: ", name);
	va_start(ap, why);
	vprintf(why, ap);
	va_end(ap);
	putchar('\n');
	failures++;
	return 0;
}

static inline void die(const char *what)
{
	printf("not ok %s: %s\n", what, strerror(errno));
	exit(1);
}

static inline void session_map(struct session *s)
{
	if (s->setup.rings > MAX_RINGS) {
		errno = E2BIG;
		die("rings");
	}
	for (uint32_t i = 0; i < s->setup.rings; i++) {
		uint64_t at = i * s->setup.ring_stride;
		char *m = mmap(NULL, s->setup.ring_bytes - PAGE, PROT_READ,
			       MAP_SHARED, s->fd, at + PAGE);

		s->user[i] = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				  MAP_SHARED, s->fd, at);
		if (m == MAP_FAILED || s->user[i] == MAP_FAILED)
			die("mmap of a ring");
		s->kernel[i] = (void *)m;
		s->chunks[i] = m + PAGE;
	}
}

static inline int session_try(struct session *s, const struct moca_setup *a)
{
	memset(s, 0, sizeof(*s));
	s->fd = open("/dev/moca", O_RDWR | O_CLOEXEC);
	if (s->fd < 0)
		return -errno;
	s->setup = *a;
	s->setup.size = sizeof(s->setup);
	if (ioctl(s->fd, MOCA_IOC_SETUP, &s->setup))
		return -errno;
	session_map(s);
	return 0;
}

static inline void session_open(struct session *s, const struct moca_setup *a)
{
	int err = session_try(s, a);

	if (err) {
		errno = -err;
		die("set-up of a session");
	}
}

static inline int session_register(struct session *s, pid_t pid)
{
	struct moca_target t = { .size = sizeof(t), .pid = pid };

	return ioctl(s->fd, MOCA_IOC_REGISTER, &t) ? -errno : 0;
}

static inline int session_unregister(struct session *s, pid_t pid)
{
	struct moca_target t = { .size = sizeof(t), .pid = pid };

	return ioctl(s->fd, MOCA_IOC_UNREGISTER, &t) ? -errno : 0;
}

/* START, STOP, TICK */
static inline void session_do(struct session *s, unsigned int what,
			      const char *name)
{
	if (ioctl(s->fd, what))
		die(name);
}

static inline struct moca_totals session_totals(struct session *s)
{
	struct moca_totals t = { .size = sizeof(t) };

	if (ioctl(s->fd, MOCA_IOC_TOTALS, &t))
		die("TOTALS");
	return t;
}

typedef void session_fn(void *arg, const struct moca_chunk_head *chunk,
			const struct moca_rec *rec);

/* Give all records there are to fn (or nobody); their number. */
static inline size_t session_drain(struct session *s, session_fn *fn, void *arg)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->setup.rings; i++) {
		uint64_t at = s->user[i]->consumed;
		uint64_t end = __atomic_load_n(&s->kernel[i]->produced,
					       __ATOMIC_ACQUIRE);

		for (; at != end; at++) {
			const char *c = s->chunks[i] +
				at % s->setup.ring_chunks *
				s->setup.chunk_bytes;
			const struct moca_chunk_head *h = (const void *)c;

			s->lost += h->lost;
			for (uint32_t o = sizeof(*h); o < h->bytes; n++) {
				const struct moca_rec *r = (const void *)(c + o);

				if (r->bytes < sizeof(*r) ||
				    r->bytes > h->bytes - o) {
					errno = EBADMSG;
					die("a record's length");
				}
				if (fn)
					fn(arg, h, r);
				o += r->bytes;
			}
		}
		__atomic_store_n(&s->user[i]->consumed, end, __ATOMIC_RELEASE);
	}
	return n;
}

static inline void session_close(struct session *s)
{
	for (uint32_t i = 0; i < s->setup.rings; i++) {
		munmap(s->user[i], PAGE);
		munmap((void *)s->kernel[i], s->setup.ring_bytes - PAGE);
	}
	close(s->fd);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is written from its begin to its end, through two large buffers: a
 * thread writes one while the other is filled.
 */
#ifndef MOCA_EXPORT_OUT_H
#define MOCA_EXPORT_OUT_H

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define OUT_SIZE ((size_t)1 << 20)

struct out {
	int fd;
	uint8_t *data;
	size_t len;
	uint64_t written;	/* bytes, those in data included */
	int error;		/* -errno of the first write that failed */
	/* The thread has `full` between `filled` and `emptied`. */
	pthread_t thread;
	sem_t filled, emptied;
	uint8_t *full;
	size_t full_len;
	int full_error;
	int ended;
};

/*
 * Write to fd, which stays the caller's. *o must not move. 0 or -errno; after 0 it
 * is closed in any case.
 */
int out_open(struct out *o, int fd);
/* What is left in the buffer goes out. 0, or the first error. */
int out_close(struct out *o);
/* Empty the buffer. */
void out_flush(struct out *o);
/* Any bytes, however many. */
void out_bytes(struct out *o, const void *p, size_t len);

/* Room for n bytes, at most OUT_SIZE; out_used() says how many it became. */
static inline uint8_t *out_room(struct out *o, size_t n)
{
	if (OUT_SIZE - o->len < n)
		out_flush(o);
	return o->data + o->len;
}

static inline void out_used(struct out *o, size_t n)
{
	o->len += n;
	o->written += n;
}

static inline void out_byte(struct out *o, char c)
{
	*out_room(o, 1) = (uint8_t)c;
	out_used(o, 1);
}

static inline void out_string(struct out *o, const char *s)
{
	out_bytes(o, s, strlen(s));
}

#define OUT_NUMBER 24	/* room for one */

/* Decimal digits, at p; how many. */
size_t out_put_u64(uint8_t *p, uint64_t n);
size_t out_put_i64(uint8_t *p, int64_t n);
/*
 * As out_put_i64(), for numbers of which one is near the other: all but the last
 * eight digits are kept, and how many digits a number of eight or less has, which
 * the processor then need not wait for. *near begins as zeros.
 */
struct out_near {
	uint64_t high;
	size_t len;		/* of its digits */
	uint8_t digits[12];
	uint64_t least, more;	/* least and how many more have so many digits: */
	size_t short_len;
};
size_t out_put_near(uint8_t *p, int64_t n, struct out_near *near);
/* The same, and hexadecimal digits without prefix, to the file. */
void out_u64(struct out *o, uint64_t n);
void out_i64(struct out *o, int64_t n);
void out_hex(struct out *o, uint64_t n);
/* As short as tells it from all others; NaN and infinities: 0 is returned. */
int out_real(struct out *o, double x);
/* A JSON string with its quotes; bytes that are no UTF-8 become U+FFFD. */
void out_json(struct out *o, const char *s, size_t len);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/out.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/bytes.h"
#include "lib/base/utf8.h"

static int write_all(int fd, const uint8_t *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n > 0) {
			p += n;
			len -= (size_t)n;
		} else if (!n || errno != EINTR) {
			return n ? -errno : -EIO;
		}
	}
	return 0;
}

static void wait_for(sem_t *s)
{
	while (sem_wait(s))
		;	/* EINTR */
}

static void *write_buffers(void *arg)
{
	struct out *o = arg;

	for (;;) {
		wait_for(&o->filled);
		if (o->ended)
			return NULL;
		o->full_error = write_all(o->fd, o->full, o->full_len);
		sem_post(&o->emptied);
	}
}

int out_open(struct out *o, int fd)
{
	sigset_t all, old;
	int err;

	*o = (struct out){ .fd = fd };
	o->data = malloc(OUT_SIZE);
	o->full = malloc(OUT_SIZE);
	if (!o->data || !o->full) {
		err = ENOMEM;
		goto err_free;
	}
	sem_init(&o->filled, 0, 0);
	sem_init(&o->emptied, 0, 1);
	/* Signals are the caller's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&o->thread, NULL, write_buffers, o);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		goto err_free;
	return 0;

err_free:
	free(o->data);
	free(o->full);
	return -err;
}

/* Until the thread has written what it has. */
static void collect(struct out *o)
{
	wait_for(&o->emptied);
	if (!o->error)
		o->error = o->full_error;
}

void out_flush(struct out *o)
{
	uint8_t *p = o->data;

	collect(o);
	o->data = o->full;
	o->full = p;
	o->full_len = o->error ? 0 : o->len;
	o->len = 0;
	sem_post(&o->filled);
}

int out_close(struct out *o)
{
	out_flush(o);
	collect(o);
	o->ended = 1;
	sem_post(&o->filled);
	pthread_join(o->thread, NULL);
	sem_destroy(&o->filled);
	sem_destroy(&o->emptied);
	free(o->data);
	free(o->full);
	return o->error;
}

void out_bytes(struct out *o, const void *p, size_t len)
{
	while (len) {
		size_t n = OUT_SIZE - o->len < len ? OUT_SIZE - o->len : len;

		memcpy(o->data + o->len, p, n);
		out_used(o, n);
		p = (const uint8_t *)p + n;
		len -= n;
		if (o->len == OUT_SIZE)
			out_flush(o);
	}
}

#define EIGHT 100000000ull	/* numbers below it have eight digits at most */
#define ZEROS 0x3030303030303030ull

/*
 * Eight digits, a byte each, the first one lowest: halves, then pairs, then digits are
 * divided side by side.
 */
static inline uint64_t eight_digits(uint32_t n)
{
	uint64_t x = n / 10000 | (uint64_t)(n % 10000) << 32, tens;

	tens = (x * 10486 >> 20) & 0x0000007f0000007full;
	x = tens | (x - 100 * tens) << 16;
	tens = (x * 103 >> 10) & 0x000f000f000f000full;
	return tens | (x - 10 * tens) << 8;
}

size_t out_put_u64(uint8_t *p, uint64_t n)
{
	unsigned int bits;
	uint64_t digits;
	size_t len;

	if (n >= EIGHT) {
		len = out_put_u64(p, n / EIGHT);
		moca_put64(p + len, eight_digits((uint32_t)(n % EIGHT)) | ZEROS);
		return len + 8;
	}
	digits = eight_digits((uint32_t)n);
	/* Of zeros before the first digit; 0 itself is one digit. */
	bits = (unsigned int)__builtin_ctzll(digits | 1ull << 56) & ~7u;
	moca_put64(p, (digits | ZEROS) >> bits);
	return 8 - bits / 8;
}

/* Below EIGHT: of so many digits as the last one, or others. */
static size_t put_short(uint8_t *p, uint64_t n, struct out_near *near)
{
	uint64_t least = 1;

	if (n - near->least < near->more) {
		moca_put64(p, (eight_digits((uint32_t)n) | ZEROS) >>
				      (64 - 8 * near->short_len));
		return near->short_len;
	}
	near->short_len = out_put_u64(p, n);
	for (size_t i = 1; i < near->short_len; i++)
		least *= 10;
	near->least = least;
	near->more = 9 * least;
	return near->short_len;
}

size_t out_put_near(uint8_t *p, int64_t n, struct out_near *near)
{
	uint64_t high = (uint64_t)n / EIGHT;

	if (n < 0)
		return out_put_i64(p, n);
	if (!high)
		return put_short(p, (uint64_t)n, near);
	if (high != near->high) {
		near->high = high;
		near->len = out_put_u64(near->digits, high);
	}
	memcpy(p, near->digits, sizeof(near->digits));
	moca_put64(p + near->len,
		   eight_digits((uint32_t)((uint64_t)n % EIGHT)) | ZEROS);
	return near->len + 8;
}

size_t out_put_i64(uint8_t *p, int64_t n)
{
	if (n >= 0)
		return out_put_u64(p, (uint64_t)n);
	*p = '-';
	return 1 + out_put_u64(p + 1, 0 - (uint64_t)n);
}

void out_u64(struct out *o, uint64_t n)
{
	out_used(o, out_put_u64(out_room(o, OUT_NUMBER), n));
}

void out_i64(struct out *o, int64_t n)
{
	out_used(o, out_put_i64(out_room(o, OUT_NUMBER), n));
}

void out_hex(struct out *o, uint64_t n)
{
	uint8_t *p = out_room(o, OUT_NUMBER);
	int digits = n ? (67 - __builtin_clzll(n)) / 4 : 1;

	for (int i = 0; i < digits; i++)
		p[i] = (uint8_t)"0123456789abcdef"[n >> 4 * (digits - 1 - i) &
						   15];
	out_used(o, (size_t)digits);
}

int out_real(struct out *o, double x)
{
	char buf[40];

	if (!isfinite(x))
		return 0;
	snprintf(buf, sizeof(buf), "%.15g", x);
	if (strtod(buf, NULL) != x)
		snprintf(buf, sizeof(buf), "%.17g", x);
	out_string(o, buf);
	return 1;
}

/* What stands for a byte that JSON escapes; NULL: itself. */
static const char *escape(unsigned char c, char buf[8])
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\n':
		return "\\n";
	case '\t':
		return "\\t";
	}
	if (c >= ' ' && c != 0x7f)
		return NULL;
	snprintf(buf, 8, "\\u%04x", c);
	return buf;
}

void out_json(struct out *o, const char *s, size_t len)
{
	const char *end = s + len;
	char buf[8];

	out_byte(o, '"');
	while (s < end) {
		/* What s points to ends with a NUL: nothing behind it is read. */
		int n = moca_utf8_length((const unsigned char *)s);
		const char *as = escape((unsigned char)*s, buf);

		if (as)
			out_string(o, as);
		else if (!n || s + n > end)
			out_string(o, "\xef\xbf\xbd");
		else
			out_bytes(o, s, (size_t)n);
		s += as || !n || s + n > end ? 1 : n;
	}
	out_byte(o, '"');
}

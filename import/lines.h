/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A text file of another tool, line by line, and the fields of a line. Nothing in
 * it is believed: lines have a longest length, numbers their whole range.
 */
#ifndef MOCA_IMPORT_LINES_H
#define MOCA_IMPORT_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LINES_LONGEST ((size_t)1 << 20)	/* bytes of a line, at most */

/* Why an import failed, for people. */
struct import_error {
	char file[512];		/* a part of it, or "" */
	uint64_t line;		/* 0: none in particular */
	char text[512];
};

struct lines {
	FILE *f;
	char *text;		/* the line at hand, without its end */
	size_t len, room;
	uint64_t number;	/* of it, from 1 */
	struct import_error *error;	/* the caller's */
};

/*
 * Read from f, which stays the caller's. name: of the file, for messages. 0 or
 * -ENOMEM; lines_close() in any case.
 */
int lines_open(struct lines *l, FILE *f, const char *name,
	       struct import_error *error);
void lines_close(struct lines *l);
/* The next line: 1, at the end 0, or -errno; *error says why. */
int lines_next(struct lines *l);
/* Say what is wrong with the line at hand: -EBADMSG. */
int lines_wrong(struct lines *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Numbers: all of the text from *s on until a blank, a comma, a tab or the end; *s
 * goes behind it. Digits alone: no sign, no prefix. 0 or -EINVAL.
 */
int lines_decimal(const char **s, uint64_t *out);
/* The same in hexadecimal; prefix 0x may be there. */
int lines_hex(const char **s, uint64_t *out);
/*
 * CPUs as binary digits, CPU 0 last: bit c % 64 of word c / 64 is CPU c; *digits of
 * them. *s goes behind. 0, or -EINVAL: none, or more than LINES_CPUS.
 */
#define LINES_CPUS 1024u
#define LINES_CPU_WORDS (LINES_CPUS / 64)
int lines_mask(const char **s, uint64_t mask[LINES_CPU_WORDS], size_t *digits);
/* Step over blanks and tabs. */
void lines_blanks(const char **s);

#endif

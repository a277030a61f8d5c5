/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lines of /proc/PID/maps. Nothing is allocated and no library is called but
 * what the caller gives to read with: agents read their own process's amid
 * anything, some without a C library. So all of it is in this header.
 */
#ifndef MOCA_BASE_MAPS_H
#define MOCA_BASE_MAPS_H

#include <stddef.h>
#include <stdint.h>

struct moca_maps_line {
	uint64_t start, end;	/* bytes, end exclusive */
	uint64_t offset, ino;
	uint32_t major, minor;	/* of the device */
	uint8_t readable, writable, executable, shared;
	char *name;		/* "": anonymous; until the next line is read */
};

/*
 * A file that is being read. buf has size bytes, 128 at least; of a line that is
 * longer, the name's end is missing.
 */
struct moca_maps {
	int fd;
	/* As read(2); negative is an error, which moca_maps_next() returns. */
	int (*read)(int fd, void *buf, size_t size);
	char *buf;
	size_t size;
	size_t at, len;		/* of what was read and not told yet; begin as 0 */
	int skip;		/* what comes is the rest of a line that was told */
};

/* Digits of a base up to 16. */
static inline char *moca_maps_number(char *p, unsigned int base, uint64_t *n)
{
	unsigned int digit;

	for (*n = 0;; p++, *n = *n * base + digit) {
		if (*p >= '0' && *p <= '9')
			digit = (unsigned int)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			digit = (unsigned int)(*p - 'a') + 10;
		else
			return p;
		if (digit >= base)
			return p;
	}
}

/* "START-END rwxp OFFSET MAJOR:MINOR INODE   NAME" until a 0. 1; 0: it is none. */
static inline int moca_maps_parse(char *p, struct moca_maps_line *l)
{
	uint64_t major, minor;
	char *mode;

	p = moca_maps_number(p, 16, &l->start);
	if (*p++ != '-')
		return 0;
	mode = moca_maps_number(p, 16, &l->end);
	for (p = mode; p < mode + 6; p++)
		if (!*p)
			return 0;
	if (mode[0] != ' ' || mode[5] != ' ')
		return 0;
	l->readable = mode[1] == 'r';
	l->writable = mode[2] == 'w';
	l->executable = mode[3] == 'x';
	l->shared = mode[4] == 's';
	p = moca_maps_number(p, 16, &l->offset);
	if (*p++ != ' ')
		return 0;
	p = moca_maps_number(p, 16, &major);
	if (*p++ != ':')
		return 0;
	p = moca_maps_number(p, 16, &minor);
	if (*p++ != ' ')
		return 0;
	p = moca_maps_number(p, 10, &l->ino);
	l->major = (uint32_t)major;
	l->minor = (uint32_t)minor;
	while (*p == ' ')
		p++;
	l->name = p;
	return 1;
}

/* Ends the line that begins at m->at with a 0; NULL: not all of it is there. */
static inline char *moca_maps_cut(struct moca_maps *m)
{
	char *line = m->buf + m->at;

	for (size_t i = m->at; i < m->len; i++) {
		if (m->buf[i] != '\n')
			continue;
		m->buf[i] = 0;
		m->at = i + 1;
		m->skip = 0;
		return line;
	}
	if (m->at || m->len < m->size - 1)
		return NULL;
	m->buf[m->len] = 0;
	m->at = m->len;
	m->skip = 1;
	return line;
}

/* Reads what follows, behind what is left of the line. As read(2). */
static inline int moca_maps_fill(struct moca_maps *m)
{
	int n;

	for (size_t i = m->at; i < m->len; i++)
		m->buf[i - m->at] = m->buf[i];
	m->len -= m->at;
	m->at = 0;
	n = m->read(m->fd, m->buf + m->len, m->size - 1 - m->len);
	if (n > 0)
		m->len += (size_t)n;
	return n;
}

/* The next mapping. 1; 0 at the end; or what m->read returned. */
static inline int moca_maps_next(struct moca_maps *m, struct moca_maps_line *l)
{
	char *line;
	int rest, n;

	for (;;) {
		rest = m->skip;
		line = moca_maps_cut(m);
		if (line && !rest && moca_maps_parse(line, l))
			return 1;
		n = line ? 1 : moca_maps_fill(m);
		if (n <= 0)
			return n;
	}
}

#endif

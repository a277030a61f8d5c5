/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What files of the kernel say: a line, a number, a list of numbers. */
#ifndef MOCA_MACHINE_SYSFS_H
#define MOCA_MACHINE_SYSFS_H

#include <stddef.h>
#include <stdint.h>

#define SYSFS_TEXT 4096

/* The first line of a file, at most size - 1 bytes. 0 or -errno. */
int sysfs_line(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A decimal number; 0 when there is none. */
uint64_t sysfs_number(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));
/*
 * The next number of a list as "0-3,8": 1 and *out, or 0 at its end. *at and
 * *last are the position in it: at first the text and 0.
 */
int sysfs_next(const char **at, unsigned *last, unsigned *out);

#endif

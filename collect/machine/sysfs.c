// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/machine/sysfs.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void trim(char *s)
{
	size_t n = strlen(s), skip = strspn(s, " \t");

	while (n && isspace((unsigned char)s[n - 1]))
		s[--n] = 0;
	if (skip && skip <= n)
		memmove(s, s + skip, n - skip + 1);
}

static int read_line(char *buf, size_t size, const char *path)
{
	FILE *f = fopen(path, "re");
	int err = 0;

	if (!f)
		return -errno;
	if (!fgets(buf, (int)size, f))
		err = ferror(f) ? -EIO : -ENODATA;
	fclose(f);
	if (!err)
		trim(buf);
	return err;
}

int sysfs_line(char *buf, size_t size, const char *fmt, ...)
{
	char path[256];
	va_list ap;

	*buf = 0;
	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	return read_line(buf, size, path);
}

uint64_t sysfs_number(const char *fmt, ...)
{
	char path[256], buf[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	return read_line(buf, sizeof(buf), path) ? 0 : strtoull(buf, NULL, 10);
}

int sysfs_next(const char **at, unsigned *last, unsigned *out)
{
	unsigned long first, end;
	char *stop;

	/* Within "FIRST-END": *last is the number that was told, and 1. */
	if (*last) {
		end = strtoul(*at, &stop, 10);
		if (*last <= end) {
			*out = (*last)++;
			return 1;
		}
		*at = stop;
		*last = 0;
		*at += **at == ',';
	}
	if (!isdigit((unsigned char)**at))
		return 0;
	first = strtoul(*at, &stop, 10);
	if (first >= UINT16_MAX * 16ul)
		return 0;
	*out = (unsigned)first;
	if (*stop == '-') {
		*at = stop + 1;
		*last = (unsigned)first + 1;
	} else {
		*at = stop + (*stop == ',');
	}
	return 1;
}

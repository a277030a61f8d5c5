// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/utf8.h"

int moca_verbose;

static void print(const char *kind, const char *fmt, va_list ap)
{
	char buf[2048], line[4 * sizeof(buf)], *p = line;

	vsnprintf(buf, sizeof(buf), fmt, ap);
	*line = 0;
	for (const unsigned char *s = (const unsigned char *)buf; *s;) {
		s += moca_utf8_show(s, p);
		p += strlen(p);
	}
	/* One write, so that lines of several processes do not mix. */
	fprintf(stderr, "moca: %s%s\n", kind, line);
}

void moca_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print("error: ", fmt, ap);
	va_end(ap);
}

void moca_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print("warning: ", fmt, ap);
	va_end(ap);
}

void moca_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print("", fmt, ap);
	va_end(ap);
}

void moca_debug(const char *fmt, ...)
{
	va_list ap;

	if (!moca_verbose)
		return;
	va_start(ap, fmt);
	print("", fmt, ap);
	va_end(ap);
}

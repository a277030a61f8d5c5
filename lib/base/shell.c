// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/shell.h"

#include <string.h>

const char *moca_shell_word(char *buf, size_t size, const char *value)
{
	size_t n = 0;

	for (const char *p = value; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return NULL;
		/* A quote ends the word, is escaped, and begins it again. */
		if (n + 8 > size)
			return NULL;
		if (n == 0)
			buf[n++] = '\'';
		if (*p == '\'') {
			memcpy(buf + n, "'\\'", 3);
			n += 3;
		}
		buf[n++] = *p;
	}
	if (!n)
		return NULL;
	buf[n++] = '\'';
	buf[n] = '\0';
	return buf;
}

int moca_shell_is_plain(const char *value)
{
	return *value && !value[strspn(value,
				       "abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_./=:,+- ")];
}

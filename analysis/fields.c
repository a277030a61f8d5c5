// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/fields.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/utf8.h"

int fields_begin(const char *path, const char *begin)
{
	size_t len = strlen(begin);
	struct stat st;
	char have[64];
	int fd, is;

	/* A pipe would lose what is looked at here. */
	if (len > sizeof(have) || stat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	is = read(fd, have, len) == (ssize_t)len && !memcmp(have, begin, len);
	close(fd);
	return is;
}

void fields_put(FILE *f, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	char shown[5];
	int n;

	for (; *s; s += n) {
		n = moca_utf8_show(s, shown);
		if (*s == '\\')
			fputs("\\x5c", f);
		else if (n == 2 && *shown == '\\')
			/* U+0080 to U+009F, of which one byte is shown. */
			fprintf(f, "\\x%02x\\x%02x", s[0], s[1]);
		else
			fputs(shown, f);
	}
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int fields_plain(char *text)
{
	char *s = text, *to = s;

	for (; *s; to++) {
		if (*s != '\\') {
			*to = *s++;
			continue;
		}
		if (s[1] != 'x' || digit(s[2]) < 0 || digit(s[3]) < 0 ||
		    !(digit(s[2]) | digit(s[3])))
			return -EBADMSG;
		*to = (char)(digit(s[2]) << 4 | digit(s[3]));
		s += 4;
	}
	*to = 0;
	return 0;
}

int fields_read(FILE *f, size_t most, char **out, size_t *len)
{
	size_t room = 0, n = 0;
	char *text = NULL, *more;

	do {
		room = room ? 2 * room : 65536;
		room = room > most + 1 ? most + 1 : room;
		more = realloc(text, room + 1);
		if (!more) {
			free(text);
			return -ENOMEM;
		}
		text = more;
		n += fread(text + n, 1, room - n, f);
	} while (n == room && room <= most);
	*out = text;
	*len = n;
	if (ferror(f))
		return -EIO;
	if (n > most || !n || memchr(text, 0, n))
		return -EBADMSG;
	text[n] = 0;
	return text[n - 1] == '\n' ? 0 : -ENODATA;
}

size_t fields_split(char *line, char **fields, size_t most)
{
	char *field;
	size_t n = 0;

	while ((field = strsep(&line, "\t"))) {
		if (n == most)
			return 0;
		fields[n++] = field;
	}
	return n;
}

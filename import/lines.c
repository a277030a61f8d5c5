// SPDX-License-Identifier: GPL-2.0-or-later
#include "import/lines.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "lib/base/vec.h"

int lines_open(struct lines *l, FILE *f, const char *name,
	       struct import_error *error)
{
	*l = (struct lines){ .f = f, .error = error };
	*error = (struct import_error){ .line = 0 };
	snprintf(error->file, sizeof(error->file), "%s", name);
	return moca_vec_fit(l->text, l->room, (size_t)256);
}

void lines_close(struct lines *l)
{
	free(l->text);
	l->text = NULL;
}

int lines_wrong(struct lines *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->error->text, sizeof(l->error->text), fmt, ap);
	va_end(ap);
	l->error->line = l->number;
	return -EBADMSG;
}

int lines_next(struct lines *l)
{
	int c;

	l->len = 0;
	l->number++;
	while ((c = getc_unlocked(l->f)) != EOF && c != '\n') {
		if (!c)
			return lines_wrong(l, "it has a NUL byte: this is no text");
		if (l->len == LINES_LONGEST)
			return lines_wrong(l, "it is longer than %zu bytes",
					   LINES_LONGEST);
		if (moca_vec_fit(l->text, l->room, l->len + 2))
			return -ENOMEM;
		l->text[l->len++] = (char)c;
	}
	if (ferror(l->f))
		return errno ? -errno : -EIO;
	if (l->len && l->text[l->len - 1] == '\r')
		l->len--;
	l->text[l->len] = 0;
	return c != EOF || l->len;
}

static int is_end(char c)
{
	return !c || c == ' ' || c == '\t' || c == ',';
}

int lines_decimal(const char **s, uint64_t *out)
{
	const char *p = *s;
	uint64_t n = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(n, (uint64_t)10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
			return -EINVAL;
	if (!is_end(*p))
		return -EINVAL;
	*s = p;
	*out = n;
	return 0;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int lines_hex(const char **s, uint64_t *out)
{
	const char *p = *s;
	uint64_t n = 0;

	if (*p == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	if (digit(*p) < 0)
		return -EINVAL;
	for (; digit(*p) >= 0; p++) {
		if (n >> 60)
			return -EINVAL;
		n = n << 4 | (uint64_t)digit(*p);
	}
	if (!is_end(*p))
		return -EINVAL;
	*s = p;
	*out = n;
	return 0;
}

int lines_mask(const char **s, uint64_t mask[LINES_CPU_WORDS], size_t *digits)
{
	const char *p = *s;
	size_t n = strspn(p, "01");

	if (!n || n > LINES_CPUS || !is_end(p[n]))
		return -EINVAL;
	memset(mask, 0, LINES_CPU_WORDS * sizeof(*mask));
	for (size_t i = 0; i < n; i++)
		if (p[n - 1 - i] == '1')
			mask[i / 64] |= 1ull << (i % 64);
	*s = p + n;
	*digits = n;
	return 0;
}

void lines_blanks(const char **s)
{
	while (**s == ' ' || **s == '\t')
		(*s)++;
}

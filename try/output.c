// SPDX-License-Identifier: GPL-2.0-or-later
#include "try/output.h"

#include <ctype.h>
#include <string.h>

void try_hash_begin(struct try_hash *h)
{
	*h = (struct try_hash){ 0 };
	XXH64_reset(&h->all, 0);
	XXH64_reset(&h->rest, 0);
}

/*
 * What stays of a character without numbers; 0: nothing. A number is decimal with
 * points in it, or hexadecimal behind 0x, and leaves '#'. Its width decides how many
 * blanks are before it: these go, too.
 */
static char rest_of(struct try_hash *h, unsigned char c)
{
	int was = h->in;

	if ((was == TRY_HEX && isxdigit(c)) ||
	    (was && was != TRY_HEX && c == '.'))
		return 0;
	if (was == TRY_ZERO && c == 'x') {
		h->in = TRY_HEX;
		return 0;
	}
	if (isdigit(c)) {
		h->in = !was && c == '0' ? TRY_ZERO : TRY_NUMBER;
		return was ? 0 : '#';
	}
	h->in = TRY_NO_NUMBER;
	return c == ' ' || c == '\t' ? 0 : (char)c;
}

void try_hash_add(struct try_hash *h, const char *buf, size_t n)
{
	char rest[4096], c;
	size_t i, k = 0;

	h->bytes += n;
	XXH64_update(&h->all, buf, n);
	if (h->bytes > TRY_REST_MAX)
		return;
	for (i = 0; i < n; i++) {
		c = rest_of(h, (unsigned char)buf[i]);
		if (c)
			rest[k++] = c;
		if (k == sizeof(rest) || i + 1 == n) {
			XXH64_update(&h->rest, rest, k);
			k = 0;
		}
	}
}

struct try_stream try_hash_end(const struct try_hash *h)
{
	return (struct try_stream){ h->bytes, XXH64_digest(&h->all),
				    XXH64_digest(&h->rest) };
}

enum try_difference try_stream_compare(const struct try_stream *a,
				       const struct try_stream *b)
{
	if (a->bytes == b->bytes && a->hash == b->hash)
		return TRY_EQUAL;
	return a->rest == b->rest && a->bytes <= TRY_REST_MAX &&
	       b->bytes <= TRY_REST_MAX ? TRY_NUMBERS : TRY_TEXT;
}

void try_tail_add(struct try_tail *t, const char *buf, size_t n)
{
	size_t kept;

	if (n > TRY_TAIL) {
		buf += n - TRY_TAIL;
		n = TRY_TAIL;
	}
	kept = t->n + n > TRY_TAIL ? TRY_TAIL - n : t->n;
	memmove(t->text, t->text + t->n - kept, kept);
	memcpy(t->text + kept, buf, n);
	t->n = kept + n;
}

const char *try_tail_line(const struct try_tail *t, char buf[TRY_TAIL + 1])
{
	size_t end = t->n, begin;

	while (end && isspace((unsigned char)t->text[end - 1]))
		end--;
	for (begin = end; begin && t->text[begin - 1] != '\n'; begin--)
		;
	memcpy(buf, t->text + begin, end - begin);
	buf[end - begin] = 0;
	return buf;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "lib/ring/registry.h"

#define SEPARATORS ", \t\n"

unsigned moca_facility_bit(const char *facility)
{
	uint32_t h = 2166136261u;

	while (*facility)
		h = (h ^ (unsigned char)*facility++) * 16777619u;
	return h & 31;
}

/* Does the pattern [p, end) match all of s? */
static int glob(const char *p, const char *end, const char *s)
{
	const char *star = NULL, *back = NULL;

	while (*s) {
		if (p < end && *p == '*') {
			star = p++;
			back = s;
		} else if (p < end && (*p == '?' || *p == *s)) {
			p++;
			s++;
		} else if (star) {
			p = star + 1;
			s = ++back;
		} else {
			return 0;
		}
	}
	while (p < end && *p == '*')
		p++;
	return p == end;
}

static int pattern_match(const char *p, size_t len, const char *facility,
			 const char *event)
{
	const char *colon = memchr(p, ':', len), *end = p + len;

	if (!glob(p, colon ? colon : end, facility))
		return 0;
	return !colon || glob(colon + 1, end, event);
}

int moca_filter_match(const char *filter, const char *facility,
		      const char *event)
{
	int pass = -1, out;
	size_t len;

	for (;; filter += len) {
		filter += strspn(filter, SEPARATORS);
		len = strcspn(filter, SEPARATORS);
		if (!len)
			return pass < 0 ? 1 : pass;
		out = *filter == '-';
		if (pass < 0)
			pass = out;
		if (pattern_match(filter + out, len - out, facility, event))
			pass = !out;
	}
}

int moca_filter_check(const char *filter, size_t *where)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_*?";
	const char *p = filter;
	size_t n, colons;

	*where = 0;
	if (strlen(filter) > MOCA_FILTER_MAX)
		return -E2BIG;
	for (;;) {
		p += strspn(p, SEPARATORS);
		if (!*p)
			return 0;
		p += *p == '-';
		for (colons = 0; colons < 2; colons++) {
			n = strspn(p, ok);
			if (!n)
				break;
			p += n;
			if (*p != ':')
				break;
			p++;
		}
		if (!n || colons == 2 || (*p && !strchr(SEPARATORS, *p))) {
			*where = p - filter;
			return -EINVAL;
		}
	}
}

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

int moca_utf8_length(const unsigned char *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c;
	int len, i;

	if (s[0] < 0x80)
		return 1;
	len = s[0] >= 0xf0 && s[0] < 0xf5 ? 4 :
	      s[0] >= 0xe0 && s[0] < 0xf0 ? 3 :
	      s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : 0;
	c = len ? s[0] & (0xff >> (len + 1)) : 0;
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (!len || c < least[len] || c > 0x10ffff ||
	    (c >= 0xd800 && c < 0xe000))
		return 0;
	return len;
}

int moca_utf8_is_control(const unsigned char *s)
{
	return *s < 0x20 || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0);
}

int moca_utf8_show(const unsigned char *s, char out[5])
{
	int len = moca_utf8_length(s);

	if (len && !moca_utf8_is_control(s)) {
		memcpy(out, s, (size_t)len);
		out[len] = 0;
		return len;
	}
	snprintf(out, 5, "\\x%02x", len == 2 ? s[1] : s[0]);
	return len ? len : 1;
}

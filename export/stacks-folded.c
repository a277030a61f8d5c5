// SPDX-License-Identifier: GPL-2.0-or-later
/* A stack a line, as flamegraph.pl and the stackcollapse scripts have it. */
#include "export/stacks.h"
#include "lib/base/utf8.h"

/* What parts frames, lines, or acts on a terminal is replaced. */
static void put_name(struct out *o, const char *name)
{
	const unsigned char *s = (const unsigned char *)
		(*name ? name : STACKS_UNNAMED);

	while (*s) {
		int n = moca_utf8_length(s);

		if (!n || moca_utf8_is_control(s))
			out_byte(o, '?');
		else if (*s == ';')
			out_byte(o, ':');
		else
			out_bytes(o, s, (size_t)n);
		s += n ? n : 1;
	}
}

static void put_stack(struct out *o, struct samples *s)
{
	put_name(o, s->thread);
	if (s->cut)
		out_string(o, ";" STACKS_CUT);
	if (!s->count)
		out_string(o, ";" STACKS_NONE);
	for (size_t i = s->count; i-- > 0;) {
		struct samples_place p = s->place(s, s->places[i]);

		for (uint32_t n = p.count; n-- > 0;) {
			out_byte(o, ';');
			put_name(o, p.lines[n].function);
		}
	}
}

int stacks_folded(struct out *o, struct samples *s, size_t kind,
		  uint64_t *count)
{
	int ret;

	*count = 0;
	while ((ret = s->next(s)) > 0 && !o->error) {
		if (!s->values[kind])
			continue;
		put_stack(o, s);
		out_byte(o, ' ');
		out_u64(o, s->values[kind]);
		out_byte(o, '\n');
		++*count;
	}
	return ret < 0 ? ret : o->error;
}

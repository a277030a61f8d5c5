// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/dhat.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Blocks that live shorter are short-lived, says the viewer. */
#define SHORT_NS 100000

static void put_key(struct out *o, const char *before, const char *key,
		    uint64_t value)
{
	out_string(o, before);
	out_byte(o, '"');
	out_string(o, key);
	out_string(o, "\":");
	out_u64(o, value);
}

void dhat_begin(struct dhat *d, struct out *o, const struct dhat_head *h)
{
	*d = (struct dhat){ .o = o };
	/* Accesses are no bytes that were read: bkacc tells bytes. */
	out_string(o, "{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\n"
		      "\"bklt\":true,\"bkacc\":false,\n"
		      "\"tu\":\"ns\",\"Mtu\":\"ms\"");
	put_key(o, ",", "tuth", SHORT_NS);
	out_string(o, ",\n\"cmd\":");
	out_json(o, h->command, strlen(h->command));
	put_key(o, ",", "pid", h->pid);
	put_key(o, ",\n", "te", h->end_ns);
	put_key(o, ",", "tg", h->peak_ns);
	out_string(o, ",\n\"pps\":[");
}

/*
 * Numbers of the point's frames. The viewer refuses two points with the same: then
 * there is a frame more.
 */
static int find_frames(struct dhat *d, const struct dhat_point *p,
		       int64_t *numbers, size_t *count)
{
	char key[DHAT_FRAMES * OUT_NUMBER + 1], text[OUT_NUMBER + 2];
	size_t before = d->places.count, len = 0;

	*count = 0;
	for (size_t i = 0; i < p->frame_count; i++) {
		numbers[i] = moca_strings_number(&d->frames, p->frames[i]);
		if (numbers[i] < 0)
			return -ENOMEM;
		len += (size_t)snprintf(key + len, sizeof(key) - len, "%lld ",
					(long long)numbers[i]);
	}
	*count = p->frame_count;
	if (moca_strings_number(&d->places, key) < 0)
		return -ENOMEM;
	if (d->places.count > before)
		return 0;
	snprintf(text, sizeof(text), "#%llu", (unsigned long long)d->points);
	numbers[*count] = moca_strings_number(&d->frames, text);
	return numbers[(*count)++] < 0 ? -ENOMEM : 0;
}

int dhat_point(struct dhat *d, const struct dhat_point *p)
{
	int64_t numbers[DHAT_FRAMES + 1];
	struct out *o = d->o;
	size_t count;
	int err = find_frames(d, p, numbers, &count);

	if (err)
		return err;
	put_key(o, d->points++ ? ",\n{" : "\n{", "tb", p->bytes);
	put_key(o, ",", "tbk", p->blocks);
	put_key(o, ",", "tl", p->life_ns);
	put_key(o, ",", "mb", p->most_bytes);
	put_key(o, ",", "mbk", p->most_blocks);
	put_key(o, ",", "gb", p->peak_bytes);
	put_key(o, ",", "gbk", p->peak_blocks);
	put_key(o, ",", "eb", p->end_bytes);
	put_key(o, ",", "ebk", p->end_blocks);
	out_string(o, ",\"fs\":[");
	for (size_t i = 0; i < count; i++) {
		if (i)
			out_byte(o, ',');
		/* The root is 0. */
		out_u64(o, (uint64_t)numbers[i] + 1);
	}
	out_string(o, "]}");
	return 0;
}

int dhat_end(struct dhat *d)
{
	struct out *o = d->o;

	out_string(o, "],\n\"ftbl\":[\"[root]\"");
	for (size_t i = 0; i < d->frames.count; i++) {
		out_string(o, ",\n");
		out_json(o, d->frames.items[i], strlen(d->frames.items[i]));
	}
	out_string(o, "]}\n");
	moca_strings_free(&d->frames);
	moca_strings_free(&d->places);
	return o->error;
}

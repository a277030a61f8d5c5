// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/stacks.h"

#include "lib/base/vec.h"

/* A stack takes no more bytes than this. */
#define STACK_BYTES_MAX ((MOCA_STACK_FRAMES_MAX + 1) * MOCA_VARINT_MAX)

int moca_stacks_encode(struct moca_buf *raw, uint32_t first,
		       const struct moca_stack *list, size_t n)
{
	size_t i, k;

	if (!first || first > MOCA_STACKS_MAX || n > MOCA_STACKS_MAX - first + 1)
		return -EINVAL;
	if (n > MOCA_CHUNK_RECORDS_MAX)
		n = MOCA_CHUNK_RECORDS_MAX;
	moca_buf_varint(raw, first);
	for (i = 0; i < n && raw->len + STACK_BYTES_MAX < MOCA_STACKS_RAW_MAX;
	     i++) {
		uint64_t prev = 0;

		if (!list[i].count || list[i].count > MOCA_STACK_FRAMES_MAX ||
		    list[i].flags > MOCA_STACK_CUT)
			return -EINVAL;
		moca_buf_varint(raw, (uint64_t)list[i].count << 1 |
				list[i].flags);
		for (k = 0; k < list[i].count; k++) {
			moca_buf_varint(raw, moca_zigzag(list[i].frames[k] -
							 prev));
			prev = list[i].frames[k];
		}
	}
	return raw->error ? raw->error : (int)i;
}

void moca_stacks_free(struct moca_stacks *s)
{
	free(s->frames);
	free(s->list);
	*s = (struct moca_stacks){ 0 };
}

static int add_stack(struct moca_stacks *s, uint32_t number, const uint8_t **p,
		     const uint8_t *end)
{
	struct moca_stack_place place = { .at = (uint32_t)s->frame_count };
	uint64_t head, v, prev = 0;

	if (moca_get_varint(p, end, &head) || head >> 1 < 1 ||
	    head >> 1 > MOCA_STACK_FRAMES_MAX || s->list[number].count)
		return -EBADMSG;
	place.count = (uint16_t)(head >> 1);
	place.flags = head & MOCA_STACK_CUT;
	if (s->frame_count + place.count > MOCA_STACK_FRAMES_ALL)
		return -EBADMSG;
	if (moca_vec_fit(s->frames, s->frame_room, s->frame_count + place.count))
		return -ENOMEM;
	for (uint16_t i = 0; i < place.count; i++) {
		if (moca_get_varint(p, end, &v))
			return -EBADMSG;
		prev += moca_unzigzag(v);
		s->frames[s->frame_count++] = prev;
	}
	s->list[number] = place;
	return 0;
}

int moca_stacks_decode(struct moca_stacks *s, const uint8_t *raw, size_t len,
		       uint32_t records)
{
	const uint8_t *p = raw, *end = raw + len;
	size_t frames = s->frame_count, count = s->count;
	uint32_t i, done = 0;
	uint64_t first;
	int ret = 0;

	if (moca_get_varint(&p, end, &first) || !first || !records ||
	    first > MOCA_STACKS_MAX || records > MOCA_STACKS_MAX - first + 1)
		return -EBADMSG;
	if (moca_vec_fit_zeroed(s->list, s->room, first + records))
		return -ENOMEM;
	if (s->count < first + records)
		s->count = first + records;
	for (i = 0; i < records && !ret; i++) {
		ret = add_stack(s, (uint32_t)first + i, &p, end);
		done += !ret;
	}
	if (!ret && p == end)
		return 0;
	for (i = 0; i < done; i++)
		s->list[first + i] = (struct moca_stack_place){ 0 };
	s->frame_count = frames;
	s->count = count;
	return ret ? ret : -EBADMSG;
}

int moca_stacks_get(const struct moca_stacks *s, uint32_t number,
		    struct moca_stack *out)
{
	const struct moca_stack_place *place;

	if (!number || number >= s->count || !s->list[number].count)
		return -ENOENT;
	place = &s->list[number];
	*out = (struct moca_stack){ s->frames + place->at, place->count,
				    place->flags };
	return 0;
}

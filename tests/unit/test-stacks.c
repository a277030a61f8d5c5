// SPDX-License-Identifier: GPL-2.0-or-later
/* The file of call stacks: what is written is read; what is hostile is refused. */
#include "lib/format/stacks.h"
#include "tests/unit/trace-util.h"

#define MANY 70000u

static int round_trip(void)
{
	static const uint64_t frames[] = { 0x7f0000001000, 5, UINT64_MAX, 0, 1 };
	struct moca_stack list[3] = {
		{ frames, 5, 0 }, { frames + 1, 1, MOCA_STACK_CUT },
		{ frames, 2, 0 },
	}, got;
	struct moca_stacks s = { 0 };
	struct moca_buf raw = { 0 };

	CHECK(moca_stacks_encode(&raw, 7, list, 3) == 3);
	CHECK(!moca_stacks_decode(&s, raw.data, raw.len, 3));
	CHECK(moca_stacks_get(&s, 6, &got) == -ENOENT &&
	      moca_stacks_get(&s, 10, &got) == -ENOENT &&
	      moca_stacks_get(&s, 0, &got) == -ENOENT);
	for (uint32_t i = 0; i < 3; i++)
		CHECK(!moca_stacks_get(&s, 7 + i, &got) &&
		      got.count == list[i].count && got.flags == list[i].flags &&
		      !memcmp(got.frames, list[i].frames, got.count * 8));
	CHECK(moca_stacks_decode(&s, raw.data, raw.len, 3) == -EBADMSG);
	CHECK(!moca_stacks_get(&s, 7, &got) && got.count == 5);
	moca_stacks_free(&s);
	moca_buf_free(&raw);
	return 0;
}

static int refused(void)
{
	static const uint64_t frames[MOCA_STACK_FRAMES_MAX + 1];
	const struct moca_stack none = { frames, 0, 0 };
	const struct moca_stack deep = { frames, MOCA_STACK_FRAMES_MAX + 1, 0 };
	const struct moca_stack odd = { frames, 1, 2 };
	const struct moca_stack good = { frames, 2, 0 };
	struct moca_stacks s = { 0 };
	struct moca_buf raw = { 0 };

	CHECK(moca_stacks_encode(&raw, 1, &none, 1) == -EINVAL);
	raw.len = 0;
	CHECK(moca_stacks_encode(&raw, 1, &deep, 1) == -EINVAL);
	raw.len = 0;
	CHECK(moca_stacks_encode(&raw, 1, &odd, 1) == -EINVAL);
	raw.len = 0;
	CHECK(moca_stacks_encode(&raw, 0, &good, 1) == -EINVAL);
	CHECK(moca_stacks_encode(&raw, MOCA_STACKS_MAX + 1, &good, 1) == -EINVAL);
	raw.len = 0;
	CHECK(moca_stacks_encode(&raw, 1, &good, 1) == 1);
	for (size_t n = 0; n < raw.len; n++)
		CHECK(moca_stacks_decode(&s, raw.data, n, 1) == -EBADMSG);
	CHECK(moca_stacks_decode(&s, raw.data, raw.len, 2) == -EBADMSG &&
	      moca_stacks_decode(&s, raw.data, raw.len, 0) == -EBADMSG &&
	      moca_stacks_decode(&s, raw.data, raw.len, MOCA_STACKS_MAX + 1) ==
	      -EBADMSG);
	CHECK(!moca_stacks_decode(&s, raw.data, raw.len, 1));
	moca_stacks_free(&s);
	moca_buf_free(&raw);
	return 0;
}

/* Whatever the bytes are: no more frames than there may be, no fault. */
static int garbage(void)
{
	struct moca_stacks s = { 0 };
	struct moca_stack got;
	uint8_t raw[512];

	for (unsigned round = 0; round < MANY; round++) {
		size_t len = rnd() % sizeof(raw);

		for (size_t i = 0; i < len; i++)
			raw[i] = (uint8_t)(rnd() & (round & 1 ? 0xff : 0x0f));
		moca_stacks_decode(&s, raw, len, (uint32_t)(rnd() % 40));
		CHECK(s.frame_count <= MOCA_STACK_FRAMES_ALL);
		if (!moca_stacks_get(&s, (uint32_t)(rnd() % 100), &got))
			CHECK(got.count && got.count <= MOCA_STACK_FRAMES_MAX &&
			      got.frames + got.count <= s.frames + s.frame_count);
	}
	moca_stacks_free(&s);
	return 0;
}

int main(void)
{
	run("stacks: round trip", round_trip);
	run("stacks: what is none", refused);
	run("stacks: garbage", garbage);
	return failures != 0;
}

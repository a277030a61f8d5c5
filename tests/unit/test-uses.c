// SPDX-License-Identifier: GPL-2.0-or-later
/* Instructions by structure, in a table that forgets. */
#include "analysis/uses.h"
#include "tests/unit/trace-util.h"

static const struct moca_use *find(const struct moca_uses *u, uint64_t ip,
				   uint32_t key)
{
	size_t i;

	for (i = 0; i < u->cap; i++)
		if (u->items[i].used && u->items[i].ip == ip &&
		    u->items[i].key == key)
			return &u->items[i];
	return NULL;
}

static int few(void)
{
	struct moca_uses u = { 0 };
	struct moca_observed x = { .ip = 1, .key = 2, .time_ns = 3, .task = 4,
				   .type = MOCA_ACCESS_WRITE, .weight = 1 };
	const struct moca_use *found;

	CHECK(!moca_uses_add(&u, &x, 1));
	x.type = MOCA_ACCESS_READ;
	x.time_ns = 5;
	CHECK(!moca_uses_add(&u, &x, 1));
	x.type = MOCA_ACCESS_UNKNOWN;
	CHECK(!moca_uses_add(&u, &x, 1));
	/* Neither a fetch, nor what has no instruction. */
	x.type = MOCA_ACCESS_EXEC;
	CHECK(!moca_uses_add(&u, &x, 1));
	x = (struct moca_observed){ .key = 2 };
	CHECK(!moca_uses_add(&u, &x, 1));
	CHECK(u.count == 1 && !u.forgot);
	found = find(&u, 1, 2);
	CHECK(found && found->reads == 1 && found->writes == 1 &&
	      found->other == 1 && found->time_ns == 3 && found->task == 4);
	moca_uses_free(&u);
	return 0;
}

/* One instruction in two, among so many others as do not fit. */
static int many(void)
{
	struct moca_uses u = { 0 };
	struct moca_observed often = { .ip = 7, .key = 1,
				       .type = MOCA_ACCESS_READ,
				       .weight = 1 };
	struct moca_observed rare = { .key = 2, .type = MOCA_ACCESS_READ,
				      .weight = 1 };
	const struct moca_use *found;
	uint64_t i, n = 20 * MOCA_USES_MAX, sum = 0;

	for (i = 0; i < n; i++) {
		rare.ip = i + 100;
		CHECK(!moca_uses_add(&u, &often, 1));
		CHECK(!moca_uses_add(&u, &rare, 1));
		CHECK(u.count <= MOCA_USES_MAX);
	}
	found = find(&u, 7, 1);
	CHECK(u.forgot && found && found->reads == n);
	for (i = 0; i < u.cap; i++)
		sum += u.items[i].used ? moca_use_total(&u.items[i]) : 0;
	CHECK(sum <= u.seen && u.seen == 2 * n);
	/* What becomes frequent later is seen when accesses have doubled. */
	often.key = 3;
	for (i = 0; i < 5 * n; i++) {
		rare.ip = i + 100 + n;
		CHECK(!moca_uses_add(&u, &often, 1));
		CHECK(!moca_uses_add(&u, &rare, 1));
	}
	found = find(&u, 7, 3);
	CHECK(found && found->reads > n && found->reads <= 5 * n);
	moca_uses_free(&u);
	return 0;
}

int main(void)
{
	run("uses: few instructions", few);
	run("uses: more than there is room for", many);
	return failures != 0;
}

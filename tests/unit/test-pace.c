// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose CPU the zapper takes. */
#include "collect/fault/pace.h"
#include "tests/unit/trace-util.h"

static int offer(struct mm *mm, uint32_t id)
{
	pace_offer(mm, id, (int)id + 10);
	return 0;
}

static int t_turns(void)
{
	struct mm mm = { .first.cpu = -1, .next.cpu = -1, .threaded = 1 };
	const uint32_t ids[] = { 7, 2, 5 };
	const int order[] = { 12, 15, 17, 12, 15, 17 };

	CHECK(pace_take(&mm) == -1);
	for (size_t i = 0; i < 6; i++) {
		for (size_t k = 0; k < 3; k++)
			offer(&mm, ids[(i + k) % 3]);
		CHECK(pace_take(&mm) == order[i]);
	}
	/* Who had no access is passed over; there may be one alone. */
	offer(&mm, 5);
	offer(&mm, 7);
	CHECK(pace_take(&mm) == 15);
	offer(&mm, 5);
	CHECK(pace_take(&mm) == 15);
	CHECK(pace_take(&mm) == -1);
	offer(&mm, 9);
	offer(&mm, 2);
	CHECK(pace_take(&mm) == 19);
	/* One task shares nothing with others. */
	mm.threaded = 0;
	offer(&mm, 2);
	CHECK(pace_take(&mm) == -1);
	return 0;
}

int main(void)
{
	run("pace: tasks take turns", t_turns);
	return failures != 0;
}

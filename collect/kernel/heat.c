// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel/heat.h"

#include <errno.h>
#include <stdlib.h>

#include "collect/run/recorder.h"
#include "lib/format/quota.h"
#include "lib/format/rate-writer.h"

_Static_assert(MOCA_HEAT_WORDS <= MOCA_HEAT_WORDS_MAX, "an event holds a record");

struct kernel_heat {
	struct moca_rate_writer *writer;
	struct moca_quota *quota;
	pid_t root;
	uint64_t start_ns;
	int started;		/* there is something in the stream */
	uint64_t touched;	/* pages told since the last look */
	uint64_t lost;
};

int kernel_heat_create(struct kernel_heat **out, const struct recorder *rec)
{
	struct kernel_heat *h = calloc(1, sizeof(*h));
	int err;

	if (!h)
		return -ENOMEM;
	h->root = rec->root;
	h->quota = rec->quota;
	h->start_ns = moca_now_ns();
	err = moca_rate_writer_create(&h->writer, rec->dirfd, MOCA_HEAT_STREAM);
	if (err)
		free(h);
	else
		*out = h;
	return err;
}

/* The root may be gone by now; its stream is as old as it. */
static void start(struct kernel_heat *h)
{
	if (!h->started)
		moca_rate_writer_start(h->writer, (uint32_t)h->root, "",
				       h->start_ns);
	h->started = 1;
}

void kernel_heat_pages(struct kernel_heat *h, const struct moca_rec_heat *r)
{
	if (!h)
		return;
	start(h);
	moca_heat_pages(h->writer, r->rec.time_ns, r->since_ns, r->pid, r->addr,
			r->words, (const uint64_t *)r->bits);
	for (uint32_t i = 0; i < r->words; i++)
		h->touched += (uint64_t)__builtin_popcountll(r->bits[i]);
}

void kernel_heat_look(struct kernel_heat *h, const struct moca_rec_look *r)
{
	/* Of processes that the user wants, as the events before. */
	const struct moca_heat_look l = {
		.since_ns = r->since_ns, .end_ns = r->end_ns,
		.looked = r->looked, .touched = h ? h->touched : 0,
		.held = r->held, .lost = r->lost,
		.sweep = !!(r->flags & MOCA_LOOK_SWEEP),
	};

	if (!h)
		return;
	start(h);
	moca_heat_looked(h->writer, r->rec.time_ns, &l);
	moca_quota_set(h->quota, MOCA_QUOTA_HEAT,
		       moca_rate_writer_bytes(h->writer));
	h->touched = 0;
	h->lost += r->lost;
}

uint64_t kernel_heat_lost(const struct kernel_heat *h)
{
	return h ? h->lost : 0;
}

int kernel_heat_close(struct kernel_heat *h)
{
	int err = 0, ret;

	if (!h)
		return 0;
	if (h->started)
		err = moca_rate_writer_end(h->writer, moca_now_ns());
	ret = moca_rate_writer_close(h->writer);
	free(h);
	return err ? err : ret;
}

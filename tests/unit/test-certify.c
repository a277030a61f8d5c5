// SPDX-License-Identifier: GPL-2.0-or-later
/* The certificate's sentence, and what it counts of mappings. */
#include "collect/fault/certify.h"
#include "collect/run/certificate.h"
#include "collect/fault/memory.h"
#include "collect/run/pageset.h"
#include "collect/run/queue.h"
#include "tests/unit/trace-util.h"

static int says(const struct moca_certificate *k, const char *part)
{
	char buf[512];

	snprintf(why, sizeof(why), "%s", certificate_sentence(k, NULL, buf,
							   sizeof(buf)));
	return strstr(buf, part) != NULL;
}

static int t_rounding(void)
{
	struct moca_certificate k = { .pages_seen = 99996,
				      .pages_touched = 100000 };

	if (!says(&k, "99996 of 100000 touched pages seen (99.99 %)"))
		return 1;
	k.pages_seen = k.pages_touched = UINT64_MAX / 2;
	if (!says(&k, "(100.00 %)"))
		return 1;
	k.pages_seen--;
	return !says(&k, "(99.99 %)");
}

static int t_vacuous(void)
{
	struct moca_certificate k = { 0 };

	if (!says(&k, "nothing can be certified") || strchr(why, '%'))
		return 1;
	k.pages_blind = 7;
	k.pages_other = 2;
	if (!says(&k, "nothing can be certified of its own memory") ||
	    !says(&k, "2 of 9 pages in its page tables seen") || strchr(why, '%'))
		return 1;
	k.pages_seen = k.pages_touched = 1000000;
	return !says(&k, ": 1000002 of 1000009 in all (99.99 %)");
}

/* What each number is a share of; the share is of their sum. */
static int t_shares(void)
{
	struct moca_certificate k = { .pages_seen = 139, .pages_touched = 139,
				      .pages_other = 1055, .pages_blind = 6 };

	return !says(&k, "139 of 139 touched pages of its own memory seen, 1055 of 1061 elsewhere (files, shared memory, stacks, huge pages): 1194 of 1200 in all (99.50 %)");
}

static struct queue *queue;

static void witness(struct blind_spots *b, struct mm *mm, uint64_t page,
		    uint64_t pages, const char *name)
{
	struct message *m = message_new(queue, MSG_WITNESS, 1, name);

	m->space = &mm->space;
	m->start = page << 12;
	m->end = (page + pages) << 12;
	m->extents[0] = (struct extent){ m->start, m->end };
	m->extent_count = 1;
	certify_witness(b, m);
	message_free(m);
}

static void drop(struct blind_spots *b, struct moca_certificate *k,
		 struct mm *mm, uint64_t page, uint64_t pages)
{
	struct message *m = message_new(queue, MSG_DROP, 0, NULL);

	m->space = &mm->space;
	m->start = page << 12;
	m->end = (page + pages) << 12;
	certify_drop(b, k, m);
	message_free(m);
}

/* Looked at twice, partly seen, partly there before, unmapped in pieces. */
static int t_spots(void)
{
	struct blind_spots *b = certify_new();
	struct moca_certificate k = { 0 };
	struct moca_meta *meta = moca_meta_new();
	struct mm mm = { .witnessed = 1, .looked_at = 1 };

	mm.pages = pageset_new();
	CHECK(b && meta && mm.pages);
	pageset_prefill(mm.pages, 100 << 12, 102 << 12, FILLED_DATA);
	pageset_see(mm.pages, 105 << 12);
	witness(b, &mm, 100, 10, "a");
	witness(b, &mm, 100, 10, "a");
	witness(b, &mm, 5000, 3, "b");
	drop(b, &k, &mm, 104, 2);	/* in the middle: one seen, one not */
	CHECK(k.pages_blind == 1 && k.pages_other == 1);
	drop(b, &k, &mm, 104, 2);
	CHECK(k.pages_blind == 1 && k.pages_other == 1);
	certify_end(b, &k, &mm);
	CHECK(k.pages_blind == 1 + 6 + 3 && k.pages_other == 1);
	CHECK(!k.pages_touched && !mm.ranges && !mm.pages);
	certify_describe(b, &k, meta);
	certify_describe(b, &k, meta);
	CHECK(!strcmp(moca_meta_nth(meta, "blind", 0), "7 1 a"));
	CHECK(!strcmp(moca_meta_nth(meta, "blind", 1), "3 0 b"));
	CHECK(!moca_meta_nth(meta, "blind", 2));
	moca_meta_free(meta);
	certify_free(b);
	return 0;
}

/* What there is no memory for is counted. */
static int t_lost(void)
{
	CHECK(!queue_lost(queue));
	CHECK(!message_new(queue, MSG_DROP, SIZE_MAX / 2 / sizeof(struct extent),
			   NULL));
	CHECK(queue_lost(queue) == 1);
	queue_lose(queue, UINT64_MAX);
	CHECK(queue_lost(queue) == UINT64_MAX && !queue_missed(queue));
	queue_miss(queue, 2);
	queue_miss(queue, UINT64_MAX);
	CHECK(queue_missed(queue) == UINT64_MAX);
	return 0;
}

int main(void)
{
	queue = queue_new(NULL);
	if (!queue)
		return 1;
	run("certify/rounding", t_rounding);
	run("certify/vacuous", t_vacuous);
	run("certify/shares", t_shares);
	run("certify/spots", t_spots);
	run("certify/lost", t_lost);
	return failures != 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profiles of jobs: the same bytes of any order and grouping, written and read
 * again; damaged ones are refused; what is told of ranks that differ.
 */
#include <math.h>

#include "analysis/job/spread.h"
#include "tests/unit/trace-util.h"

#define RANKS 24u
#define ROUNDS 40

static uint64_t seed;

static uint32_t pick(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

/* Small, large, or so large that sums are at their end. */
static uint64_t amount(void)
{
	switch (pick(4)) {
	case 0:
		return pick(10);
	case 1:
		return UINT64_MAX - 1 - pick(1000);
	default:
		return pick(1u << 30);
	}
}

static const char *text(struct moca_job *j, const char *what, uint32_t n)
{
	char s[64];

	snprintf(s, sizeof(s), "%s\t\\%u\n\xff", what, n);
	return moca_strings_intern(&j->strings, s);
}

static void random_row(struct moca_job *j, struct moca_job_row *r,
		       uint32_t name, uint32_t rank)
{
	int m;

	r->name = text(j, "object", name);
	if (pick(2)) {
		r->function = text(j, "f", pick(3));
		r->file = text(j, "file", pick(3));
	}
	r->ranks = 1;
	r->threads = pick(9);
	for (m = 0; m < MOCA_JOB_SUMS; m++)
		r->sum[m] = amount();
	r->least.value = r->most.value = r->sum[0];
	r->remote.value = r->sum[MOCA_JOB_SUM_REMOTE];
	r->least.rank = r->most.rank = r->remote.rank = rank;
}

/* Of one rank: some of ten structures, some of six findings. */
static void random_job(struct moca_job *j, uint32_t rank)
{
	uint32_t i;
	int v;

	moca_job_init(j);
	j->counts = 0;
	j->ranks = calloc(1, sizeof(*j->ranks));
	j->rows = calloc(10, sizeof(*j->rows));
	j->findings = calloc(6, sizeof(*j->findings));
	j->rank_count = 1;
	j->ranks->number = rank;
	j->ranks->state = (enum moca_job_state)pick(MOCA_JOB_STATES);
	j->ranks->host = text(j, "host", pick(4));
	j->ranks->job = text(j, "job", 0);
	j->ranks->machine = text(j, "machine", pick(2));
	j->ranks->command = text(j, "", 0);
	for (v = 0; v < MOCA_JOB_VALUES; v++)
		j->ranks->value[v] = pick(5) ? amount() : MOCA_JOB_NOT_KNOWN;
	for (i = 0; i < 10; i++)
		if (pick(3))
			random_row(j, &j->rows[j->row_count++], i, rank);
	for (i = 0; i < 6; i++) {
		struct moca_job_finding *x = &j->findings[j->finding_count];

		if (pick(2))
			continue;
		x->kind = text(j, "kind", i / 2);
		x->object = text(j, "object", i);
		x->title = text(j, "title", pick(1000));
		x->gain_least = x->gain_most = pick(1000000);
		x->ranges = malloc(sizeof(*x->ranges));
		*x->ranges = (struct moca_job_range){ rank, rank };
		x->range_count = 1;
		j->finding_count++;
	}
}

/* The caller frees it. */
static char *written(const struct moca_job *j, size_t *len)
{
	char *s = NULL;
	FILE *f = open_memstream(&s, len);

	if (moca_job_write(f, j))
		abort();
	fclose(f);
	return s;
}

static int read_text(struct moca_job *j, const char *s, size_t len, size_t *line)
{
	FILE *f = fmemopen((void *)s, len, "r");
	int err;

	moca_job_init(j);
	err = moca_job_read(j, f, line);
	fclose(f);
	return err;
}

/* parts[from, to) merged along a random tree, each part written and read again. */
static int tree(struct moca_job *out, struct moca_job *parts,
		const uint32_t *order, uint32_t from, uint32_t to)
{
	struct moca_job right;
	uint32_t at, rank;
	size_t len, line;
	char *s;
	int err;

	if (to - from == 1) {
		s = written(&parts[order[from]], &len);
		err = read_text(out, s, len, &line);
		free(s);
		return err;
	}
	at = from + 1 + pick(to - from - 1);
	err = tree(out, parts, order, from, at);
	if (err)
		return err;
	err = tree(&right, parts, order, at, to);
	if (!err)
		err = moca_job_merge(out, &right, &rank);
	moca_job_free(&right);
	return err;
}

static int any_order(void)
{
	struct moca_job parts[RANKS], all, other, again;
	uint32_t order[RANKS], i, k, swap, rank;
	size_t len, other_len, line;
	char *s, *t;
	int round;

	seed = 7;
	for (i = 0; i < RANKS; i++) {
		random_job(&parts[i], 3 * i - i % 2);
		order[i] = i;
	}
	moca_job_init(&all);
	for (i = 0; i < RANKS; i++)
		CHECK(!moca_job_merge(&all, &parts[i], &rank));
	s = written(&all, &len);
	CHECK(!read_text(&again, s, len, &line));
	t = written(&again, &other_len);
	CHECK(other_len == len && !memcmp(s, t, len));
	free(t);
	moca_job_free(&again);
	for (round = 0; round < ROUNDS; round++) {
		for (i = RANKS - 1; i; i--) {
			k = pick(i + 1);
			swap = order[i];
			order[i] = order[k];
			order[k] = swap;
		}
		CHECK(!tree(&other, parts, order, 0, RANKS));
		t = written(&other, &other_len);
		CHECK(other_len == len && !memcmp(s, t, len));
		free(t);
		moca_job_free(&other);
	}
	/* Not because nothing is in it. */
	CHECK(all.rank_count == RANKS && all.row_count == 10 &&
	      all.finding_count == 6);
	free(s);
	moca_job_free(&all);
	for (i = 0; i < RANKS; i++)
		moca_job_free(&parts[i]);
	return 0;
}

static int twice(void)
{
	struct moca_job a, b;
	uint32_t rank = 0;

	seed = 1;
	random_job(&a, 5);
	random_job(&b, 5);
	CHECK(moca_job_merge(&a, &b, &rank) == -EEXIST && rank == 5);
	moca_job_free(&a);
	moca_job_free(&b);
	random_job(&a, 5);
	random_job(&b, 6);
	b.counts = 1;
	CHECK(moca_job_merge(&a, &b, &rank) == -EXDEV);
	moca_job_free(&a);
	moca_job_free(&b);
	return 0;
}

/* Each byte changed, each length cut: never read as if nothing had happened. */
static int damage(void)
{
	struct moca_job all, part, x;
	size_t len, i, line;
	uint32_t rank;
	char *s, *bad;
	int err;

	seed = 3;
	moca_job_init(&all);
	for (rank = 0; rank < 3; rank++) {
		random_job(&part, rank);
		CHECK(!moca_job_merge(&all, &part, &rank));
		moca_job_free(&part);
	}
	s = written(&all, &len);
	bad = malloc(len);
	for (i = 0; i < len; i++) {
		memcpy(bad, s, len);
		bad[i] ^= (char)(1 << i % 7);
		err = read_text(&x, bad, len, &line);
		moca_job_free(&x);
		CHECK(err == -EBADMSG || err == -ENODATA || err == -EPROTO);
		if (!i)
			continue;
		err = read_text(&x, s, i, &line);
		moca_job_free(&x);
		CHECK(err == -EBADMSG || err == -ENODATA || err == -EPROTO);
	}
	free(bad);
	free(s);
	moca_job_free(&all);
	return 0;
}

/* Lines with a right checksum that no writer writes: what it is made of is wrong. */
static int hostile(void)
{
#define VALUES "\t8\t-\t0\t1\t2\t3\t4\t5\t6\t7\t8\t9\t10\t11\t12\t13\t14\t15\n"
#define RANK_0 "rank\t0\twhole\th\tj\tm\tc" VALUES
#define FIND "finding\tk\to\t1\t2\t"
#define SUMS "\t1\t2\t3\t4\t5\t6\t7"
	static const char *const good =
		RANK_0 FIND "0\tt\n" "object\to\t\t\t1\t1" SUMS "\t1\t0\t1\t0\t1\t0\n";
	static const char *const bad[] = {
		RANK_0 RANK_0,
		"rank\t1\twhole\th\tj\tm\tc" VALUES RANK_0,
		"rank\t1000000000\twhole\th\tj\tm\tc" VALUES,
		"rank\t00\twhole\th\tj\tm\tc" VALUES,
		"rank\t0\tgood\th\tj\tm\tc" VALUES,
		"rank\t0\twhole\th\tj\tm\\x00\tc" VALUES,
		"rank\t0\twhole\th\tj\tm\tc\t1\n",
		RANK_0 FIND "1\tt\n",
		RANK_0 FIND "0-999999999\tt\n",
		RANK_0 FIND "\tt\n",
		RANK_0 FIND "0,0\tt\n",
		RANK_0 FIND "-1\tt\n",
		RANK_0 "finding\tk\to\t2\t1\t0\tt\n",
		RANK_0 FIND "0\tt\n" FIND "0\tt\n",
		RANK_0 "object\to\t\t\t2\t1" SUMS "\t1\t0\t1\t0\t1\t0\n",
		RANK_0 "object\to\t\t\t0\t1" SUMS "\t1\t0\t1\t0\t1\t0\n",
		RANK_0 "object\to\tf\t\t1\t1" SUMS "\t1\t0\t1\t0\t1\t0\n",
		RANK_0 "object\to\t\t\t1\t1" SUMS "\t1\t7\t1\t0\t1\t0\n",
		RANK_0 "object\to\t\t\t1\t1" SUMS "\t2\t0\t1\t0\t1\t0\n",
		RANK_0 "object\to\t\t\t1\t-1" SUMS "\t1\t0\t1\t0\t1\t0\n",
		"object\to\t\t\t1\t1" SUMS "\t1\t0\t1\t0\t1\t0\n",
		"way\tpages\n", "\n", "end\t0\n",
	};
	struct moca_job x;
	size_t i, line, len, n;
	char s[1024];

	for (i = 0; i <= sizeof(bad) / sizeof(*bad); i++) {
		const char *lines = i ? bad[i - 1] : good;

		len = (size_t)snprintf(s, sizeof(s),
				       "moca-profile\t1\nway\tpages\n%s", lines);
		n = len + (size_t)snprintf(s + len, sizeof(s) - len,
					   "end\t%016llx\n",
					   (unsigned long long)moca_job_sum(s, len));
		if (!i)
			CHECK(!read_text(&x, s, n, &line));
		else if (read_text(&x, s, n, &line) != -EBADMSG) {
			snprintf(why, sizeof(why), "%zu is read: %s", i, lines);
			return 1;
		}
		moca_job_free(&x);
	}
	return 0;
}

/* --- how ranks differ ----------------------------------------------------- */

static void plain_ranks(struct moca_job *j, uint32_t count)
{
	uint32_t i;
	int v;

	moca_job_init(j);
	j->counts = 0;
	j->ranks = calloc(count, sizeof(*j->ranks));
	j->rank_count = count;
	for (i = 0; i < count; i++) {
		struct moca_job_rank *r = &j->ranks[i];

		r->number = i;
		r->host = r->job = r->machine = r->command = "";
		for (v = 0; v < MOCA_JOB_VALUES; v++)
			r->value[v] = MOCA_JOB_NOT_KNOWN;
		r->value[MOCA_JOB_TIME] = 1000000000 + i * 1000000;
		r->value[MOCA_JOB_ACCESSES] = 1000;
		r->value[MOCA_JOB_REMOTE] = 100;
		r->value[MOCA_JOB_NO_NODE] = 0;
	}
}

static int outliers(void)
{
	struct moca_job_view v;
	struct moca_job j;

	plain_ranks(&j, 9);
	CHECK(!moca_job_look(&v, &j));
	CHECK(!v.outlier_count && v.spread[MOCA_JOB_BY_TIME].known == 9);
	CHECK(!v.spread[MOCA_JOB_BY_PAGES].known);
	CHECK(fabs(v.spread[MOCA_JOB_BY_TIME].mean - 1.004) < 1e-9);
	CHECK(v.spread[MOCA_JOB_BY_TIME].most_at == 8);
	moca_job_view_free(&v);
	/* Twice as long, and 30 points more remote; 4 points more are none. */
	j.ranks[7].value[MOCA_JOB_TIME] *= 2;
	j.ranks[2].value[MOCA_JOB_REMOTE] = 400;
	j.ranks[3].value[MOCA_JOB_REMOTE] = 140;
	CHECK(!moca_job_look(&v, &j) && v.outlier_count == 2);
	CHECK(v.outliers[0].at == 7 && v.outliers[0].metric == MOCA_JOB_BY_TIME);
	CHECK(v.outliers[1].at == 2 && v.outliers[1].metric == MOCA_JOB_BY_REMOTE);
	CHECK(fabs(v.outliers[1].median - 0.1) < 1e-9);
	moca_job_view_free(&v);
	/* Accesses whose nodes are not known have no remote share. */
	j.ranks[2].value[MOCA_JOB_NO_NODE] = 1000;
	CHECK(!moca_job_look(&v, &j) && v.outlier_count == 1);
	CHECK(v.spread[MOCA_JOB_BY_REMOTE].known == 8);
	moca_job_view_free(&v);
	moca_job_free(&j);
	plain_ranks(&j, 3);
	j.ranks[0].value[MOCA_JOB_TIME] *= 5;
	CHECK(!moca_job_look(&v, &j) && !v.outlier_count);
	moca_job_view_free(&v);
	moca_job_free(&j);
	return 0;
}

static int missing(void)
{
	struct moca_job_view v;
	struct moca_job j;

	plain_ranks(&j, 4);
	CHECK(!moca_job_look(&v, &j) && !v.absent && !v.size);
	moca_job_view_free(&v);
	j.ranks[1].value[MOCA_JOB_SIZE] = 10;
	j.ranks[2].number = 4;
	j.ranks[3].number = 9;
	CHECK(!moca_job_look(&v, &j) && v.size == 10 && v.absent == 6);
	CHECK(v.missing_count == 2 && v.missing[0].first == 2 &&
	      v.missing[0].last == 3 && v.missing[1].first == 5 &&
	      v.missing[1].last == 8);
	CHECK(moca_job_lacks(&v, 0) && !moca_job_lacks(&v, 1));
	moca_job_view_free(&v);
	j.ranks[0].value[MOCA_JOB_CHOSEN] = 1;
	CHECK(!moca_job_look(&v, &j) && v.absent == 6 && !moca_job_lacks(&v, 0));
	moca_job_view_free(&v);
	j.ranks[0].state = MOCA_JOB_DAMAGED;
	CHECK(!moca_job_look(&v, &j) && moca_job_lacks(&v, 0));
	moca_job_view_free(&v);
	moca_job_free(&j);
	return 0;
}

int main(void)
{
	run("job: any order, the same bytes", any_order);
	run("job: a rank twice", twice);
	run("job: damage", damage);
	run("job: hostile", hostile);
	run("job: outliers", outliers);
	run("job: missing", missing);
	return failures != 0;
}

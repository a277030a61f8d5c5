// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing chunks and reading them back: exactness, size, speed, full disks. */
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/format/access.h"
#include "lib/format/append.h"
#include "tests/own-mounts.h"
#include "tests/unit/trace-util.h"

#define MAX 65536

static struct moca_access *recs;

static int same(const struct moca_access *a, const struct moca_access *b)
{
	return a->addr == b->addr && a->ip == b->ip &&
	       a->time_ns == b->time_ns && a->phys == b->phys &&
	       a->cpu == b->cpu && a->node == b->node && a->type == b->type &&
	       a->mode == b->mode && a->weight == b->weight;
}

/* Nothing but that each weighs 1. */
static void clear(size_t n)
{
	memset(recs, 0, n * sizeof(*recs));
	while (n--)
		recs[n].weight = 1;
}

/* Write n of recs as one chunk, read them back, compare. */
static int round_trip(size_t n)
{
	struct moca_chunk_info info = {
		.task = 3, .interval = 7, .lost = 5, .more = 1,
		.begin_ns = n ? recs[0].time_ns : 10,
		.end_ns = n ? recs[n - 1].time_ns : 20,
	};
	const struct moca_chunk *c;
	struct moca_damage damage;
	struct moca_writer *w;
	struct moca_trace *t;
	struct moca_cursor *cur;
	uint64_t sum = 0;
	size_t i;

	dir_new();
	put_meta("complete");
	CHECK(!moca_writer_create(&w, dirfd_));
	CHECK(!moca_writer_accesses(w, &info, recs, n));
	CHECK(moca_writer_bytes(w) == moca_writer_access_bytes(w));
	CHECK(!moca_trace_open(&t, dir));
	CHECK(!moca_trace_truncated(t));
	CHECK(moca_trace_task_count(t) == 1);
	CHECK(moca_trace_task(t, 0)->id == 3);
	CHECK(moca_trace_task(t, 0)->accesses == n);
	CHECK(!moca_cursor_open(&cur, t, NULL));
	CHECK(moca_cursor_chunk(cur, &c) == 1);
	CHECK(c->task == 3 && c->interval == 7 && c->lost == 5 && c->more);
	CHECK(c->number == 0 && c->begin_ns == info.begin_ns);
	CHECK(c->count == n && c->bytes == moca_writer_bytes(w));
	for (i = 0; i < n; i++)
		sum += recs[i].weight;
	CHECK(c->weight == sum && moca_trace_task(t, 0)->weight == sum);
	CHECK(c->read_weight + c->write_weight <= sum);
	for (i = 0; i < n; i++) {
		CHECK(same(&recs[i], &c->accesses[i]));
		CHECK(recs[i].cpu >= 1024 ||
		      c->cpumask[recs[i].cpu / 64] >> recs[i].cpu % 64 & 1);
	}
	CHECK(moca_cursor_chunk(cur, &c) == 0);
	moca_trace_damage(t, &damage);
	CHECK(!damage.files && !damage.chunks && !damage.tail_bytes);
	moca_cursor_close(cur);
	moca_trace_close(t);
	moca_writer_destroy(w);
	return 0;
}

/* Noise in every field; pages are few enough for repeats. */
static void noise(size_t n, uint64_t pages)
{
	uint64_t t = rnd() >> 20;
	size_t i;

	clear(MAX);
	for (i = 0; i < n; i++) {
		recs[i].addr = rnd() % pages << 12 | (rnd() & 4095);
		/* one page, one frame: what the format promises */
		recs[i].phys = (recs[i].addr >> 12) * 2654435761u << 12;
		recs[i].ip = rnd() % 3 ? rnd() : 0x401000;
		recs[i].time_ns = t += rnd() % 5 ? rnd() % 5000 : rnd() >> 28;
		recs[i].cpu = rnd() % 4 ? 1 : (uint16_t)rnd();
		recs[i].node = (int16_t)rnd();
		recs[i].type = rnd() & 3;
		recs[i].mode = rnd() & 1;
	}
}

/* And in what they weigh. */
static void weigh(size_t n)
{
	while (n--)
		recs[n].weight = rnd() % 5 ? (uint16_t)(1u << rnd() % 13) : 0;
}

static int t_none(void)
{
	return round_trip(0);
}

static int t_one(void)
{
	noise(1, 1ull << 52);
	return round_trip(1);
}

static int t_random(void)
{
	int i, ret = 0;
	size_t n;

	for (i = 0; i < 60 && !ret; i++) {
		n = 1 + rnd() % 3000;
		noise(n, 1ull << rnd() % 40);
		ret = round_trip(n);
	}
	return ret;
}

static int t_weights(void)
{
	static const uint16_t one[] = { 0, 2, MOCA_WEIGHT_MAX };
	int i, ret = 0;
	size_t n;

	for (i = 0; i < 20 && !ret; i++) {
		n = 1 + rnd() % 3000;
		noise(n, 1ull << rnd() % 40);
		weigh(n);
		ret = round_trip(n);
	}
	for (i = 0; i < 3 && !ret; i++) {
		noise(1, 100);
		recs[0].weight = one[i];
		ret = round_trip(1);
	}
	return ret;
}

/* Where all weigh 1, the chunk is as it was before there were weights. */
static int t_no_weights(void)
{
	struct moca_chunk_info info = { .task = 0 };
	struct moca_writer *w;
	struct moca_header h;
	uint8_t buf[4096];
	ssize_t len;
	int fd;

	dir_new();
	CHECK(!moca_writer_create(&w, dirfd_));
	clear(9);
	CHECK(!moca_writer_accesses(w, &info, recs, 9));
	recs[8].weight = 0;
	CHECK(!moca_writer_accesses(w, &info, recs, 9));
	moca_writer_destroy(w);
	fd = openat(dirfd_, "task-0", O_RDONLY);
	len = read(fd, buf, sizeof(buf));
	close(fd);
	CHECK(len > 0 && !moca_header_get(&h, buf, (size_t)len));
	CHECK(!h.flags && h.header_len == 88 + 8 * h.cpu_words + 8);
	CHECK(h.weights.all == 9 && h.weights.top == 1);
	CHECK(!moca_header_get(&h, buf + h.header_len + h.payload_len,
			       (size_t)len));
	CHECK(h.flags == MOCA_CHUNK_WEIGHTS && h.weights.all == 8);
	CHECK(h.header_len == 88 + 8 * h.cpu_words + 32 + 8);
	return 0;
}

/* Of the time that a query asks for, only its records are weighed. */
static int t_weights_of_a_query(void)
{
	struct moca_query q = { .size = sizeof(q), .begin_ns = 2, .end_ns = 4 };
	struct moca_chunk_info info = { .end_ns = 9 };
	const struct moca_chunk *c;
	struct moca_cursor *cur;
	struct moca_writer *w;
	struct moca_trace *t;
	size_t i;

	dir_new();
	put_meta("complete");
	clear(5);
	for (i = 0; i < 5; i++) {
		recs[i].time_ns = i;
		recs[i].type = i % 2 ? MOCA_ACCESS_WRITE : MOCA_ACCESS_READ;
		recs[i].weight = (uint16_t)(1u << 2 * i);
	}
	CHECK(!moca_writer_create(&w, dirfd_));
	CHECK(!moca_writer_accesses(w, &info, recs, 5));
	moca_writer_destroy(w);
	CHECK(!moca_trace_open(&t, dir));
	CHECK(moca_trace_task(t, 0)->weight == 1 + 4 + 16 + 64 + 256);
	CHECK(moca_trace_task(t, 0)->read_weight == 1 + 16 + 256);
	CHECK(moca_trace_task(t, 0)->write_weight == 4 + 64);
	CHECK(moca_trace_task(t, 0)->top_weight == 256);
	CHECK(!moca_cursor_open(&cur, t, &q));
	CHECK(moca_cursor_chunk(cur, &c) == 1);
	CHECK(c->count == 2 && c->weight == 16 + 64);
	CHECK(c->read_weight == 16 && c->write_weight == 64);
	CHECK(c->top_weight == 256);
	moca_cursor_close(cur);
	moca_trace_close(t);
	return 0;
}

static uint64_t told_weight;	/* of the task, by the headers alone */
static uint64_t told_damage;	/* chunks */
/* Which addresses are asked for: of the records they are 0x5010, 0x5020, 0x8030. */
static uint64_t told_from, told_until;

/* The chunk in task-0 with a header and a weight of someone's own making. */
static int told(const struct moca_weights *weights, uint32_t flags, int code)
{
	struct moca_header h = {
		.kind = MOCA_KIND_ACCESSES, .flags = flags, .records = 3,
		.reads = 2, .writes = 1, .weights = *weights, .end_ns = 9,
	};
	uint8_t codes[3] = { (uint8_t)code, 0, 0 };
	struct moca_query q = { .size = sizeof(q), .addr_begin = told_from,
				.addr_end = told_until };
	struct moca_access_scratch *x = malloc(sizeof(*x));
	struct moca_append a = { .type = MOCA_FILE_TASK,
				 .flags = O_CREAT | O_EXCL };
	uint64_t numbers[MOCA_KINDS] = { 0 }, total;
	struct moca_damage damage;
	struct moca_stream_out s;
	const struct moca_chunk *c;
	struct moca_cursor *cur;
	struct moca_trace *t;
	int read;

	dir_new();
	put_meta("complete");
	clear(3);
	recs[0].type = recs[1].type = MOCA_ACCESS_READ;
	recs[2].type = MOCA_ACCESS_WRITE;
	recs[0].addr = 0x5010;
	recs[1].addr = 0x5020;
	recs[2].addr = 0x8030;
	if (!x || moca_stream_out_init(&s, MOCA_STREAM_LEVEL))
		abort();
	moca_stream_reset(&s);
	if (moca_access_encode(x, &s, recs, 3, 0) ||
	    moca_stream_put(&s, MOCA_S_WEIGHT, codes, 3, 0) ||
	    moca_append_chunk(dirfd_, &a, &h, &s, numbers, &total) ||
	    moca_trace_open(&t, dir) || moca_cursor_open(&cur, t, &q))
		abort();
	told_weight = moca_trace_task(t, 0)->weight;
	read = moca_cursor_chunk(cur, &c);
	moca_trace_damage(t, &damage);
	told_damage = damage.chunks;
	moca_cursor_close(cur);
	moca_trace_close(t);
	moca_stream_out_free(&s);
	free(x);
	return read == 1 && !damage.chunks;
}

static int t_false_weights(void)
{
	struct moca_weights w = { .all = 10, .reads = 9, .writes = 1, .top = 8 };
	struct moca_weights none = { .all = 2, .reads = 1, .writes = 1,
				     .top = 1 };
	struct moca_weights ones = { .all = 3, .reads = 2, .writes = 1,
				     .top = 1 };

	CHECK(told(&w, MOCA_CHUNK_WEIGHTS, 3) && told_weight == 10);
	CHECK(told(&none, MOCA_CHUNK_WEIGHTS, MOCA_WEIGHT_NONE));
	CHECK(told(&ones, 0, 0) && told(&ones, MOCA_CHUNK_WEIGHTS, 0));
	CHECK(!told(&w, MOCA_CHUNK_WEIGHTS, 4));
	CHECK(!told(&w, MOCA_CHUNK_WEIGHTS, 14));
	CHECK(!told(&w, MOCA_CHUNK_WEIGHTS, 255));
	/* weights that the header does not tell of */
	CHECK(!told(&w, 0, 3));
	w.top = 16;
	CHECK(!told(&w, MOCA_CHUNK_WEIGHTS, 3));
	w.top = 8;
	w.all = 11;
	CHECK(!told(&w, MOCA_CHUNK_WEIGHTS, 3));
	/* What no records can weigh is not summed. */
	w.all = UINT64_MAX;
	w.reads = UINT64_MAX - 1;
	CHECK(!told(&w, MOCA_CHUNK_WEIGHTS, 3) && !told_weight);
	w.top = UINT64_MAX;
	CHECK(!told(&w, MOCA_CHUNK_WEIGHTS, 3) && !told_weight);
	w = (struct moca_weights){ .all = 10, .reads = 9, .writes = 1, .top = 9 };
	CHECK(!told(&w, MOCA_CHUNK_WEIGHTS, 3) && !told_weight);
	return 0;
}

/* Who asks for addresses has chunks unpacked that have pages there, and no others. */
static int t_chunks_without_an_address(void)
{
	static const struct {
		uint64_t from, until;
		int unpacked;
	} ranges[] = {
		{ 0, 0, 1 }, { 0x5000, 0x5001, 1 }, { 0x5fff, 0x6000, 1 },
		{ 0x8fff, 0, 1 }, { 1, 0x9000, 1 }, { 0x6000, 0x8001, 1 },
		{ 0, 0x5000, 0 }, { 0x6000, 0x8000, 0 }, { 0x9000, 0, 0 },
		{ 0x9000, UINT64_MAX, 0 }, { UINT64_MAX, 0, 0 },
	};
	const struct moca_weights w = { .all = 3, .reads = 2, .writes = 1,
					.top = 1 };
	int damaged = 1, whole = 1;

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		told_from = ranges[i].from;
		told_until = ranges[i].until;
		told(&w, 0, 255);
		damaged &= told_damage == (uint64_t)ranges[i].unpacked;
		told(&w, 0, 0);
		whole &= !told_damage;
	}
	told_from = 0x5020;
	told_until = 0x5021;
	whole &= told(&w, 0, 0);
	told_from = told_until = 0;
	CHECK(damaged);
	CHECK(whole);
	return 0;
}

static int t_full(void)
{
	noise(MAX, 1ull << 30);
	return round_trip(MAX);
}

static int t_extremes(void)
{
	size_t i;

	clear(8);
	for (i = 4; i < 8; i++)
		recs[i] = (struct moca_access){
			.addr = UINT64_MAX, .ip = UINT64_MAX,
			.time_ns = UINT64_MAX, .phys = UINT64_MAX & ~4095ull,
			.cpu = UINT16_MAX, .node = INT16_MIN, .type = 3,
			.mode = 1, .weight = 1,
		};
	recs[5].node = INT16_MAX;
	recs[6].node = MOCA_NODE_UNKNOWN;
	return round_trip(8);
}

/* Every distance of a page to the one before, up and down. */
static int t_strides(void)
{
	static const int64_t stride[] = { 0, 1, -1, 2, -2, 7, 511, -511, 4097 };
	size_t s, i;
	int ret = 0;

	for (s = 0; s < sizeof(stride) / sizeof(*stride) && !ret; s++) {
		clear(3000);
		for (i = 0; i < 3000; i++) {
			recs[i].addr = (1ull << 40) +
				       (uint64_t)(stride[s] * (int64_t)i *
						  4096);
			recs[i].time_ns = i;
		}
		ret = round_trip(3000);
	}
	return ret;
}

/* Several frames in one page's records: the last known is told of all. */
static int t_phys_rule(void)
{
	struct moca_chunk_info info = { .end_ns = 10 };
	const struct moca_chunk *c;
	struct moca_writer *w;
	struct moca_trace *t;
	struct moca_cursor *cur;

	clear(4);
	recs[0].phys = 0x5000;
	recs[1].phys = 0x7000;
	recs[3].addr = 0x9000;
	dir_new();
	put_meta("complete");
	CHECK(!moca_writer_create(&w, dirfd_));
	CHECK(!moca_writer_accesses(w, &info, recs, 4));
	moca_writer_destroy(w);
	CHECK(!moca_trace_open(&t, dir));
	CHECK(!moca_cursor_open(&cur, t, NULL));
	CHECK(moca_cursor_chunk(cur, &c) == 1);
	CHECK(c->accesses[0].phys == 0x7000 && c->accesses[2].phys == 0x7000);
	CHECK(c->accesses[3].phys == 0);
	moca_cursor_close(cur);
	moca_trace_close(t);
	return 0;
}

static int t_refused(void)
{
	struct moca_chunk_info info = { .task = 0 };
	struct moca_writer *w;

	dir_new();
	CHECK(!moca_writer_create(&w, dirfd_));
	CHECK(moca_writer_accesses(w, &info, recs, MAX + 1) == -E2BIG);
	clear(2);
	recs[0].time_ns = 1;
	CHECK(moca_writer_accesses(w, &info, recs, 2) == -EINVAL);
	recs[0].time_ns = 0;
	recs[1].type = 4;
	CHECK(moca_writer_accesses(w, &info, recs, 2) == -EINVAL);
	recs[1].type = 1;
	recs[1].weight = 3;
	CHECK(moca_writer_accesses(w, &info, recs, 2) == -EINVAL);
	recs[1].weight = 2 * MOCA_WEIGHT_MAX;
	CHECK(moca_writer_accesses(w, &info, recs, 2) == -EINVAL);
	recs[1].weight = 1;
	/* a link where the file should be is not followed */
	CHECK(!symlinkat("/tmp/moca-test-elsewhere", dirfd_, "task-0"));
	recs[1].type = 1;
	CHECK(moca_writer_accesses(w, &info, recs, 2) == -EEXIST);
	CHECK(access("/tmp/moca-test-elsewhere", F_OK) < 0);
	moca_writer_destroy(w);
	return 0;
}

static int t_events(void)
{
	enum { N = 3000 };
	static struct moca_change e[N];
	static char names[N][64], huge[9000];
	const struct moca_change *g;
	struct moca_writer *w;
	struct moca_trace *t;
	struct moca_cursor *cur;
	uint32_t task;
	size_t i;

	memset(huge, 'x', sizeof(huge) - 1);
	for (i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "/lib/%zu\n", i % 7);
		e[i] = (struct moca_change){
			.time_ns = rnd(), .addr = rnd(), .len = rnd(),
			.offset = rnd(), .type = 5 + rnd() % 4,
			.flags = (uint32_t)rnd(), .prot = (uint32_t)rnd(),
			.pid = (uint32_t)rnd(), .tid = (uint32_t)rnd(),
			.parent = i % 2 ? MOCA_NO_TASK : (uint32_t)rnd(),
			.status = (int32_t)rnd(),
			.name = i % 5 ? names[i] : i % 2 ? huge : "",
			.memory = i % 3 ? (uint32_t)rnd() : 0,
			.dev = i % 3 == 1 ? rnd() : 0,
			.ino = i % 3 ? rnd() : 0,
		};
	}
	dir_new();
	put_meta("recording");
	CHECK(!moca_writer_create(&w, dirfd_));
	CHECK(!moca_writer_changes(w, 9, e, N));
	CHECK(!moca_writer_access_bytes(w) && moca_writer_bytes(w));
	moca_writer_destroy(w);
	CHECK(!moca_trace_open(&t, dir));
	CHECK(moca_trace_truncated(t));
	CHECK(!moca_cursor_open(&cur, t, NULL));
	for (i = 0; i < N; i++) {
		CHECK(moca_cursor_change(cur, &g, &task) == 1);
		CHECK(task == 9 && g->time_ns == e[i].time_ns);
		CHECK(g->addr == e[i].addr && g->len == e[i].len);
		CHECK(g->offset == e[i].offset && g->type == e[i].type);
		CHECK(g->flags == e[i].flags && g->prot == e[i].prot);
		CHECK(g->pid == e[i].pid && g->tid == e[i].tid);
		CHECK(g->parent == e[i].parent && g->status == e[i].status);
		CHECK(!strncmp(g->name, e[i].name, 4095));
		CHECK(g->memory == e[i].memory && g->dev == e[i].dev &&
		      g->ino == e[i].ino);
		CHECK(strlen(g->name) <= 4095);
	}
	CHECK(moca_cursor_change(cur, &g, &task) == 0);
	moca_cursor_close(cur);
	moca_trace_close(t);
	return 0;
}

/* --- size and speed ------------------------------------------------- */

static uint64_t frame(uint64_t page)
{
	/* runs of 16 pages, scattered */
	return ((page / 16 * 0x9e3779b97f4a7c15ull >> 42) * 16 + page % 16)
	       << 12;
}

static void sweep(size_t i, struct moca_access *r)
{
	r->addr = (0x7f0000000ull + i) << 12 | 0x10;
	r->ip = 0x401136;
	r->type = MOCA_ACCESS_WRITE;
}

static void random_pages(size_t i, struct moca_access *r)
{
	r->addr = (0x7f0000000ull + rnd() % 100000) << 12 | (rnd() & 0xff8);
	r->ip = 0x401136 + 4 * (rnd() % 4);
	r->type = rnd() % 4 ? MOCA_ACCESS_READ : MOCA_ACCESS_WRITE;
}

/* c[i] = a[i] + b[i], some calls and system calls in between. */
static void triad(size_t i, struct moca_access *r)
{
	r->addr = (0x7f0000000ull + i % 3 * 40000 + i / 3) << 12;
	r->ip = 0x401136 + 4 * (i % 3);
	r->type = i % 3 == 2 ? MOCA_ACCESS_WRITE : MOCA_ACCESS_READ;
	if (rnd() % 50 == 0) {
		r->addr = 0x7ffd12345000 + rnd() % 3 * 4096 + (rnd() & 0xff8);
		r->mode = MOCA_MODE_KERNEL;
		r->ip = 0xffffffff81000000 + rnd() % 20 * 77;
	}
}

static int measure(const char *name, void (*make)(size_t, struct moca_access *),
		   size_t n, double limit)
{
	struct moca_chunk_info info = { .task = 0 };
	const struct moca_chunk *c;
	struct moca_writer *w;
	struct moca_trace *t;
	struct moca_cursor *cur;
	double begin, enc, dec;
	size_t i, total = 0;
	uint64_t time = 1;
	int k, rounds = (int)(20 * MAX / n);

	clear(n);
	for (i = 0; i < n; i++) {
		make(i, &recs[i]);
		recs[i].phys = frame(recs[i].addr >> 12);
		recs[i].time_ns = time += 1400 + rnd() % 401;
		recs[i].cpu = 1;
	}
	info.end_ns = time + 1;
	dir_new();
	put_meta("complete");
	CHECK(!moca_writer_create(&w, dirfd_));
	begin = now();
	for (k = 0; k < rounds; k++)
		CHECK(!moca_writer_accesses(w, &info, recs, n));
	enc = now() - begin;
	CHECK(!moca_trace_open(&t, dir));
	CHECK(!moca_cursor_open(&cur, t, NULL));
	begin = now();
	while (moca_cursor_chunk(cur, &c) == 1)
		total += c->count;
	dec = now() - begin;
	CHECK(total == n * (size_t)rounds);
	printf("# %s, %zu per chunk: %.2f bytes per record, write %.1f M/s, "
	       "read %.1f M/s\n", name, n,
	       (double)moca_writer_bytes(w) / (double)total,
	       (double)total / enc / 1e6, (double)total / dec / 1e6);
	CHECK((double)moca_writer_bytes(w) <= limit * (double)total);
	moca_cursor_close(cur);
	moca_trace_close(t);
	moca_writer_destroy(w);
	return 0;
}

static int t_size(void)
{
	static const size_t sizes[] = { MAX, 4096, 512 };
	/*
	 * No less than 4.6 holds page, offset, time, ip and type; the fewer
	 * records, the less often two are of one run of frames.
	 */
	static const double random_limit[] = { 5.2, 6.7, 9.5 };
	size_t i;
	int ret = 0;

	for (i = 0; i < 3 && !ret; i++) {
		ret = measure("sweep", sweep, sizes[i], 2);
		if (!ret)
			ret = measure("triad", triad, sizes[i], 3);
		if (!ret)
			ret = measure("random", random_pages, sizes[i],
				      random_limit[i]);
	}
	return ret;
}

/* --- no room -------------------------------------------------------- */

/* Write until it fails with err; then what is there must be sound. */
static int fill(int err)
{
	struct moca_chunk_info info = { .end_ns = 1 };
	const struct moca_chunk *c;
	struct moca_damage damage;
	struct moca_writer *w;
	struct moca_trace *t;
	struct moca_cursor *cur;
	size_t i, written = 0;
	struct stat st;
	int ret;

	CHECK(!moca_writer_create(&w, dirfd_));
	put_meta("recording");
	noise(2000, 1ull << 40);
	while (!(ret = moca_writer_accesses(w, &info, recs, 2000)))
		written++;
	CHECK(ret == -err);
	CHECK(written > 2);
	CHECK(!fstatat(dirfd_, "task-0", &st, 0));
	CHECK((uint64_t)st.st_size == moca_writer_bytes(w));
	CHECK(!moca_trace_open(&t, dir));
	CHECK(!moca_cursor_open(&cur, t, NULL));
	for (i = 0; moca_cursor_chunk(cur, &c) == 1; i++)
		CHECK(c->number == i);
	CHECK(i == written);
	moca_trace_damage(t, &damage);
	CHECK(!damage.files && !damage.chunks && !damage.tail_bytes);
	moca_cursor_close(cur);
	moca_trace_close(t);
	moca_writer_destroy(w);
	return 0;
}

static int t_no_space(void)
{
	int status, ret;
	pid_t pid;

	dir_new();
	pid = fork();
	if (!pid) {
		if (own_mounts() ||
		    mount("moca", dir, "tmpfs", 0, "size=512k"))
			_exit(2);
		dirfd_ = open(dir, O_RDONLY | O_DIRECTORY);
		ret = fill(ENOSPC);
		if (ret)
			printf("# %s\n", why);
		fflush(stdout);
		_exit(ret);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 1;
	if (WEXITSTATUS(status) == 2)
		snprintf(why, sizeof(why), "cannot mount a tmpfs");
	return WEXITSTATUS(status);
}

static int t_file_limit(void)
{
	struct rlimit old, now_ = { 200000, 0 };
	int ret;

	dir_new();
	getrlimit(RLIMIT_FSIZE, &old);
	now_.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &now_);
	ret = fill(EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	return ret;
}

/* What a column of these symbols, with rest bytes behind them, is read as. */
static int column(const uint8_t *sym, size_t n, size_t rest, uint64_t *v)
{
	static const uint8_t bytes[32] = { 0xff, 1, 0xff, 0xff };
	struct moca_column *c = malloc(sizeof(*c));
	struct moca_buf payload = { 0 };
	struct moca_stream_in in = { .dctx = ZSTD_createDCtx() };
	struct moca_stream_out s;
	int ret;

	if (!c || !in.dctx || moca_stream_out_init(&s, MOCA_STREAM_LEVEL))
		abort();
	moca_stream_reset(&s);
	if (moca_stream_put(&s, 1, sym, n, 1) ||
	    moca_stream_put(&s, 2, bytes, rest, 1) ||
	    moca_buf_reserve(&payload, s.dir.len + s.body.len))
		abort();
	memcpy(payload.data, s.dir.data, s.dir.len);
	memcpy(payload.data + s.dir.len, s.body.data, s.body.len);
	if (moca_stream_parse(&in, payload.data, s.dir.len + s.body.len))
		abort();
	/* As another column may have left it. */
	memset(c, 0xff, sizeof(*c));
	ret = moca_column_get(c, &in, 1, v, n);
	ZSTD_freeDCtx(in.dctx);
	moca_stream_out_free(&s);
	moca_buf_free(&payload);
	free(c);
	return ret;
}

/*
 * A column has the bytes that its symbols ask for. Other lengths are damage, but for
 * none at all: the bits that the symbols leave open are zero then.
 */
static int t_columns(void)
{
	/* 3; 8 + 1 bit; 16 + 2 bits; 32 + 3 bits; 64 + 4 bits: 10 bits. */
	const uint8_t sym[] = { 3, 8, 12, 16, 20 }, beyond[] = { 252, 0, 0 };
	uint64_t v[5];

	CHECK(!column(sym, 5, 2, v));
	CHECK(v[0] == 3 && v[1] == 9 && v[2] == 19 && v[3] == 39 &&
	      v[4] == 64 + 7);
	CHECK(!column(sym, 5, 0, v));
	CHECK(v[0] == 3 && v[1] == 8 && v[2] == 16 && v[3] == 32 && v[4] == 64);
	CHECK(column(sym, 5, 1, v) == -EBADMSG);
	CHECK(column(sym, 5, 3, v) == -EBADMSG);
	CHECK(column(sym, 1, 1, v) == -EBADMSG);
	/* No number has such a symbol. */
	CHECK(column(beyond, 3, 8, v) == -EBADMSG);
	CHECK(column(beyond, 3, 0, v) == -EBADMSG);
	return 0;
}

int main(void)
{
	recs = calloc(MAX + 1, sizeof(*recs));
	if (!recs)
		return 1;
	run("format/no-records", t_none);
	run("format/one-record", t_one);
	run("format/random-records", t_random);
	run("format/full-chunk", t_full);
	run("format/extreme-values", t_extremes);
	run("format/strides", t_strides);
	run("format/phys-of-a-page", t_phys_rule);
	run("format/refused", t_refused);
	run("format/events", t_events);
	run("format/columns", t_columns);
	run("format/size-and-speed", t_size);
	run("format/weights", t_weights);
	run("format/no-weights", t_no_weights);
	run("format/weights-of-a-query", t_weights_of_a_query);
	run("format/false-weights", t_false_weights);
	run("format/chunks-without-an-address", t_chunks_without_an_address);
	run("format/no-space", t_no_space);
	run("format/file-size-limit", t_file_limit);
	dir_remove();
	free(recs);
	return failures != 0;
}

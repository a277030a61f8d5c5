// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Write the traces of a job's ranks, the same each time, for the tests of what
 * reads jobs: make-job DIR RANKS [INTERVALS [PAGES [CUT]]]
 *
 * Of rank N: DIR/rank-N, of host node-(N / 8). Thread 0 of 4 first touches a table of
 * PAGES (64) pages; then each uses a quarter of it, in INTERVALS (12) intervals of
 * 50 ms, and 8 pages of its own. Rank 3 runs twice as long and has
 * twice the table, rank 5 was killed by signal 9, odd ranks have a file, too, with
 * 2 accesses in each interval; rank N began N % 4 tenths of a second late. The
 * recording of rank CUT does not end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/format/meta.h"
#include "lib/format/seal.h"
#include "lib/format/writer.h"

#define START 1000000000ull
#define MS 1000000ull
#define PAGE 4096ull
#define THREADS 4u
#define OWN 8u
#define TABLE 0x10000000ull
#define FILE_ADDR 0x7f0000000000ull

struct rank {
	unsigned number, of, intervals, pages, cut;
	struct moca_writer *writer;
	unsigned long long records, chunks;
};

static struct moca_change change(uint64_t ns, uint32_t type, uint32_t tid,
				 const char *name)
{
	return (struct moca_change){ .time_ns = ns, .type = type, .pid = 100,
				     .tid = tid, .parent = MOCA_NO_TASK,
				     .name = name };
}

static int write_changes(struct rank *r)
{
	uint64_t end = START + r->intervals * 50 * MS;
	struct moca_change c[8];
	unsigned t, n;
	int err = 0;

	for (t = 0; t < THREADS && !err; t++) {
		n = 0;
		c[n] = change(START, MOCA_CHANGE_TASK_START, 100 + t,
			      t ? "worker" : "demo");
		if (t) {
			c[n].flags = MOCA_TASK_THREAD;
			c[n].parent = 0;
		}
		n++;
		if (!t) {
			c[n++] = change(START, MOCA_CHANGE_EXEC, 100, "/bin/demo");
			c[n] = change(START, MOCA_CHANGE_MMAP, 100, "[heap]");
			c[n].addr = TABLE;
			c[n].len = (r->pages + THREADS * OWN) * PAGE;
			c[n].prot = PROT_READ | PROT_WRITE;
			c[n++].flags = MOCA_MAP_CERTIFIED | MOCA_MAP_ZAPPED;
			c[n] = change(START, MOCA_CHANGE_MMAP, 100, "/data/in");
			c[n].addr = FILE_ADDR;
			c[n].len = 2 * PAGE;
			c[n].prot = PROT_READ;
			c[n++].flags = MOCA_MAP_FILE | MOCA_MAP_ZAPPED;
		}
		c[n] = change(end, MOCA_CHANGE_TASK_END, 100 + t, "");
		c[n++].status = r->number == 5 ? 9 : 0;
		err = moca_writer_changes(r->writer, t, c, n);
	}
	return err;
}

static void put(struct moca_access *a, unsigned interval, unsigned t, unsigned at,
		uint64_t addr, int type)
{
	*a = (struct moca_access){
		.addr = addr, .ip = 0x401000 + 16 * t,
		.time_ns = START + interval * 50 * MS + t * MS + 100 * at,
		.cpu = (uint16_t)t, .node = MOCA_NODE_UNKNOWN,
		.type = (uint8_t)type, .weight = 1,
	};
}

/* Of the table thread 0 uses all at first, then each thread its part. */
static int write_interval(struct rank *r, unsigned interval, unsigned t,
			  struct moca_access *a)
{
	struct moca_chunk_info info = {
		.task = t, .interval = interval,
		.begin_ns = START + interval * 50 * MS,
		.end_ns = START + (interval + 1) * 50 * MS - 1,
	};
	unsigned i, n = 0, part = r->pages / THREADS;

	for (i = 0; i < r->pages; i++)
		if (interval ? i / part == t : !t)
			put(&a[n], interval, t, n, TABLE + i * PAGE,
			    interval % 2 ? MOCA_ACCESS_READ : MOCA_ACCESS_WRITE),
				n++;
	for (i = 0; i < OWN; i++, n++)
		put(&a[n], interval, t, n,
		    TABLE + (r->pages + t * OWN + i) * PAGE, MOCA_ACCESS_WRITE);
	for (i = 0; i < 2 && !t && r->number % 2; i++, n++)
		put(&a[n], interval, t, n, FILE_ADDR + i * PAGE,
		    MOCA_ACCESS_READ);
	r->records += n;
	r->chunks++;
	return moca_writer_accesses(r->writer, &info, a, n);
}

static int write_meta(struct rank *r, struct moca_meta *m, int fd, int complete)
{
	unsigned long long end = START + r->intervals * 50 * MS;
	unsigned pages = r->pages + THREADS * OWN;

	moca_meta_set(m, "state", complete ? "complete" : "recording");
	moca_meta_set(m, "command", "demo");
	moca_meta_set(m, "host", "node-%u", r->number / 8);
	moca_meta_set(m, "rank", "%u", r->number);
	moca_meta_set(m, "ranks", "%u", r->of);
	moca_meta_set(m, "job", "made");
	moca_meta_set(m, "start_time", "1735787045%u00000000", r->number % 4);
	moca_meta_set(m, "exit_status", "%d", r->number == 5 ? 9 : 0);
	moca_meta_set(m, "cpus", "4");
	moca_meta_set(m, "page_size", "4096");
	moca_meta_set(m, "collector", "fault");
	moca_meta_set(m, "mappings_told", "all");
	moca_meta_set(m, "interval_ns", "50000000");
	moca_meta_set(m, "slowdown_estimate", "1.%02u", r->number % 5);
	moca_meta_set(m, "start_ns", "%llu", START);
	moca_meta_set(m, "end_ns", "%llu", end);
	moca_meta_set(m, "certificate.pages_seen", "%u", pages);
	moca_meta_set(m, "certificate.pages_touched", "%u", pages);
	moca_meta_set(m, "certificate.records", "%llu", r->records);
	moca_meta_set(m, "certificate.chunks", "%llu", r->chunks);
	return moca_seal_write(m, fd);
}

static int write_rank(struct rank *r, const char *path)
{
	struct moca_access *a = calloc(r->pages + OWN + 2, sizeof(*a));
	struct moca_meta *m = moca_meta_new();
	unsigned i, t;
	int fd, err;

	if (!a || !m || mkdir(path, 0700))
		return a && m ? -errno : -ENOMEM;
	fd = open(path, O_RDONLY | O_DIRECTORY);
	err = fd < 0 ? -errno : moca_writer_create(&r->writer, fd);
	if (!err)
		err = write_meta(r, m, fd, 0);
	if (!err)
		err = write_changes(r);
	for (i = 0; i < r->intervals; i++)
		for (t = 0; t < THREADS && !err; t++)
			err = write_interval(r, i, t, a);
	if (!err)
		err = write_meta(r, m, fd, r->number != r->cut);
	moca_writer_destroy(r->writer);
	moca_meta_free(m);
	free(a);
	close(fd);
	return err;
}

int main(int argc, char **argv)
{
	unsigned ranks = argc > 2 ? (unsigned)atoi(argv[2]) : 0, n;
	unsigned intervals = argc > 3 ? (unsigned)atoi(argv[3]) : 12;
	unsigned pages = argc > 4 ? (unsigned)atoi(argv[4]) : 64;
	unsigned cut = argc > 5 ? (unsigned)atoi(argv[5]) : ranks;
	char path[4096];
	int err;

	if (!ranks || !intervals || pages < THREADS) {
		fprintf(stderr, "usage: make-job DIR RANKS [INTERVALS [PAGES [CUT]]]\n");
		return 2;
	}
	if (mkdir(argv[1], 0700) && errno != EEXIST) {
		perror(argv[1]);
		return 1;
	}
	for (n = 0; n < ranks; n++) {
		struct rank r = {
			.number = n, .of = ranks, .cut = cut,
			.intervals = n == 3 ? 2 * intervals : intervals,
			.pages = n == 3 ? 2 * pages : pages,
		};

		snprintf(path, sizeof(path), "%s/rank-%u", argv[1], n);
		err = write_rank(&r, path);
		if (err) {
			fprintf(stderr, "make-job: %s: %s\n", path, strerror(-err));
			return 1;
		}
	}
	return 0;
}

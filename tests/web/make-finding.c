// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * make-finding DIR [fixed | heat]: a trace, written by hand, of this very program as if it had
 * run: prepare() touches all of `next`, then two threads work on their halves of
 * it in fill(). It has a finding, and known counts of known lines of this file.
 * fixed: each prepares its own half, and in half as many intervals. heat: with looks at
 * accessed bits, of which the k-th has 64 pages from page 64 k on, each second written.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/format/meta.h"
#include "lib/format/rate-writer.h"
#include "lib/format/seal.h"
#include "lib/format/tried.h"
#include "lib/format/writer.h"

#define PAGES 2048u
#define PAGE 4096u
#define INTERVALS 16u
#define INTERVAL_NS 50000000ull
#define START 1000000000ull

static volatile char next[PAGES * PAGE] __attribute__((aligned(PAGE)));
static struct moca_writer *writer;
static uint64_t records, chunks;

__attribute__((noinline)) static void prepare(void)
{
	next[0] = 1;	/* </script><b>first</b> */
}

__attribute__((noinline)) static void fill(void)
{
	next[1]++;	/* of two threads */
}

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "make-finding: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void put(struct moca_change *e)
{
	e->pid = 100;
	must(moca_writer_changes(writer, 0, e, 1), "changes");
}

/* What this program is mapped from. */
static void put_mappings(const char *exe)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4200], path[4096], prot[5];
	uint64_t begin, end, offset;

	must(f ? 0 : -errno, "/proc/self/maps");
	while (fgets(line, sizeof(line), f)) {
		path[0] = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64
			   " %*s %*s %4095s", &begin, &end, prot, &offset,
			   path) < 4)
			continue;
		/* And what follows the file's own: .bss. */
		if (strcmp(path, exe) && (begin > (uintptr_t)next ||
					  end <= (uintptr_t)next))
			continue;
		put(&(struct moca_change){
			.type = MOCA_CHANGE_MMAP, .tid = 100, .addr = begin,
			.len = end - begin, .offset = offset,
			.prot = 1 | (prot[1] == 'w' ? 2 : 0) |
				(prot[2] == 'x' ? 4 : 0),
			.flags = *path ? MOCA_MAP_FILE : 0, .name = path,
			.time_ns = START });
	}
	fclose(f);
}

static void put_accesses(uint32_t task, uint64_t interval, unsigned from,
			 unsigned to, void (*by)(void))
{
	static struct moca_access a[PAGES];
	struct moca_chunk_info info = {
		.task = task, .interval = interval,
		.begin_ns = START + interval * INTERVAL_NS + 1000,
		.end_ns = START + (interval + 1) * INTERVAL_NS - 1000,
	};
	unsigned i;

	for (i = from; i < to; i++)
		a[i - from] = (struct moca_access){
			.addr = (uintptr_t)next + (uint64_t)i * PAGE,
			.ip = (uintptr_t)by, .time_ns = info.begin_ns + 1000 * i,
			.type = MOCA_ACCESS_WRITE, .cpu = (uint16_t)(task % 2),
			.node = -1, .weight = 1,
		};
	must(moca_writer_accesses(writer, &info, a, to - from), "accesses");
	records += to - from;
	chunks++;
}

static void put_heat(int fd)
{
	const struct moca_heat_look l = { .touched = 64, .looked = PAGES };
	const uint64_t step = INTERVALS * INTERVAL_NS / (PAGES / 64);
	struct moca_rate_writer *w;

	must(moca_heat_describe(fd), "types of heat");
	must(moca_rate_writer_create(&w, fd, MOCA_HEAT_STREAM), "heat");
	must(moca_rate_writer_start(w, 100, "", START), "heat");
	for (uint64_t k = 0; k < PAGES / 64; k++) {
		const uint64_t bits[] = { UINT64_MAX, k % 2 ? UINT64_MAX : 0 };
		uint64_t at = START + k * step;

		moca_heat_pages(w, at + step - 1, at, 100,
				(uintptr_t)next + 64 * k * PAGE, 1, bits);
		moca_heat_looked(w, at + step - 1, &l);
	}
	must(moca_rate_writer_end(w, START + INTERVALS * INTERVAL_NS), "heat");
	must(moca_rate_writer_close(w), "heat");
}

/* As if interleaving had been tried, without a gain. */
static void put_tried(int fd)
{
	const struct moca_tried_change c = {
		.id = "interleave", .result = "no-difference",
		.findings = "serial-first-touch", .setting = "", .command = "",
		.plan = "", .predicted = NAN,
		.when_ns = 1700000000000000000, .rounds = 5,
		.confidence = 0.99, .wall = { 1.001, 0.99, 1.01 },
		.cpu = { 1, 0.99, 1.01 }, .faults = { 100, 100 },
		.peak_bytes = { 8 << 20, 8 << 20 },
	};

	must(moca_tried_write(fd, &c, 1), "tried");
}

int main(int argc, char **argv)
{
	struct moca_meta *m = moca_meta_new();
	char exe[4096] = "";
	uint32_t task;
	uint64_t i;
	int fixed = argc == 3 && !strcmp(argv[2], "fixed"), fd;
	int heat = argc == 3 && !strcmp(argv[2], "heat");

	if (argc != 2 + fixed + heat || !m || readlink("/proc/self/exe", exe,
					sizeof(exe) - 1) < 0)
		return 2;
	prepare();
	fill();
	if (mkdir(argv[1], 0700))
		must(-errno, argv[1]);
	fd = open(argv[1], O_RDONLY | O_DIRECTORY);
	must(moca_writer_create(&writer, fd), "writer");
	put(&(struct moca_change){ .type = MOCA_CHANGE_TASK_START, .tid = 100,
				   .parent = MOCA_NO_TASK, .name = "main",
				   .time_ns = START - 10 });
	put(&(struct moca_change){ .type = MOCA_CHANGE_EXEC, .tid = 100,
				   .name = exe, .time_ns = START - 5 });
	put_mappings(exe);
	for (task = 1; task <= 2; task++) {
		struct moca_change e = {
			.type = MOCA_CHANGE_TASK_START, .pid = 100,
			.tid = 100 + task, .parent = 0, .name = "worker",
			.flags = MOCA_TASK_THREAD,
			.time_ns = START + (fixed ? 0 : INTERVAL_NS) + task };

		must(moca_writer_changes(writer, task, &e, 1), "a thread");
	}
	if (fixed) {
		put_accesses(1, 0, 0, PAGES / 2, prepare);
		put_accesses(2, 0, PAGES / 2, PAGES, prepare);
	} else {
		put_accesses(0, 0, 0, PAGES, prepare);
	}
	for (i = 1; i < (fixed ? INTERVALS / 2 : INTERVALS); i++) {
		put_accesses(1, i, 0, PAGES / 2, fill);
		put_accesses(2, i, PAGES / 2, PAGES, fill);
	}
	if (heat)
		put_heat(fd);
	must(moca_meta_set(m, "state", "complete"), "metadata");
	must(moca_meta_set(m, "command", "%s", exe), "metadata");
	must(moca_meta_set(m, "certificate.records", "%llu",
			   (unsigned long long)records), "metadata");
	must(moca_meta_set(m, "certificate.chunks", "%llu",
			   (unsigned long long)chunks), "metadata");
	must(moca_seal_write(m, fd), "metadata");
	if (!fixed)
		put_tried(fd);
	return 0;
}

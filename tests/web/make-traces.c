// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * make-traces KIND DIR: a trace for tests/web/run. empty: a task, no access;
 * one: one access in one interval; hostile: names that are markup, broken UTF-8
 * or 10 kB long, of threads, files, the command and the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/format/meta.h"
#include "lib/format/seal.h"
#include "lib/format/writer.h"

#define START 1000000000ull
#define BASE 0x7f0000000000ull

static struct moca_writer *writer;
static char huge[10241];
static uint64_t records, chunks;

static const char *const names[] = {
	"</script><script>window.hacked = 1</script>",
	"<img src=x onerror=\"window.hacked = 1\">",
	"'\"><svg onload=window.hacked=1>&lt;&amp;",
	"\xff\xfe\x80 broken \xc3\x28 UTF-8",
	"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xe2\x80\xae right to left \xf0\x9f\x8d\x80",
	"=cmd|'/C calc'!A0,\"quoted\"\n\r\tlines",
	"javascript:window.hacked=1//",
	"__proto__",
	"constructor",
	huge,
};

#define NAMES (sizeof(names) / sizeof(*names))

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "make-traces: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void put_task(uint32_t task, const char *name)
{
	struct moca_change e[] = {
		{ .type = MOCA_CHANGE_TASK_START, .pid = 100, .tid = 100 + task,
		  .parent = task ? 0 : MOCA_NO_TASK, .name = name,
		  .flags = task ? MOCA_TASK_THREAD : 0,
		  .time_ns = START + task },
	};

	must(moca_writer_changes(writer, task, e, 1), "events");
}

static void put_file(size_t i, const char *name)
{
	struct moca_change e = {
		.type = MOCA_CHANGE_MMAP, .pid = 100, .tid = 100,
		.addr = BASE + (i << 24), .len = 16 * 4096, .prot = 3,
		.flags = MOCA_MAP_FILE | MOCA_MAP_SHARED, .name = name,
		.time_ns = START + 100 + i,
	};

	must(moca_writer_changes(writer, 0, &e, 1), "events");
}

static void put_accesses(uint32_t task, uint64_t interval, size_t files)
{
	struct moca_access a[16 * NAMES];
	struct moca_chunk_info info = {
		.task = task, .interval = interval,
		.begin_ns = START + 1000 + interval * 1000000,
		.end_ns = START + 999000 + interval * 1000000,
	};
	size_t i, n = files ? 16 * files : 1;

	for (i = 0; i < n; i++)
		a[i] = (struct moca_access){
			.addr = BASE + (i / 16 << 24) + i % 16 * 4096 + 8,
			.ip = 0x401000, .time_ns = info.begin_ns + 1000 * i,
			.type = i % 2 ? MOCA_ACCESS_WRITE : MOCA_ACCESS_READ,
			.cpu = (uint16_t)(task % 2), .node = (int16_t)(i % 2),
			.weight = 1,
		};
	must(moca_writer_accesses(writer, &info, a, n), "accesses");
	records += n;
	chunks++;
}

int main(int argc, char **argv)
{
	struct moca_meta *m = moca_meta_new();
	int hostile = argc > 1 && !strcmp(argv[1], "hostile");
	int empty = argc > 1 && !strcmp(argv[1], "empty"), fd;
	size_t i;

	if (argc != 3 || !m)
		return 2;
	memset(huge, 'x', sizeof(huge) - 1);
	memcpy(huge, "<b>", 3);
	if (mkdir(argv[2], 0700))
		must(-errno, argv[2]);
	fd = open(argv[2], O_RDONLY | O_DIRECTORY);
	must(moca_writer_create(&writer, fd), "writer");
	put_task(0, "main");
	for (i = 0; hostile && i < NAMES; i++)
		put_file(i, names[i]);
	for (i = 0; hostile && i < NAMES; i++)
		put_task((uint32_t)i + 1, names[i]);
	if (!hostile && !empty) {
		put_file(0, "/data/file");
		put_accesses(0, 0, 0);
	}
	for (i = 0; hostile && i < 3 * NAMES; i++)
		put_accesses((uint32_t)(i % NAMES) + 1, i / NAMES, NAMES);
	must(moca_meta_set(m, "state", "complete"), "metadata");
	must(moca_meta_set(m, "command", "%s",
			   hostile ? names[0] : "prog"),
	     "metadata");
	must(moca_meta_set(m, "certificate.records", "%llu",
			   (unsigned long long)records), "metadata");
	must(moca_meta_set(m, "certificate.chunks", "%llu",
			   (unsigned long long)chunks), "metadata");
	if (!hostile && !empty) {
		must(moca_meta_set(m, "certificate.pages_seen", "1"), "metadata");
		must(moca_meta_set(m, "certificate.pages_touched", "1"),
		     "metadata");
		must(moca_meta_set(m, "certificate.pages_blind", "1"), "metadata");
		must(moca_meta_set(m, "budget", "0.1000"), "metadata");
		must(moca_meta_set(m, "credit_ns", "200000000"), "metadata");
	}
	if (hostile) {
		must(moca_meta_set(m, "host", "%s", names[1]), "metadata");
		must(moca_meta_set(m, "collector", "%s", names[2]), "metadata");
		must(moca_meta_set(m, "note", "%s", huge), "metadata");
	}
	must(moca_seal_write(m, fd), "metadata");
	return 0;
}

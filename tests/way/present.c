// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A way of recording, as small as one can be: it looks every 5 ms which pages of
 * the first program exist (/proc/PID/pagemap), and tells of each when it is new.
 * It shows what collect/run gives to a way: all but this file.
 *
 * usage: present [-s BYTES] [-e] DIR CMD [ARG...]
 * -s: --max-size; -e: --on-error stop
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/ptrace/maps.h"
#include "collect/run/certificate.h"
#include "collect/run/launch.h"
#include "collect/run/pageset.h"
#include "collect/run/recording.h"
#include "collect/run/way.h"
#include "lib/base/err.h"
#include "lib/format/meta.h"
#include "lib/format/writer.h"

#define LOOK_NS 5000000ull
#define RECORDS 4096u

static struct {
	struct recorder *rec;
	struct recording recording;
	struct pageset *pages;	/* told already */
	struct moca_certificate cert;
	struct moca_access recs[RECORDS];
	size_t count;
	uint64_t look, begin_ns;
	int begun;
} way;

static void tell(struct moca_change e)
{
	int err;

	e.time_ns = moca_now_ns();
	e.pid = e.tid = (uint32_t)way.rec->root;
	e.parent = MOCA_NO_TASK;
	err = way.recording.failed ? 0 :
	      moca_writer_changes(way.recording.writer, 0, &e, 1);
	if (err)
		recording_fail(&way.recording, err, "write the trace");
}

static void write_chunk(uint64_t now)
{
	const struct moca_chunk_info info = {
		.interval = way.look, .begin_ns = way.begin_ns, .end_ns = now,
	};
	int err;

	if (way.count && recording_goes_on(&way.recording)) {
		err = moca_writer_accesses(way.recording.writer, &info,
					   way.recs, way.count);
		if (err)
			recording_fail(&way.recording, err, "write the trace");
		way.cert.records += way.count;
		way.cert.chunks++;
	}
	way.count = 0;
	recording_check_size(&way.recording);
}

static void look_at(const struct vma *v, int fd)
{
	struct moca_change map = { .type = MOCA_CHANGE_MMAP, .name = v->name,
				  .prot = (uint32_t)v->prot };
	uint64_t entry;

	for (uint64_t at = v->start; at < v->end; at += PAGE_SIZE) {
		/* A mapping is told of by its pages: it may have grown. */
		map.addr = at;
		map.len = PAGE_SIZE;
		if (pread(fd, &entry, 8, (off_t)(at / PAGE_SIZE * 8)) != 8 ||
		    !(entry >> 63) || pageset_see(way.pages, at) <= 0)
			continue;
		tell(map);
		way.cert.pages_seen++;
		way.recs[way.count++] = (struct moca_access){
			.addr = at, .time_ns = moca_now_ns(),
			.node = MOCA_NODE_UNKNOWN, .weight = 1,
		};
		if (way.count == RECORDS)
			write_chunk(moca_now_ns());
	}
}

/* Until it executes the program, the child is a copy of us. */
static int has_begun(pid_t pid)
{
	char path[64], ours[4096] = "", theirs[4096] = "";

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return way.begun ||
	       (readlink("/proc/self/exe", ours, sizeof(ours) - 1) > 0 &&
		readlink(path, theirs, sizeof(theirs) - 1) > 0 &&
		strcmp(ours, theirs));
}

static void look(void)
{
	struct vma_list l;
	char path[64];
	int fd;

	if (!recording_goes_on(&way.recording) || !has_begun(way.rec->root) ||
	    maps_read(way.rec->root, &l))
		return;
	way.begun = 1;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", way.rec->root);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; fd >= 0 && i < l.count; i++)
		if (l.items[i].end <= USER_END)
			look_at(&l.items[i], fd);
	if (fd >= 0)
		close(fd);
	maps_free(&l);
	write_chunk(moca_now_ns());
	way.look++;
	way.begin_ns = moca_now_ns();
}

static void describe(void *arg, uint64_t now)
{
	way.cert.pages_touched = way.cert.pages_seen;
	certificate_describe(&way.cert, way.recording.meta);
	moca_meta_set(way.recording.meta, "intervals", "%lu", way.look + 1);
}

static const struct recording_ops ops = { .describe = describe };

static int prepare(struct recorder *rec, struct moca_meta *meta,
		   struct moca_writer *writer)
{
	way.rec = rec;
	way.pages = pageset_new();
	way.begin_ns = rec->start_ns;
	recording_describe_budget(rec->opt, meta);
	return !way.pages || recording_init(&way.recording, rec, meta, writer,
					    &ops, NULL) ? 125 : 0;
}

static void collect(struct recorder *rec, atomic_int *finished)
{
	struct pollfd p[2];
	int last;

	tell((struct moca_change){ .type = MOCA_CHANGE_TASK_START,
				   .name = rec->opt->argv[0] });
	do {
		last = atomic_load(finished);
		look();
		recording_tick(&way.recording, moca_now_ns());
		if (!last)
			recording_wait(&way.recording, p, 0,
				       moca_now_ns() + LOOK_NS);
	} while (!last);
	tell((struct moca_change){ .type = MOCA_CHANGE_TASK_END, .name = "",
				   .status = rec->root_status });
	recording_end(&way.recording);
}

static void summary(struct recorder *rec)
{
	char seen[512];

	moca_say("%s: %s.", rec->dir, certificate_sentence(&way.cert, NULL,
							   seen, sizeof(seen)));
}

static const struct record_way present = {
	.collector = "fault",	/* page accesses, for who reads it */
	.supervise = launch_supervise,
	.prepare = prepare,
	.collect = collect,
	.summary = summary,
};

int main(int argc, char **argv)
{
	struct moca_record_options o = {
		.interval_ns = LOOK_NS, .budget = 1, .program_stdout = -1,
		.program_stderr = -1,
	};
	int c;

	while ((c = getopt(argc, argv, "+s:e")) != -1) {
		o.max_size = c == 's' ? strtoull(optarg, NULL, 0) : o.max_size;
		o.stop_on_error |= c == 'e';
	}
	if (argc < optind + 2)
		return 2;
	o.dir = argv[optind];
	o.argv = argv + optind + 1;
	return record_run(&o, &present);
}

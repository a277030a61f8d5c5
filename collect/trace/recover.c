// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a killed collector left: the trace directory, whole up to some position
 * of each stream, and the buffers. Those are read, never mapped: a program may
 * still cut them short.
 */
#include "collect/trace/recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collect/trace/emit.h"
#include "collect/trace/guard.h"
#include "collect/trace/shm.h"
#include "collect/trace/slot.h"
#include "collect/trace/tracer.h"
#include "lib/base/err.h"
#include "lib/format/event-decode.h"
#include "lib/format/event-writer.h"
#include "lib/format/file.h"
#include "lib/format/meta.h"
#include "lib/format/seal.h"
#include "lib/ring/clock-ns.h"
#include "lib/ring/clock.h"
#include "lib/ring/consumer.h"

#define NOTICE_NS 20000000	/* programs see within this that it is over */
#define DYING_TRIES 50		/* so long apart */

struct recovery {
	const char *dir;
	int dirfd;
	struct moca_meta *meta;
	int beside;		/* accesses: meta is marker-session */
	struct tracer_shm shm;
	struct moca_event_writer *writer;
	struct tracer_clock clock;
	uint32_t id_end;
	uint32_t subbuf_size, subbufs, mode;
	uint64_t session;
	/* What was found. */
	uint64_t events, torn, corrupt;
	uint64_t end_ns;
	unsigned int streams, unreadable;
	char running[256];
};

static int is_mode(const char *s, uint32_t *mode)
{
	if (!strcmp(s, "discard"))
		*mode = MOCA_RING_DISCARD;
	else if (!strcmp(s, "flight"))
		*mode = MOCA_RING_OVERWRITE;
	else if (!strcmp(s, "block"))
		*mode = MOCA_RING_BLOCK;
	else
		return 0;
	return 1;
}

static int is_size(uint64_t n, uint64_t least, uint64_t most)
{
	return n >= least && n <= most && !(n & (n - 1));
}

static int get_knot(const struct moca_meta *m, const char *key,
		    struct tracer_knot *k)
{
	const char *s = moca_meta_get(m, key);
	unsigned long long clock, ns;

	if (!s || sscanf(s, "%llu %llu", &clock, &ns) != 2)
		return 0;
	k->clock = clock;
	k->ns = ns;
	return 1;
}

/* The clock's line: from the collector's points on, to one of now. */
static int set_clock(struct recovery *r)
{
	const char *kind = moca_meta_get(r->meta, "trace.clock");
	struct tracer_knot first, last;
	int err;

	if (!kind || strcmp(kind, "tsc"))
		return tracer_clock_init(&r->clock, MOCA_CLOCK_MONOTONIC);
	if (!get_knot(r->meta, "trace.clock_first", &first))
		return -EBADMSG;
	err = tracer_clock_init(&r->clock, MOCA_CLOCK_TSC);
	if (err)
		return err;
	r->clock.knots[0] = r->clock.tip = first;
	if (get_knot(r->meta, "trace.clock_last", &last))
		tracer_clock_add(&r->clock, last);
	tracer_clock_tick(&r->clock);
	return 0;
}

/* 0, or -EBADMSG: this is no trace of ours, or a damaged one. */
static int read_settings(struct recovery *r)
{
	const char *collector = moca_meta_get(r->meta, "collector");
	const char *mode = moca_meta_get(r->meta, "trace.mode");
	const char *session = moca_meta_get(r->meta, "trace.session");
	uint64_t size = moca_meta_u64(r->meta, "trace.subbuf_size", 0);
	uint64_t count = moca_meta_u64(r->meta, "trace.subbufs", 0);

	if (!collector || strcmp(collector, "trace") || !session || !mode ||
	    !moca_meta_get(r->meta, "trace.shm") ||
	    !is_mode(mode, &r->mode) ||
	    !is_size(size, MOCA_SUBBUF_MIN, MOCA_SUBBUF_MAX) ||
	    !is_size(count, MOCA_SUBBUFS_MIN, MOCA_SUBBUFS_MAX) ||
	    size * count > 1ull << 30)
		return -EBADMSG;
	r->subbuf_size = (uint32_t)size;
	r->subbufs = (uint32_t)count;
	r->session = strtoull(session, NULL, 16);
	return r->session ? 0 : -EBADMSG;
}

static void type_on_disk(void *arg, uint32_t id, const char *facility,
			 const char *name, const char *fields)
{
	struct recovery *r = arg;

	if (id >= r->id_end)
		r->id_end = id + 1;
}

/* What is on disk of a stream. */
struct on_disk {
	uint64_t last_ns;	/* of its last event; 0: there is no file */
	uint64_t lost;		/* what its buffer lost, as told so far */
};

static int look_at_disk(struct recovery *r, uint32_t stream,
			struct on_disk *out)
{
	struct moca_decoder decoder = { 0 };
	struct moca_event_params p;
	struct moca_header h;
	struct moca_file f;
	uint64_t pos;
	int err = moca_file_open(&f, r->dirfd, MOCA_FILE_EVENT, stream,
				 INT64_MAX);

	*out = (struct on_disk){ 0 };
	if (err)
		return err == -ENOENT ? 0 : err;
	while ((err = moca_file_next(&f, &h, &pos)) > 0) {
		if (h.end_ns > out->last_ns && h.end_ns < INT64_MAX)
			out->last_ns = h.end_ns;
		/* At position 0: what was lost before there was a buffer. */
		if (h.kind == MOCA_KIND_EVENTS && h.lost &&
		    !moca_decoder_event_params(&decoder, &f, &h, pos, &p) &&
		    p.end)
			out->lost = moca_add_sat(out->lost, h.lost);
	}
	moca_decoder_free(&decoder);
	moca_file_close(&f);
	return err;
}

/* The whole file into memory of our own, size bytes; what lacks is zero. */
static void *read_stream(struct recovery *r, const char *name, size_t size)
{
	int fd = openat(r->shm.dirfd, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	uint8_t *buf = NULL;
	size_t done = 0;
	ssize_t n;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() && st.st_size >= (off_t)MOCA_RING_DATA)
		buf = calloc(1, size);
	while (buf && done < size) {
		n = pread(fd, buf + done, size - done, (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	close(fd);
	return buf;
}

/*
 * Does the thread that wrote it still run? `ended` does not tell: a thread that
 * found its slot reclaimed gives its buffer back, and runs on.
 */
static int is_alive(const struct moca_ring_header *h)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u", h->pid, h->tid);
	return h->pid && !access(path, F_OK);
}

static void note_running(struct recovery *r, uint32_t pid)
{
	char text[16];
	size_t len = strlen(r->running);

	snprintf(text, sizeof(text), " %u,", pid);
	if (!strstr(r->running, text) &&
	    len + sizeof(text) < sizeof(r->running))
		strcpy(r->running + len, text);
}

static int write_batches(struct recovery *r, struct moca_ring_reader *ring,
			 struct tracer_sink *to, uint64_t position)
{
	/* A program's lie about how much there is goes around for ever. */
	unsigned int n, most = 2 * r->subbufs;
	struct moca_ring_batch b;
	int err = 0;

	for (n = 0; n < most && !err; n++) {
		if (moca_ring_read(ring, MOCA_READ_FINAL, &b) <= 0)
			break;
		/* A flight recorder's end was being written when it died. */
		if (b.end <= position)
			continue;
		r->events += b.events;
		r->torn += b.torn;
		r->corrupt += b.corrupt;
		err = tracer_emit_batch(to, &b);
		if (err == -EINVAL) {	/* nonsense: of this stream only */
			r->corrupt += b.words * 8;
			r->events -= b.events;
			err = 0;
		}
	}
	return err;
}

static int write_stream(struct recovery *r, uint32_t stream,
			struct moca_ring_header *h)
{
	struct tracer_sink to = {
		.writer = r->writer, .clock = &r->clock, .stream = stream,
		.subbuf_size = r->subbuf_size, .compress = 1,
	};
	struct tracer_who who = { h->pid, h->tid, h->name, h->start_ns };
	struct moca_ring_reader ring;
	uint64_t position = 0, lost;
	struct on_disk disk;
	int err;

	err = moca_ring_reader_init(&ring, h, r->subbuf_size, r->subbufs,
				    r->mode);
	ring.id_end = &r->id_end;
	if (!err)
		err = look_at_disk(r, stream, &disk);
	if (!err)
		err = moca_event_writer_position(r->writer, stream,
						  &position);
	if (!err) {
		to.last_ns = disk.last_ns;
		ring.lost = disk.lost;
	}
	if (!err && !to.last_ns) {
		if (who.start_ns > moca_now_ns())
			who.start_ns = 0;
		err = tracer_emit_start(&to, &who);
		to.last_ns = who.start_ns;
	}
	if (!err && r->mode != MOCA_RING_OVERWRITE)
		err = moca_ring_reader_seek(&ring, position);
	if (!err)
		err = write_batches(r, &ring, &to, position);
	lost = moca_ring_take_lost(&ring);
	if (!err)
		err = tracer_emit_lost(&to, ring.pos, lost);
	if (!err && is_alive(h))
		note_running(r, h->pid);
	else if (!err)
		err = tracer_emit_end(&to, &who, to.last_ns, 0);
	if (to.last_ns > r->end_ns)
		r->end_ns = to.last_ns;
	moca_ring_reader_free(&ring);
	return err;
}

/* stream-N of the folder: its number; -1 for another file. */
static int64_t stream_number(const char *name)
{
	char again[32];
	unsigned int n;

	if (sscanf(name, "stream-%u", &n) != 1)
		return -1;
	tracer_shm_stream_name(again, n);
	return strcmp(again, name) ? -1 : (int64_t)n;
}

static int recover_streams(struct recovery *r)
{
	size_t size = MOCA_RING_DATA + (size_t)r->subbuf_size * r->subbufs;
	int fd = openat(r->shm.dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct moca_ring_header *h;
	struct dirent *e;
	int64_t n;
	int err = 0;

	if (!d)
		return -errno;
	while (!err && (e = readdir(d))) {
		n = stream_number(e->d_name);
		if (n < 0)
			continue;
		h = read_stream(r, e->d_name, size);
		if (!h) {
			r->unreadable++;
			continue;
		}
		h->name[sizeof(h->name) - 1] = 0;
		err = write_stream(r, (uint32_t)n, h);
		r->streams++;
		free(h);
	}
	closedir(d);
	return err;
}

/* What the trace holds in all, from the headers of its chunks. */
static void count_all(struct recovery *r, uint64_t *events, uint64_t *lost,
		      uint64_t *torn, uint64_t *streams)
{
	int fd = openat(r->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct moca_header h;
	struct moca_file f;
	struct dirent *e;
	unsigned int n;
	uint64_t pos;

	while (d && (e = readdir(d))) {
		if (sscanf(e->d_name, "marker-%u", &n) != 1 ||
		    moca_file_open(&f, r->dirfd, MOCA_FILE_EVENT, n,
				   INT64_MAX))
			continue;
		++*streams;
		while (moca_file_next(&f, &h, &pos) > 0) {
			if (h.kind != MOCA_KIND_EVENTS)
				continue;
			*events += h.records;
			*lost = moca_add_sat(*lost, h.lost);
			*torn += h.interval;
			if (h.end_ns > r->end_ns)
				r->end_ns = h.end_ns;
		}
		moca_file_close(&f);
	}
	if (d)
		closedir(d);
}

static int add_note(struct moca_meta *m, int dirfd, const char *note)
{
	int err = moca_meta_add(m, "note", note);

	return err ? err : moca_seal_write(m, dirfd);
}

/* The metadata is the page trace's, and its recorder may still write it. */
static int complete_beside(struct recovery *r, const char *note)
{
	struct moca_meta *m;
	const char *state;
	int err = moca_meta_read(&m, r->dirfd);

	if (!err) {
		state = moca_meta_get(m, "state");
		if (state && strcmp(state, "recording"))
			err = add_note(m, r->dirfd, note);
		moca_meta_free(m);
	}
	if (err && err != -ENOENT)
		return err;
	return unlinkat(r->dirfd, MOCA_META_SESSION, 0) ? -errno : 0;
}

static int complete(struct recovery *r, const char *note)
{
	uint64_t events = 0, lost = 0, torn = 0, streams = 0, told;
	int err;

	count_all(r, &events, &lost, &torn, &streams);
	/*
	 * The collector that was killed may have known of losses outside of all
	 * streams.
	 */
	told = moca_meta_u64(r->meta, "trace.lost", 0);
	lost = lost > told ? lost : told;
	moca_meta_set(r->meta, "trace.events", "%llu",
		      (unsigned long long)events);
	moca_meta_set(r->meta, "trace.torn", "%llu", (unsigned long long)torn);
	moca_meta_set(r->meta, "trace.streams", "%llu",
		      (unsigned long long)streams);
	moca_meta_set(r->meta, "trace.lost", "%llu",
		      (unsigned long long)lost);
	if (r->end_ns)
		moca_meta_set(r->meta, "end_ns", "%llu",
			      (unsigned long long)r->end_ns);
	moca_meta_add_loss(r->meta, note);
	moca_meta_set(r->meta, "state", "complete");
	err = r->beside ? complete_beside(r, note) :
			  moca_seal_write(r->meta, r->dirfd);
	if (err)
		moca_error("cannot write the metadata of %s: %s", r->dir,
			   strerror(-err));
	return err;
}

/*
 * The collector must be dead, wherever its registry is: it holds these locks
 * as long as it lives, and from now on we do. And programs must stop: the slot
 * is given back. 0; -EBUSY, it is alive; -errno, that cannot be done.
 */
static int try_end(struct recovery *r, struct tracer_registry *reg)
{
	int err = tracer_directory_lock(r->dirfd);

	if (err != -EBUSY && r->shm.dirfd >= 0)
		err = tracer_shm_lock(&r->shm);
	/* Where locks do not work, it is the slot alone that tells. */
	return err == -EBUSY ? err : tracer_registry_reclaim(reg, r->session);
}

/* The same, or said. */
static int end_session(struct recovery *r)
{
	struct timespec nap = { 0, NOTICE_NS };
	struct tracer_registry reg;
	int err = tracer_registry_open(&reg), tries;

	if (err)
		return err;
	err = -EBUSY;
	/* One that was killed just now takes a moment to be gone. */
	for (tries = 0; err == -EBUSY && tries < DYING_TRIES; tries++) {
		if (tries)
			nanosleep(&nap, NULL);
		err = try_end(r, &reg);
	}
	tracer_registry_close(&reg);
	if (err == -EBUSY)
		moca_error("cannot recover %s: its collector is alive, or "
			   "someone recovers it at this moment; end the trace "
			   "with: moca trace destroy %s", r->dir,
			   moca_meta_get(r->meta, "trace.name"));
	else if (err)
		moca_error("cannot recover %s: cannot write to the registry: "
			   "%s", r->dir, strerror(-err));
	nanosleep(&nap, NULL);
	return err;
}

/* Was the machine started after the trace was? */
static int rebooted(const struct recovery *r)
{
	uint64_t start = moca_meta_u64(r->meta, "start_time", 0);
	struct timespec now, up;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	return start / 1000000000 < (uint64_t)(now.tv_sec - up.tv_sec);
}

static int without_buffers(struct recovery *r, const char *path, int err)
{
	char note[512];

	if (err == -EPERM || err == -EINVAL) {
		moca_error("cannot recover %s: %s is not a folder of your own "
			   "that only you may enter, as its buffers must be",
			   r->dir, path);
		return err;
	}
	if (err != -ENOENT) {
		moca_error("cannot recover %s: cannot open its buffers in %s: "
			   "%s", r->dir, path, strerror(-err));
		return err;
	}
	snprintf(note, sizeof(note), "its collector was killed, and its "
		 "buffers are gone%s: the last events of each thread are not "
		 "here", rebooted(r) ? " since the machine was started anew" :
				       "");
	moca_warn("%s: there is nothing to recover: %s", r->dir, note);
	return complete(r, note);
}

static int with_buffers(struct recovery *r)
{
	char note[512];
	int err = set_clock(r);

	r->id_end = MOCA_REC_FIRST;
	if (!err)
		err = moca_event_writer_create(&r->writer, r->dirfd);
	if (!err)
		err = moca_event_writer_types(r->writer, type_on_disk, r);
	if (!err)
		err = recover_streams(r);
	if (err) {
		moca_error("cannot write what is left of the trace into %s: "
			   "%s; its buffers stay in %s, so try again when "
			   "there is room", r->dir, strerror(-err),
			   r->shm.path);
		return err;
	}
	snprintf(note, sizeof(note), "its collector was killed; from the "
		 "buffers of %u threads %llu events were recovered, %llu were "
		 "torn; %llu bytes and %u buffers could not be read",
		 r->streams, (unsigned long long)r->events,
		 (unsigned long long)r->torn, (unsigned long long)r->corrupt,
		 r->unreadable);
	err = complete(r, note);
	if (err)
		return err;
	tracer_shm_remove(&r->shm);
	if (r->running[0])
		moca_warn("processes%.*s still run; from now on they are not "
			  "recorded", (int)strlen(r->running) - 1, r->running);
	moca_say("%s: %s", r->dir, note);
	return 0;
}

static int is_of_session(const struct recovery *r)
{
	char session[17];

	snprintf(session, sizeof(session), "%016llx",
		 (unsigned long long)r->session);
	return !strcmp(session, r->shm.session);
}

/* Of the trace, or of the one beside accesses while that is not complete. */
static int read_metadata(struct recovery *r)
{
	int err;

	moca_meta_free(r->meta);
	r->meta = NULL;
	err = moca_meta_read_as(&r->meta, r->dirfd, MOCA_META_SESSION);
	r->beside = !err;
	if (err == -ENOENT)
		err = moca_meta_read(&r->meta, r->dirfd);
	return err;
}

static int is_complete(const struct recovery *r)
{
	const char *state = moca_meta_get(r->meta, "state");

	return state && !strcmp(state, "complete");
}

/* While we waited for its end it may have come to a proper one. 1, 0, -errno */
static int was_completed(struct recovery *r)
{
	int beside = r->beside, err = read_metadata(r);

	if (err)
		moca_error("cannot recover %s: cannot read its metadata: %s",
			   r->dir, strerror(-err));
	return err ? err : beside != r->beside || is_complete(r);
}

static int recover_session(struct recovery *r)
{
	char path[PATH_MAX];
	int missing, err;

	snprintf(path, sizeof(path), "%s", moca_meta_get(r->meta, "trace.shm"));
	missing = tracer_shm_open(&r->shm, path);
	if ((!missing || missing == -ENOENT) && !is_of_session(r)) {
		moca_error("cannot recover %s: its metadata names the buffers "
			   "of another trace, %s", r->dir, path);
		return -EBADMSG;
	}
	err = end_session(r);
	if (!err)
		err = was_completed(r);
	if (err)
		return err;
	return missing ? without_buffers(r, path, missing) :
			 with_buffers(r);
}

static int recover(struct recovery *r)
{
	int err = read_metadata(r);

	if (!err)
		err = read_settings(r);
	if (err) {
		moca_error("cannot recover %s: it is not a trace of `moca "
			   "trace`%s%s", r->dir, err == -EBADMSG ? "" : ": ",
			   err == -EBADMSG ? "" : strerror(-err));
		return err;
	}
	err = is_complete(r) ? 1 : recover_session(r);
	if (err > 0)
		moca_say("%s: is complete, there is nothing to recover",
			 r->dir);
	return err < 0 ? err : 0;
}

int tracer_recover(const char *dir)
{
	struct recovery r = { .dir = dir };
	int err = tracer_guard_install();

	r.shm.dirfd = r.shm.doorbell_fd = r.shm.note_fd = -1;
	r.dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r.dirfd < 0) {
		moca_error("cannot recover %s: cannot open it: %s", dir,
			   strerror(errno));
		return -errno;
	}
	if (!err)
		err = recover(&r);
	moca_event_writer_destroy(r.writer);
	tracer_clock_free(&r.clock);
	moca_meta_free(r.meta);
	close(r.dirfd);
	return err;
}

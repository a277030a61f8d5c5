/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stream files of a CTF trace: packets of events. One file after the other is
 * written, through one buffer, which holds one packet. A file is made when its
 * first packet is complete, so a stream without events has none.
 */
#ifndef MOCA_EXPORT_CTF_STREAM_H
#define MOCA_EXPORT_CTF_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include <moca/reader.h>

#define MOCA_CTF_PACKET (256u << 10)	/* bytes, at most */

struct moca_ctf_stream {
	/* Of all files. */
	int dirfd;			/* borrowed */
	uint8_t uuid[16];
	uint64_t time_max;		/* later would overflow readers */
	uint8_t *buf;			/* the packet at hand */
	uint64_t bytes;			/* written */
	uint64_t moved;			/* events whose time was changed */
	/* Of the file at hand. */
	int fd;				/* -1 = not made yet */
	const struct moca_task *task;
	uint64_t packets;
	uint64_t discarded;		/* so far */
	uint64_t last_ns;
	/* Of the packet at hand. */
	size_t head;			/* bytes before the first event */
	size_t len;			/* so far */
	size_t events;
	uint64_t begin_ns;
	int lossy;			/* it tells of discarded events */
};

/* dirfd is borrowed. 0 or -ENOMEM, -errno. */
int moca_ctf_stream_init(struct moca_ctf_stream *s, int dirfd);
void moca_ctf_stream_free(struct moca_ctf_stream *s);

/* The name of a task's file. */
void moca_ctf_stream_name(char buf[32], uint32_t task);

/* Begin a task's file; the one before was ended. */
void moca_ctf_stream_begin(struct moca_ctf_stream *s,
			   const struct moca_task *task);
/*
 * Room for len bytes of the fields of an event, which must be filled before
 * the next call. Times do not decrease within a file: an earlier one is told
 * as that of the event before. 0, -E2BIG, -errno.
 */
int moca_ctf_stream_event(struct moca_ctf_stream *s, unsigned id,
			  uint64_t time_ns, size_t len, uint8_t **out);
/*
 * n events were lost after the last one, or around time_ns; those that follow,
 * up to moca_ctf_stream_settle, are where they are missing.
 */
int moca_ctf_stream_lost(struct moca_ctf_stream *s, uint64_t n,
			 uint64_t time_ns);
int moca_ctf_stream_settle(struct moca_ctf_stream *s);
/* Write what is left and close the file. */
int moca_ctf_stream_end(struct moca_ctf_stream *s);
/* Close the file, as it is. */
void moca_ctf_stream_abort(struct moca_ctf_stream *s);

#endif

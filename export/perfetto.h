/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of Perfetto: a sequence of TracePacket, in protocol buffers that are written by
 * hand. What is written here is put together by cli/export-perfetto.c.
 */
#ifndef MOCA_EXPORT_PERFETTO_H
#define MOCA_EXPORT_PERFETTO_H

#include "export/out.h"
#include "lib/base/bytes.h"

struct perfetto {
	struct out *o;
	struct moca_buf packet, event, part;
	uint64_t tracks;	/* so far; their numbers count from 1 */
	int error;		/* -ENOMEM */
};

/* What a counter is shown in. */
enum perfetto_unit { PERFETTO_COUNT = 2, PERFETTO_NS = 1, PERFETTO_BYTES = 3 };

/*
 * The first packets. Times are of CLOCK_MONOTONIC; real_ns: Unix time at ns, if it is
 * known, else 0.
 */
void perfetto_begin(struct perfetto *p, struct out *o, uint64_t ns,
		    uint64_t real_ns);
/* 0 or -errno; frees, closes nothing. */
int perfetto_end(struct perfetto *p);

/* Tracks: their numbers. Texts are any bytes. parent 0: none. */
uint64_t perfetto_process(struct perfetto *p, uint32_t pid, const char *name);
uint64_t perfetto_thread(struct perfetto *p, uint32_t pid, uint32_t tid,
			 const char *name);
uint64_t perfetto_track(struct perfetto *p, uint64_t parent, const char *name);
/* about: what is said of it; may be "". */
uint64_t perfetto_counter(struct perfetto *p, uint64_t parent,
			  const char *name, const char *about,
			  enum perfetto_unit unit);

void perfetto_value(struct perfetto *p, uint64_t track, uint64_t ns,
		    int64_t value);
/* An instant; or a slice, which perfetto_slice_end() ends. */
enum perfetto_type { PERFETTO_SLICE = 1, PERFETTO_INSTANT = 3 };
void perfetto_event(struct perfetto *p, enum perfetto_type type,
		    uint64_t track, uint64_t ns, const char *category,
		    const char *name);
/* Then what there is to say of it, and perfetto_put(). */
void perfetto_arg_int(struct perfetto *p, const char *name, int64_t value);
void perfetto_arg_uint(struct perfetto *p, const char *name, uint64_t value);
void perfetto_arg_hex(struct perfetto *p, const char *name, uint64_t value);
void perfetto_arg_real(struct perfetto *p, const char *name, double value);
void perfetto_arg_text(struct perfetto *p, const char *name, const char *value);
void perfetto_put(struct perfetto *p);
void perfetto_slice_end(struct perfetto *p, uint64_t track, uint64_t ns);

/* For messages of their own: fields, and a packet of a sequence but the first. */
void perfetto_put_uint(struct moca_buf *b, unsigned int field, uint64_t v);
void perfetto_put_text(struct moca_buf *b, unsigned int field, const char *s);
/* What is in `from`, which is empty then, as of the next. */
void perfetto_put_buf(struct moca_buf *b, unsigned int field,
		      struct moca_buf *from);
void perfetto_message(struct perfetto *p, unsigned int sequence, uint64_t ns,
		      unsigned int field, struct moca_buf *from);

#endif

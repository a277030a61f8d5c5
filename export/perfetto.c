// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/perfetto.h"

#include <errno.h>

#include "lib/base/utf8.h"

/* Numbers of fields, as Perfetto's protos name them. */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCK_SNAPSHOT = 6, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11, PACKET_FLAGS = 13, PACKET_CLOCK = 58,
	PACKET_DEFAULTS = 59, PACKET_TRACK = 60, PACKET_FIRST = 87,
};
enum { SNAPSHOT_CLOCKS = 1, SNAPSHOT_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIME = 2 };
enum {
	TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4,
	TRACK_PARENT = 5, TRACK_COUNTER = 8, TRACK_ABOUT = 14, TRACK_MERGE = 15,
};
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3 };
enum {
	EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_TRACK = 11,
	EVENT_CATEGORY = 22, EVENT_NAME = 23, EVENT_VALUE = 30,
};
enum {
	ARG_UINT = 3, ARG_INT = 4, ARG_REAL = 5, ARG_TEXT = 6, ARG_POINTER = 7,
	ARG_NAME = 10,
};
/* Values of enums. */
enum { REALTIME = 1, MONOTONIC = 3, MONOTONIC_COARSE = 4 };
enum { TYPE_END = 2, TYPE_COUNTER = 4 };
enum { FLAG_CLEARED = 1 };
enum { MERGE_NONE = 2 };	/* tracks of one name stay two */

#define SEQUENCE 1u
enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2 };

static void put_tag(struct moca_buf *b, unsigned int field, enum wire wire)
{
	moca_buf_varint(b, field << 3 | wire);
}

void perfetto_put_uint(struct moca_buf *b, unsigned int field, uint64_t v)
{
	put_tag(b, field, VARINT);
	moca_buf_varint(b, v);
}

static void put_bytes(struct moca_buf *b, unsigned int field, const void *p,
		      size_t len)
{
	put_tag(b, field, BYTES);
	moca_buf_varint(b, len);
	moca_buf_add(b, p, len);
}

/* Strings of protocol buffers are UTF-8: what is not becomes U+FFFD. */
void perfetto_put_text(struct moca_buf *b, unsigned int field, const char *s)
{
	struct moca_buf text = { 0 };
	int n;

	for (; *s; s += n ? n : 1) {
		n = moca_utf8_length((const unsigned char *)s);
		moca_buf_add(&text, n ? s : "\xef\xbf\xbd", n ? (size_t)n : 3);
	}
	if (text.error)
		b->error = text.error;
	put_bytes(b, field, text.data, text.len);
	moca_buf_free(&text);
}

void perfetto_put_buf(struct moca_buf *b, unsigned int field,
		      struct moca_buf *from)
{
	if (from->error)
		b->error = from->error;
	put_bytes(b, field, from->data, from->len);
	from->len = 0;
}

/* What is in `part` as a field of b. */
static void put_part(struct perfetto *p, struct moca_buf *b, unsigned int field)
{
	perfetto_put_buf(b, field, &p->part);
}

static void write_packet(struct perfetto *p)
{
	struct moca_buf *b = &p->packet;
	uint8_t *to;
	size_t n;

	if (b->error)
		p->error = b->error;
	if (p->error) {
		b->len = 0;	/* else it grows to the end of the trace */
		return;
	}
	to = out_room(p->o, 1 + MOCA_VARINT_MAX);
	to[0] = TRACE_PACKET << 3 | BYTES;
	n = 1 + moca_put_varint(to + 1, b->len);
	out_used(p->o, n);
	out_bytes(p->o, b->data, b->len);
	b->len = 0;
}

void perfetto_message(struct perfetto *p, unsigned int sequence, uint64_t ns,
		      unsigned int field, struct moca_buf *from)
{
	struct moca_buf *b = &p->packet;

	perfetto_put_uint(b, PACKET_TIMESTAMP, ns);
	/* No other packet of that sequence says what clock it has. */
	perfetto_put_uint(b, PACKET_CLOCK, MONOTONIC);
	perfetto_put_uint(b, PACKET_SEQUENCE, sequence);
	perfetto_put_buf(b, field, from);
	write_packet(p);
}

static void put_clock(struct perfetto *p, struct moca_buf *b, unsigned int id,
		      uint64_t ns)
{
	perfetto_put_uint(&p->part, CLOCK_ID, id);
	perfetto_put_uint(&p->part, CLOCK_TIME, ns);
	put_part(p, b, SNAPSHOT_CLOCKS);
}

void perfetto_begin(struct perfetto *p, struct out *o, uint64_t ns,
		    uint64_t real_ns)
{
	struct moca_buf *b = &p->packet;

	*p = (struct perfetto){ .o = o };
	put_clock(p, &p->event, MONOTONIC, ns);
	/* Times of profiles are taken for those of this clock. */
	put_clock(p, &p->event, MONOTONIC_COARSE, ns);
	if (real_ns)
		put_clock(p, &p->event, REALTIME, real_ns);
	perfetto_put_uint(&p->event, SNAPSHOT_PRIMARY, MONOTONIC);
	put_bytes(b, PACKET_CLOCK_SNAPSHOT, p->event.data, p->event.len);
	p->event.len = 0;
	perfetto_put_uint(b, PACKET_SEQUENCE, SEQUENCE);
	write_packet(p);
	perfetto_put_uint(b, PACKET_SEQUENCE, SEQUENCE);
	perfetto_put_uint(b, PACKET_FLAGS, FLAG_CLEARED);
	perfetto_put_uint(&p->part, PACKET_CLOCK, MONOTONIC);
	put_part(p, b, PACKET_DEFAULTS);
	perfetto_put_uint(b, PACKET_FIRST, 1);
	write_packet(p);
}

int perfetto_end(struct perfetto *p)
{
	moca_buf_free(&p->packet);
	moca_buf_free(&p->event);
	moca_buf_free(&p->part);
	return p->error ? p->error : p->o->error;
}

/* --- tracks ------------------------------------------------------------- */

static void begin_track(struct perfetto *p, uint64_t parent, const char *name)
{
	struct moca_buf *b = &p->event;

	perfetto_put_uint(b, TRACK_UUID, ++p->tracks);
	if (parent)
		perfetto_put_uint(b, TRACK_PARENT, parent);
	if (name)
		perfetto_put_text(b, TRACK_NAME, name);
	if (name)
		perfetto_put_uint(b, TRACK_MERGE, MERGE_NONE);
}

static uint64_t end_track(struct perfetto *p)
{
	perfetto_put_uint(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	if (p->event.error)
		p->error = p->event.error;
	put_bytes(&p->packet, PACKET_TRACK, p->event.data, p->event.len);
	p->event.len = 0;
	write_packet(p);
	return p->tracks;
}

uint64_t perfetto_process(struct perfetto *p, uint32_t pid, const char *name)
{
	begin_track(p, 0, NULL);
	perfetto_put_uint(&p->part, PROCESS_PID, pid);
	perfetto_put_text(&p->part, PROCESS_NAME, name);
	put_part(p, &p->event, TRACK_PROCESS);
	return end_track(p);
}

uint64_t perfetto_thread(struct perfetto *p, uint32_t pid, uint32_t tid,
			 const char *name)
{
	begin_track(p, 0, NULL);
	perfetto_put_uint(&p->part, THREAD_PID, pid);
	perfetto_put_uint(&p->part, THREAD_TID, tid);
	perfetto_put_text(&p->part, THREAD_NAME, name);
	put_part(p, &p->event, TRACK_THREAD);
	return end_track(p);
}

uint64_t perfetto_track(struct perfetto *p, uint64_t parent, const char *name)
{
	begin_track(p, parent, name);
	return end_track(p);
}

uint64_t perfetto_counter(struct perfetto *p, uint64_t parent,
			  const char *name, const char *about,
			  enum perfetto_unit unit)
{
	begin_track(p, parent, name);
	perfetto_put_uint(&p->part, COUNTER_UNIT, unit);
	put_part(p, &p->event, TRACK_COUNTER);
	if (*about)
		perfetto_put_text(&p->event, TRACK_ABOUT, about);
	return end_track(p);
}

/* --- events ------------------------------------------------------------- */

static void begin_event(struct perfetto *p, unsigned int type, uint64_t track,
			uint64_t ns)
{
	perfetto_put_uint(&p->packet, PACKET_TIMESTAMP, ns);
	perfetto_put_uint(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	perfetto_put_uint(&p->event, EVENT_TYPE, type);
	perfetto_put_uint(&p->event, EVENT_TRACK, track);
}

void perfetto_put(struct perfetto *p)
{
	if (p->event.error)
		p->error = p->event.error;
	put_bytes(&p->packet, PACKET_TRACK_EVENT, p->event.data, p->event.len);
	p->event.len = 0;
	write_packet(p);
}

void perfetto_value(struct perfetto *p, uint64_t track, uint64_t ns,
		    int64_t value)
{
	begin_event(p, TYPE_COUNTER, track, ns);
	perfetto_put_uint(&p->event, EVENT_VALUE, (uint64_t)value);
	perfetto_put(p);
}

void perfetto_event(struct perfetto *p, enum perfetto_type type,
		    uint64_t track, uint64_t ns, const char *category,
		    const char *name)
{
	begin_event(p, type, track, ns);
	perfetto_put_text(&p->event, EVENT_CATEGORY, category);
	perfetto_put_text(&p->event, EVENT_NAME, name);
}

void perfetto_slice_end(struct perfetto *p, uint64_t track, uint64_t ns)
{
	begin_event(p, TYPE_END, track, ns);
	perfetto_put(p);
}

static void end_arg(struct perfetto *p, const char *name)
{
	perfetto_put_text(&p->part, ARG_NAME, name);
	put_part(p, &p->event, EVENT_ANNOTATION);
}

void perfetto_arg_int(struct perfetto *p, const char *name, int64_t value)
{
	perfetto_put_uint(&p->part, ARG_INT, (uint64_t)value);
	end_arg(p, name);
}

void perfetto_arg_uint(struct perfetto *p, const char *name, uint64_t value)
{
	perfetto_put_uint(&p->part, ARG_UINT, value);
	end_arg(p, name);
}

void perfetto_arg_hex(struct perfetto *p, const char *name, uint64_t value)
{
	perfetto_put_uint(&p->part, ARG_POINTER, value);
	end_arg(p, name);
}

void perfetto_arg_real(struct perfetto *p, const char *name, double value)
{
	uint8_t bytes[8];
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	moca_put64(bytes, bits);
	put_tag(&p->part, ARG_REAL, FIXED64);
	moca_buf_add(&p->part, bytes, sizeof(bytes));
	end_arg(p, name);
}

void perfetto_arg_text(struct perfetto *p, const char *name, const char *value)
{
	perfetto_put_text(&p->part, ARG_TEXT, value);
	end_arg(p, name);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/event-writer.h"

#include <fcntl.h>
#include <unistd.h>

#include "lib/base/vec.h"
#include "lib/format/append.h"
#include "lib/format/event-decode.h"

/*
 * Of zstd: packs records of 16 to 64 bytes 1.8 to 2.7 times, at 300 to 450
 * MB/s. Levels -1 to -5 pack them 1.6 to 2.3 times and are 1.0 to 2 times as
 * fast: who is in a hurry does without.
 */
#define EVENT_LEVEL 1

struct stream_state {
	uint64_t next_number[MOCA_KINDS];
	struct moca_append file;
	uint64_t position;
	int known;		/* what is on disk has been looked at */
};

struct moca_event_writer {
	int dirfd;
	struct stream_state *streams;
	size_t stream_cap;
	struct stream_state types_file;
	struct moca_types types;
	struct moca_stream_out out;
	struct moca_buf events;
	struct moca_decoder decoder;	/* of what is there already */
	uint64_t bytes;
};

int moca_event_writer_create(struct moca_event_writer **out, int dirfd)
{
	struct moca_event_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->dirfd = dirfd;
	if (moca_stream_out_init(&w->out, EVENT_LEVEL)) {
		moca_event_writer_destroy(w);
		return -ENOMEM;
	}
	*out = w;
	return 0;
}

void moca_event_writer_destroy(struct moca_event_writer *w)
{
	if (!w)
		return;
	moca_stream_out_free(&w->out);
	moca_buf_free(&w->events);
	moca_decoder_free(&w->decoder);
	moca_types_free(&w->types);
	free(w->streams);
	free(w);
}

/* --- what is on disk -------------------------------------------------- */

static int type_on_disk(void *arg, const struct moca_type_text *text)
{
	int ret = moca_types_add(arg, text);

	return ret == -EINVAL ? -EBADMSG : ret;
}

/* The last chunk of events of a file, when it was whole. */
struct last_chunk {
	struct moca_header h;
	uint64_t pos;
	int found;
};

/* What the writer must know of one chunk. 0, -EBADMSG or -errno. */
static int look_at(struct moca_event_writer *w, struct stream_state *s,
		   const struct moca_file *f, const struct moca_header *h,
		   uint64_t pos, struct last_chunk *last)
{
	if (h->version != MOCA_FORMAT_VERSION || h->kind >= MOCA_KINDS)
		return 0;
	if (h->number >= s->next_number[h->kind] && h->number < UINT64_MAX)
		s->next_number[h->kind] = h->number + 1;
	if (f->type == MOCA_FILE_TYPES && h->kind == MOCA_KIND_TYPES)
		return moca_decoder_types(&w->decoder, f, h, pos, type_on_disk,
					  &w->types);
	if (f->type == MOCA_FILE_EVENT && h->kind == MOCA_KIND_EVENTS)
		*last = (struct last_chunk){ .h = *h, .pos = pos, .found = 1 };
	return 0;
}

/* Step through an open file; damage stays, as readers step over it. */
static int look_through(struct moca_event_writer *w, struct stream_state *s,
			struct moca_file *f, struct last_chunk *last)
{
	char magic[MOCA_MAGIC_LEN];
	struct moca_header h;
	uint64_t pos, n = 0;
	ssize_t len;
	int ret;

	while ((ret = moca_file_next(f, &h, &pos)) > 0) {
		if (!n++ && h.task != f->task)
			return -EEXIST;
		ret = look_at(w, s, f, &h, pos, last);
		if (ret && ret != -EBADMSG)
			return ret;
	}
	if (ret || n || !f->end)
		return ret;
	/* Only what an append of ours left is ours to cut off. */
	len = pread(f->fd, magic, sizeof(magic), 0);
	return len > 0 && !memcmp(magic, MOCA_MAGIC, (size_t)len) ? 0 : -EEXIST;
}

/* The end position that the last undamaged chunk tells. 0 or -errno. */
static int find_position(struct moca_event_writer *w, struct stream_state *s,
			 struct moca_file *f, const struct last_chunk *last)
{
	struct moca_event_params p;
	struct moca_header h;
	uint64_t pos;
	int ret;

	ret = moca_decoder_event_params(&w->decoder, f, &last->h, last->pos,
					 &p);
	if (!ret)
		s->position = p.end;
	if (ret != -EBADMSG)
		return ret;
	f->pos = 0;
	while ((ret = moca_file_next(f, &h, &pos)) > 0) {
		if (h.version != MOCA_FORMAT_VERSION ||
		    h.kind != MOCA_KIND_EVENTS)
			continue;
		ret = moca_decoder_event_params(&w->decoder, f, &h, pos, &p);
		if (!ret)
			s->position = p.end;
		else if (ret != -EBADMSG)
			return ret;
	}
	return ret;
}

/* Learn what an earlier writer left in a file, to go on behind it. */
static int look(struct moca_event_writer *w, struct stream_state *s,
		enum moca_file_type type, uint32_t number)
{
	struct last_chunk last = { .found = 0 };
	struct moca_file f;
	int ret;

	memset(s, 0, sizeof(*s));
	s->file = (struct moca_append){ .type = type, .number = number };
	ret = moca_file_open(&f, w->dirfd, type, number, INT64_MAX);
	if (ret == -ENOENT) {
		s->file.flags = O_CREAT | O_EXCL;
		s->known = 1;
		return 0;
	}
	if (ret)
		return ret == -EINVAL || ret == -ELOOP ? -EEXIST : ret;
	ret = look_through(w, s, &f, &last);
	s->file.tail = f.tail != 0;
	s->file.end = f.end - f.tail;
	if (!ret && last.found)
		ret = find_position(w, s, &f, &last);
	s->known = !ret;
	moca_file_close(&f);
	return ret;
}

/* The stream's state, looked up on first use. 0 or -errno. */
static int stream_state(struct moca_event_writer *w, uint32_t stream,
			struct stream_state **out)
{
	if (stream >= MOCA_TASKS_MAX)
		return -EINVAL;
	if (moca_vec_fit_zeroed(w->streams, w->stream_cap, (size_t)stream + 1))
		return -ENOMEM;
	*out = &w->streams[stream];
	return (*out)->known ? 0 : look(w, *out, MOCA_FILE_EVENT, stream);
}

static int types_state(struct moca_event_writer *w)
{
	return w->types_file.known ?
		       0 :
		       look(w, &w->types_file, MOCA_FILE_TYPES, 0);
}

int moca_event_writer_position(struct moca_event_writer *w, uint32_t stream,
				uint64_t *position)
{
	struct stream_state *s;
	int ret = stream_state(w, stream, &s);

	if (!ret)
		*position = s->position;
	return ret;
}

int moca_event_writer_types(struct moca_event_writer *w,
			     void (*each)(void *arg, uint32_t id,
					  const char *facility,
					  const char *name,
					  const char *fields),
			     void *arg)
{
	const struct moca_type *t;
	uint32_t id;
	int ret;

	ret = types_state(w);
	for (id = 0; !ret && w->types.by_id && id <= MOCA_REC_LAST; id++) {
		t = w->types.by_id[id];
		if (t)
			each(arg, id, t->type.facility, t->type.name,
			     t->fields);
	}
	return ret;
}

/* --- writing ---------------------------------------------------------- */

/* Write the chunk that h and w->out hold. */
static int write_chunk(struct moca_event_writer *w, struct stream_state *s,
		       struct moca_header *h)
{
	uint64_t bytes;
	int ret;

	ret = moca_append_chunk(w->dirfd, &s->file, h, &w->out, s->next_number,
				&bytes);
	if (!ret)
		w->bytes += bytes;
	return ret == -ELOOP ? -EEXIST : ret;
}

int moca_event_writer_type(struct moca_event_writer *w, uint32_t id,
			    const char *facility, const char *name,
			    const char *fields)
{
	struct moca_type_text text = { .id = id, .facility = facility,
				       .name = name, .fields = fields };
	struct moca_header h = { .kind = MOCA_KIND_TYPES, .records = 1 };
	int ret;

	ret = types_state(w);
	if (ret)
		return ret;
	if (moca_types_find(&w->types, id))
		return moca_types_add(&w->types, &text);
	ret = moca_types_add(&w->types, &text);
	if (ret)
		return ret;
	w->events.len = 0;
	ret = moca_type_encode(&w->events, &text);
	moca_stream_reset(&w->out);
	if (!ret)
		ret = moca_stream_put(&w->out, MOCA_S_TYPES, w->events.data,
				      w->events.len, 1);
	if (!ret)
		ret = write_chunk(w, &w->types_file, &h);
	if (ret)
		moca_types_remove(&w->types, id);
	return ret;
}

/* Are the records framed as readers expect, and as many events as told? */
static int check_records(const struct moca_event_chunk *c)
{
	const uint8_t *p = (const uint8_t *)c->records;
	const uint8_t *end = c->words ? p + 8 * c->words : p;
	uint64_t clock = c->clock_before;
	struct moca_record r;
	uint32_t events = 0;
	int ret;

	while ((ret = moca_record_next(&p, end, &clock, &r)) > 0)
		events += r.id != MOCA_REC_SYNC;
	return ret < 0 || events != c->events ? -EINVAL : 0;
}

int moca_event_writer_chunk(struct moca_event_writer *w,
			     const struct moca_event_chunk *c)
{
	struct moca_event_params p = {
		.begin = c->begin, .end = c->end,
		.clock_before = c->clock_before,
		.clock0 = c->clock0, .ns0 = c->ns0,
		.clock1 = c->clock1, .ns1 = c->ns1,
		.corrupt = c->corrupt,
	};
	struct moca_header h = {
		.kind = MOCA_KIND_EVENTS, .task = c->stream,
		.interval = c->torn, .begin_ns = c->begin_ns,
		.end_ns = c->end_ns, .lost = c->lost, .records = c->events,
	};
	const uint8_t *records = (const uint8_t *)c->records;
	uint8_t buf[8 * MOCA_VARINT_MAX];
	struct stream_state *s;
	int ret;

	if (c->events > MOCA_CHUNK_RECORDS_MAX ||
	    c->words > (MOCA_PAYLOAD_MAX - sizeof(buf) - 64) / 8)
		return -E2BIG;
	if (!moca_event_params_valid(&p) || c->begin_ns > c->end_ns ||
	    check_records(c))
		return -EINVAL;
	ret = stream_state(w, c->stream, &s);
	if (ret)
		return ret;
	moca_stream_reset(&w->out);
	ret = moca_stream_put_raw(&w->out, MOCA_S_PARAMS, buf,
				  moca_event_params_put(&p, buf));
	if (!ret)
		ret = c->compress ?
			      moca_stream_put(&w->out, MOCA_S_RECORDS, records,
					      8 * c->words, 1) :
			      moca_stream_put_raw(&w->out, MOCA_S_RECORDS,
						  records, 8 * c->words);
	if (!ret)
		ret = write_chunk(w, s, &h);
	if (!ret && c->end > s->position)
		s->position = c->end;
	return ret;
}

int moca_event_writer_changes(struct moca_event_writer *w, uint32_t stream,
			      const struct moca_change *events, size_t n)
{
	struct moca_header h = { .kind = MOCA_KIND_CHANGES, .task = stream };
	struct stream_state *s;
	int ret;

	ret = stream_state(w, stream, &s);
	while (n && !ret) {
		ret = moca_changes_pack(&w->out, &w->events, &h, &events, &n);
		if (!ret)
			ret = write_chunk(w, s, &h);
	}
	return ret;
}

uint64_t moca_event_writer_bytes(const struct moca_event_writer *w)
{
	return w->bytes;
}

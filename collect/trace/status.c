// SPDX-License-Identifier: GPL-2.0-or-later
/* What `moca trace status` shows of a running trace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/trace/client.h"
#include "collect/trace/tracer.h"
#include "lib/ring/clock.h"

static const char *state_name(const struct tracer_session *s)
{
	if (atomic_load(&s->disk_error))
		return "failed";
	return s->wish.state == MOCA_SLOT_STOPPED ? "stopped" : "recording";
}

/* Was this facility named by an entry before id? */
static int seen_before(const struct tracer_catalog *c, uint32_t id)
{
	uint32_t i;

	for (i = MOCA_REC_FIRST; i < id; i++)
		if (!strcmp(c->types[i].facility, c->types[id].facility))
			return 1;
	return 0;
}

/* Calls print for each facility, first come first. */
static void each_facility(const struct tracer_session *s, FILE *f,
			  void (*print)(FILE *f, const char *name, int first))
{
	const struct tracer_catalog *c = &s->catalog;
	uint32_t id, end = tracer_catalog_end(c), shown = 0;

	/* A client may have made thousands up: some will do. */
	for (id = MOCA_REC_FIRST; id < end && shown < 256; id++)
		if (!seen_before(c, id))
			print(f, c->types[id].facility, !shown++);
}

static void print_facility(FILE *f, const char *name, int first)
{
	fprintf(f, "%s%s (bit %u)", first ? "" : ", ", name,
		moca_facility_bit(name));
}

static void print_text(struct tracer_session *s, FILE *f)
{
	struct tracer_totals *t = &s->totals;
	unsigned int live = atomic_load(&t->live);
	struct tracer_refused r;
	char why[400];

	tracer_refused_sum(s, &r);
	fprintf(f, "%s: %s, process %d, since %llu s, into %s\n",
		s->slot.name, state_name(s), getpid(),
		(unsigned long long)((moca_now_ns() - s->start_ns) /
				     1000000000u), s->dir);
	fprintf(f, "  events    %llu on disk, %llu lost, %llu torn; %u threads "
		   "so far, %u now\n",
		(unsigned long long)atomic_load(&t->events),
		(unsigned long long)(atomic_load(&t->lost) + r.events),
		(unsigned long long)atomic_load(&t->torn),
		atomic_load(&t->streams), live);
	if (tracer_refused_text(&r, why, sizeof(why)))
		fprintf(f, "  refused   %s\n", why);
	fprintf(f, "  buffers   %s, %u x %u KiB each, %.1f MB now in %s\n",
		tracer_mode_name(s->opt.mode), s->opt.subbufs,
		s->opt.subbuf_size >> 10, atomic_load(&t->memory) / 1e6,
		s->shm.path);
	if (s->opt.mode == MOCA_RING_OVERWRITE)
		fprintf(f, "  kept      %u of ended threads, %u let go\n",
			atomic_load(&t->kept), atomic_load(&t->dropped));
	fprintf(f, "  disk      %.1f MB\n", atomic_load(&t->bytes) / 1e6);
	fprintf(f, "  filter    %s; mask %08x\n",
		*s->wish.filter ? s->wish.filter : "none", s->wish.mask);
	fprintf(f, "  seen      ");
	each_facility(s, f, print_facility);
	fprintf(f, "%s\n", tracer_catalog_end(&s->catalog) == MOCA_REC_FIRST ?
				   "no event yet" : "");
}

void tracer_json_string(FILE *f, const char *s)
{
	putc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			fprintf(f, "\\u%04x", *s);
		else
			putc(*s, f);
	}
	putc('"', f);
}

static void member(FILE *f, const char *key, const char *value)
{
	fprintf(f, "\"%s\": ", key);
	tracer_json_string(f, value);
	fputs(", ", f);
}

static void number(FILE *f, const char *key, uint64_t value)
{
	fprintf(f, "\"%s\": %llu, ", key, (unsigned long long)value);
}

static void put_facility(FILE *f, const char *name, int first)
{
	fprintf(f, "%s{\"name\": ", first ? "" : ", ");
	tracer_json_string(f, name);
	fprintf(f, ", \"bit\": %u}", moca_facility_bit(name));
}

static void print_json(struct tracer_session *s, FILE *f)
{
	struct tracer_totals *t = &s->totals;
	struct tracer_refused r;
	char mask[16];

	tracer_refused_sum(s, &r);
	putc('{', f);
	member(f, "name", s->slot.name);
	member(f, "state", state_name(s));
	member(f, "session", s->shm.session);
	member(f, "directory", s->dir);
	member(f, "shm", s->shm.path);
	member(f, "mode", tracer_mode_name(s->opt.mode));
	member(f, "filter", s->wish.filter);
	snprintf(mask, sizeof(mask), "%08x", s->wish.mask);
	member(f, "mask", mask);
	number(f, "pid", (uint64_t)getpid());
	number(f, "subbuf_size", s->opt.subbuf_size);
	number(f, "subbufs", s->opt.subbufs);
	number(f, "elapsed_ns", moca_now_ns() - s->start_ns);
	number(f, "events", atomic_load(&t->events));
	number(f, "lost", atomic_load(&t->lost) + r.events);
	number(f, "torn", atomic_load(&t->torn));
	number(f, "corrupt_bytes", atomic_load(&t->corrupt));
	number(f, "threads", atomic_load(&t->streams));
	number(f, "threads_now", atomic_load(&t->live));
	number(f, "refused", r.threads);
	number(f, "spoiled", atomic_load(&t->spoiled));
	number(f, "kept", atomic_load(&t->kept));
	number(f, "let_go", atomic_load(&t->dropped));
	number(f, "buffer_bytes", atomic_load(&t->memory));
	number(f, "disk_bytes", atomic_load(&t->bytes));
	fputs("\"facilities\": [", f);
	each_facility(s, f, put_facility);
	fputs("]}", f);
}

static char *to_string(struct tracer_session *s,
		       void (*print)(struct tracer_session *s, FILE *f))
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	print(s, f);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

char *tracer_status_text(struct tracer_session *s)
{
	return to_string(s, print_text);
}

char *tracer_status_json(struct tracer_session *s)
{
	return to_string(s, print_json);
}

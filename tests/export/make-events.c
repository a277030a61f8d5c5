// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Write a trace of events, the same each time: make-events DIR COUNT [bare]
 *
 * COUNT events in each of three streams, of all types below in turn, 64 to a
 * chunk. Every third chunk of stream 1 loses 5 events, the last of stream 2
 * has one torn. DIR may hold a page trace; "bare" writes the events only,
 * without a metadata file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/format/event-writer.h"
#include "lib/format/meta.h"
#include "lib/format/seal.h"
#include "lib/ring/layout.h"

#define START 1000000000ull
#define STREAMS 3
#define PER_CHUNK 64

static const struct {
	const char *facility, *name, *fields;
} types[] = {
	{ "t", "none", "" },
	{ "t", "ints",
	  "u8 a\nu16 b\nu32 c\nu64 d\ns8 e\ns16 f\ns32 g\ns64 h\n"
	  "x8 i\nx16 j\nx32 k\nx64 l\n" },
	{ "t", "floats", "f32 a\nf64 b\n" },
	{ "t", "text", "string a\nu32 n\nstring _b\n" },
	{ "t", "label",
	  "enum a s32 plain=0,a \"b\" {}=1,twice=2,twice=3,other=2,back\\slash=4,"
	  "\xc3\xa9=5,\xff\xc2\x9b=6,_x=-7,struct=8,most=2147483647,"
	  "least=-2147483648,\nenum none s32 \n" },
	{ "t", "arrays", "array a x16 3\narray b f32 2\narray c s8 1\n" },
	{ "t", "sequences",
	  "sequence a u8\nx8 _a_length\nsequence b f64\nsequence _a s64\n" },
	{ "event", "struct",
	  "u8 struct\ns8 enum\nx8 string\nu8 event\nu8 stream\nu8 id\n"
	  "u8 timestamp\nu8 pid\nsequence integer u8\n" },
	{ "t", "none", "u8 another\n" },
	{ "_", "__", "u8 _\nu8 __\n" },
	{ "t", "big", "sequence data u8\n" },
	{ "t", "never", "string a\n" },
};
#define TYPES (sizeof(types) / sizeof(types[0]))
#define USED (TYPES - 1)

static const char *const strings[] = {
	"", "plain", "a \"quoted\" \\ 'text'", "line\nline\r\n\ttab",
	"\xff\xfe", "\xed\xa0\x80", "\033[31m\x01\x7f", "\xc3\xa9t\xc3\xa9",
	"{ a = 1, b = \"x\" }", "%s%n\a\b\f\v?",
};

static uint64_t seed = 88172645463325252ull;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint8_t payload[32768];
static size_t len;

static void put(const void *p, size_t n)
{
	memcpy(payload + len, p, n);
	len += n;
}

/* Small, large and arbitrary values alike. */
static void put_integer(size_t n)
{
	static const uint64_t edges[] = { 0, 1, ~0ull, 0x7f, 0x80, 1ull << 63,
					  ~(1ull << 63), 0x80000000 };
	uint64_t v = rnd() % 4 ? rnd() >> rnd() % 64 : edges[rnd() % 8];

	put(&v, n);
}

static void put_float(size_t n)
{
	static const double edges[] = { 0, -0., 1.5, 1e30, -2.5e-30,
					1 / 0., -1 / 0., 123456 };
	double d = rnd() % 2 ? edges[rnd() % 8] : (double)(int32_t)rnd();
	float f = (float)d;

	put(n == 4 ? (void *)&f : (void *)&d, n);
}

static void put_string(void)
{
	static char long_one[4096];
	const char *s = strings[rnd() % (sizeof(strings) / sizeof(*strings))];

	if (rnd() % 50 == 0) {
		memset(long_one, 'l', sizeof(long_one) - 1);
		s = long_one;
	}
	put(s, strlen(s) + 1);
}

static void put_elements(const char *type, size_t n)
{
	size_t size = (size_t)atoi(type + 1) / 8;

	while (n--)
		*type == 'f' ? put_float(size) : put_integer(size);
}

static void put_field(const char *line)
{
	static const int32_t values[] = { 0, 1, 2, 3, 4, 5, 6, -7, 8, 99,
					  INT32_MAX, INT32_MIN };
	char kind[32], name[64], element[32];
	uint32_t count = 0;

	sscanf(line, "%31s %63s %31s %u", kind, name, element, &count);
	if (!strcmp(kind, "string")) {
		put_string();
	} else if (!strcmp(kind, "enum")) {
		put(&values[rnd() % 12], 4);
	} else if (!strcmp(kind, "array")) {
		put_elements(element, count);
	} else if (!strcmp(kind, "sequence")) {
		/* Now and then one that is as large as can be. */
		count = !strcmp(name, "data") && rnd() % 40 == 0 ?
				31000 - rnd() % 20000 :
				rnd() % 9;
		put(&count, 4);
		put_elements(element, count);
	} else {
		put_elements(kind, 1);
	}
}

static void make_payload(size_t type)
{
	const char *line;

	len = 0;
	for (line = types[type].fields; *line; line = strchr(line, '\n') + 1)
		put_field(line);
}

struct stream {
	uint32_t number;
	uint64_t position;
	uint64_t time;
	uint64_t lost;
};

static uint64_t words[PER_CHUNK * 4096];

static size_t add_record(size_t at, uint64_t clock, unsigned id,
			 const void *p, size_t n)
{
	size_t all = 1 + (n + 7) / 8;

	words[at] = moca_rec_make(clock, id, MOCA_REC_COMMITTED,
				  (unsigned)all);
	memset(&words[at + 1], 0, 8 * (all - 1));
	memcpy(&words[at + 1], p, n);
	return at + all;
}

static int write_chunk(struct moca_event_writer *w, struct stream *s,
		       unsigned first, unsigned events, int last)
{
	struct moca_event_chunk c = {
		.stream = s->number, .events = events, .records = words,
		.begin = s->position, .clock_before = s->time,
		.clock0 = START, .ns0 = START,
		.clock1 = START + 1000, .ns1 = START + 1000,
		.compress = s->number != 0,
	};
	struct moca_sync sync = { s->time, 0 };
	unsigned i;
	size_t at;

	if (s->number == 1 && first / PER_CHUNK % 3 == 0)
		c.lost = 5;
	c.torn = s->number == 2 && last;
	s->lost += c.lost;
	sync.lost = s->lost;
	at = add_record(0, s->time, MOCA_REC_SYNC, &sync, sizeof(sync));
	for (i = 0; i < events; i++) {
		size_t type = (first + i) % USED;

		/* Some at the same time. */
		s->time += rnd() % 4 * 1000;
		if (!i)
			c.begin_ns = s->time;
		make_payload(type);
		at = add_record(at, s->time, 16 + (unsigned)type, payload,
				len);
	}
	c.end_ns = s->time;
	c.words = at;
	c.end = s->position += 8 * at;
	return moca_event_writer_chunk(w, &c);
}

static int write_stream(struct moca_event_writer *w, uint32_t number,
			unsigned count, int bare)
{
	struct stream s = { .number = number, .time = START + number };
	struct moca_change e = { .time_ns = START,
				.type = MOCA_CHANGE_TASK_START,
				.pid = bare ? 100 + 100 * (number / 2) : 500,
				.tid = bare ? 100 + number % 2 + 100 * (number / 2) :
					      500 + number,
				.parent = MOCA_NO_TASK,
				.name = number == 1 ? "n\"\n\xff" : "main" };
	unsigned i, n;
	int err;

	err = moca_event_writer_changes(w, number, &e, 1);
	for (i = 0; i < count && !err; i += n) {
		n = count - i < PER_CHUNK ? count - i : PER_CHUNK;
		err = write_chunk(w, &s, i, n, i + n == count);
	}
	e.type = MOCA_CHANGE_TASK_END;
	e.time_ns = s.time;
	e.name = "";
	return err ? err : moca_event_writer_changes(w, number, &e, 1);
}

/* bare: there is a trace, of which these are files from now on. */
static int seal_again(int fd)
{
	struct moca_meta *m;
	int err = moca_meta_read(&m, fd);

	if (err)
		return err;
	err = moca_seal_write(m, fd);
	moca_meta_free(m);
	return err;
}

static int write_meta(int fd)
{
	struct moca_meta *m = moca_meta_new();
	int err;

	if (!m)
		return -ENOMEM;
	moca_meta_set(m, "state", "complete");
	moca_meta_set(m, "version", "0.1.0");
	moca_meta_set(m, "command", "a \"b\"\n\xff\\");
	moca_meta_set(m, "host", "h\"o\\s\nt");
	moca_meta_set(m, "start_ns", "%llu", START);
	moca_meta_set(m, "start_time", "1735787045000000000");
	err = moca_seal_write(m, fd);
	moca_meta_free(m);
	return err;
}

int main(int argc, char **argv)
{
	unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 0, i;
	struct moca_event_writer *w = NULL;
	int bare = argc > 3, fd, err;

	if (argc < 3)
		return 2;
	mkdir(argv[1], 0700);
	fd = open(argv[1], O_RDONLY | O_DIRECTORY);
	err = fd < 0 ? -errno : 0;
	if (!err)
		err = moca_event_writer_create(&w, fd);
	for (i = 0; i < TYPES && !err; i++)
		err = moca_event_writer_type(w, 16 + i, types[i].facility,
					      types[i].name, types[i].fields);
	for (i = 0; i < STREAMS && !err; i++)
		err = write_stream(w, i, count, bare);
	moca_event_writer_destroy(w);
	if (!err)
		err = bare ? seal_again(fd) : write_meta(fd);
	if (err)
		fprintf(stderr, "make-events: %s\n", strerror(-err));
	return err != 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader against hostile files: each input is a task's, many tasks', a
 * stream's and the types' file at the same time, as all have the number 0 in
 * their headers and step over each other's kinds of chunks. Then a writer of events goes on with
 * it. With libFuzzer:
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -DMOCA_LIBFUZZER ...
 * Without it the program has a main of its own:
 *   fuzz-reader [-n MUTATIONS] FILE...	replay each, then mutations of it
 *   fuzz-reader --generate DIR		write the corpus
 */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <moca/reader.h>

#include "lib/base/bytes.h"
#include "lib/format/chunk.h"
#include "lib/format/jit.h"
#include "lib/format/machine.h"
#include "lib/format/writer.h"
#include "tests/unit/event-util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[PATH_MAX];
static int dirfd_ = -1;

static const char *const files[] = { "task-0", "task-shared", "marker-0",
				     "marker-types", "machine", "stacks", "jit" };

static void dir_remove(void)
{
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(*files); i++)
		unlinkat(dirfd_, files[i], 0);
	unlinkat(dirfd_, "metadata", 0);
	rmdir(dir);
}

static void put_file(int at, const char *name, const void *p, size_t len)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, p, len) != (ssize_t)len)
		abort();
	close(fd);
}

static void dir_make(void)
{
	static const char meta[] = "moca-trace 1\nstate complete\n";
	const char *base = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";

	snprintf(dir, sizeof(dir), "%s/moca-fuzz-XXXXXX", base);
	if (!mkdtemp(dir))
		abort();
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY);
	put_file(dirfd_, "metadata", meta, sizeof(meta) - 1);
	atexit(dir_remove);
}

/* Touch every byte that an event is said to have. */
static uint64_t touch(const struct moca_event *m)
{
	struct moca_value v;
	uint64_t sum = 0;
	size_t i, k;

	for (i = 0; i < m->type->field_count; i++) {
		if (moca_event_value(m, i, &v))
			abort();
		if (v.field->kind == MOCA_FIELD_STRING && v.data[v.count])
			abort();
		for (k = 0; k < v.count; k++)
			sum += moca_value_integer(&v, k) +
			       (moca_value_float(&v, k) > 0);
		for (k = 0; k < v.field->label_count; k++)
			sum += strlen(v.field->labels[k].label);
	}
	return sum;
}

static void walk_events(struct moca_trace *t, const struct moca_query *q)
{
	const struct moca_event_type *const *types;
	const struct moca_event *m;
	struct moca_cursor *cur;
	uint64_t sum = 0, last = 0;
	uint32_t task, last_task = 0;
	size_t i, n;

	types = moca_trace_event_types(t, &n);
	for (i = 1; i < n; i++)
		if (types[i - 1]->id >= types[i]->id)
			abort();
	if (moca_cursor_open(&cur, t, q))
		return;
	while (moca_cursor_event(cur, &m, &task) == 1) {
		if (task < last_task || (task == last_task &&
					 m->time_ns < last))
			abort();
		last = m->time_ns;
		last_task = task;
		sum += touch(m);
	}
	moca_cursor_close(cur);
	__asm__ volatile("" : : "r"(sum));
}

static void walk_machine(const struct moca_trace *t)
{
	const struct moca_machine *m = moca_trace_machine(t);
	uint64_t sum = 0;
	size_t i, k;

	for (i = 0; m && i < m->node_count; i++)
		for (k = 0; k < m->node_count; k++)
			sum += m->nodes[i].distances[k];
	for (i = 0; m && i < m->cpu_count; i++)
		if (m->node_of_cpu[i] != -1 &&
		    moca_machine_node(m, m->node_of_cpu[i]) < 0)
			abort();
	for (i = 0; m && i < m->setting_count; i++)
		sum += strlen(m->settings[i].name) +
		       strlen(m->settings[i].value);
	if (m && m->xml)
		sum += strlen(m->xml);
	__asm__ volatile("" : : "r"(sum));
}

/* Each name is found where it is, at its time: or what was told later. */
static void walk_jit(const struct moca_trace *t)
{
	const struct moca_jits *j = moca_trace_jits(t);
	uint64_t sum = 0;

	for (size_t i = 0; i < j->count; i++) {
		const struct moca_jit *x = &j->list[i];
		int64_t at = moca_jits_find(j, x->pid, x->addr, x->time_ns);

		if (at < 0 || j->list[at].time_ns != x->time_ns ||
		    j->list[at].addr > x->addr)
			abort();
		sum += strlen(j->names + x->name);
	}
	__asm__ volatile("" : : "r"(sum));
}

static void walk_stacks(const struct moca_trace *t)
{
	struct moca_stack s;
	uint64_t sum = 0;

	for (uint32_t i = 1; i <= moca_trace_stack_count(t); i++)
		if (!moca_trace_stack(t, i, &s))
			for (uint32_t k = 0; k < s.count; k++)
				sum += s.frames[k];
	__asm__ volatile("" : : "r"(sum));
}

static void walk(struct moca_trace *t, const struct moca_query *q)
{
	const struct moca_chunk *c;
	const struct moca_change *e;
	struct moca_cursor *cur;
	uint64_t sum = 0;
	uint32_t task;
	size_t i;

	if (moca_cursor_open(&cur, t, q))
		return;
	while (moca_cursor_chunk(cur, &c) == 1) {
		if (c->count > MOCA_CHUNK_RECORDS_MAX ||
		    c->reads + c->writes > c->count)
			abort();
		for (i = 0; i < c->count; i++) {
			sum += c->accesses[i].addr + c->accesses[i].node;
			if (i && c->accesses[i].time_ns <
				 c->accesses[i - 1].time_ns)
				abort();
		}
	}
	moca_cursor_close(cur);
	if (moca_cursor_open(&cur, t, q))
		return;
	while (moca_cursor_change(cur, &e, &task) == 1)
		sum += strlen(e->name) + task;
	moca_cursor_close(cur);
	__asm__ volatile("" : : "r"(sum));
}

static void walk_counts(struct moca_trace *t, const struct moca_query *q)
{
	const struct moca_counts *c;
	uint64_t loads, stores;
	struct moca_cursor *cur;
	size_t i;

	if (moca_cursor_open(&cur, t, q))
		return;
	while (moca_cursor_counts(cur, &c) == 1) {
		if (c->count > MOCA_CHUNK_RECORDS_MAX)
			abort();
		for (i = loads = stores = 0; i < c->count; i++) {
			loads += c->rows[i].loads;
			stores += c->rows[i].stores;
			if ((i && c->rows[i].addr <= c->rows[i - 1].addr) ||
			    c->rows[i].addr % c->granularity ||
			    (c->rows[i].first_ns &&
			     (c->rows[i].first_ns < c->begin_ns ||
			      c->rows[i].first_ns > c->end_ns)))
				abort();
		}
		if (loads != c->loads || stores != c->stores)
			abort();
	}
	moca_cursor_close(cur);
}

/*
 * Checksums would stop nearly every mutation: put right those of what looks
 * like chunks. Each input is read as it is and so mended.
 */
static void mend(uint8_t *p, size_t len)
{
	uint8_t *end = p + len;
	uint32_t payload;
	uint16_t head;

	while (end - p >= MOCA_HEADER_MIN) {
		p = memmem(p, (size_t)(end - p), MOCA_MAGIC, MOCA_MAGIC_LEN);
		if (!p || end - p < MOCA_HEADER_MIN)
			return;
		head = moca_get16(p + 8);
		payload = moca_get32(p + 20);
		if (head < MOCA_HEADER_MIN || head > end - p ||
		    payload > (size_t)(end - p) - head) {
			p++;
			continue;
		}
		moca_put64(p + 80, XXH64(p + head, payload, 0));
		moca_put64(p + head - 8, XXH64(p, head - 8, 0));
		p += head + payload;
	}
}

static void see_type(void *arg, uint32_t id, const char *facility,
		     const char *name, const char *fields)
{
	*(size_t *)arg += id + strlen(facility) + strlen(name) +
			  strlen(fields);
}

/*
 * Go on with what is there; what is written must be readable. Only in a file
 * that lost bytes in its middle may a header now reach over what is new.
 */
static void write_on(void)
{
	static struct records r;
	struct moca_event_writer *w;
	struct moca_event_chunk c;
	struct moca_cursor *cur;
	const struct moca_event *m;
	struct moca_damage damage;
	struct moca_trace *t;
	uint64_t position;
	uint32_t task;
	size_t sum = 0;
	int found = 0;

	records_reset(&r);
	records_event(&r, UINT64_MAX - 7, 12345);
	c = records_chunk(&r, 0);
	if (moca_event_writer_create(&w, dirfd_))
		abort();
	moca_event_writer_types(w, see_type, &sum);
	if (moca_event_writer_position(w, 0, &position) ||
	    moca_event_writer_type(w, 12345, "fuzz", "on", "") ||
	    moca_event_writer_chunk(w, &c))
		goto out;	/* it saw that the files are not its own */
	if (moca_trace_open(&t, dir) || moca_cursor_open(&cur, t, NULL))
		abort();
	while (moca_cursor_event(cur, &m, &task) == 1)
		found |= m->type->id == 12345;
	moca_trace_damage(t, &damage);
	if (!found && !damage.chunks)
		abort();
	moca_cursor_close(cur);
	moca_trace_close(t);
out:
	moca_event_writer_destroy(w);
}

static void read_once(const uint8_t *data, size_t size)
{
	struct moca_query q = {
		.size = sizeof(q), .begin_ns = 1000, .end_ns = 1u << 20,
		.addr_begin = 0x1000, .addr_end = 1ull << 47,
	};
	const struct moca_mapping *m;
	struct moca_damage damage;
	struct moca_trace *t;
	size_t i, n;

	for (i = 0; i < sizeof(files) / sizeof(*files); i++)
		put_file(dirfd_, files[i], data, size);
	if (moca_trace_open(&t, dir))
		abort();
	walk(t, NULL);
	walk(t, &q);
	walk_counts(t, NULL);
	walk_counts(t, &q);
	walk_events(t, NULL);
	walk_events(t, &q);
	walk_machine(t);
	walk_jit(t);
	walk_stacks(t);
	if (!moca_trace_mappings(t, &m, &n)) {
		for (i = 0; i < n; i++)
			if (moca_trace_find_mapping(t, m[i].pid, m[i].addr,
						    m[i].begin_ns) != &m[i])
				abort();
	}
	moca_trace_damage(t, &damage);
	moca_trace_close(t);
	write_on();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (dirfd_ < 0)
		dir_make();
	read_once(data, size);
	copy = malloc(size + 1);
	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	mend(copy, size);
	if (size && memcmp(copy, data, size))
		read_once(copy, size);
	free(copy);
	return 0;
}

#ifndef MOCA_LIBFUZZER

static uint64_t rnd_state;

static uint64_t rnd(void)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return rnd_state;
}

/* A few changes of the kinds that find mistakes in parsers. */
static size_t mutate(uint8_t *p, size_t len)
{
	static const uint8_t edge[] = { 0, 1, 0x7f, 0x80, 0xfe, 0xff };
	int i, changes = 1 + (int)(rnd() % 4);
	size_t at, from, n;

	for (i = 0; i < changes && len; i++) {
		at = rnd() % len;
		switch (rnd() % 6) {
		case 0:
			p[at] ^= (uint8_t)(1u << rnd() % 8);
			break;
		case 1:
			p[at] = edge[rnd() % sizeof(edge)];
			break;
		case 2:
			p[at] = (uint8_t)rnd();
			break;
		case 3:
			from = rnd() % len;
			n = rnd() % 64;
			n = n > len - at ? len - at : n;
			n = n > len - from ? len - from : n;
			memmove(p + at, p + from, n);
			break;
		case 4:
			/* near the start of a header or a directory */
			p[at % 128 % len] += (uint8_t)(rnd() % 5 - 2);
			break;
		default:
			if (rnd() % 8 == 0)
				len = at;
		}
	}
	return len;
}

static int replay(const char *path, long mutations)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data, *copy;
	size_t len;
	long i;

	data = malloc(1 << 20);
	copy = malloc(1 << 20);
	if (!f || !data || !copy) {
		perror(path);
		return 1;
	}
	len = fread(data, 1, 1 << 20, f);
	fclose(f);
	LLVMFuzzerTestOneInput(data, len);
	rnd_state = 0x9e3779b97f4a7c15ull + len;
	for (i = 0; i < mutations; i++) {
		memcpy(copy, data, len);
		LLVMFuzzerTestOneInput(copy, mutate(copy, len));
	}
	free(data);
	free(copy);
	return 0;
}

static void put_accesses(struct moca_writer *w, size_t n, int kind)
{
	struct moca_access *recs = calloc(n + 1, sizeof(*recs));
	struct moca_chunk_info info = { .lost = kind == 2, .end_ns = 5000 };
	uint64_t t = 10;
	size_t i;

	if (!recs)
		abort();
	for (i = 0; i < n; i++) {
		recs[i].addr = 0x7f0000000000 + (kind ? rnd() % 500 : i) * 4096;
		recs[i].addr += kind ? rnd() & 0xff8 : 0;
		recs[i].phys = (recs[i].addr >> 16 << 20) + (1ull << 32);
		recs[i].ip = 0x401000 + rnd() % 40;
		recs[i].time_ns = t += rnd() % 3000;
		recs[i].cpu = kind ? rnd() % 300 : 2;
		recs[i].node = kind ? (int16_t)(rnd() % 3) - 1 : 0;
		recs[i].type = kind ? rnd() % 4 : MOCA_ACCESS_WRITE;
		recs[i].mode = rnd() % 9 == 0;
		recs[i].weight = kind == 3 ? 1u << rnd() % 13 : 1;
	}
	if (moca_writer_accesses(w, &info, recs, n))
		abort();
	free(recs);
}

static void put_counts(struct moca_writer *w)
{
	struct moca_chunk_info info = { .begin_ns = 100, .end_ns = 90000 };
	struct moca_count rows[400];
	uint64_t at = 0x7f00000;
	size_t i, k;

	for (k = 0; k < 2; k++) {
		for (i = 0; i < 400; i++, at += 1 + rnd() % 7 / 6)
			rows[i] = (struct moca_count){
				.addr = at << 6, .loads = rnd() % 1000,
				.stores = 1 + rnd() % 3,
				.first_ns = k ? 0 : 200 + 7 * i,
				.first_store = !k && i % 5 != 0,
			};
		for (i = 0; i < 400; i++)
			rows[i].loads += !rows[i].first_store;
		info.interval = k;
		if (moca_writer_counts(w, &info, 6, rows, 400))
			abort();
	}
}

static void put_changes(struct moca_writer *w)
{
	static const uint32_t types[] = { 1, 5, 5, 5, 6, 7, 4, 8, 3, 5, 1, 2 };
	struct moca_change e[sizeof(types) / sizeof(*types)];
	size_t i;

	memset(e, 0, sizeof(e));
	for (i = 0; i < sizeof(types) / sizeof(*types); i++) {
		e[i].type = types[i];
		e[i].time_ns = 100 * i;
		e[i].pid = e[i].tid = 42;
		e[i].parent = MOCA_NO_TASK;
		e[i].addr = 0x10000 + 0x1000 * i;
		e[i].len = 0x4000;
		e[i].flags = MOCA_MAP_FILE;
		e[i].name = "/usr/lib/libc.so.6";
	}
	e[0].flags = 0;
	e[10].flags = MOCA_TASK_FORK;
	e[10].pid = 43;
	e[10].parent = 0;
	if (moca_writer_changes(w, 0, e, sizeof(e) / sizeof(*e)))
		abort();
}

static void put_event(struct records *r, uint64_t clock)
{
	payload_int(r, clock, 8);
	payload_int(r, clock % 3, 4);
	payload_string(r, clock % 2 ? "some name" : "");
	payload_int(r, 0x3fc00000, 4);
	payload_int(r, clock, 6);
	payload_int(r, clock % 4, 4);
	payload_int(r, clock * 77, clock % 4 * 2);
	records_event(r, clock, 16);
}

static void put_events(int compress)
{
	static struct records r;
	struct moca_change e = { .type = MOCA_CHANGE_TASK_START, .pid = 42,
				.tid = 42, .parent = MOCA_NO_TASK,
				.name = "fuzz" };
	struct moca_event_writer *w;
	struct moca_event_chunk c;
	unsigned i, k;

	if (moca_event_writer_create(&w, dirfd_) ||
	    moca_event_writer_type(w, 16, "fuzz", "all",
				    "u64 a\nenum b s32 x=0,y=1,z=-2\n"
				    "string c\nf32 d\narray e s16 3\n"
				    "sequence f x16\n") ||
	    moca_event_writer_type(w, 17, "fuzz", "none", "") ||
	    moca_event_writer_changes(w, 0, &e, 1))
		abort();
	for (k = 0; k < 2; k++) {
		records_reset(&r);
		records_sync(&r, 1000 + 5000 * k);
		for (i = 0; i < 10; i++)
			put_event(&r, 1010 + 5000 * k + 7 * i);
		records_sync(&r, 4000 + 5000 * k);
		records_event(&r, 4000 + 5000 * k, 17);
		c = records_chunk(&r, 0);
		c.compress = compress;
		if (moca_event_writer_chunk(w, &c))
			abort();
	}
	moca_event_writer_destroy(w);
}

/* Gather all files in one. */
static int copy_files(int out, const char *name)
{
	static uint8_t buf[1 << 20];
	size_t len = 0, i;
	ssize_t n;
	int fd;

	for (i = 0; i < sizeof(files) / sizeof(*files); i++) {
		fd = openat(dirfd_, files[i], O_RDONLY);
		if (fd < 0)
			continue;
		n = read(fd, buf + len, sizeof(buf) - len);
		close(fd);
		if (n < 0)
			return 1;
		len += (size_t)n;
	}
	put_file(out, name, buf, len);
	return 0;
}

static void put_machine(void)
{
	static const uint32_t d[2][2] = { { 10, 20 }, { 20, 10 } };
	static const uint32_t near = 3;
	static const struct moca_machine_node nodes[] = {
		{ .bytes = 1 << 30, .distances = d[0], .initiator_count = 1,
		  .initiators = &near },
		{ .id = 3, .tier = 4, .distances = d[1] },
	};
	static const int32_t cpus[] = { 0, 3, -1 };
	static const struct moca_machine_setting setting = { "a", "b" };
	static const char xml[] = "<topology/>";
	struct moca_machine m = {
		.page_size = 4096, .node_count = 2, .nodes = nodes,
		.cpu_count = 3, .node_of_cpu = cpus, .setting_count = 1,
		.settings = &setting, .xml = xml, .xml_len = sizeof(xml) - 1,
	};

	if (moca_machine_write(dirfd_, &m, 5))
		abort();
}

static int generate_one(int out, const char *name, int what)
{
	struct moca_writer *w;

	rnd_state = 12345 + (uint64_t)what;
	dir_make();
	unlinkat(dirfd_, "metadata", 0);
	if (moca_writer_create(&w, dirfd_))
		return 1;
	if (what == 0)
		put_accesses(w, 0, 2);
	if (what == 1 || what == 4)
		put_accesses(w, 300, 0);
	if (what == 2 || what == 4)
		put_accesses(w, 1000, 1);
	if (what == 4)
		put_accesses(w, 200, 3);
	if (what == 3 || what == 4)
		put_changes(w);
	if (what == 7)
		put_counts(w);
	moca_writer_destroy(w);
	if (what == 5 || what == 6)
		put_events(what == 6);
	if (what == 8)
		put_machine();
	if (copy_files(out, name))
		return 1;
	dir_remove();
	close(dirfd_);
	dirfd_ = -1;
	return 0;
}

static int generate(const char *path)
{
	static const char *const names[] = { "empty-chunk", "sweep", "random",
					     "changes", "mixed", "events",
					     "events-packed", "counts", "machine" };
	int i, out;

	mkdir(path, 0755);
	out = open(path, O_RDONLY | O_DIRECTORY);
	if (out < 0) {
		perror(path);
		return 1;
	}
	for (i = 0; i < 9; i++)
		if (generate_one(out, names[i], i))
			return 1;
	close(out);
	return 0;
}

int main(int argc, char **argv)
{
	long mutations = 0;
	int i = 1, ret = 0;

	if (argc == 3 && !strcmp(argv[1], "--generate"))
		return generate(argv[2]);
	if (argc > 3 && !strcmp(argv[1], "-n")) {
		mutations = atol(argv[2]);
		i = 3;
	}
	if (i >= argc) {
		fprintf(stderr, "usage: %s [-n MUTATIONS] FILE...\n"
			"       %s --generate DIR\n", argv[0], argv[0]);
		return 2;
	}
	for (; i < argc && !ret; i++)
		ret = replay(argv[i], mutations);
	return ret;
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The original Moca's text traces: a file Moca-taskN for each task, with lines Task,
 * Chunk and Access. doc/formats/import.md.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "import/import.h"
#include "import/regions.h"
#include "lib/base/vec.h"
#include "lib/format/meta.h"

#define PREFIX "Moca-task"
#define TASKS_MAX (1u << 22)
#define CHUNKS_MAX ((size_t)1 << 24)
#define COUNT_MAX 65536u	/* of an access line */
#define INTERVALS_MAX (1u << 20)

struct chunk {
	uint64_t n, begin, end;
};

struct classic {
	struct import *x;
	struct lines lines;
	uint32_t *numbers;	/* of the files, rising */
	size_t count, room;
	uint64_t *lengths;	/* of chunks, to find intervals */
	size_t chunks, length_room;
	uint64_t begin, end;	/* of all chunks */
	uint64_t interval_ns;
	struct regions regions;
	uint32_t pid;
	uint64_t page_size, cpus, several;	/* lines of several CPUs */
	int looking;		/* chunks are looked at, and accesses checked alone */
};

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int wrong(struct classic *c, const char *wanted)
{
	return lines_wrong(&c->lines, "it should be '%s'", wanted);
}

/* "Moca-task12": 12, or UINT32_MAX. */
static uint32_t number_of(const char *name)
{
	uint64_t n;

	if (strncmp(name, PREFIX, strlen(PREFIX)))
		return UINT32_MAX;
	name += strlen(PREFIX);
	if ((name[0] == '0' && name[1]) || lines_decimal(&name, &n) || *name ||
	    n >= TASKS_MAX)
		return UINT32_MAX;
	return (uint32_t)n;
}

static int list(struct classic *c)
{
	DIR *dir = opendir(c->x->path);
	struct dirent *e;
	uint32_t n;
	int err = 0;

	if (!dir)
		return import_wrong(c->x, c->x->path, "it is no directory that can be read (%s): give the one that has the files " PREFIX "0, " PREFIX "1 and so on",
				    strerror(errno));
	while (!err && (e = readdir(dir))) {
		n = number_of(e->d_name);
		if (n == UINT32_MAX)
			continue;
		err = moca_vec_fit(c->numbers, c->room, c->count + 1);
		if (!err)
			c->numbers[c->count++] = n;
	}
	closedir(dir);
	if (!err && !c->count)
		return import_wrong(c->x, c->x->path, "there is no file " PREFIX "0, " PREFIX "1 and so on in it");
	if (!err)
		qsort(c->numbers, c->count, sizeof(*c->numbers), by_number);
	return err;
}

/* "WORD " at s. */
static int is(const char **s, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*s, word, n) || ((*s)[n] != ' ' && (*s)[n] != '\t'))
		return 0;
	*s += n;
	lines_blanks(s);
	return 1;
}

static int decimal(const char **s, uint64_t *out)
{
	int err = lines_decimal(s, out);

	lines_blanks(s);
	return err;
}

static int hex(const char **s, uint64_t *out)
{
	int err = lines_hex(s, out);

	lines_blanks(s);
	return err;
}

/* The lowest CPU, and how many there are. */
static int mask(struct classic *c, const char *s, uint16_t *cpu, unsigned *set)
{
	uint64_t words[LINES_CPU_WORDS];
	size_t digits;

	if (lines_mask(&s, words, &digits))
		return -EINVAL;
	lines_blanks(&s);
	if (*s)
		return -EINVAL;
	if (digits > c->cpus)
		c->cpus = digits;
	*set = 0;
	*cpu = 0;
	for (size_t i = LINES_CPU_WORDS; i--;) {
		*set += (unsigned)__builtin_popcountll(words[i]);
		if (words[i])
			*cpu = (uint16_t)(64 * i + (unsigned)__builtin_ctzll(words[i]));
	}
	return 0;
}

static int task_line(struct classic *c, uint32_t number, uint64_t *tid)
{
	const char *s = c->lines.text;
	uint64_t id;

	if (!is(&s, "Task") || decimal(&s, &id) || decimal(&s, tid) ||
	    *tid >= 1u << 30)
		return wrong(c, "Task NUMBER PROCESS");
	if (id != number)
		return lines_wrong(&c->lines, "it is of task %" PRIu64 ", and its name of task %" PRIu32,
				   id, number);
	if (!*s)
		return 0;
	if (decimal(&s, &c->page_size) || *s)
		return wrong(c, "Task NUMBER PROCESS [PAGE SIZE]");
	if (c->page_size < 4096 || c->page_size > 1u << 30 ||
	    c->page_size & (c->page_size - 1))
		return lines_wrong(&c->lines, "%" PRIu64 " is no page size",
				   c->page_size);
	return 0;
}

static int chunk_line(struct classic *c, struct chunk *k)
{
	const char *s = c->lines.text;
	struct chunk before = *k;
	uint64_t id;
	uint16_t cpu;
	unsigned set;

	if (!is(&s, "Chunk") || decimal(&s, &id) || decimal(&s, &k->n) ||
	    decimal(&s, &k->begin) || decimal(&s, &k->end) ||
	    mask(c, s, &cpu, &set))
		return wrong(c, "Chunk NUMBER ACCESSES BEGIN END CPUS");
	if (k->end < k->begin || k->end >= 1ull << 62)
		return lines_wrong(&c->lines, "the chunk ends before it begins, or beyond any time");
	if (k->begin < before.end)
		return lines_wrong(&c->lines, "the chunk begins before the one before it ended");
	return 0;
}

/* Times of the trace are above 0. */
static uint64_t time_of(uint64_t ns)
{
	return ns + 1;
}

static int put(struct classic *c, uint32_t task,
	       const struct import_interval *interval, struct moca_access *a,
	       uint64_t n)
{
	int err = 0;

	for (uint64_t i = 0; i < n && !err; i++)
		err = import_trace_access(&c->x->trace, task, interval, a);
	return err;
}

static int access_line(struct classic *c, uint32_t task, const struct chunk *k)
{
	struct moca_access a = {
		.time_ns = time_of(k->begin), .weight = 1,
		.node = MOCA_NODE_UNKNOWN,
	};
	const char *s = c->lines.text;
	struct import_interval interval;
	uint64_t reads, writes;
	unsigned set;
	int err;

	if (!is(&s, "Access") || hex(&s, &a.addr) || hex(&s, &a.phys) ||
	    decimal(&s, &reads) || decimal(&s, &writes) || mask(c, s, &a.cpu, &set))
		return wrong(c, "Access VIRTUAL PHYSICAL READS WRITES CPUS");
	if (reads > COUNT_MAX || writes > COUNT_MAX)
		return lines_wrong(&c->lines, "there are more than %u reads or writes of a page in a chunk, which page faults cannot be",
				   COUNT_MAX);
	if (a.addr >> 63)
		return lines_wrong(&c->lines, "the address is none of a program's");
	if (c->looking) {
		err = regions_add(&c->regions, a.addr);
		return err == -E2BIG ? lines_wrong(&c->lines, "there are too many places in memory") : err;
	}
	c->several += set > 1;
	a.phys &= ~(uint64_t)4095;
	interval.number = (k->begin - c->begin) / c->interval_ns;
	interval.begin_ns = time_of(k->begin);
	interval.end_ns = time_of(k->end);
	a.type = MOCA_ACCESS_READ;
	err = put(c, task, &interval, &a, reads);
	a.type = MOCA_ACCESS_WRITE;
	if (!err)
		err = put(c, task, &interval, &a, writes);
	return err == -ESTALE ? lines_wrong(&c->lines, "its chunk is not in order of time") : err;
}

/* What a chunk tells of all intervals. */
static int note(struct classic *c, const struct chunk *k)
{
	if (c->chunks == CHUNKS_MAX)
		return lines_wrong(&c->lines, "there are more than %zu chunks", CHUNKS_MAX);
	if (moca_vec_fit(c->lengths, c->length_room, c->chunks + 1))
		return -ENOMEM;
	if (!c->chunks || k->begin < c->begin)
		c->begin = k->begin;
	if (k->end > c->end)
		c->end = k->end;
	c->lengths[c->chunks++] = k->end - k->begin;
	return 0;
}

static int read_chunks(struct classic *c, uint32_t task)
{
	struct chunk k = { .n = 0 };
	uint64_t left = 0;
	int ret = 0, err = 0;

	while (!err && (ret = lines_next(&c->lines)) > 0) {
		if (left) {
			left--;
			err = access_line(c, task, &k);
		} else {
			err = chunk_line(c, &k);
			left = k.n;
			if (!err && c->looking)
				err = note(c, &k);
		}
	}
	if (!err && !ret && left)
		return lines_wrong(&c->lines, "the file ends, and %" PRIu64 " accesses of its last chunk are missing: it was cut off",
				   left);
	return err ? err : ret;
}

static int begin_task(struct classic *c, uint32_t number, uint32_t tid)
{
	struct moca_change start = {
		.type = MOCA_CHANGE_TASK_START, .parent = MOCA_NO_TASK,
		.name = "",
	};
	int64_t task;

	if (!number)
		c->pid = tid;
	if (number) {
		start.flags = MOCA_TASK_THREAD;
		start.parent = 0;
	}
	task = import_trace_task(&c->x->trace, c->pid, tid);
	return task < 0 ? (int)task :
			  import_trace_change(&c->x->trace, (uint32_t)task,
					      &start);
}

static int read_file(struct classic *c, uint32_t number)
{
	char path[4200];
	uint64_t tid;
	FILE *f;
	int ret;

	snprintf(path, sizeof(path), "%s/" PREFIX "%" PRIu32, c->x->path, number);
	f = import_open(c->x, path);
	if (!f)
		return -EBADMSG;
	ret = lines_open(&c->lines, f, path, &c->x->error);
	if (!ret)
		ret = lines_next(&c->lines);
	if (ret > 0)
		ret = task_line(c, number, &tid);
	else if (!ret)
		ret = wrong(c, "Task NUMBER PROCESS");
	if (!ret && !c->looking)
		ret = begin_task(c, number, (uint32_t)tid);
	if (!ret)
		ret = read_chunks(c, number);
	lines_close(&c->lines);
	fclose(f);
	return ret;
}

static int read_files(struct classic *c)
{
	int err = 0;

	for (size_t i = 0; i < c->count && !err; i++)
		if (c->numbers[i] != i)
			err = import_wrong(c->x, c->x->path, PREFIX "%zu is missing, and " PREFIX "%" PRIu32 " is there",
					   i, c->numbers[i]);
		else
			err = read_file(c, (uint32_t)i);
	return err;
}

/* Chunks of tasks do not begin together: parts as long as the middle one. */
static void find_interval(struct classic *c)
{
	uint64_t least = (c->end - c->begin) / INTERVALS_MAX + 1;

	qsort(c->lengths, c->chunks, sizeof(*c->lengths), by_value);
	c->interval_ns = c->chunks ? c->lengths[c->chunks / 2] : 1;
	if (c->interval_ns < least)
		c->interval_ns = least;
}

static int tell(struct classic *c)
{
	struct import *x = c->x;
	int err;

	x->from = "the original Moca";
	x->reason = "imported from a text trace of the original Moca, which does not tell what it missed";
	err = import_note(x, "imported from text traces of the original Moca: processes, mappings, names and the moment of an access in its chunk are not in them; all tasks are taken to be threads of one process, and runs of touched blocks of 2 MiB to be mappings");
	if (!err)
		err = import_note(x, "whether the program or the kernel accessed is not in them: all accesses are told as the program's");
	if (!err && c->several)
		err = import_note(x, "%" PRIu64 " lines are of several CPUs: the lowest of these is told",
				  c->several);
	if (!err)
		err = moca_meta_set(x->meta, "collector", "%s", x->from);
	if (!err && c->page_size)
		err = moca_meta_set(x->meta, "page_size", "%" PRIu64, c->page_size);
	if (!err)
		err = moca_meta_set(x->meta, "read_write_source", "the original Moca's faults");
	return err ? err : moca_meta_set(x->meta, "cpus", "%" PRIu64, c->cpus);
}

int import_classic(struct import *x)
{
	struct classic c = { .x = x, .looking = 1 };
	int err = list(&c);

	if (!err)
		err = read_files(&c);
	if (!err) {
		find_interval(&c);
		c.looking = 0;
		err = read_files(&c);
	}
	if (!err)
		err = regions_tell(&c.regions, &x->trace, 0, 0);
	if (!err)
		err = tell(&c);
	regions_free(&c.regions);
	free(c.numbers);
	free(c.lengths);
	return err;
}

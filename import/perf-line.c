// SPDX-License-Identifier: GPL-2.0-or-later
#include "import/perf-line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/lines.h"

#define TASK_MAX (1u << 30)

/* Digits, at most `most`, whatever follows. 0 or -EINVAL. */
static int number(const char **s, uint64_t most, uint64_t *out)
{
	const char *p = *s;
	uint64_t n = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		n = 10 * n + (uint64_t)(*p - '0');
		if (n > most)
			return -EINVAL;
	}
	*s = p;
	*out = n;
	return 0;
}

/* Its numbers may be -1, of the kernel: 0 then. */
static int task_number(const char **s, uint32_t *out)
{
	uint64_t n;

	if (!strncmp(*s, "-1", 2)) {
		*s += 2;
		*out = 0;
		return 0;
	}
	if (number(s, TASK_MAX, &n))
		return -EINVAL;
	*out = (uint32_t)n;
	return 0;
}

int perf_line_task(const char **s, char between, uint32_t *pid, uint32_t *tid)
{
	if (task_number(s, pid) || *(*s)++ != between)
		return -EINVAL;
	return task_number(s, tid);
}

/* " 2507.774151205:" at s: seconds and a fraction. 0 or -EINVAL. */
static int time_at(const char *s, uint64_t *ns, const char **end)
{
	uint64_t seconds, fraction = 0;
	int digits = 0;

	if (number(&s, UINT64_MAX / 2000000000, &seconds) || *s++ != '.')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++, digits++)
		if (digits < 9)
			fraction = 10 * fraction + (uint64_t)(*s - '0');
	if (!digits || *s != ':' || (s[1] && s[1] != ' ' && s[1] != '\t'))
		return -EINVAL;
	for (; digits < 9; digits++)
		fraction *= 10;
	*ns = seconds * 1000000000 + fraction;
	*end = s + 1;
	return 0;
}

/* The word that ends before `end`: its begin; begin: there is none. */
static const char *word_before(const char *begin, const char *end)
{
	while (end > begin && end[-1] != ' ' && end[-1] != '\t')
		end--;
	return end;
}

static const char *without_blanks(const char *begin, const char *end)
{
	while (end > begin && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return end;
}

/* "comm  12/13  [001]" before the time. 0 or -EINVAL. */
static int head(struct perf_line *l, const char *begin, const char *end)
{
	const char *word, *p;
	uint64_t n;
	size_t len;

	end = without_blanks(begin, end);
	word = word_before(begin, end);
	if (*word == '[') {
		p = word + 1;
		if (number(&p, UINT16_MAX - 1, &n) || p != end - 1 || *p != ']')
			return -EINVAL;
		l->cpu = (uint32_t)n;
		l->has_cpu = 1;
		end = without_blanks(begin, word);
		word = word_before(begin, end);
	}
	p = word;
	if (task_number(&p, &l->tid))
		return -EINVAL;
	if (*p == '/') {
		p++;
		l->pid = l->tid;
		if (task_number(&p, &l->tid))
			return -EINVAL;
	}
	if (p != end)
		return -EINVAL;
	end = without_blanks(begin, word);
	lines_blanks(&begin);
	len = begin < end ? (size_t)(end - begin) : 0;
	if (len >= sizeof(l->comm))
		return -EINVAL;
	memcpy(l->comm, begin, len);
	l->comm[len] = 0;
	return 0;
}

/* The event's name, with a period before it, perhaps. 0 or -EINVAL. */
static int event(struct perf_line *l, const char *s, const char **why)
{
	const char *end;
	uint64_t period;
	size_t len;

	lines_blanks(&s);
	end = s;
	if (!number(&end, UINT64_MAX / 10 - 1, &period) && *end == ' ') {
		l->period = period;
		s = end;
		lines_blanks(&s);
	}
	len = strcspn(s, " \t");
	if (!strncmp(s, "PERF_RECORD_", strlen("PERF_RECORD_")))
		len = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
	if (!len || len >= sizeof(l->event)) {
		*why = "behind the time there is no name of an event";
		return -EINVAL;
	}
	memcpy(l->event, s, len);
	l->event[len] = 0;
	if (l->event[len - 1] == ':')
		l->event[len - 1] = 0;
	l->rest = s + len;
	return 0;
}

int perf_line_parse(struct perf_line *l, const char *text, const char **why)
{
	const char *s = text, *at, *end = NULL;

	*l = (struct perf_line){ .cpu = 0 };
	lines_blanks(&s);
	if (!*s || *text == '#')
		return 1;
	/* A thread's name may hold anything: what looks like a time and has a task before it. */
	for (at = s; *at; at++) {
		if (at == s || (at[-1] != ' ' && at[-1] != '\t') ||
		    time_at(at, &l->time_ns, &end))
			continue;
		if (!head(l, text, at))
			return event(l, end, why);
	}
	/* Frames of call stacks: an address and a function. */
	if (*text == '\t' || (*text == ' ' && !end)) {
		uint64_t ip;

		if (!lines_hex(&s, &ip))
			return 1;
	}
	*why = "it has no thread and time, as in 'prog 123/124 [001] 2507.774151205:' (perf script -F " PERF_FIELDS " prints them)";
	return -EINVAL;
}

/* Behind the source's words: "|OP LOAD|LVL L1 hit|...|BLK  N/A  32 401136". */
static const char *behind_source(const char *s)
{
	const char *last = strrchr(s, '|'), *p;
	uint64_t n;

	/* The label, and words that are no numbers. */
	for (s = last + 1 + strcspn(last + 1, " \t"); *s;
	     s += strcspn(s, " \t")) {
		lines_blanks(&s);
		p = s;
		if (*s && !lines_decimal(&p, &n))
			return s;
		if (!*s)
			break;
	}
	return s;
}

static int refuse(const char **why, const char *text)
{
	*why = text;
	return -EINVAL;
}

int perf_line_fields(struct perf_line *l, const char **why)
{
	static const char fields[] = "the fields of the sample are not an address and the instruction's: perf script -G --ns -F " PERF_FIELDS " prints them, where perf record -d recorded addresses";
	static const char memory[] = "the fields of the sample are not address, source, weight and the instruction's address: perf script -G --ns -F " PERF_FIELDS_MEMORY " prints them";
	const char *s = l->rest;

	lines_blanks(&s);
	if (lines_hex(&s, &l->addr))
		return refuse(why, fields);
	lines_blanks(&s);
	l->has_source = strchr(s, '|') != NULL;
	if (l->has_source) {
		if (lines_hex(&s, &l->source))
			return refuse(why, memory);
		s = behind_source(s);
		if (lines_decimal(&s, &l->weight))
			return refuse(why, memory);
		lines_blanks(&s);
	}
	if (lines_hex(&s, &l->ip))
		return refuse(why, l->has_source ? memory : fields);
	lines_blanks(&s);
	if (*s && lines_hex(&s, &l->phys))
		return refuse(why, l->has_source ? memory : fields);
	lines_blanks(&s);
	return *s ? refuse(why, l->has_source ? memory : fields) : 0;
}

int perf_line_fork(const struct perf_line *l, uint32_t *pid, uint32_t *tid,
		   uint32_t *ppid, uint32_t *ptid)
{
	const char *s = l->rest;

	if (*s++ != '(' || perf_line_task(&s, ':', pid, tid) || *s++ != ')' ||
	    *s++ != ':' || *s++ != '(' || perf_line_task(&s, ':', ppid, ptid))
		return -EINVAL;
	return *s == ')' ? 0 : -EINVAL;
}

int perf_line_comm(const struct perf_line *l, char name[PERF_COMM_MAX],
		   uint32_t *pid, uint32_t *tid, int *exec)
{
	const char *s = l->rest, *end, *p;
	size_t len;

	*exec = !strncmp(s, " exec", 5);
	s += *exec ? 5 : 0;
	if (*s++ != ':' || *s++ != ' ')
		return -EINVAL;
	/* Names may hold colons: the last one ends it. */
	end = strrchr(s, ':');
	if (!end)
		return -EINVAL;
	len = (size_t)(end - s);
	p = end + 1;
	if (len >= PERF_COMM_MAX || perf_line_task(&p, '/', pid, tid))
		return -EINVAL;
	memcpy(name, s, len);
	name[len] = 0;
	return 0;
}

uint64_t perf_line_lost(const struct perf_line *l)
{
	const char *s = strstr(l->rest, "lost ");
	uint64_t n;

	if (!s)
		return 1;
	s += strlen("lost ");
	return number(&s, UINT32_MAX, &n) || !n ? 1 : n;
}

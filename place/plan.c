// SPDX-License-Identifier: GPL-2.0-or-later
#include "place/plan.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/vec.h"
#include "lib/cmdline/nearest.h"

#define BYTES_MAX (1u << 20)

struct parser {
	const char *p, *end;	/* what is left */
	unsigned line;
	struct place_plan *plan;
	struct place_entry *entry;	/* the table that we are in; NULL */
	uint32_t seen;		/* bits of the keys that it has */
	struct place_problem *problem;
};

static int __attribute__((format(printf, 2, 3)))
wrong(struct parser *s, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	s->problem->line = s->line;
	vsnprintf(s->problem->text, sizeof(s->problem->text), fmt, args);
	va_end(args);
	return -EINVAL;
}

/* --- values --------------------------------------------------------------- */

static int at_end(const struct parser *s)
{
	return s->p == s->end || *s->p == '\n' || *s->p == '#' ||
	       (*s->p == '\r' && s->p + 1 < s->end && s->p[1] == '\n');
}

static void skip_blanks(struct parser *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
		s->p++;
}

static int escape(struct parser *s, char *out)
{
	static const char from[] = "\"\\bfnrt", to[] = "\"\\\b\f\n\r\t";
	const char *at = s->p < s->end && *s->p ? strchr(from, *s->p) : NULL;

	if (!at)
		return wrong(s, "\\ is followed by none of \" \\ b f n r t: write the character itself, or the string between '...'");
	*out = to[at - from];
	s->p++;
	return 0;
}

/* "..." with escapes, or '...' without. */
static int read_string(struct parser *s, const char *key, char **out)
{
	char quote = s->p < s->end ? *s->p : 0;
	size_t n = 0;
	char *text;

	if (quote != '"' && quote != '\'')
		return wrong(s, "'%s' needs a string: %s = \"...\"", key, key);
	text = malloc((size_t)(s->end - s->p));
	if (!text)
		return -ENOMEM;
	free(*out);
	*out = text;
	for (s->p++; s->p < s->end && *s->p != quote; n++) {
		unsigned char c = (unsigned char)*s->p++;

		if (c < ' ' || c == 127)
			return wrong(s, "the string of '%s' does not end on its line, or has a control character", key);
		text[n] = (char)c;
		if (c == '\\' && quote == '"' && escape(s, &text[n]))
			return -EINVAL;
	}
	if (s->p == s->end)
		return wrong(s, "the string of '%s' does not end", key);
	s->p++;
	text[n] = 0;
	if (!n)
		return wrong(s, "'%s' is empty", key);
	/* There was room for all of the file. */
	text = realloc(text, n + 1);
	if (text)
		*out = text;
	return 0;
}

static int read_flag(struct parser *s, const char *key, int *out)
{
	size_t left = (size_t)(s->end - s->p);

	if (left >= 4 && !memcmp(s->p, "true", 4)) {
		*out = 1;
		s->p += 4;
	} else if (left >= 5 && !memcmp(s->p, "false", 5)) {
		*out = 0;
		s->p += 5;
	} else {
		return wrong(s, "'%s' needs true or false", key);
	}
	return 0;
}

/* A decimal integer from 0, with _ between digits. */
static int read_number(struct parser *s, const char *key, uint64_t most,
		       uint64_t *out)
{
	const char *begin = s->p;
	uint64_t n = 0;

	for (; s->p < s->end; s->p++) {
		if (*s->p == '_' && s->p > begin && s->p + 1 < s->end &&
		    isdigit((unsigned char)s->p[1]))
			continue;
		if (!isdigit((unsigned char)*s->p))
			break;
		n = n * 10 + (uint64_t)(*s->p - '0');
		if (n > most)
			return wrong(s, "the number of '%s' is more than %lu",
				     key, (unsigned long)most);
	}
	if (s->p == begin)
		return wrong(s, "'%s' needs a number", key);
	*out = n;
	return 0;
}

/* A power of two, of bytes. */
static int read_bytes(struct parser *s, const char *key, uint32_t *out)
{
	uint64_t n;
	int err = read_number(s, key, MOCA_PLACE_ALIGN_MAX, &n);

	if (err)
		return err;
	if (n < 16 || n & (n - 1))
		return wrong(s, "'%s' needs a power of two from 16 to %u: 64, 128, 4096",
			     key, MOCA_PLACE_ALIGN_MAX);
	*out = (uint32_t)n;
	return 0;
}

/* [0, 2] */
static int read_nodes(struct parser *s)
{
	uint64_t n;
	int err;

	if (s->p == s->end || *s->p != '[')
		return wrong(s, "'nodes' needs a list: nodes = [0, 1]");
	s->p++;
	for (;;) {
		skip_blanks(s);
		err = read_number(s, "nodes", MOCA_PLACE_NODES - 1, &n);
		if (err)
			return err;
		s->entry->nodes[n / 64] |= 1ull << n % 64;
		s->entry->has_nodes = 1;
		skip_blanks(s);
		if (s->p < s->end && *s->p == ',') {
			s->p++;
			continue;
		}
		if (s->p == s->end || *s->p != ']')
			return wrong(s, "the list of 'nodes' does not end on its line: nodes = [0, 1]");
		s->p++;
		return 0;
	}
}

static int read_memory(struct parser *s)
{
	static const char *const names[] = {
		[MOCA_PLACE_MEMORY_LOCAL] = "local",
		[MOCA_PLACE_MEMORY_PREFERRED] = "preferred",
		[MOCA_PLACE_MEMORY_BIND] = "bind",
		[MOCA_PLACE_MEMORY_INTERLEAVE] = "interleave",
	};
	char *text = NULL;
	int err = read_string(s, "memory", &text);
	size_t i;

	for (i = 1; !err && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], text))
			s->entry->memory = (enum moca_place_memory)i;
	if (!err && !s->entry->memory)
		err = wrong(s, "'memory' is \"local\", \"preferred\", \"bind\" or \"interleave\", not \"%.40s\"",
			    text);
	free(text);
	return err;
}

/* --- tables --------------------------------------------------------------- */

enum key { SITE, THROUGH, OBJECT, MODULE, HUGE, PREFAULT, ALIGN, PAD, MEMORY, NODES,
	KEYS };
static const char *const keys[KEYS] = { "site", "through", "object", "module", "huge",
	"prefault", "align", "pad", "memory", "nodes" };

static int read_value(struct parser *s, enum key k)
{
	struct place_entry *e = s->entry;

	switch (k) {
	case SITE:
		return read_string(s, keys[k], &e->site);
	case THROUGH:
		return read_string(s, keys[k], &e->through);
	case OBJECT:
		return read_string(s, keys[k], &e->object);
	case MODULE:
		return read_string(s, keys[k], &e->module);
	case HUGE:
		return read_flag(s, keys[k], &e->huge);
	case PREFAULT:
		return read_flag(s, keys[k], &e->prefault);
	case ALIGN:
		return read_bytes(s, keys[k], &e->align);
	case PAD:
		return read_bytes(s, keys[k], &e->pad);
	case MEMORY:
		return read_memory(s);
	default:
		return read_nodes(s);
	}
}

static int unknown_key(struct parser *s, const char *name, int n)
{
	struct moca_nearest near;
	char word[40];
	int k;

	snprintf(word, sizeof(word), "%.*s", n, name);
	moca_nearest_begin(&near, word);
	for (k = 0; k < KEYS; k++)
		moca_nearest_look(&near, keys[k]);
	if (near.best[0])
		return wrong(s, "unknown key '%s': did you mean '%s'?", word,
			     near.best);
	return wrong(s, "unknown key '%s': there are site, through, object, module, huge, prefault, align, pad, memory, nodes",
		     word);
}

static int read_key(struct parser *s)
{
	const char *name = s->p;
	size_t n = 0;
	int k;

	while (s->p < s->end && (isalnum((unsigned char)*s->p) ||
				 *s->p == '_' || *s->p == '-'))
		s->p++;
	n = (size_t)(s->p - name);
	skip_blanks(s);
	if (!n || s->p == s->end || *s->p != '=')
		return wrong(s, "neither [[place]] nor KEY = VALUE");
	s->p++;
	skip_blanks(s);
	if (!s->entry)
		return wrong(s, "a key before the first [[place]]");
	for (k = 0; k < KEYS; k++)
		if (strlen(keys[k]) == n && !memcmp(keys[k], name, n))
			break;
	if (k == KEYS)
		return unknown_key(s, name, n > 30 ? 30 : (int)n);
	if (s->seen & 1u << k)
		return wrong(s, "'%s' is there twice", keys[k]);
	s->seen |= 1u << k;
	return read_value(s, (enum key)k);
}

/* Whether the table that ends makes sense. */
static int check_entry(struct parser *s)
{
	const struct place_entry *e = s->entry;

	if (!e)
		return 0;
	s->line = e->line;
	if (!e->site == !e->object)
		return wrong(s, "[[place]] needs either 'site' (who allocates: \"FILE:LINE\" or a function) or 'object' (a variable)");
	if (!e->huge && !e->prefault && !e->align && !e->pad && !e->memory)
		return wrong(s, "[[place]] says nothing to do: give huge, prefault, align, pad or memory");
	if (e->object && e->through)
		return wrong(s, "'through' names what a site calls: a variable has none");
	if (e->object && (e->align || e->pad))
		return wrong(s, "a variable lies where the linker has put it: 'align' and 'pad' are for sites");
	if ((e->memory == MOCA_PLACE_MEMORY_BIND ||
	     e->memory == MOCA_PLACE_MEMORY_PREFERRED) && !e->has_nodes)
		return wrong(s, "'memory' needs 'nodes': nodes = [0]");
	if (e->has_nodes && (!e->memory ||
			     e->memory == MOCA_PLACE_MEMORY_LOCAL))
		return wrong(s, "'nodes' says nothing without memory = \"bind\", \"preferred\" or \"interleave\"");
	return 0;
}

static int read_table(struct parser *s)
{
	static const char head[] = "[[place]]";
	unsigned line = s->line;
	int err = check_entry(s);

	if (err)
		return err;
	s->line = line;
	if ((size_t)(s->end - s->p) < sizeof(head) - 1 ||
	    memcmp(s->p, head, sizeof(head) - 1))
		return wrong(s, "only tables [[place]] are known");
	s->p += sizeof(head) - 1;
	if (s->plan->count == MOCA_PLACE_MAX)
		return wrong(s, "more than %d tables", MOCA_PLACE_MAX);
	if (moca_vec_fit(s->plan->items, s->plan->room, s->plan->count + 1))
		return -ENOMEM;
	s->entry = &s->plan->items[s->plan->count++];
	*s->entry = (struct place_entry){ .line = line };
	s->seen = 0;
	return 0;
}

static int read_line(struct parser *s)
{
	int err = 0;

	skip_blanks(s);
	if (!at_end(s))
		err = *s->p == '[' ? read_table(s) : read_key(s);
	if (err)
		return err;
	skip_blanks(s);
	if (!at_end(s))
		return wrong(s, "more behind the value: one key on each line");
	while (s->p < s->end && *s->p != '\n')
		s->p++;
	s->p += s->p < s->end;
	return 0;
}

int place_plan_parse(struct place_plan *out, const char *text, size_t n,
		     struct place_problem *problem)
{
	struct parser s = { .p = text, .end = text + n, .plan = out,
			    .problem = problem };
	int err = 0;

	*out = (struct place_plan){ 0 };
	while (!err && s.p < s.end) {
		s.line++;
		err = read_line(&s);
	}
	if (!err)
		err = check_entry(&s);
	s.line = 0;
	if (!err && !out->count)
		err = wrong(&s, "it has no [[place]], so that there is nothing to do");
	return err;
}

int place_plan_read(struct place_plan *out, const char *path,
		    struct place_problem *problem)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), err = 0;
	char *text = malloc(BYTES_MAX);
	size_t n = 0;
	ssize_t got = 1;

	*out = (struct place_plan){ 0 };
	if (fd < 0 || !text)
		err = fd < 0 ? -errno : -ENOMEM;
	while (!err && got && n < BYTES_MAX) {
		got = read(fd, text + n, BYTES_MAX - n);
		if (got < 0 && errno != EINTR)
			err = errno == EINVAL ? -EIO : -errno;
		else if (got > 0)
			n += (size_t)got;
	}
	if (!err && n == BYTES_MAX)
		err = -EFBIG;
	if (!err)
		err = place_plan_parse(out, text, n, problem);
	if (fd >= 0)
		close(fd);
	free(text);
	return err;
}

void place_plan_free(struct place_plan *p)
{
	size_t i;

	for (i = 0; i < p->count; i++) {
		free(p->items[i].site);
		free(p->items[i].through);
		free(p->items[i].object);
		free(p->items[i].module);
	}
	free(p->items);
	*p = (struct place_plan){ 0 };
}

const char *place_entry_name(const struct place_entry *e, char *buf,
			     size_t size)
{
	snprintf(buf, size, "%s '%s'", e->site ? "site" : "object",
		 e->site ? e->site : e->object);
	return buf;
}

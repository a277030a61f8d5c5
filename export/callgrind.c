// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/callgrind.h"

#include <errno.h>
#include <stdlib.h>

#include "export/stacks.h"
#include "lib/base/strings.h"
#include "lib/base/table.h"
#include "lib/base/utf8.h"
#include "lib/base/vec.h"

#define NO_CALL UINT32_MAX

/* A function. Its names are written once; then by a number. */
struct function {
	uint32_t object, file, name;	/* numbers of texts */
};

/* What is spent at a line of a function, or in a function that it calls. */
struct cost {
	uint32_t function, line;
	uint32_t callee;	/* or NO_CALL */
	uint64_t stack;		/* the last that was added: each counts once */
	uint64_t values[CALLGRIND_EVENTS_MAX];
};

/* Objects, files: each text once. */
struct texts {
	struct moca_strings strings;
	uint8_t *told;		/* its name was written */
};

struct callgrind {
	const char *const *kinds;
	size_t kind_count;
	struct function *functions;
	size_t function_count, function_room;
	struct moca_index function_index;
	struct cost *costs;
	size_t cost_count, cost_room;
	struct moca_index cost_index;
	struct texts objects, files, names;
	uint64_t stack;
	/* The stack at hand, the innermost first. */
	struct frame { uint32_t function, line; } *frames;
	size_t frame_room;
};

struct callgrind *callgrind_begin(const char *const *kinds, size_t count)
{
	struct callgrind *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->kinds = kinds;
	c->kind_count = count < CALLGRIND_EVENTS_MAX ? count :
						       CALLGRIND_EVENTS_MAX;
	return c;
}

static void free_texts(struct texts *t)
{
	moca_strings_free(&t->strings);
	free(t->told);
}

void callgrind_free(struct callgrind *c)
{
	if (!c)
		return;
	free(c->functions);
	free(c->costs);
	free(c->frames);
	moca_index_free(&c->function_index);
	moca_index_free(&c->cost_index);
	free_texts(&c->objects);
	free_texts(&c->files);
	free_texts(&c->names);
	free(c);
}

/* The number of a text. 0, or -ENOMEM. */
static int number_text(struct texts *t, const char *s, uint32_t *out)
{
	int64_t i = moca_strings_number(&t->strings, s);

	*out = (uint32_t)i;
	return i < 0 ? -ENOMEM : 0;
}

static int find_function(struct callgrind *c, const struct callgrind_place *at,
			 uint32_t *out)
{
	struct function f;
	uint64_t hash;
	uint32_t i;

	if (number_text(&c->objects, at->object ? at->object : "???", &f.object) ||
	    number_text(&c->files, at->file ? at->file : "???", &f.file) ||
	    number_text(&c->names, at->function, &f.name))
		return -ENOMEM;
	hash = moca_mix(moca_mix((uint64_t)f.object << 32 | f.file) + f.name);
	moca_index_each(i, &c->function_index, hash)
		if (!memcmp(&c->functions[i], &f, sizeof(f)))
			break;
	if (i == MOCA_INDEX_NONE) {
		if (moca_vec_fit(c->functions, c->function_room,
				 c->function_count + 1) ||
		    moca_index_add(&c->function_index, hash,
				   (uint32_t)c->function_count))
			return -ENOMEM;
		i = (uint32_t)c->function_count;
		c->functions[c->function_count++] = f;
	}
	*out = i;
	return 0;
}

/* Once for each number of a stack; 0: always. */
static int add(struct callgrind *c, struct frame at, uint32_t callee,
	       uint64_t stack, const uint64_t *values)
{
	uint64_t hash = moca_mix(moca_mix((uint64_t)at.function << 32 |
					  at.line) + callee);
	struct cost *x;
	uint32_t i;

	moca_index_each(i, &c->cost_index, hash)
		if (c->costs[i].function == at.function &&
		    c->costs[i].line == at.line && c->costs[i].callee == callee)
			break;
	if (i == MOCA_INDEX_NONE) {
		if (moca_vec_fit(c->costs, c->cost_room, c->cost_count + 1) ||
		    moca_index_add(&c->cost_index, hash,
				   (uint32_t)c->cost_count))
			return -ENOMEM;
		i = (uint32_t)c->cost_count++;
		c->costs[i] = (struct cost){ at.function, at.line, callee, 0,
					     { 0 } };
	}
	x = &c->costs[i];
	if (stack && x->stack == stack)
		return 0;
	x->stack = stack;
	for (size_t k = 0; k < c->kind_count; k++)
		x->values[k] += values[k];
	return 0;
}

int callgrind_cost(struct callgrind *c, const struct callgrind_place *at,
		   const uint64_t *values)
{
	struct frame f = { .line = at->line };
	int err = find_function(c, at, &f.function);

	return err ? err : add(c, f, NO_CALL, 0, values);
}

static int push(struct callgrind *c, size_t *n, const struct callgrind_place *at)
{
	if (moca_vec_fit(c->frames, c->frame_room, *n + 1))
		return -ENOMEM;
	c->frames[*n].line = at->line;
	return find_function(c, at, &c->frames[(*n)++].function);
}

/* The functions of the stack at hand, in c->frames. */
static int read_stack(struct callgrind *c, struct samples *s, size_t *n)
{
	struct callgrind_place at = { .function = STACKS_NONE };
	int err = 0;

	*n = 0;
	if (!s->count)
		return push(c, n, &at);
	for (size_t i = 0; i < s->count && !err; i++) {
		struct samples_place p = s->place(s, s->places[i]);

		for (uint32_t k = 0; k < p.count && !err; k++) {
			const char *name = p.lines[k].function;

			at = (struct callgrind_place){
				p.path, p.lines[k].file,
				*name ? name : STACKS_UNNAMED, p.lines[k].line,
			};
			err = push(c, n, &at);
		}
	}
	return err;
}

int callgrind_stacks(struct callgrind *c, struct samples *s, uint64_t *count)
{
	size_t n;
	int ret;

	*count = 0;
	while ((ret = s->next(s)) > 0) {
		ret = read_stack(c, s, &n);
		if (!ret)
			ret = add(c, c->frames[0], NO_CALL, 0, s->values);
		++c->stack;
		for (size_t i = 1; i < n && !ret; i++) {
			/* What a function does in itself is in its own sum. */
			if (c->frames[i].function == c->frames[i - 1].function)
				continue;
			ret = add(c, c->frames[i], c->frames[i - 1].function,
				  c->stack, s->values);
		}
		if (ret)
			return ret;
		++*count;
	}
	return ret;
}

/* --- writing ------------------------------------------------------------ */

static void put_name(struct out *o, const char *name)
{
	const unsigned char *s = (const unsigned char *)name;

	while (*s) {
		int n = moca_utf8_length(s);

		if (!n || moca_utf8_is_control(s))
			out_byte(o, '?');
		else
			out_bytes(o, s, (size_t)n);
		s += n ? n : 1;
	}
}

/* "fl=(3) solve.c", and "fl=(3)" from then on. */
static void put_text(struct out *o, const char *key, struct texts *t, uint32_t i)
{
	out_string(o, key);
	out_string(o, "=(");
	out_u64(o, i + 1);
	out_byte(o, ')');
	if (!t->told[i]) {
		out_byte(o, ' ');
		put_name(o, t->strings.items[i]);
		t->told[i] = 1;
	}
	out_byte(o, '\n');
}

static void put_function(struct callgrind *c, struct out *o, uint32_t i,
			 int called)
{
	const struct function *f = &c->functions[i];

	put_text(o, called ? "cob" : "ob", &c->objects, f->object);
	put_text(o, called ? "cfi" : "fl", &c->files, f->file);
	put_text(o, called ? "cfn" : "fn", &c->names, f->name);
}

/* "first-touches" is FirstTouches. */
static void put_event(struct out *o, const char *kind)
{
	int begins = 1;

	for (; *kind; kind++) {
		if (*kind >= 'a' && *kind <= 'z' && begins)
			out_byte(o, (char)(*kind - 'a' + 'A'));
		else if (*kind != '-')
			out_byte(o, *kind);
		begins = *kind == '-';
	}
}

static void put_values(struct callgrind *c, struct out *o, const uint64_t *v)
{
	for (size_t k = 0; k < c->kind_count; k++) {
		out_byte(o, ' ');
		out_u64(o, v[k]);
	}
	out_byte(o, '\n');
}

static void put_head(struct callgrind *c, struct out *o, const char *command)
{
	uint64_t sums[CALLGRIND_EVENTS_MAX] = { 0 };

	for (size_t i = 0; i < c->cost_count; i++)
		for (size_t k = 0; k < c->kind_count; k++)
			if (c->costs[i].callee == NO_CALL)
				sums[k] += c->costs[i].values[k];
	out_string(o, "# callgrind format\nversion: 1\ncreator: moca "
		      MOCA_VERSION "\ncmd: ");
	put_name(o, command);
	out_string(o, "\npositions: line\nevents:");
	for (size_t k = 0; k < c->kind_count; k++) {
		out_byte(o, ' ');
		put_event(o, c->kinds[k]);
	}
	out_string(o, "\nsummary:");
	put_values(c, o, sums);
}

static int compare(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	/* NO_CALL is the highest. */
	if (x->callee != y->callee)
		return x->callee + 1 < y->callee + 1 ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int fit_told(struct texts *t)
{
	t->told = calloc(t->strings.count + 1, 1);
	return t->told ? 0 : -ENOMEM;
}

int callgrind_write(struct callgrind *c, struct out *o, const char *command)
{
	uint32_t function = NO_CALL;

	if (fit_told(&c->objects) || fit_told(&c->files) || fit_told(&c->names))
		return -ENOMEM;
	if (c->cost_count)
		qsort(c->costs, c->cost_count, sizeof(*c->costs), compare);
	put_head(c, o, command);
	for (size_t i = 0; i < c->cost_count && !o->error; i++) {
		const struct cost *x = &c->costs[i];

		if (x->function != function) {
			function = x->function;
			out_byte(o, '\n');
			put_function(c, o, function, 0);
		}
		if (x->callee != NO_CALL) {
			put_function(c, o, x->callee, 1);
			out_string(o, "calls=1 0\n");
		}
		out_u64(o, x->line);
		put_values(c, o, x->values);
	}
	return o->error;
}

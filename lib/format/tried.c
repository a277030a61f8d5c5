// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/tried.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/format/meta.h"

#define MILLION 1e6		/* numbers are kept as millionths */
#define RATIO_MAX 1000000000000ull
#define NOTHING "-"

int moca_tried_follows(const struct moca_tried_change *c, const char *finding)
{
	size_t n = strlen(finding);
	const char *p = c->findings;

	for (; *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == n && !strncmp(p, finding, n))
			return 1;
	return 0;
}

/* --- writing -------------------------------------------------------------- */

static int add_text(struct moca_meta *m, const char *key, const char *text)
{
	return moca_meta_add(m, key, *text ? text : NOTHING);
}

/* Without a bound, or beyond all sense: the largest. */
static uint64_t millionths(double x)
{
	if (!(x * MILLION < (double)RATIO_MAX))
		return RATIO_MAX;
	return x > 0 ? (uint64_t)(x * MILLION + 0.5) : 0;
}

static int add_ratio(struct moca_meta *m, const char *key,
		     const struct moca_tried_ratio *r)
{
	char text[80];

	snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 " %" PRIu64,
		 millionths(r->mean), millionths(r->low), millionths(r->high));
	return moca_meta_add(m, key, text);
}

static int add_pair(struct moca_meta *m, const char *key, const uint64_t x[2])
{
	char text[64];

	snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, x[0], x[1]);
	return moca_meta_add(m, key, text);
}

static int add_number(struct moca_meta *m, const char *key, uint64_t x)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, x);
	return moca_meta_add(m, key, text);
}

static int add_change(struct moca_meta *m, const struct moca_tried_change *c)
{
	int err = add_text(m, "change", c->id);

	err = err ? err : add_text(m, "result", c->result);
	err = err ? err : add_text(m, "findings", c->findings);
	err = err ? err : add_text(m, "setting", c->setting);
	err = err ? err : add_text(m, "command", c->command);
	err = err ? err : add_text(m, "plan", c->plan);
	if (!err)
		err = isnan(c->predicted) ?
			      moca_meta_add(m, "predicted", NOTHING) :
			      add_number(m, "predicted",
					 millionths(c->predicted));
	err = err ? err : add_number(m, "when", c->when_ns);
	err = err ? err : add_number(m, "rounds", c->rounds);
	err = err ? err : add_number(m, "confidence",
				     millionths(c->confidence));
	err = err ? err : add_ratio(m, "wall", &c->wall);
	err = err ? err : add_ratio(m, "cpu", &c->cpu);
	err = err ? err : add_pair(m, "faults", c->faults);
	return err ? err : add_pair(m, "peak", c->peak_bytes);
}

static int has(const struct moca_tried_change *items, size_t n, const char *id)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(items[i].id, id))
			return 1;
	return 0;
}

int moca_tried_write(int dirfd, const struct moca_tried_change *items,
		     size_t count)
{
	struct moca_tried old = { 0 };
	size_t i, n = count;
	struct moca_meta *m;
	int err, was;

	was = moca_tried_read(&old, dirfd);
	/* What cannot be read, but is perhaps sound, stays. */
	if (was && was != -ENOENT && was != -EBADMSG)
		return was;
	m = moca_meta_new();
	err = m ? moca_meta_set(m, "tried", "1") : -ENOMEM;
	for (i = 0; !err && i < old.count; i++)
		if (!has(items, count, old.items[i].id)) {
			err = add_change(m, &old.items[i]);
			n++;
		}
	for (i = 0; !err && i < count; i++)
		err = add_change(m, &items[i]);
	if (!err && n > MOCA_TRIED_MAX)
		err = -E2BIG;
	if (!err && was == -EBADMSG &&
	    renameat(dirfd, MOCA_TRIED_NAME, dirfd, MOCA_TRIED_DAMAGED))
		err = -errno;
	if (!err)
		err = moca_meta_write_as(m, dirfd, MOCA_TRIED_NAME);
	if (!was)
		moca_tried_free(&old);
	moca_meta_free(m);
	return err ? err : was == -EBADMSG;
}

/* --- reading -------------------------------------------------------------- */

/* Numbers with one blank between them, and nothing else. */
static int read_numbers(const char *s, uint64_t *out, int n)
{
	char *end;
	int i;

	for (i = 0; s && i < n; i++) {
		if (!isdigit((unsigned char)*s))
			return -EBADMSG;
		errno = 0;
		out[i] = strtoull(s, &end, 10);
		if (errno || *end != (i + 1 < n ? ' ' : 0))
			return -EBADMSG;
		s = end + 1;
	}
	return s ? 0 : -EBADMSG;
}

static int read_number(const struct moca_meta *m, const char *key, unsigned i,
		       uint64_t most, uint64_t *out)
{
	int err = read_numbers(moca_meta_nth(m, key, i), out, 1);

	return err ? err : *out > most ? -EBADMSG : 0;
}

static int read_share(const struct moca_meta *m, const char *key, unsigned i,
		      double *out)
{
	uint64_t n;
	int err = read_number(m, key, i, (uint64_t)MILLION, &n);

	*out = err ? NAN : (double)n / MILLION;
	return err;
}

static int read_ratio(const struct moca_meta *m, const char *key, unsigned i,
		      struct moca_tried_ratio *out)
{
	uint64_t n[3];
	int err = read_numbers(moca_meta_nth(m, key, i), n, 3);

	if (err || n[1] > n[0] || n[0] > n[2] || n[2] > RATIO_MAX)
		return -EBADMSG;
	*out = (struct moca_tried_ratio){ (double)n[0] / MILLION,
		(double)n[1] / MILLION, (double)n[2] / MILLION };
	return 0;
}

/* A text for people; lines: it may have several. NULL: it is none. */
static const char *read_text(const struct moca_meta *m, const char *key,
			     unsigned i, int lines)
{
	const char *text = moca_meta_nth(m, key, i);
	const unsigned char *c = (const unsigned char *)text;

	for (; c && *c; c++)
		if ((*c < ' ' || *c == 127) && !(lines && *c == '\n'))
			return NULL;
	return text && !strcmp(text, NOTHING) ? "" : text;
}

static int read_change(const struct moca_meta *m, unsigned i,
		       struct moca_tried_change *c)
{
	const char *predicted = moca_meta_nth(m, "predicted", i);
	int err;

	c->id = read_text(m, "change", i, 0);
	c->result = read_text(m, "result", i, 0);
	c->findings = read_text(m, "findings", i, 0);
	c->setting = read_text(m, "setting", i, 0);
	c->command = read_text(m, "command", i, 0);
	c->plan = read_text(m, "plan", i, 1);
	if (!c->id || !*c->id || !c->result || !*c->result || !c->findings ||
	    !c->setting || !c->command || !c->plan || !predicted)
		return -EBADMSG;
	c->predicted = NAN;
	err = !strcmp(predicted, NOTHING) ? 0 :
	      read_share(m, "predicted", i, &c->predicted);
	err = err ? err : read_number(m, "when", i, INT64_MAX, &c->when_ns);
	err = err ? err : read_number(m, "rounds", i, 1000000, &c->rounds);
	err = err ? err : read_share(m, "confidence", i, &c->confidence);
	err = err ? err : read_ratio(m, "wall", i, &c->wall);
	err = err ? err : read_ratio(m, "cpu", i, &c->cpu);
	err = err ? err : read_numbers(moca_meta_nth(m, "faults", i),
				       c->faults, 2);
	return err ? err : read_numbers(moca_meta_nth(m, "peak", i),
					c->peak_bytes, 2);
}

int moca_tried_read(struct moca_tried *out, int dirfd)
{
	struct moca_tried t = { 0 };
	int err = moca_meta_read_as(&t.meta, dirfd, MOCA_TRIED_NAME);
	unsigned n = 0;

	if (err)
		return err;
	while (n <= MOCA_TRIED_MAX && moca_meta_nth(t.meta, "change", n))
		n++;
	t.items = calloc(n + 1, sizeof(*t.items));
	if (!t.items)
		err = -ENOMEM;
	else if (n > MOCA_TRIED_MAX ||
		 moca_meta_checked(t.meta) != MOCA_METADATA_VERIFIED)
		err = -EBADMSG;
	for (; !err && t.count < n; t.count++)
		err = read_change(t.meta, (unsigned)t.count,
				  &t.items[t.count]);
	if (err)
		moca_tried_free(&t);
	else
		*out = t;
	return err;
}

void moca_tried_free(struct moca_tried *t)
{
	free(t->items);
	moca_meta_free(t->meta);
	*t = (struct moca_tried){ 0 };
}

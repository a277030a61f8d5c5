// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"

#define PCREL_SDATA4 0x1b
#define DATAREL_SDATA4 0x3b
#define UDATA4 0x03
#define OMIT 0xff

struct entry {
	int32_t code, description;
};

struct table {
	struct entry *entries;
	size_t count, room;
};

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static const uint8_t *skip_leb(const uint8_t *p, const uint8_t *end)
{
	while (p < end && *p & 0x80)
		p++;
	return p < end ? p + 1 : end;
}

/* How a CIE's functions are addressed: DW_EH_PE_*, or -1. */
static int encoding(const uint8_t *cie, const uint8_t *end)
{
	const uint8_t *aug = cie + 9, *p = aug;

	while (p < end && *p)
		p++;
	if (p >= end || aug[0] != 'z')
		return -1;
	p = skip_leb(skip_leb(p + 1, end), end);	/* alignments */
	p = cie[8] == 1 ? p + 1 : skip_leb(p, end);	/* return address */
	p = skip_leb(p, end);				/* length of: */
	for (aug++; *aug && p < end; aug++) {
		if (*aug == 'R')
			return *p;
		if (*aug == 'L')
			p++;
		else if (*aug == 'P')
			p += (*p & 7) == 3 ? 5 : (*p & 7) == 4 ? 9 :
			     (*p & 0xf) == 0xb ? 5 : 9;
		else if (*aug != 'S' && *aug != 'B')
			return -1;
	}
	return -1;
}

static int add(struct table *t, int64_t code, int64_t description)
{
	if (code != (int32_t)code || description != (int32_t)description)
		return -ERANGE;
	if (moca_vec_fit(t->entries, t->room, t->count + 1))
		return -ENOMEM;
	t->entries[t->count++] = (struct entry){ (int32_t)code,
						 (int32_t)description };
	return 0;
}

/* All descriptions of the section. 0 or -errno. */
static int collect(struct table *t, const uint8_t *s, size_t len, uint64_t addr,
		   uint64_t to)
{
	size_t at = 0, size, cie;
	int err;

	while (len - at >= 4 && get32(s + at)) {
		size = 4 + (size_t)get32(s + at);
		if (size < 12 || size > len - at)
			return -EINVAL;
		cie = get32(s + at + 4);
		if (cie) {
			cie = at + 4 - cie;
			if (cie > at || len - cie < 12 ||
			    get32(s + cie + 4) || cie + 4 + get32(s + cie) > len)
				return -EINVAL;
			if (encoding(s + cie, s + cie + 4 + get32(s + cie)) !=
			    PCREL_SDATA4)
				return -EINVAL;
			err = add(t,
				  (int64_t)(addr + at + 8 +
					    (uint64_t)(int32_t)get32(s + at + 8) -
					    to),
				  (int64_t)(addr + at - to));
			if (err)
				return err;
		}
		at += size;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->code > y->code) - (x->code < y->code);
}

void *moca_frames_table(const uint8_t *section, size_t len, uint64_t addr,
			uint64_t to, size_t *size)
{
	static const uint8_t head[4] = { 1, OMIT, UDATA4, DATAREL_SDATA4 };
	struct table t = { NULL, 0, 0 };
	int err = collect(&t, section, len, addr, to);
	uint32_t count = (uint32_t)t.count;
	uint8_t *out = NULL;

	if (!err && !t.count)
		err = -EINVAL;
	if (err)
		goto out;
	qsort(t.entries, t.count, sizeof(*t.entries), compare);
	*size = 8 + t.count * sizeof(*t.entries);
	out = malloc(*size);
	err = out ? 0 : -ENOMEM;
	if (err)
		goto out;
	memcpy(out, head, sizeof(head));
	memcpy(out + 4, &count, sizeof(count));
	memcpy(out + 8, t.entries, t.count * sizeof(*t.entries));
out:
	free(t.entries);
	if (err)
		errno = -err;
	return out;
}

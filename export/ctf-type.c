// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/ctf-type.h"

#include <errno.h>
#include <string.h>

#include "lib/base/bytes.h"

_Static_assert(2 * MOCA_CTF_VARIANTS == 1u << (32 - 19), "slots");

unsigned moca_ctf_type_id(struct moca_ctf_types *t,
			  const struct moca_event_type *type, unsigned empty)
{
	size_t n = 2 * MOCA_CTF_VARIANTS, i, v;

	if (!empty)
		return type->id;
	/* The top 13 bits, for as many slots. */
	i = (type->id << 16 | empty) * 0x9e3779b9u >> 19;
	for (; t->slots[i]; i = (i + 1) % n) {
		v = t->slots[i] - 1u;
		if (t->variants[v].type == type &&
		    t->variants[v].empty == empty)
			return MOCA_CTF_VARIANT_FIRST + v;
	}
	if (t->count == MOCA_CTF_VARIANTS)
		return type->id;
	v = t->count++;
	t->variants[v].type = type;
	t->variants[v].empty = empty;
	t->slots[i] = v + 1;
	return MOCA_CTF_VARIANT_FIRST + v;
}

/* The bytes of a field at p, where there are len; SIZE_MAX: more than that. */
static size_t field_length(const struct moca_field *f, const uint8_t *p,
			   size_t len)
{
	const uint8_t *nul;
	uint64_t n = 1;

	if (f->kind == MOCA_FIELD_STRING) {
		nul = memchr(p, 0, len);
		return nul ? (size_t)(nul - p) + 1 : SIZE_MAX;
	}
	if (f->shape == MOCA_FIELD_ARRAY)
		n = f->count;
	if (f->shape == MOCA_FIELD_SEQUENCE) {
		if (len < 4)
			return SIZE_MAX;
		n = moca_get32(p);
		return n > (len - 4) / f->size ? SIZE_MAX : 4 + n * f->size;
	}
	return n > len / f->size ? SIZE_MAX : n * f->size;
}

int moca_ctf_event_measure(const struct moca_event *m, size_t *len,
			    unsigned *empty)
{
	const struct moca_field *f = m->type->fields;
	unsigned string = 1;
	size_t i, n, at = 0;

	*empty = 0;
	for (i = 0; i < m->type->field_count; i++, f++) {
		n = field_length(f, m->payload + at, m->len - at);
		if (n == SIZE_MAX)
			return -EINVAL;
		if (f->kind == MOCA_FIELD_STRING) {
			if (n == 1)
				*empty |= string;
			string = string << 1 & 0xffff;
		}
		at += n;
	}
	*len = at;
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
#include <dlfcn.h>

#include "agent/alloc/cfi.h"
#include "agent/alloc/watch.h"

static struct moca_cfi_rule parse_rule(uint64_t ip)
{
	static const struct moca_cfi_rule stop;
	struct dl_find_object o;

	if (_dl_find_object((void *)ip, &o) || !o.dlfo_eh_frame)
		return stop;
	return moca_cfi_parse(o.dlfo_map_start, o.dlfo_map_end,
			      o.dlfo_eh_frame, ip);
}

/*
 * What was found, for all threads, without locks: the words of an entry belong
 * together if their sum is a key. A mix of two writers is no key.
 */
#define RULES (1u << 14)
#define WAYS 2

static struct {
	uint64_t key;		/* minus rule */
	uint64_t rule;
} rules[RULES];

static uint32_t forgotten;

union packed {
	struct alloc_rule rule;
	uint64_t word;
};

_Static_assert(sizeof(union packed) == 8, "one word");

static union packed pack(struct moca_cfi_rule r)
{
	return (union packed){ .rule = {
		.cfa = r.cfa, .rbp = r.rbp, .cfa_off = r.cfa_off,
		.rbp_off = r.rbp_off, .known = 1,
	} };
}

struct alloc_rule alloc_cfi_rule(uint64_t ip)
{
	uint64_t era = __atomic_load_n(&forgotten, __ATOMIC_ACQUIRE);
	uint64_t key = ip | era << 48;
	unsigned i = (ip * 0x9e3779b97f4a7c15ull) >> 50 & ~(WAYS - 1u), w;
	union packed r;

	for (w = 0; w < WAYS; w++) {
		r.word = __atomic_load_n(&rules[i + w].rule, __ATOMIC_RELAXED);
		if (__atomic_load_n(&rules[i + w].key, __ATOMIC_RELAXED) +
			    r.word == key && r.word)
			return r.rule;
	}
	r = pack(parse_rule(ip));
	/* A free way, or any: by the address, so that both are used. */
	w = !rules[i].rule ? 0 : !rules[i + 1].rule ? 1 : ip & 1;
	__atomic_store_n(&rules[i + w].rule, r.word, __ATOMIC_RELAXED);
	__atomic_store_n(&rules[i + w].key, key - r.word, __ATOMIC_RELAXED);
	return r.rule;
}

void alloc_cfi_forget(void)
{
	__atomic_fetch_add(&forgotten, 1, __ATOMIC_RELEASE);
}

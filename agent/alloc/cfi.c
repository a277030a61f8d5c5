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

static uint64_t pack(const struct moca_cfi_rule *r)
{
	return (uint64_t)r->cfa | (uint64_t)r->rbp << 3 |
	       (uint64_t)(r->cfa_off & 0x3ffffff) << 5 |
	       (uint64_t)(r->rbp_off & 0x3ffffff) << 31 | 1ull << 63;
}

static struct moca_cfi_rule unpack(uint64_t w)
{
	return (struct moca_cfi_rule){
		.cfa = w & 7,
		.rbp = w >> 3 & 3,
		.cfa_off = (int32_t)(w >> 5 << 6) >> 6,
		.rbp_off = (int32_t)(w >> 31 << 6) >> 6,
	};
}

struct moca_cfi_rule alloc_cfi_rule(uint64_t ip)
{
	uint64_t era = __atomic_load_n(&forgotten, __ATOMIC_ACQUIRE);
	uint64_t key = ip | era << 48, rule;
	unsigned i = (ip * 0x9e3779b97f4a7c15ull) >> 50 & ~(WAYS - 1u), w;
	struct moca_cfi_rule r;

	for (w = 0; w < WAYS; w++) {
		rule = __atomic_load_n(&rules[i + w].rule, __ATOMIC_RELAXED);
		if (__atomic_load_n(&rules[i + w].key, __ATOMIC_RELAXED) +
			    rule == key && rule)
			return unpack(rule);
	}
	r = parse_rule(ip);
	rule = pack(&r);
	/* A free way, or any: by the address, so that both are used. */
	w = !rules[i].rule ? 0 : !rules[i + 1].rule ? 1 : ip & 1;
	__atomic_store_n(&rules[i + w].rule, rule, __ATOMIC_RELAXED);
	__atomic_store_n(&rules[i + w].key, key - rule, __ATOMIC_RELAXED);
	return r;
}

void alloc_cfi_forget(void)
{
	__atomic_fetch_add(&forgotten, 1, __ATOMIC_RELEASE);
}

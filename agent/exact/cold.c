// SPDX-License-Identifier: LGPL-2.1-or-later
#include "agent/exact/cold.h"

#include "agent/exact/emit.h"

#define CC_CARRY 2

void moca_exact_cold_begin(struct cold *c, uint8_t **p, int scratch, int store,
			   uint64_t granule)
{
	c->from = emit_jcc(p, CC_CARRY, NULL);
	c->back = *p;
	c->scratch = (int8_t)scratch;
	c->store = (uint8_t)store;
	c->granule = granule;
}

void moca_exact_cold_write(const struct cold *c, uint8_t **p,
			   const struct cache *k)
{
	emit_patch(c->from, *p);
	if (c->scratch < 0)
		emit_store_64(p, GS(C_COLD_KEY), c->granule);
	else
		emit_gs_store(p, c->scratch, GS(C_COLD_KEY));
	emit_store_64(p, GS(C_COLD_BACK), (uint64_t)c->back);
	emit_jump_literal(p, (const uint64_t *)k->base +
			     (c->store ? LIT_COLD_STORE : LIT_COLD_LOAD));
}

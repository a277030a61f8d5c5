/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The events of events.h. What a trace has no room for is counted by it. */
#ifndef MOCA_AGENT_ALLOC_EMIT_H
#define MOCA_AGENT_ALLOC_EMIT_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct moca_meter;

/* Where the first trace that wants these is told of costs; NULL: nowhere. */
struct moca_meter *alloc_meter_page(void);

/* Learn the ids of all of them, while collectors still answer this process. */
void alloc_emit_prepare(void);

/* 1: the first trace that wants it has it. 0: none has. */
int alloc_emit_stack(uint32_t id, const uint64_t *frames, uint32_t n);
int alloc_emit_small(const void *p, uint32_t size, uint32_t stack);
int alloc_emit_tally(uint32_t stack, uint64_t count, uint64_t bytes);
int alloc_emit_skipped(uint64_t count, uint64_t bytes);
int alloc_emit_sample(const void *p, uint64_t size, uint32_t stack,
		      uint8_t level, uint8_t kind);
int alloc_emit_sized(uint8_t class, uint64_t count, uint64_t bytes);
int alloc_emit_freed(uint64_t count, uint64_t bytes);
void alloc_emit_thinned(uint8_t level, uint64_t min);
void alloc_emit_alloc(const void *p, uint64_t size, uint32_t stack,
		      uint8_t kind);
void alloc_emit_free(const void *p, uint8_t kind);
void alloc_emit_unmap(const void *p, uint64_t size);
void alloc_emit_thread(uint64_t pointer, uint64_t low, uint64_t high);
void alloc_emit_tls(uint64_t addr, uint64_t size, uint64_t base);
void alloc_emit_detour(const char *name, uint64_t addr, const char *error);

#pragma GCC visibility pop

#endif

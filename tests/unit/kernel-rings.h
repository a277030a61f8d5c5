/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rings as the module would make them, by hand. */
#ifndef TESTS_UNIT_KERNEL_RINGS_H
#define TESTS_UNIT_KERNEL_RINGS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/kernel/device.h"

#define RING_CHUNK 4096u
#define RING_CHUNKS 16u
#define RING_BYTES (2 * 4096u + RING_CHUNKS * RING_CHUNK)

/* One ring, from the module's side. */
struct maker {
	char *map;
	uint32_t cpu;
	struct moca_chunk_head *open;	/* the chunk that is filled */
};

static inline struct moca_ring_kernel *maker_kernel(struct maker *m)
{
	return (void *)(m->map + 4096);
}

static inline int maker_new(struct maker *m, struct kernel_ring *r,
			    uint32_t cpu)
{
	m->map = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->map == MAP_FAILED)
		return -1;
	m->cpu = cpu;
	m->open = NULL;
	maker_kernel(m)->chunk_bytes = RING_CHUNK;
	maker_kernel(m)->ring_chunks = RING_CHUNKS;
	maker_kernel(m)->cpu = cpu;
	return kernel_ring_init(r, m->map, RING_BYTES);
}

static inline void maker_free(struct maker *m)
{
	munmap(m->map, RING_BYTES);
}

static inline void maker_chunk(struct maker *m, uint64_t interval,
			       uint64_t begin, uint64_t end, uint64_t lost)
{
	uint64_t at = maker_kernel(m)->produced % RING_CHUNKS;

	m->open = (void *)(m->map + 8192 + at * RING_CHUNK);
	memset(m->open, 0, RING_CHUNK);
	*m->open = (struct moca_chunk_head){
		.bytes = sizeof(*m->open), .cpu = m->cpu,
		.interval = interval, .begin_ns = begin, .end_ns = end,
		.lost = lost,
	};
}

static inline void maker_done(struct maker *m)
{
	__atomic_fetch_add(&maker_kernel(m)->produced, 1, __ATOMIC_RELEASE);
	m->open = NULL;
}

/* Room for a record with that much behind it. */
static inline void *maker_put(struct maker *m, uint16_t type, size_t fixed,
			      size_t more, uint32_t tid, uint64_t time)
{
	size_t bytes = (fixed + more + 7) & ~(size_t)7;
	struct moca_rec *r = (void *)((char *)m->open + m->open->bytes);

	if (m->open->bytes + bytes > RING_CHUNK)
		abort();
	memset(r, 0, bytes);
	*r = (struct moca_rec){ .type = type, .bytes = (uint16_t)bytes,
				.tid = tid, .time_ns = time };
	m->open->bytes += (uint32_t)bytes;
	return r;
}

#define PUT(m, TYPE, name, more, tid, time)				\
	((struct moca_rec_##name *)maker_put(m, MOCA_REC_##TYPE,	\
		sizeof(struct moca_rec_##name), more, tid, time))

static inline void put_access(struct maker *m, uint32_t pid, uint32_t tid,
			      uint64_t time, uint64_t addr, unsigned int flags)
{
	struct moca_rec_access *a = PUT(m, ACCESS, access, 0, tid, time);

	a->pid = pid;
	a->addr = addr;
	a->ip = 0x401000;
	a->pfn = 0x1000 + (addr >> 12) % 4096;
	a->flags = (uint16_t)flags;
}

static inline void put_task(struct maker *m, uint32_t pid, uint32_t tid,
			    uint64_t time, uint32_t parent, uint32_t flags,
			    const char *name)
{
	struct moca_rec_task *t = PUT(m, TASK, task, 0, tid, time);

	t->pid = pid;
	t->parent = parent;
	t->flags = flags;
	memcpy(t->comm, name, strnlen(name, sizeof(t->comm)));
}

static inline void put_exec(struct maker *m, uint32_t pid, uint32_t old_tid,
			    uint64_t time, const char *path)
{
	struct moca_rec_exec *e = PUT(m, EXEC, exec, strlen(path) + 1, pid,
				      time);

	e->pid = pid;
	e->old_tid = old_tid;
	strcpy(e->path, path);
}

static inline void put_exit(struct maker *m, uint32_t pid, uint32_t tid,
			    uint64_t time, int status)
{
	struct moca_rec_exit *e = PUT(m, EXIT, exit, 0, tid, time);

	e->pid = pid;
	e->status = status;
}

static inline void put_mapping(struct maker *m, uint32_t pid, uint64_t time,
			       uint64_t start, uint64_t end, uint32_t flags,
			       const char *path)
{
	struct moca_rec_mapping *r = PUT(m, MAPPING, mapping,
					 strlen(path) + 1, pid, time);

	r->pid = pid;
	r->flags = flags;
	r->start = start;
	r->end = end;
	r->prot = PROT_READ | PROT_WRITE;
	r->inode = *path ? 42 : 0;
	strcpy(r->path, path);
}

static inline void put_interval(struct maker *m, uint64_t interval,
				uint64_t time)
{
	PUT(m, INTERVAL, interval, 0, 0, time)->interval = interval;
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/event.h"

#include "collect/run/own.h"
#include "collect/run/queue.h"
#include "lib/base/identity.h"

static void push(struct recorder *rec, struct task *t,
		 enum moca_change_type type, uint64_t addr, uint64_t len,
		 uint64_t offset, uint32_t prot, uint32_t flags,
		 const char *name, const struct moca_identity *of)
{
	struct message *m = message_new(rec->queue, MSG_EVENT, 0, name);

	if (!m)
		return;
	m->task = t->id;
	m->event.type = type;
	m->event.addr = addr;
	m->event.len = len;
	m->event.offset = offset;
	m->event.prot = prot;
	m->event.flags = flags;
	m->event.pid = t->pid;
	m->event.tid = t->tid;
	m->event.parent = MOCA_NO_TASK;
	if (of) {
		m->event.memory = of->memory;
		m->event.dev = of->dev;
		m->event.ino = of->ino;
	}
	queue_push(rec->queue, m);
}

void task_event_map(struct recorder *rec, struct task *t, uint64_t addr,
		  uint64_t len, uint64_t offset, uint32_t prot, uint32_t flags,
		  const char *name, const struct moca_identity *of)
{
	static const struct moca_identity private = {
		.memory = MOCA_MEMORY_PRIVATE,
	};

	if (name && own_is(t->pid, name, of ? of->dev : 0, of ? of->ino : 0))
		flags |= MOCA_MAP_MOCA;
	push(rec, t, MOCA_CHANGE_MMAP, addr, len, offset, prot, flags,
		   name, of ? of : &private);
}

void task_event(struct recorder *rec, struct task *t, enum moca_change_type type,
	      uint64_t addr, uint64_t len, uint64_t offset, uint32_t prot,
	      uint32_t flags, const char *name)
{
	if (type == MOCA_CHANGE_MMAP)
		task_event_map(rec, t, addr, len, offset, prot, flags, name,
			       NULL);
	else
		push(rec, t, type, addr, len, offset, prot, flags, name,
			   NULL);
}

void task_event_unmapped(struct recorder *rec, struct task *t, const char *why)
{
	push(rec, t, MOCA_CHANGE_GAP, 0, 0, 0, 0, MOCA_GAP_MAPPINGS, why, NULL);
}

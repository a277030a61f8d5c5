/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the engine waits for, told by the front in one line once it takes long: the
 * engine may not be able to, as both its threads may wait. The two share memory;
 * begin and end are a store each, from any thread and from signal handlers.
 */
#ifndef MOCA_RUN_WAITING_H
#define MOCA_RUN_WAITING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum waiting {
	WAITING_CALL,	/* a task of the program that runs calls for us */
	WAITING_STILL,	/* a task that is to stand still */
	WAITING_DISK,	/* the trace's */
	WAITING_TERM,	/* the program's end, which was sent a signal */
	WAITING_FINISH,	/* for ourselves: the program has ended */
	WAITING_KINDS
};

/* The front tells a wait that lasts longer than this, ns. */
#define WAITING_NS 5000000000ull

/* Before the engine is forked; what is begun before is not seen. */
void waiting_init(void);
void waiting_begin(enum waiting kind, pid_t pid);
void waiting_end(enum waiting kind);
/* The front, now and then: 1 and a line when there is one to tell. */
int waiting_look(uint64_t now_ns, char *line, size_t size);

#endif

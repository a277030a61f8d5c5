/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a mapping has beside its protection, and loses where it is mapped anew: its
 * protection key, and that it is locked. /proc/PID/maps tells neither.
 */
#ifndef MOCA_FAULT_MARKS_H
#define MOCA_FAULT_MARKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/fault/memory.h"
#include "collect/ptrace/tracee.h"

/* Mappings that have any, by address. */
struct marks {
	struct mark {
		uint64_t start, end;	/* addresses, end exclusive */
		int key;		/* 0: none */
		int locked;
	} *items;
	size_t count, room;
};

/*
 * The marks of mm's mappings below end, as task tid has them: none, without a look,
 * where the program never made any. From /proc/TID/smaps. 0 or -errno.
 */
int marks_read(const struct mm *mm, pid_t tid, uint64_t end, struct marks *out);
void marks_free(struct marks *m);

/*
 * [start, end), a part of one mapping and just mapped anew with protection `made`,
 * gets protection prot, and what m says of it, as far as the program may still have
 * that. 0 or -errno.
 */
int marks_apply(const struct marks *m, struct tracee_calls *c, uint64_t start,
		uint64_t end, int made, int prot);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the page tables say was touched in an interval, against what has a sample:
 * get_user_pages (direct I/O, process_vm_readv, io_uring's buffers) opens a page
 * without a fault that is sampled. Collector thread.
 */
#ifndef MOCA_NATIVE_WITNESS_H
#define MOCA_NATIVE_WITNESS_H

#include <stddef.h>
#include <stdint.h>

#include "collect/native/space.h"

struct native_run {
	struct native_space *space;
	uint64_t start, end;
};

struct native_witness {
	struct native_run *runs;	/* of the look that goes on */
	size_t count, room;
	struct native_page {
		struct native_space *space;
		uint64_t addr;
	} *late;			/* sampled since it began */
	size_t late_count, late_room;
	struct native_space **spaces;	/* that are looked at; each has pages */
	size_t space_count, space_room;
	int looking;
	/* Pages times intervals: that were looked at, of them without a sample;
	   and with one in an interval that ended without a look. */
	uint64_t touched, unseen, unlooked;
	uint64_t lost;			/* no memory for so many of either */
};

void native_witness_begin(struct native_witness *w);
/* s is looked at. Its pages are there, and stay until native_witness_judge(). */
void native_witness_look(struct native_witness *w, struct native_space *s);
/* Pages [start, end) were touched. */
void native_witness_add(struct native_witness *w, struct native_space *s,
		 uint64_t start, uint64_t end);
/* A sample; while a look goes on it may be of either interval. */
void native_witness_sample(struct native_witness *w, struct native_space *s,
		    uint64_t addr);
/*
 * The samples until the look's end are in: judge, and begin a new interval in all
 * spaces that were looked at. Pages that no sample ever told of count as touched in
 * *cert. told: of each run of unseen pages.
 */
void native_witness_judge(struct native_witness *w, struct moca_certificate *cert,
		   void (*told)(void *arg, struct native_space *s, uint64_t start,
				uint64_t end), void *arg);
/* s ends: its last interval has no look. */
void native_witness_forget(struct native_witness *w, struct native_space *s);
void native_witness_free(struct native_witness *w);

#endif

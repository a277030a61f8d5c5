/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file metadata of a CTF 1.8 trace: text (TSDL) that says what is in the
 * stream files, as export/ctf-stream.c writes them.
 */
#ifndef MOCA_EXPORT_CTF_METADATA_H
#define MOCA_EXPORT_CTF_METADATA_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <moca/reader.h>

/* Strings may be any bytes, or NULL: unknown. */
struct moca_ctf_info {
	const uint8_t *uuid;	/* 16 bytes */
	const char *host;
	const char *kernel;
	const char *command;
	unsigned major, minor;	/* version of the recorder */
	uint64_t offset_ns;	/* from CLOCK_MONOTONIC to Unix time */
	int absolute;		/* offset_ns is known */
};

/* Ids of events that are Moca's own; those of enum moca_change_type are too. */
#define MOCA_CTF_ACCESS 0
#define MOCA_CTF_OWN_LAST MOCA_CHANGE_SEGV

/*
 * One of Moca's own events, described as if programs emitted it; accesses with
 * weights, or without.
 */
const struct moca_event_type *moca_ctf_own_type(unsigned id, int weights);

/* Clock, packets, the environment. Errors are left in f, as with the next. */
void moca_ctf_write_head(FILE *f, const struct moca_ctf_info *info);
/* One event, under that id. -ENOMEM or 0. */
int moca_ctf_write_type(FILE *f, const struct moca_event_type *type,
			unsigned id);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moca check: the metadata's checksum, and whether its files are all there. */
#ifndef MOCA_CLI_CHECK_SEAL_H
#define MOCA_CLI_CHECK_SEAL_H

struct moca_trace;

enum check_seal {
	CHECK_SEAL_RIGHT,
	CHECK_SEAL_NONE,	/* a trace of an older Moca */
	CHECK_SEAL_MISSING,	/* the recorder did not get as far as that */
	CHECK_SEAL_WRONG,
};

/* Tell on stdout what is wrong, or cannot be known. */
enum check_seal check_seal(struct moca_trace *t);

#endif

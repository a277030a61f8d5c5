/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file of perf script's text, or of perf record's data, which perf makes text of. */
#ifndef MOCA_IMPORT_PERF_RUN_H
#define MOCA_IMPORT_PERF_RUN_H

#include <sys/types.h>

#include "import/import.h"

struct perf_run {
	pid_t pid;		/* of perf; 0: the file itself is read */
	int memory;		/* samples of loads and stores may be in it */
	int apart;		/* they are, and perf cannot print them beside others */
};

/* NULL after import_wrong(). */
FILE *perf_run_open(struct perf_run *r, struct import *x);
/* err: what came of reading, 0 or -errno. What came of it all. */
int perf_run_close(struct perf_run *r, struct import *x, FILE *f, int err);

#endif

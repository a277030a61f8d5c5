/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How moca baseline and moca reduce write the file that they are for. */
#ifndef MOCA_CLI_BASELINE_FILE_H
#define MOCA_CLI_BASELINE_FILE_H

#include <stdio.h>

/*
 * Write what fill() puts into it to path, "-" is the standard output: beside a
 * file that there is, which it then replaces; devices, pipes and links as they
 * are. fill: 0 or -errno. 0 or an error number.
 */
int baseline_file_write(const char *path, int (*fill)(FILE *f, const void *ctx),
			const void *ctx);

#endif

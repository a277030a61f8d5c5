/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of a live page in TMPDIR: moca-live-XXXXXX. Whoever has it holds a lock
 * on it, so that those of killed ones are known, and are removed by the next.
 */
#ifndef MOCA_CLI_REPORT_LIVE_FOLDER_H
#define MOCA_CLI_REPORT_LIVE_FOLDER_H

#include <stddef.h>

/* 0; -errno after a message, and path is "". */
int live_folder_make(char *path, size_t size, int *fd);
/* With all that is in it. */
void live_folder_remove(const char *path, int fd);

#endif

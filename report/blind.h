/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a trace cannot certify: blind spots by mapping, and nothing at all. */
#ifndef MOCA_REPORT_BLIND_H
#define MOCA_REPORT_BLIND_H

#include <stdint.h>

struct json;
struct moca_trace;

/*
 * 1 when accesses were to be recorded and no page is certified: then nothing
 * is, and *why has the reason.
 */
int blind_altogether(const struct moca_trace *t, const char **why);
/* Did the recorder compare with page tables? Older ones did not. */
int blind_is_known(const struct moca_trace *t);
/* A line per mapping with pages that exist and have no record, on stdout. */
void blind_print(const struct moca_trace *t, const char *indent);
/*
 * Are the blind spots all of files that nobody writes to, some pages beside what was
 * seen of them, as the kernel maps them there (fault-around)? Whether these were read
 * is not known; the program's own data is none of it.
 */
int blind_is_around(struct moca_trace *t);
/* "blind": [{"mapping", "pages", "pages_seen"}, ...] */
void blind_json(struct json *j, const struct moca_trace *t);

#endif

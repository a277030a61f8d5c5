/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How an event is shown: db:commit transaction=7 table="x" state=busy(1) */
#ifndef MOCA_REPORT_EVENT_H
#define MOCA_REPORT_EVENT_H

#include <stdio.h>

#include <moca/reader.h>

/* csv: it stands between quotes, which are doubled in it. */
void event_print(FILE *f, const struct moca_event *m, int csv);

#endif

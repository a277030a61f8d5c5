/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of Moca's own a recorded program may map: tells collect/run/own.h. */
#ifndef MOCA_CLI_RECORD_OWN_H
#define MOCA_CLI_RECORD_OWN_H

void record_own(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording page accesses from user space, by faults.
 * doc/design/fault-collector.md describes how.
 */
#ifndef MOCA_FAULT_RECORD_H
#define MOCA_FAULT_RECORD_H

#include "collect/run/record.h"

/* As record_run (collect/run/way.h). */
int moca_fault_run(const struct moca_record_options *opt);

#endif

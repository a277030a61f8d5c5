/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The work of a recording by the module: from its rings to the files. */
#ifndef MOCA_KERNEL_COLLECTOR_H
#define MOCA_KERNEL_COLLECTOR_H

#include "collect/kernel/device.h"
#include "collect/run/recorder.h"

struct kernel_collector;
struct moca_meta;
struct moca_writer;

/*
 * 0 or -errno. Takes over dev, whose rings are mapped; writer and meta are
 * borrowed. fault_ns: what a false fault costs.
 */
int kernel_collector_create(struct kernel_collector **out,
			    struct recorder *rec, struct kernel_device *dev,
			    struct moca_writer *writer, struct moca_meta *meta,
			    double fault_ns);
void kernel_collector_destroy(struct kernel_collector *c);

/* Until *finished is set and no process is left, or the user stops it. */
void kernel_collector_run(struct kernel_collector *c, atomic_int *finished);
void kernel_collector_summary(const struct kernel_collector *c);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine as the kernel's files tell it. */
#ifndef MOCA_MACHINE_GATHER_H
#define MOCA_MACHINE_GATHER_H

#include <sys/types.h>

#include <moca/machine.h>

/*
 * Fill in all but the XML; what cannot be read is left unknown. Memory is never
 * given back: for a process that writes it and ends. 0 or -ENOMEM.
 */
int machine_gather(struct moca_machine *m, pid_t program);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this machine has that decides whether a change can be measured on it. */
#ifndef MOCA_TRY_MACHINE_H
#define MOCA_TRY_MACHINE_H

/* Nodes that this process may have memory on; 1 where the kernel does not tell. */
unsigned try_machine_nodes(void);
/*
 * Cores that this process may run on, by the files of that folder
 * ("/sys/devices/system/cpu"); 0: not known.
 */
unsigned try_machine_cores(const char *folder);
/* 1: a virtual machine; what it tells of cores may be untrue. */
int try_machine_is_virtual(void);

#endif

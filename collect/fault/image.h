/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A new program image, or a copy of one: its memory goes to a memfd. Supervisor
 * thread; the members of struct trace_way of these names. */
#ifndef MOCA_FAULT_IMAGE_H
#define MOCA_FAULT_IMAGE_H

#include "collect/fault/memory.h"

int image_after_exec(struct recorder *rec, struct task *t, const char *path);
void image_after_fork(struct recorder *rec, struct task *t, struct task *child);

#endif

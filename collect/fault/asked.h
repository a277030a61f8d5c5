/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the collector asks the supervisor for, between the program's own stops: a
 * zapper, a thaw. Members of struct trace_way: asked, waits, give.
 */
#ifndef MOCA_FAULT_ASKED_H
#define MOCA_FAULT_ASKED_H

#include "collect/fault/memory.h"

int asked_now(struct recorder *rec, struct space *s);
int asked_waits(const struct space *s);
void asked_give(struct recorder *rec, struct task *t);

#endif

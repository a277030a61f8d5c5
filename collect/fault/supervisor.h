/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wait loop: every stop of every traced task comes here. */
#ifndef MOCA_FAULT_SUPERVISOR_H
#define MOCA_FAULT_SUPERVISOR_H

#include "collect/fault/internal.h"

/* Handle stops until no traced task is left. Runs in the tracing thread. */
void supervisor_run(struct recorder *rec);

/* Take over the first task (seized, before its exec). 0 or -errno. */
int supervisor_adopt(struct recorder *rec, pid_t pid);

/* A new number in the trace, and the messages that announce the task. */
void supervisor_announce(struct recorder *rec, struct task *t,
			 const struct task *parent, uint32_t flags);

/* What a stop (a status of wait) asks for; t goes on afterwards. */
void supervisor_stop(struct recorder *rec, struct task *t, int status);

#endif

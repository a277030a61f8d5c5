/* SPDX-License-Identifier: GPL-2.0-only */
/* Records of what happens to tasks and mappings. */
#ifndef MOCA_KMOD_RECORD_H
#define MOCA_KMOD_RECORD_H

#include <linux/mm_types.h>

#include "session.h"
#include "space.h"

void moca_record_task(struct moca_session *s, struct task_struct *t,
		      struct task_struct *parent, u32 flags);
void moca_record_exec(struct moca_session *s, struct task_struct *t,
		      u32 old_tid, const char *path);
void moca_record_exit(struct moca_session *s, struct task_struct *t);
void moca_record_name(struct moca_session *s, struct task_struct *t,
		      const char *comm);
void moca_record_gap(struct moca_session *s, u32 tid, u32 pid, u32 reason,
		     u64 addr, u64 len);
/* Unless vma is known (false). Its mmap or own lock is held. */
bool moca_record_mapping(struct moca_space *sp, struct vm_area_struct *vma,
			 u32 tid);

#endif

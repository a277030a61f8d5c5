// SPDX-License-Identifier: GPL-2.0-only
#include "record.h"

#include <linux/fs.h>
#include <linux/jhash.h>
#include <linux/kdev_t.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/percpu.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "arch.h"
#include "entry.h"

#define PATH_MAX_TOLD 2048	/* longer paths are cut at their begin */

void *moca_put_begin(struct moca_session *s, u16 type, size_t bytes, u32 tid,
		     unsigned long *irq)
{
	struct moca_ring *r;
	u32 cpu;

	local_irq_save(*irq);
	cpu = smp_processor_id();
	r = READ_ONCE(s->ready) && cpu < s->cpus ? s->rings[cpu] : NULL;
	if (!r) {
		if (READ_ONCE(s->ready))
			atomic64_inc(&s->homeless);
		return NULL;
	}
	return moca_ring_reserve(r, type, bytes, tid, ktime_get_mono_fast_ns());
}

void moca_put_end(unsigned long irq)
{
	local_irq_restore(irq);
}

void moca_record_task(struct moca_session *s, struct task_struct *t,
		      struct task_struct *parent, u32 flags)
{
	struct moca_rec_task *rec;
	unsigned long irq;

	rec = moca_put_begin(s, MOCA_REC_TASK, sizeof(*rec),
			     moca_session_tid(s, t), &irq);
	if (rec) {
		rec->pid = moca_session_pid(s, t);
		rec->parent = parent ? moca_session_tid(s, parent) : 0;
		rec->flags = flags;
		rec->pad = 0;
		rec->stack = 0;
		rec->tls = 0;
		/* Of a new one: what it will begin with. */
		if (flags & MOCA_TASKF_THREAD && parent) {
			rec->stack = user_stack_pointer(task_pt_regs(t));
			rec->tls = moca_arch_tls(t);
		}
		memset(rec->comm, 0, sizeof(rec->comm));
		strscpy(rec->comm, t->comm, sizeof(rec->comm));
	}
	moca_put_end(irq);
}

void moca_record_exec(struct moca_session *s, struct task_struct *t,
		      u32 old_tid, const char *path)
{
	size_t len = min_t(size_t, strlen(path), PATH_MAX_TOLD - 1);
	struct moca_rec_exec *rec;
	unsigned long irq;

	rec = moca_put_begin(s, MOCA_REC_EXEC, sizeof(*rec) + len + 1,
			     moca_session_tid(s, t), &irq);
	if (rec) {
		rec->pid = moca_session_pid(s, t);
		/* The kernel's number: only that it differs is of use elsewhere. */
		rec->old_tid = s->pid_ns == &init_pid_ns ? old_tid :
							   rec->rec.tid;
		memcpy(rec->path, path, len);
		rec->path[len] = 0;
	}
	moca_put_end(irq);
}

void moca_record_exit(struct moca_session *s, struct task_struct *t)
{
	struct moca_rec_exit *rec;
	unsigned long irq;

	rec = moca_put_begin(s, MOCA_REC_EXIT, sizeof(*rec),
			     moca_session_tid(s, t), &irq);
	if (rec) {
		rec->pid = moca_session_pid(s, t);
		rec->status = t->signal->group_exit_code ?: t->exit_code;
	}
	moca_put_end(irq);
}

void moca_record_name(struct moca_session *s, struct task_struct *t,
		      const char *comm)
{
	struct moca_rec_name *rec;
	unsigned long irq;

	rec = moca_put_begin(s, MOCA_REC_NAME, sizeof(*rec),
			     moca_session_tid(s, t), &irq);
	if (rec) {
		memset(rec->comm, 0, sizeof(rec->comm));
		strscpy(rec->comm, comm, sizeof(rec->comm));
	}
	moca_put_end(irq);
}

void moca_record_gap(struct moca_session *s, u32 tid, u32 pid, u32 reason,
		     u64 addr, u64 len)
{
	struct moca_rec_gap *rec;
	unsigned long irq;

	rec = moca_put_begin(s, MOCA_REC_GAP, sizeof(*rec), tid, &irq);
	if (rec) {
		rec->pid = pid;
		rec->reason = reason;
		rec->addr = addr;
		rec->len = len;
	}
	moca_put_end(irq);
}

/* d_path() writes from the end of a buffer: one for each CPU. */
static DEFINE_PER_CPU(char[PATH_MAX_TOLD], path_buffer);

static const char *path_of(struct vm_area_struct *vma)
{
	char *buf = this_cpu_ptr(path_buffer);
	const char *name = NULL;
	char *path;

	/* [vdso] and the like. */
	if (!vma->vm_file && vma->vm_ops && vma->vm_ops->name)
		name = vma->vm_ops->name(vma);
	if (!vma->vm_file)
		return name ?: "";
	path = d_path(&vma->vm_file->f_path, buf, PATH_MAX_TOLD);
	return IS_ERR(path) ? "(path too long)" : path;
}

static u32 mapping_flags(const struct vm_area_struct *vma)
{
	const struct mm_struct *mm = vma->vm_mm;
	u32 flags = 0;

	if (vma->vm_flags & VM_SHARED)
		flags |= MOCA_MAPF_SHARED;
	if (vma->vm_file)
		flags |= MOCA_MAPF_FILE;
	if (vma->vm_start <= mm->start_stack && vma->vm_end > mm->start_stack)
		flags |= MOCA_MAPF_STACK;
	if (vma->vm_start < mm->brk && vma->vm_end > mm->start_brk)
		flags |= MOCA_MAPF_HEAP;
	return flags;
}

static u32 hash_of(const struct vm_area_struct *vma)
{
	const u64 what[] = {
		vma->vm_start, vma->vm_end, vma->vm_pgoff,
		vma->vm_flags & (VM_READ | VM_WRITE | VM_EXEC | VM_SHARED),
		(unsigned long)vma->vm_file,
	};

	return jhash2((const u32 *)what, sizeof(what) / 4, 0) | 1;
}

static void fill_mapping(struct moca_rec_mapping *rec,
			 const struct moca_space *sp,
			 struct vm_area_struct *vma)
{
	const struct inode *inode =
		vma->vm_file ? file_inode(vma->vm_file) : NULL;

	rec->pid = sp->pid;
	rec->flags = mapping_flags(vma) |
		     (moca_vma_is_safe(vma) ? 0 : MOCA_MAPF_UNSAFE);
	rec->start = vma->vm_start;
	rec->end = vma->vm_end;
	rec->offset = vma->vm_file ? (u64)vma->vm_pgoff << PAGE_SHIFT : 0;
	rec->inode = inode ? inode->i_ino : 0;
	rec->dev = inode ? inode->i_sb->s_dev : 0;
	rec->prot = (vma->vm_flags & VM_READ ? PROT_READ : 0) |
		    (vma->vm_flags & VM_WRITE ? PROT_WRITE : 0) |
		    (vma->vm_flags & VM_EXEC ? PROT_EXEC : 0);
}

static bool put_mapping(struct moca_space *sp, struct vm_area_struct *vma,
			u32 tid)
{
	struct moca_rec_mapping *rec;
	unsigned long irq, inner;
	const char *path;
	size_t len;

	local_irq_save(irq);	/* the CPU's buffer */
	path = path_of(vma);
	len = strlen(path);
	rec = moca_put_begin(sp->session, MOCA_REC_MAPPING,
			     sizeof(*rec) + len + 1, tid, &inner);
	if (rec) {
		fill_mapping(rec, sp, vma);
		memcpy(rec->path, path, len + 1);
	}
	moca_put_end(inner);
	local_irq_restore(irq);
	return rec;
}

bool moca_record_mapping(struct moca_space *sp, struct vm_area_struct *vma,
			 u32 tid)
{
	u32 hash = hash_of(vma);
	u32 *slot = &sp->known[(vma->vm_start >> PAGE_SHIFT) % MOCA_KNOWN];

	/* Another CPU may write it as well: then it is told twice. */
	if (READ_ONCE(*slot) == hash || !put_mapping(sp, vma, tid))
		return false;
	WRITE_ONCE(*slot, hash);
	return true;
}

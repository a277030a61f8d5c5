// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/asked.h"

#include <string.h>

#include "collect/fault/freeze.h"
#include "collect/fault/mm.h"
#include "collect/fault/zap.h"
#include "collect/ptrace/quiesce.h"
#include "lib/base/err.h"

/* t stands still: let it start the zapper that the collector waits for. */
static void give_zapper(struct recorder *rec, struct task *t)
{
	struct mm *mm = mm_of(t->space);
	struct tracee_regs regs;
	struct tracee_calls c;

	if (tracee_get_regs(t, &regs) || regs_are_32bit(&regs) ||
	    tracee_begin(&c, t, &regs))
		return;
	pthread_mutex_lock(&mm->lock);
	if (mm->state == MM_MOVED) {
		int err = mm_start_zapper(rec, mm, &c);

		moca_debug("process %d: zapper: %s", t->pid,
			   err ? strerror(-err) : "started");
	}
	pthread_mutex_unlock(&mm->lock);
	tracee_end(&c);
}

/* The same: what nobody else uses any more is traced in full again. */
static void give_thaw(struct recorder *rec, struct task *t)
{
	struct tracee_regs regs;
	struct tracee_calls c;
	struct mm *mm = mm_of(t->space);

	atomic_store(&mm->freeze.wanted, 0);
	if (mm->state != MM_MOVED || !freeze_can_thaw(rec, mm) ||
	    tracee_get_regs(t, &regs) || tracee_begin(&c, t, &regs))
		return;
	pthread_mutex_lock(&mm->lock);
	zap_settle(mm);
	quiesce(t->space, t);
	if (quiesced_settled(t->space, t)) {
		int err = freeze_thaw(rec, mm, &c);

		moca_debug("process %d: thawed: %s", t->pid,
			   err ? strerror(-err) : mm->base_count ? "in part" :
								    "all");
	}
	pthread_mutex_unlock(&mm->lock);
	tracee_end(&c);
	quiesce_end(t->space, t);
}

/* 2: asked for by the interrupt, which any stop answers. */
static int zapper_waits(const struct mm *mm)
{
	return atomic_load(&mm->want_zapper) == 2;
}

static int thaw_waits(const struct mm *mm)
{
	return atomic_load(&mm->freeze.wanted) == 2;
}

int asked_waits(const struct space *s)
{
	const struct mm *mm = (const struct mm *)s;

	return zapper_waits(mm) || thaw_waits(mm);
}

/* Where it cannot be done at this stop, another is asked for. */
static int is_put_off(struct task *t)
{
	struct mm *mm = mm_of(t->space);
	struct tracee_regs regs;
	int zapper = 2, thaw = 2;

	if (!tracee_get_regs(t, &regs) && regs_may_stand(t->tid, &regs))
		return 0;
	atomic_compare_exchange_strong(&mm->want_zapper, &zapper, 1);
	atomic_compare_exchange_strong(&mm->freeze.wanted, &thaw, 1);
	return 1;
}

void asked_give(struct recorder *rec, struct task *t)
{
	if (!MOCA_IS_X86 && is_put_off(t))
		return;
	if (zapper_waits(mm_of(t->space)))
		give_zapper(rec, t);
	if (thaw_waits(mm_of(t->space)))
		give_thaw(rec, t);
}

int asked_now(struct recorder *rec, struct space *s)
{
	struct mm *mm = mm_of(s);
	int zapper = 1, thaw = 1;

	zapper = atomic_compare_exchange_strong(&mm->want_zapper, &zapper, 2);
	thaw = atomic_compare_exchange_strong(&mm->freeze.wanted, &thaw, 2);
	if (thaw && !freeze_can_thaw(rec, mm)) {
		atomic_store(&mm->freeze.wanted, 0);
		thaw = 0;
	}
	return zapper || thaw;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose CPU the zapper takes. */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "collect/fault/pace.h"
#include "collect/fault/zap.h"
#include "collect/ptrace/stub.h"
#include "lib/base/stripe.h"
#include "tests/unit/trace-util.h"

static int offer(struct mm *mm, uint32_t id)
{
	pace_offer(mm, id, (int)id + 10);
	return 0;
}

static int t_turns(void)
{
	struct mm mm = { .first.cpu = -1, .next.cpu = -1, .threaded = 1 };
	const uint32_t ids[] = { 7, 2, 5 };
	const int order[] = { 12, 15, 17, 12, 15, 17 };

	CHECK(pace_take(&mm) == -1);
	for (size_t i = 0; i < 6; i++) {
		for (size_t k = 0; k < 3; k++)
			offer(&mm, ids[(i + k) % 3]);
		CHECK(pace_take(&mm) == order[i]);
	}
	/* Who had no access is passed over; there may be one alone. */
	offer(&mm, 5);
	offer(&mm, 7);
	CHECK(pace_take(&mm) == 15);
	offer(&mm, 5);
	CHECK(pace_take(&mm) == 15);
	CHECK(pace_take(&mm) == -1);
	offer(&mm, 9);
	offer(&mm, 2);
	CHECK(pace_take(&mm) == 19);
	/* One task shares nothing with others. */
	mm.threaded = 0;
	offer(&mm, 2);
	CHECK(pace_take(&mm) == -1);
	return 0;
}

/* A sample's core has 32 stripes of 64 pages, of all memory's 2^-level. */
static int t_most_level(void)
{
	CHECK(pace_most_level(0) == 0);
	CHECK(pace_most_level(2 * 32 * 64 - 1) == 0);
	CHECK(pace_most_level(2 * 32 * 64) == 1);
	CHECK(pace_most_level(8192) == 2);
	/* 16 GB. */
	CHECK(pace_most_level(4194304) == 11);
	CHECK(pace_most_level(UINT64_MAX) == MOCA_STRIPE_RANK_MAX);
	return 0;
}

/* Waits of a task that is gone are forgotten, and not those of one that is there. */
static int t_stretch(void)
{
	struct account_waits w = { .stretch = 9 };
	pid_t pid = fork();
	double gone;

	if (!pid)
		_exit(0);
	CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid);
	CHECK(account_stretch(&w, 0) == 9);
	CHECK(account_stretch(&w, pid) == 5);
	CHECK(account_stretch(&w, pid) == 3);
	while (account_stretch(&w, getpid()) == 3 && !w.tid)
		;	/* until it has run for long enough */
	CHECK(w.tid == getpid() && w.stretch >= 1);
	gone = w.stretch;
	CHECK(account_stretch(&w, pid) == 1 + (gone - 1) / 2);
	return 0;
}

/* A real-time task would not let the zapper in. */
static int t_real_time(void)
{
	struct sched_param one = { .sched_priority = 1 }, none = { 0 };
	int real_time, shares;

	CHECK(pace_shares_cpu(0));
	CHECK(!pace_shares_cpu(-1));
	CHECK(!sched_setscheduler(0, SCHED_BATCH, &none));
	CHECK(pace_shares_cpu(0));
	real_time = !sched_setscheduler(0, SCHED_FIFO, &one);
	shares = pace_shares_cpu(0);
	CHECK(!sched_setscheduler(0, SCHED_OTHER, &none));
	CHECK(!real_time || !shares);
	return 0;
}

/* What stands for a zapper: obeys once, when it has `cpus` CPUs. */
static pid_t obey(struct stub_data *stub, uint32_t seq, int cpus)
{
	pid_t pid = fork();
	cpu_set_t set;

	if (pid)
		return pid;
	while (__atomic_load_n(&stub->zap_seq, __ATOMIC_ACQUIRE) != seq)
		usleep(100);
	do
		if (sched_getaffinity(0, sizeof(set), &set))
			_exit(1);
	while (CPU_COUNT(&set) != cpus);
	__atomic_store_n(&stub->zap_done, seq, __ATOMIC_RELEASE);
	pause();
	_exit(0);
}

/* Runs one zap; the CPUs that the zapper has behind it, or -1. */
static int zap_once(struct mm *mm, int cpus)
{
	cpu_set_t set;
	int err, n;

	mm->zapper = obey(mm->stub, mm->zap_seq + 1, cpus);
	mm->zapper_fd = (int)syscall(SYS_pidfd_open, mm->zapper, 0);
	err = zap_run(mm, 1);
	n = sched_getaffinity(mm->zapper, sizeof(set), &set) ? -1 :
							     CPU_COUNT(&set);
	kill(mm->zapper, SIGKILL);
	waitpid(mm->zapper, NULL, 0);
	close(mm->zapper_fd);
	return err ? -1 : n;
}

static int t_held(void)
{
	struct mm mm = { 0 };
	cpu_set_t set;
	int all, tries;

	CHECK(!sched_getaffinity(0, sizeof(set), &set));
	all = CPU_COUNT(&set);
	while (!CPU_ISSET(mm.zap_cpu, &set))
		mm.zap_cpu++;
	mm.stub = mmap(NULL, sizeof(*mm.stub), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(mm.stub != MAP_FAILED);
	/* It has one, and all again behind it. On a busy machine it may not run once
	 * before it is released. */
	for (tries = 0; tries < 100 && zap_once(&mm, 1) != all; tries++)
		;
	CHECK(tries < 100);
	/* Where it does nothing there, it has all while it is waited for. */
	CHECK(zap_once(&mm, all) == all);
	mm.zap_cpu = -1;
	CHECK(zap_once(&mm, all) == all);
	munmap(mm.stub, sizeof(*mm.stub));
	return 0;
}

int main(void)
{
	run("pace: tasks take turns", t_turns);
	run("pace: real-time tasks are passed over", t_real_time);
	run("pace: samples have a core", t_most_level);
	run("pace: the zapper is held on a CPU and released", t_held);
	/* It uses a CPU, which what comes behind it would be late for. */
	run("pace: how long tasks wait for a CPU", t_stretch);
	return failures != 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* A thread's state: made at its first event, ended with it, lost by fork. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/trace/emitter.h"
#include "lib/base/blockable.h"

/* glibc keeps the values of keys below without malloc: signal-safe. */
#define SAFE_KEYS 32

__thread struct agent_thread *agent_self;

static pthread_key_t key;
static int have_key, made_key;

void agent_block_signals(uint64_t *before)
{
	const uint64_t all = moca_blockable();

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, before, sizeof(all));
}

void agent_restore_signals(const uint64_t *before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL,
		sizeof(*before));
}

/* Give all back; signals are blocked. */
static void let_go(struct agent_thread *t)
{
	unsigned i;

	for (i = 0; i < MOCA_TRACE_SLOTS; i++) {
		struct agent_member *m = t->slots[i].member;

		if (m) {
			agent_member_detach(m);
			m->ring.nest = 0;	/* a longjmp's */
			m->ring.left = 0;
		}
		t->slots[i].refused_base = 0;	/* the next one counts anew */
	}
}

/* Of threads whose end nobody tells: no safe key was to be had. */
static int is_gone(const struct agent_thread *t, int32_t tid)
{
	return !have_key &&
	       syscall(SYS_tgkill, agent_process->pid, tid, 0) < 0 &&
	       errno == ESRCH;
}

/* A state that an earlier thread left, or a new one. */
static struct agent_thread *find_state(int32_t tid)
{
	struct agent_thread *t;
	int32_t owner;

	for (t = __atomic_load_n(&agent_process->threads, __ATOMIC_ACQUIRE); t;
	     t = t->next) {
		owner = __atomic_load_n(&t->tid, __ATOMIC_RELAXED);
		if (owner && !is_gone(t, owner))
			continue;
		if (!__atomic_compare_exchange_n(&t->tid, &owner, tid, 0,
						 __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		let_go(t);
		return t;
	}
	t = agent_map_wiped(sizeof(*t));
	if (!t)
		return NULL;
	t->tid = tid;
	t->next = __atomic_load_n(&agent_process->threads, __ATOMIC_RELAXED);
	/* Pairs with the walks: all of it is there. */
	while (!__atomic_compare_exchange_n(&agent_process->threads, &t->next,
					    t, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	return t;
}

struct agent_thread *agent_thread_make(void)
{
	int saved_errno = errno;
	struct agent_thread *t;
	uint64_t signals;

	if (!agent_process)
		return NULL;
	agent_block_signals(&signals);
	agent_process_set();
	t = agent_self;		/* a handler may have been here */
	if (!t || !t->live) {
		t = find_state(syscall(SYS_gettid));
		if (t) {
			t->live = 1;
			agent_self = t;
			if (have_key)
				pthread_setspecific(key, t);
		}
	}
	agent_restore_signals(&signals);
	errno = saved_errno;
	return t;
}

void agent_thread_sweep(struct agent_thread *t)
{
	struct moca_registry_slot r;
	uint64_t signals;
	unsigned i;

	agent_block_signals(&signals);
	for (i = 0; i < MOCA_TRACE_SLOTS; i++) {
		struct agent_member *m = t->slots[i].member;

		if (!m || !m->id_base ||
		    moca_registry_read_slot(agent_registry, i, &r) ||
		    (r.state != MOCA_SLOT_FREE &&
		     agent_slot_base(&r) == m->id_base))
			continue;
		if (m->ring.nest)
			m->closing = 1;
		else
			agent_member_detach(m);
	}
	agent_restore_signals(&signals);
}

static void thread_end(void *arg)
{
	struct agent_thread *t = arg;
	int saved_errno = errno;
	uint64_t signals;

	agent_block_signals(&signals);
	if (t == agent_self && t->live) {
		agent_self = NULL;	/* later events begin anew */
		agent_report_thread(t);
		let_go(t);
		t->live = 0;
		/* Pairs with find_state: the next thread may have it. */
		__atomic_store_n(&t->tid, 0, __ATOMIC_RELEASE);
	}
	agent_restore_signals(&signals);
	errno = saved_errno;
}

/* Also where the kernel cannot wipe (before 4.14). */
static void fork_child(void)
{
	struct agent_thread *t = agent_self;
	int saved_errno = errno;

	agent_member_fork_child();
	if (t)
		memset(t, 0, sizeof(*t));
	agent_self = NULL;
	if (agent_process)
		memset(agent_process, 0, sizeof(*agent_process));
	errno = saved_errno;
}

void agent_thread_init(void)
{
	pthread_atfork(agent_member_fork_prepare, NULL, fork_child);
	made_key = !pthread_key_create(&key, thread_end);
	have_key = made_key && key < SAFE_KEYS;
}

/* At exit, and when a library that contains us is unloaded. */
__attribute__((destructor)) static void agent_exit(void)
{
	int saved_errno = errno;

	agent_report_all();
	if (made_key)
		pthread_key_delete(key);
	have_key = 0;
	errno = saved_errno;
}

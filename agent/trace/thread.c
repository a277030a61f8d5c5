// SPDX-License-Identifier: LGPL-2.1-or-later
/* A thread's state: made at its first event, ended with it, lost by fork. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/trace/internal.h"

/* glibc keeps the values of keys below without malloc: signal-safe. */
#define SAFE_KEYS 32

__thread struct agent_thread *agent_self;
struct agent_process *agent_process;

static pthread_key_t key;
static int have_key;

/* Where the kernel cannot wipe it (before 4.14), fork_child does. */
static void *map_wiped(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, len, MADV_WIPEONFORK);
	return p;
}

static void set_process(void)
{
	struct agent_process *p = agent_process;
	uint64_t n = 0;

	if (!p || p->pid)
		return;
	if (syscall(SYS_getrandom, &n, sizeof(n), 1 /* GRND_NONBLOCK */) !=
	    sizeof(n))
		n = moca_clock_ns() * 0x9e3779b97f4a7c15ull;
	p->incarnation = n;
	p->pid = syscall(SYS_getpid);
}

struct agent_thread *agent_thread_get(void)
{
	struct agent_thread *t = agent_self;

	if (__builtin_expect(t && t->live, 1))
		return t;
	if (!t) {
		t = map_wiped(sizeof(*t));
		if (agent_self) {	/* a handler was here */
			if (t)
				munmap(t, sizeof(*t));
			t = agent_self;
		}
		if (!t)
			return NULL;
	}
	set_process();
	t->live = 1;
	agent_self = t;
	if (have_key)
		pthread_setspecific(key, t);
	return t;
}

void agent_block_signals(uint64_t *before)
{
	const uint64_t all = ~0ull;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, before, sizeof(all));
}

void agent_restore_signals(const uint64_t *before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL,
		sizeof(*before));
}

void agent_slot_attached(struct agent_slot *s, uint32_t base)
{
	uint64_t lost;

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	s->id_base = base;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	lost = __atomic_exchange_n(&s->lost, 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->ring.shm->lost, lost, __ATOMIC_RELAXED);
}

void agent_slot_detach(struct agent_slot *s)
{
	struct moca_ring_header *h = s->ring.shm;
	void *map = s->map;
	uint32_t nest = s->ring.nest;

	s->id_base = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	s->closing = 0;
	if (!h)
		return;
	/* Pairs with the collector's load: nothing is written after this. */
	__atomic_store_n(&h->ended, 1, __ATOMIC_RELEASE);
	memset(&s->ring, 0, sizeof(s->ring));
	s->ring.nest = nest;
	s->map = NULL;
	munmap(map, s->map_len);
}

void agent_thread_sweep(struct agent_thread *t)
{
	struct moca_registry_slot r;
	uint64_t signals;
	unsigned i;

	agent_block_signals(&signals);
	for (i = 0; i < MOCA_TRACE_SLOTS; i++) {
		struct agent_slot *s = &t->slots[i];

		if (!s->id_base ||
		    moca_registry_read_slot(agent_registry, i, &r) ||
		    (r.state != MOCA_SLOT_FREE &&
		     agent_slot_base(&r) == s->id_base))
			continue;
		if (s->ring.nest)
			s->closing = 1;
		else
			agent_slot_detach(s);
	}
	agent_restore_signals(&signals);
}

void agent_slot_close(struct agent_slot *s)
{
	uint64_t signals;

	agent_block_signals(&signals);
	if (s->closing && !s->ring.nest)	/* no handler did it */
		agent_slot_detach(s);
	agent_restore_signals(&signals);
}

static void thread_end(void *arg)
{
	struct agent_thread *t = arg;
	struct moca_registry_slot r;
	int saved_errno = errno;
	unsigned i;

	agent_self = NULL;	/* a handler's event begins anew */
	for (i = 0; t->live && i < MOCA_TRACE_SLOTS; i++) {
		struct agent_slot *s = &t->slots[i];

		if (s->lost && !moca_registry_read_slot(agent_registry, i, &r))
			agent_report_lost(s, &r);
		agent_slot_detach(s);
	}
	munmap(t, sizeof(*t));
	errno = saved_errno;
}

/*
 * The buffers are not inherited. If this fork was called by a handler that
 * interrupted a writer, that writer goes on in the child as well: it gets
 * memory of its own to scribble on.
 */
static __thread struct {
	void *map;
	size_t len;
} holes[MOCA_TRACE_SLOTS] __attribute__((tls_model("initial-exec")));

static void fork_prepare(void)
{
	struct agent_thread *t = agent_self;
	unsigned i;

	for (i = 0; t && t->live && i < MOCA_TRACE_SLOTS; i++) {
		holes[i].map = t->slots[i].ring.nest ? t->slots[i].map : NULL;
		holes[i].len = t->slots[i].map_len;
	}
}

static void fork_child(void)
{
	struct agent_thread *t = agent_self;
	int saved_errno = errno;
	unsigned i;

	for (i = 0; t && i < MOCA_TRACE_SLOTS; i++)
		if (holes[i].map)
			mmap(holes[i].map, holes[i].len,
			     PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			     -1, 0);
	if (t)
		memset(t, 0, sizeof(*t));
	if (agent_process)
		memset(agent_process, 0, sizeof(*agent_process));
	errno = saved_errno;
}

void agent_thread_init(void)
{
	agent_process = map_wiped(sizeof(*agent_process));
	set_process();
	pthread_atfork(fork_prepare, NULL, fork_child);
	have_key = !pthread_key_create(&key, thread_end) && key < SAFE_KEYS;
}

/* The calling thread's losses would else be told at its end: exit has none. */
__attribute__((destructor)) static void agent_exit(void)
{
	struct agent_thread *t = agent_self;
	struct moca_registry_slot r;
	unsigned i;

	for (i = 0; t && t->live && i < MOCA_TRACE_SLOTS; i++)
		if (t->slots[i].lost &&
		    !moca_registry_read_slot(agent_registry, i, &r))
			agent_report_lost(&t->slots[i], &r);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One buffer, both sides: a thread and three levels of signal handlers write
 * as fast as they can, a collector reads and checks each byte; or the writer
 * is a process, and is killed.
 *
 *	ring-storm [-t MS] [-k KILLS] [-s SEED] [-p PREFIX] [CASE...]
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/ring/consumer.h"
#include "lib/ring/producer.h"

#define LEVELS 4	/* the thread and three handlers */
#define TRIES_MAX (1u << 20)	/* per level */
#define DROPPED 1ull	/* no position, those are multiples of 8 */

#ifdef __SANITIZE_THREAD__
#define TSAN 1
#else
#define TSAN 0
#endif

struct payload {
	uint32_t level_len;	/* level << 16 | bytes of the payload */
	uint32_t seq;
	uint64_t clock;		/* when it was written */
	uint8_t bytes[];
};

/* What the writer says of itself; shared with it if it is a process. */
struct truth {
	volatile uint32_t tries[LEVELS];	/* begun */
	volatile uint32_t erased_under;	/* a record that was being written */
	uint64_t pos[LEVELS][TRIES_MAX];	/* set after the commit */
};

struct test {
	const char *name;
	uint32_t mode, subbuf, subbufs, clock;
	enum { STORM, KILL, BARRED } how;
};

static const struct test tests[] = {
	{ "barred", MOCA_RING_OVERWRITE, 4096, 2, MOCA_CLOCK_TSC, BARRED },
	{ "discard-4k", MOCA_RING_DISCARD, 4096, 2, MOCA_CLOCK_TSC, STORM },
	{ "discard-64k", MOCA_RING_DISCARD, 65536, 8, MOCA_CLOCK_MONOTONIC, STORM },
	{ "overwrite-4k", MOCA_RING_OVERWRITE, 4096, 2, MOCA_CLOCK_TSC, STORM },
	{ "overwrite-64k", MOCA_RING_OVERWRITE, 65536, 2, MOCA_CLOCK_TSC, STORM },
	{ "overwrite-16k", MOCA_RING_OVERWRITE, 16384, 4,
	  MOCA_CLOCK_MONOTONIC, STORM },
	{ "block-4k", MOCA_RING_BLOCK, 4096, 2, MOCA_CLOCK_TSC, STORM },
	{ "block-64k", MOCA_RING_BLOCK, 65536, 4, MOCA_CLOCK_MONOTONIC, STORM },
	{ "kill-discard", MOCA_RING_DISCARD, 4096, 4, MOCA_CLOCK_TSC, KILL },
	{ "kill-overwrite", MOCA_RING_OVERWRITE, 4096, 2, MOCA_CLOCK_TSC, KILL },
};

static struct truth *truth;
static uint8_t *seen[LEVELS];
static struct moca_ring ring;
static void *shm;
static unsigned run_ms = 700, kills = 60, seed = 1;
static const char *prefix = "ring";
static int stop;	/* atomic */
static pid_t writer_tid;
static const uint32_t id_end = MOCA_REC_FIRST + LEVELS;
static uint32_t progress;	/* of the writer's own events; atomic */

/* The first failure, and where. */
static char failure[256];
static int failures;

__attribute__((format(printf, 1, 2))) static void fail(const char *fmt, ...)
{
	va_list ap;

	if (failures++)
		return;
	va_start(ap, fmt);
	vsnprintf(failure, sizeof(failure), fmt, ap);
	va_end(ap);
}

#define CHECK(cond, ...)                       \
	do {                                   \
		if (!(cond))                   \
			fail(#cond " " __VA_ARGS__); \
	} while (0)

static uint32_t mix(uint32_t x)
{
	x = (x ^ x >> 16) * 0x7feb352d;
	x = (x ^ x >> 15) * 0x846ca68b;
	return x ^ x >> 16;
}

/* Mostly short, some long, the odd one as long as can be, or too long to fit. */
static uint32_t payload_len(uint32_t level, uint32_t seq, uint32_t max)
{
	uint32_t r = mix(level << 28 ^ seq ^ seed), len;

	if (r % 512 == 0)
		len = max;
	else if (r % 32 == 0)
		len = r / 64 % 2000;
	else
		len = r / 64 % 100;
	len += sizeof(struct payload);
	return len > max ? max : len;
}

static uint8_t payload_byte(uint32_t level, uint32_t seq, uint32_t i)
{
	return (uint8_t)(mix(seq + level * 77) + i) | 1;
}

/* A record's writer is where most handlers are to be nested. */
static void interrupt(uint32_t level)
{
	syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid),
		SIGRTMIN + level - 1);
}

/* One try of a level. */
static int emit(uint32_t level)
{
	uint32_t seq = truth->tries[level], len, i;
	uint64_t pos, header, *p;
	struct payload *pl;

	if (seq == TRIES_MAX)
		return 0;
	truth->tries[level] = seq + 1;
	len = payload_len(level, seq, ring.max_len);
	ring.nest++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	p = moca_ring_reserve(&ring, MOCA_REC_FIRST + level, len, &pos,
			      &header);
	if (p) {
		pl = (struct payload *)(p + 1);
		pl->level_len = level << 16 | len;
		pl->seq = seq;
		pl->clock = moca_clock_read(ring.clock);
		for (i = 0; i < len - sizeof(*pl); i++) {
			pl->bytes[i] = payload_byte(level, seq, i);
			if (i == 8 && level + 1 < LEVELS && seq % 64 == 7)
				interrupt(level + 1);
		}
		if (pos < __atomic_load_n(&ring.shm->erased, __ATOMIC_RELAXED))
			truth->erased_under = 1;
		moca_ring_commit(&ring, p, pos, header);
	} else {
		pos = DROPPED;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ring.nest--;
	/* 0 is what is not there: so position 0 is told apart. */
	__atomic_store_n(&truth->pos[level][seq], pos ? pos : 2,
			 __ATOMIC_RELAXED);
	return 1;
}

static void on_signal(int sig)
{
	uint32_t level = sig - SIGRTMIN + 1, n;
	int saved = errno;

	n = mix(truth->tries[level] * 3 + level);
	/* The odd burst goes around a small buffer. */
	n = n % 16 ? 1 + n / 16 % 3 : 100;
	while (n-- && !__atomic_load_n(&stop, __ATOMIC_RELAXED))
		emit(level);
	errno = saved;
}

static void handlers(void)
{
	struct sigaction sa = { .sa_handler = on_signal,
				.sa_flags = SA_RESTART };
	int i;

	sigemptyset(&sa.sa_mask);
	for (i = 1; i < LEVELS; i++) {
		sigaddset(&sa.sa_mask, SIGRTMIN + i - 1);
		sigaction(SIGRTMIN + i - 1, &sa, NULL);
	}
}

/* Timers that send this thread each level's signal. */
static void timers(timer_t *t)
{
	int i;

	for (i = 1; i < LEVELS; i++) {
		struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
				       .sigev_signo = SIGRTMIN + i - 1 };

		ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
		if (timer_create(CLOCK_MONOTONIC, &ev, &t[i]))
			abort();
	}
}

/* Once each: however slow signals are here, the thread itself gets on. */
static void arm(timer_t *t, uint32_t n)
{
	int i;

	for (i = 1; i < LEVELS; i++) {
		struct itimerspec its = {
			.it_value.tv_nsec = 300 + mix(n + i) % 8000,
		};

		if (timer_settime(t[i], 0, &its, NULL))
			abort();
	}
}

static void *writer(void *arg)
{
	timer_t t[LEVELS];
	uint32_t n = 0;
	int i;

	timers(t);
	__atomic_store_n(&writer_tid, (pid_t)syscall(SYS_gettid),
			 __ATOMIC_RELEASE);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED) && emit(0)) {
		__atomic_store_n(&progress, n, __ATOMIC_RELAXED);
		if (!(++n % 1000))
			moca_ring_switch(&ring);
		if (!(n % 32))
			arm(t, n);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 1; i < LEVELS; i++)
		timer_delete(t[i]);
	return NULL;
}

static void sleep_ns(long ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&ts, NULL);
}

/* Signals at any moment, not only at those of timers. */
static void *sender(void *arg)
{
	uint32_t sent[LEVELS] = { 0 }, r = seed, level, n;
	pid_t tid;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		r = mix(r + 1);
		level = 1 + r % (LEVELS - 1);
		n = __atomic_load_n(&progress, __ATOMIC_RELAXED);
		tid = __atomic_load_n(&writer_tid, __ATOMIC_ACQUIRE);
		if (tid && n != sent[level]) {
			sent[level] = n;
			syscall(SYS_tgkill, getpid(), tid,
				SIGRTMIN + level - 1);
		}
		/* Not for long: there may be one CPU only. */
		sleep_ns(r / 8 % 50000);
	}
	return NULL;
}

static void check_event(const struct test *t, const uint64_t *p, uint64_t clock)
{
	const struct payload *pl = (const void *)(p + 1);
	uint32_t level = pl->level_len >> 16, len = pl->level_len & 0xffff, i;
	uint32_t max = ring.max_len;

	if (level >= LEVELS || pl->seq >= TRIES_MAX ||
	    moca_rec_id(*p) != MOCA_REC_FIRST + level ||
	    len != payload_len(level, pl->seq, max) ||
	    moca_rec_words(*p) != (len + 15) / 8) {
		fail("event of level %u, %u bytes, in %u words", level, len,
		     moca_rec_words(*p));
		return;
	}
	for (i = 0; i < len - sizeof(*pl); i++)
		if (pl->bytes[i] != payload_byte(level, pl->seq, i)) {
			fail("byte %u of %u in event %u of level %u", i, len,
			     pl->seq, level);
			break;
		}
	CHECK(clock <= pl->clock, "time %llu, written at %llu",
	      (unsigned long long)clock, (unsigned long long)pl->clock);
	CHECK(pl->clock - clock < 1ull << 35, "time is %llu too small",
	      (unsigned long long)(pl->clock - clock));
	CHECK(!seen[level][pl->seq], "event %u of level %u", pl->seq, level);
	CHECK(pl->seq + 1 == TRIES_MAX || !seen[level][pl->seq + 1],
	      "event %u of level %u after the next", pl->seq, level);
	seen[level][pl->seq] = 1;
}

static void check_batch(const struct test *t, const struct moca_ring_batch *b,
			uint64_t *clock)
{
	const uint64_t *p = b->records, *end = p + b->words;
	uint64_t c = b->clock_before;
	uint32_t events = 0;

	while (p < end && !failures) {
		if (moca_rec_id(*p) == MOCA_REC_SYNC) {
			CHECK(p[1] >= c, "SYNC goes back");
			c = p[1];
		} else {
			c = moca_rec_clock(c, *p);
			CHECK(c >= *clock, "event goes back");
			CHECK(events || c == b->clock_first, "first");
			*clock = c;
			events++;
			check_event(t, p, c);
		}
		p += moca_rec_words(*p);
	}
	CHECK(p == end, "records end elsewhere");
	CHECK(events == b->events, "%u %u", events, b->events);
	CHECK(!events || *clock == b->clock_last, "last");
	CHECK(!b->corrupt, "%llu bytes at %llu",
	      (unsigned long long)b->corrupt, (unsigned long long)b->begin);
}

/* Reads on; sums up. */
struct sums {
	uint64_t events, lost, torn, clock;
};

static int read_on(const struct test *t, struct moca_ring_reader *r,
		   enum moca_ring_read_how how, struct sums *s)
{
	struct moca_ring_batch b;

	if (failures || !moca_ring_read(r, how, &b))
		return 0;
	check_batch(t, &b, &s->clock);
	s->events += b.events;
	s->lost += b.lost;
	s->torn += b.torn;
	return 1;
}

static void setup(const struct test *t, struct moca_ring_reader *r)
{
	struct moca_ring_header *h = shm;
	size_t size = MOCA_RING_DATA + (size_t)t->subbuf * t->subbufs;
	int i;

	memset(shm, 0, size);
	memset(truth, 0, sizeof(*truth));
	for (i = 0; i < LEVELS; i++)
		memset(seen[i], 0, TRIES_MAX);
	h->magic = MOCA_RING_MAGIC;
	h->version = MOCA_RING_VERSION;
	h->mode = t->mode;
	h->clock = t->clock;
	h->subbuf_size = t->subbuf;
	h->subbufs = t->subbufs;
	h->timeout_ms = 20000;
	h->word_bits = 8 * sizeof(long);
	h->limit = (uint64_t)t->subbuf * t->subbufs;
	if (moca_ring_attach(&ring, shm, size, NULL) ||
	    moca_ring_reader_init(r, shm, t->subbuf, t->subbufs, t->mode))
		abort();
	r->id_end = &id_end;
	stop = 0;
	writer_tid = 0;
}

/* All that was committed and not overwritten was read; died: no more is known. */
static void check_truth(const struct test *t, struct sums *s, int died)
{
	struct moca_ring_header *h = shm;
	uint64_t tries = 0, dropped = 0, unknown = 0, pos;
	uint32_t level, i;

	for (level = 0; level < LEVELS; level++) {
		tries += truth->tries[level];
		for (i = 0; i < truth->tries[level]; i++) {
			pos = truth->pos[level][i];
			if (!pos) {
				unknown++;
			} else if (pos == DROPPED) {
				dropped++;
				CHECK(!seen[level][i], "dropped");
			} else if (t->mode != MOCA_RING_OVERWRITE ||
				   (pos & ~7ull) >= h->erased) {
				CHECK(seen[level][i],
				      "event %u of level %u at %llu", i, level,
				      (unsigned long long)pos);
			}
			if (t->mode == MOCA_RING_BLOCK && !level)
				CHECK(pos != DROPPED, "not blocked");
		}
	}
	CHECK(!truth->erased_under, "");
	CHECK(unknown <= (died ? LEVELS : 0), "%llu",
	      (unsigned long long)unknown);
	CHECK(s->torn <= (died ? 3 * LEVELS : 0), "%llu",
	      (unsigned long long)s->torn);
	CHECK(s->lost >= dropped && s->lost <= dropped + unknown, "%llu %llu",
	      (unsigned long long)s->lost, (unsigned long long)dropped);
	if (t->mode != MOCA_RING_OVERWRITE && !died)
		CHECK(s->events + s->lost == tries, "%llu %llu %llu",
		      (unsigned long long)s->events,
		      (unsigned long long)s->lost, (unsigned long long)tries);
}

/* Let the writer go around; not for ever, it may have been stopped. */
static void wait_written(struct moca_ring_reader *r, uint64_t bytes)
{
	uint64_t end = moca_now_ns() + 5000000;

	while (__atomic_load_n(&r->shm->reserve, __ATOMIC_RELAXED) - r->pos <
		       bytes && moca_now_ns() < end)
		sched_yield();
}

static void storm(const struct test *t, struct sums *s)
{
	struct moca_ring_reader r;
	uint64_t end = moca_now_ns() + run_ms * 1000000ull;
	pthread_t w, x;
	sigset_t set;
	uint32_t n = seed;
	int i;

	setup(t, &r);
	/* Of all threads, only the writer is to be interrupted. */
	if (pthread_create(&w, NULL, writer, NULL))
		abort();
	sigemptyset(&set);
	for (i = 1; i < LEVELS; i++)
		sigaddset(&set, SIGRTMIN + i - 1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&x, NULL, sender, NULL))
		abort();
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE) && !failures) {
		n = mix(n + 1);
		if (moca_now_ns() > end)
			__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
		/* A copy that races with erasing is what TSan cannot like. */
		if (TSAN && t->mode == MOCA_RING_OVERWRITE) {
			sleep_ns(1000000);
			continue;
		}
		if (!read_on(t, &r, n % 4 ? MOCA_READ_ALL : MOCA_READ_WHOLE,
			     s) && !(n % 16))
			sleep_ns(20000);
		/* A snapshot of all there is, the oldest first. */
		if (t->mode == MOCA_RING_OVERWRITE && !(n % 2))
			wait_written(&r, t->subbuf * t->subbufs);
		if (t->mode != MOCA_RING_OVERWRITE && n % 8)
			moca_ring_release(&r);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	/* The writer may wait for room. */
	moca_ring_release(&r);
	while (t->mode == MOCA_RING_BLOCK && pthread_tryjoin_np(w, NULL)) {
		read_on(t, &r, MOCA_READ_ALL, s);
		moca_ring_release(&r);
	}
	if (t->mode != MOCA_RING_BLOCK)
		pthread_join(w, NULL);
	pthread_join(x, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	while (read_on(t, &r, MOCA_READ_FINAL, s))
		;
	s->lost += moca_ring_take_lost(&r);
	check_truth(t, s, 0);
	moca_ring_reader_free(&r);
}

static void killed(const struct test *t, struct sums *total)
{
	struct moca_ring_reader r;
	uint64_t end;
	uint32_t k;
	pid_t pid;

	for (k = 0; k < kills && !failures; k++) {
		struct sums s = { 0 };

		setup(t, &r);
		pid = fork();
		if (pid < 0)
			abort();
		if (!pid) {
			writer(NULL);
			_exit(0);
		}
		end = moca_now_ns() + 1000000 + mix(seed + k) % 8000000;
		while (moca_now_ns() < end) {
			if (t->mode == MOCA_RING_DISCARD) {
				read_on(t, &r, MOCA_READ_ALL, &s);
				moca_ring_release(&r);
			} else {
				sleep_ns(100000);
			}
		}
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (read_on(t, &r, MOCA_READ_FINAL, &s))
			;
		s.lost += moca_ring_take_lost(&r);
		check_truth(t, &s, 1);
		moca_ring_reader_free(&r);
		total->events += s.events;
		total->lost += s.lost;
		total->torn += s.torn;
	}
}

/* One event of n bytes; NULL: it was dropped. */
static uint64_t *emit_plain(uint32_t n)
{
	uint64_t pos, header, *p;

	p = moca_ring_reserve(&ring, MOCA_REC_FIRST, n, &pos, &header);
	if (p)
		moca_ring_commit(&ring, p, pos, header);
	return p;
}

/*
 * A handler finds its way barred by the record of whom it interrupted, and another
 * one, which came while it looked at the clock, set a later time.
 */
static void barred(const struct test *t)
{
	struct moca_ring_reader r;
	uint64_t pos, header, erased, *p;
	int i;

	setup(t, &r);
	ring.nest = 1;
	p = moca_ring_reserve(&ring, MOCA_REC_FIRST, 64, &pos, &header);
	CHECK(p, "no room in the beginning");
	ring.nest = 2;
	for (i = 0; i < 100 && emit_plain(500); i++)
		;
	CHECK(i < 100, "it wrote over what is being written");
	erased = ring.shm->erased;
	ring.stuck_since = moca_clock_read(ring.clock) + (1ull << 32);
	CHECK(!emit_plain(500), "it took the place of what is being written");
	CHECK(ring.shm->erased == erased, "%llu",
	      (unsigned long long)ring.shm->erased);
	ring.nest = 1;
	if (p)
		moca_ring_commit(&ring, p, pos, header);
	ring.nest = 0;
	moca_ring_reader_free(&r);
}

static void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

static int wanted(const char *name, char **names)
{
	char **n;

	for (n = names; *n; n++)
		if (strstr(name, *n))
			return 1;
	return !*names;
}

int main(int argc, char **argv)
{
	unsigned i;
	int c, bad = 0;

	while ((c = getopt(argc, argv, "t:k:s:p:")) != -1) {
		if (c == 't')
			run_ms = atoi(optarg);
		else if (c == 'k')
			kills = atoi(optarg);
		else if (c == 's')
			seed = atoi(optarg);
		else if (c == 'p')
			prefix = optarg;
		else
			return 2;
	}
	shm = shared(MOCA_RING_DATA + (1 << 20));
	truth = shared(sizeof(*truth));
	for (i = 0; i < LEVELS; i++) {
		seen[i] = malloc(TRIES_MAX);
		if (!seen[i])
			abort();
	}
	handlers();
	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		const struct test *t = &tests[i];
		struct sums s = { 0 };

		if (!wanted(t->name, argv + optind) || (TSAN && t->how == KILL))
			continue;
		failures = 0;
		if (t->how == BARRED)
			barred(t);
		else if (t->how == KILL)
			killed(t, &s);
		else
			storm(t, &s);
		if (failures)
			printf("not ok %s-%s: %s\n", prefix, t->name, failure);
		else
			printf("ok %s-%s\n", prefix, t->name);
		fprintf(stderr, "%s: %llu events, %llu lost, %llu torn\n",
			t->name, (unsigned long long)s.events,
			(unsigned long long)s.lost,
			(unsigned long long)s.torn);
		fflush(stdout);
		bad |= failures;
	}
	return !!bad;
}

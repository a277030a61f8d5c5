// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Heat: each look tells exactly the pages that were touched since the look before,
 * and which of them were written, also when they made no fault. What a look has
 * told the sweep still knows. usage: heat [keep | refused]; keep: huge pages stay huge;
 * refused: the module has no ftrace, or no flush of ranges
 */
#include <pthread.h>
#include <sys/wait.h>

#include "session.h"

#define PAGES 256
#define MOST 4096	/* pages that are looked for */
#define CLOSED_FIRST 16384	/* kmod/opened.c */
#define HUGE (2ul << 20)

static struct session s;
static char *memory;
static long pages = PAGES, step = 1;	/* those looked for: each step-th */
static unsigned char touched[MOST], written[MOST];
static long other;	/* told, but written without being touched */
static long faults, swept;
static uint64_t hot, held, lost, looks, sweeps;
static uint32_t pid;

static void see_heat(const struct moca_rec_heat *h)
{
	if (h->words > MOCA_HEAT_WORDS || h->addr % (64 * PAGE) ||
	    h->rec.bytes != sizeof(*h) + 16 * h->words) {
		errno = EBADMSG;
		die("a record of heat");
	}
	for (uint32_t i = 0; i < 64 * h->words && h->pid == pid; i++) {
		uint64_t bit = 1ull << i % 64;
		uint64_t at = h->addr + i * PAGE - (uintptr_t)memory;
		int t = !!(h->bits[i / 64] & bit);
		int w = !!(h->bits[h->words + i / 64] & bit);

		other += w && !t;
		if (at >= pages * step * PAGE || at / PAGE % step)
			continue;
		touched[at / PAGE / step] += t;
		written[at / PAGE / step] += w;
	}
}

static void look_at(void *arg, const struct moca_chunk_head *c,
		    const struct moca_rec *rec)
{
	const struct moca_rec_access *a = (const void *)rec;
	const struct moca_rec_look *l = (const void *)rec;

	if (rec->type == MOCA_REC_HEAT) {
		see_heat((const void *)rec);
	} else if (rec->type == MOCA_REC_LOOK) {
		looks++;
		sweeps += !!(l->flags & MOCA_LOOK_SWEEP);
		hot += l->touched;
		held += l->held;
		lost += l->lost;
		other += l->since_ns >= l->end_ns || rec->time_ns > l->end_ns;
	} else if (rec->type == MOCA_REC_ACCESS && a->pid == pid &&
		   a->addr >= (uintptr_t)memory &&
		   a->addr < (uintptr_t)memory + pages * step * PAGE) {
		faults += !(a->flags & MOCA_ACC_SWEPT);
		swept += !!(a->flags & MOCA_ACC_SWEPT);
	}
}

static void begin(void)
{
	memset(touched, 0, sizeof(touched));
	memset(written, 0, sizeof(written));
	other = faults = swept = 0;
	hot = held = lost = looks = sweeps = 0;
}

static long sum(const unsigned char *of)
{
	long n = 0;

	for (long i = 0; i < pages; i++)
		n += of[i];
	return n;
}

static void look(void)
{
	session_do(&s, MOCA_IOC_LOOK, "LOOK");
}

static void tick(void)
{
	session_do(&s, MOCA_IOC_TICK, "TICK");
	session_drain(&s, look_at, NULL);
}

static void get(void)
{
	memory = mmap(NULL, pages * step * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap");
}

static void reads(long from, long every)
{
	for (long i = from; i < pages; i += every)
		(void)*(volatile char *)(memory + i * step * PAGE);
}

static void writes(long from, long every)
{
	for (long i = from; i < pages; i += every)
		((volatile char *)memory)[i * step * PAGE] = 1;
}

/* Each page from `from` on was told so often, and no other. */
static int all_are(const unsigned char *of, long from, long every, int times)
{
	for (long i = 0; i < pages; i++)
		if (of[i] != (i >= from && (i - from) % every == 0 ? times : 0))
			return 0;
	return 1;
}

#define NONE MOST	/* from: no page */

/* Since begin(), an interval told `t` of every `every`-th page, `w` of them written. */
static void has(const char *name, long from, long every, int t, long w_from,
		long w_every, int w)
{
	check(all_are(touched, from, every, t) &&
	      all_are(written, w_from, w_every, w) && !other && !held && !lost,
	      name, "%ld touched, %ld written, %ld odd, %lu held, %lu lost",
	      sum(touched), sum(written), other, held, lost);
}

static void simple(void)
{
	get();
	tick();
	begin();
	writes(0, 1);
	look();
	tick();
	has("first touches", 0, 1, 1, 0, 1, 1);
	check(looks == 2 && sweeps == 1 && hot >= PAGES, "looks are told",
	      "%lu, %lu sweeps, %lu pages", looks, sweeps, hot);
	check(faults == PAGES && !swept, "the sweep knows",
	      "%ld faults, %ld swept", faults, swept);
	begin();
	look();
	look();
	tick();
	has("nothing touched", NONE, 1, 0, NONE, 1, 0);
	begin();
	reads(0, 4);
	look();
	tick();
	has("some read", 0, 4, 1, NONE, 1, 0);
	begin();
	writes(3, 8);
	look();
	tick();
	has("some written", 3, 8, 1, 3, 8, 1);
}

/* Finer than intervals: pages that are open and make no fault. */
static void open_pages(void)
{
	tick();
	begin();
	reads(0, 2);
	look();
	for (int i = 0; i < 3; i++) {
		reads(0, 2);
		look();
	}
	look();
	writes(0, 2);
	look();
	look();
	tick();
	has("touched again and again in an interval", 0, 2, 5, 0, 2, 1);
	check(faults == PAGES / 2 && !swept, "and made one fault each",
	      "%ld faults, %ld swept", faults, swept);
	begin();
	writes(0, 2);
	tick();
	has("the sweep is a look", 0, 2, 1, 0, 2, 1);
	begin();
	reads(0, 2);
	look();
	tick();
	has("read after it was written", 0, 2, 1, NONE, 1, 0);
}

static void *stay(void *arg)
{
	pthread_barrier_wait(arg);
	return NULL;
}

/*
 * What is behind the first 64 MiB of a large mremap, in a process of two threads,
 * is touched by nobody known (opened.c): the sweep has to tell, although a look
 * has cleared the bits.
 */
static void remembered(void)
{
	long all = CLOSED_FIRST + PAGES;
	pthread_barrier_t barrier;
	pthread_t t;
	char *from;

	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&t, NULL, stay, &barrier))
		die("pthread_create");
	pages = all;
	get();
	from = memory;
	get();
	for (long i = CLOSED_FIRST; i < all; i++)
		((volatile char *)from)[i * PAGE] = 1;
	if (mremap(from, all * PAGE, all * PAGE,
		   MREMAP_MAYMOVE | MREMAP_FIXED, memory) != memory)
		die("mremap");
	memory += CLOSED_FIRST * PAGE;
	pages = PAGES;
	begin();
	look();
	look();
	tick();
	has("moved pages are looked at once", 0, 1, 1, 0, 1, 1);
	check(swept == PAGES, "what a look has cleared is swept",
	      "%ld of %d", swept, PAGES);
	munmap(memory - CLOSED_FIRST * PAGE, all * PAGE);
	pthread_barrier_wait(&barrier);
	pthread_join(t, NULL);
}

static void child(void)
{
	int go[2], done[2];
	pid_t p;
	char c;

	if (pipe(go) || pipe(done))
		die("pipe");
	get();
	writes(0, 1);
	tick();
	p = fork();
	if (!p) {
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		reads(0, 2);
		writes(1, 4);
		_exit(write(done[1], "", 1) != 1 || read(go[0], &c, 1) != 1);
	}
	tick();
	begin();
	pid = (uint32_t)p;
	if (write(go[1], "", 1) != 1 || read(done[0], &c, 1) != 1)
		die("the child");
	look();
	tick();
	check(all_are(written, 1, 4, 1) && sum(touched) == 3 * PAGES / 4,
	      "a child's pages", "%ld touched, %ld written", sum(touched),
	      sum(written));
	pid = (uint32_t)getpid();
	if (write(go[1], "", 1) != 1 || waitpid(p, NULL, 0) != p)
		die("the child");
}

/* A child that is registered after its first touches: the session does not tell these. */
static void late(const char *name, uint32_t flags)
{
	const struct moca_setup setup = {
		.flags = MOCA_SETUP_MANUAL | flags, .heat_ns = 1,
	};
	int go[2], done[2];
	pid_t p;
	char c;

	if (pipe(go) || pipe(done))
		die("pipe");
	pages = PAGES;
	get();
	p = fork();
	if (!p) {
		writes(0, 1);
		if (write(done[1], "", 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(1);
		reads(0, 2);
		_exit(write(done[1], "", 1) != 1 || read(go[0], &c, 1) != 1);
	}
	if (read(done[0], &c, 1) != 1)
		die("the child");
	session_open(&s, &setup);
	session_do(&s, MOCA_IOC_START, "START");
	if (session_register(&s, p))
		die("REGISTER");
	pid = (uint32_t)p;
	begin();
	look();
	if (write(go[1], "", 1) != 1 || read(done[0], &c, 1) != 1)
		die("the child");
	look();
	tick();
	has(name, 0, 2, 1, NONE, 1, 0);
	pid = (uint32_t)getpid();
	if (write(go[1], "", 1) != 1 || waitpid(p, NULL, 0) != p)
		die("the child");
	session_close(&s);
	munmap(memory, PAGES * PAGE);
}

/* A huge page that stays one has all bits, and only when it is touched. */
static void huge(void)
{
	char *m;

	pages = HUGE / PAGE;
	m = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memory = (char *)(((uintptr_t)m + HUGE - 1) & ~(HUGE - 1));
	if (m == MAP_FAILED || madvise(memory, HUGE, MADV_HUGEPAGE))
		die("madvise");
	*(volatile char *)memory = 1;
	look();
	tick();
	begin();
	(void)*(volatile char *)memory;
	look();
	look();
	(void)*(volatile char *)memory;
	look();
	tick();
	if (sum(touched) == 2)
		printf("skip huge: the guest gave small pages\n");
	else
		has("huge", 0, 1, 2, NONE, 1, 0);
	begin();
	((volatile char *)memory)[5] = 1;
	look();
	look();
	tick();
	has("huge, written", 0, 1, 1, 0, 1, 1);
	munmap(m, 2 * HUGE);
}

/* One page of each 2 MiB is written: more tables of entries than have room. */
static void write_apart(void)
{
	pages = 1000;
	step = 512;
	get();
	tick();
	begin();
	writes(0, 1);
}

/* Without room, bits stay for the next look: nothing is untold. */
static void no_room(void)
{
	uint64_t all_held = 0;
	int n = 0;

	write_apart();
	do {
		held = 0;
		look();
		session_drain(&s, look_at, NULL);
		all_held += held;
	} while (held && ++n < 1000);
	tick();
	check(sum(touched) == pages && sum(written) == pages && !lost,
	      "what finds no room is told later", "%ld touched, %ld written, "
	      "%lu lost", sum(touched), sum(written), lost);
	check(all_held > 0, "and counted as held", "none was held");
	munmap(memory, pages * step * PAGE);
	step = 1;
}

/* The last look holds nothing back: what finds no room is counted as lost. */
static void last_look(void)
{
	struct moca_totals t;

	write_apart();
	session_do(&s, MOCA_IOC_STOP, "STOP");
	session_drain(&s, look_at, NULL);
	t = session_totals(&s);
	check(looks && !held && lost && lost <= t.looks_lost &&
	      sum(touched) + lost >= (uint64_t)pages, "the last look tells, or "
	      "counts as lost", "%ld touched, %lu held, %lu lost, %lu looks",
	      sum(touched), held, lost, looks);
	munmap(memory, pages * step * PAGE);
	step = 1;
}

static void open_session(uint32_t flags, uint32_t chunks)
{
	const struct moca_setup setup = {
		.flags = MOCA_SETUP_MANUAL | flags, .heat_ns = 1,
		.ring_chunks = chunks, .chunk_bytes = chunks ? 16384 : 0,
	};

	session_open(&s, &setup);
	if (session_register(&s, getpid()))
		die("REGISTER");
	session_do(&s, MOCA_IOC_START, "START");
}

/* What was touched before STOP is not swept after START. */
static void again(void)
{
	pages = PAGES;
	get();
	writes(0, 1);
	look();
	session_do(&s, MOCA_IOC_STOP, "STOP");
	session_do(&s, MOCA_IOC_START, "START");
	session_drain(&s, look_at, NULL);
	begin();
	if (mprotect(memory, PAGES * PAGE, PROT_NONE) ||
	    mprotect(memory, PAGES * PAGE, PROT_READ | PROT_WRITE))
		die("mprotect");
	look();
	tick();
	has("nothing touched since START", NONE, 1, 0, NONE, 1, 0);
	check(!faults && !swept, "nothing swept since START",
	      "%ld faults, %ld swept", faults, swept);
	munmap(memory, PAGES * PAGE);
}

static void refusals(void)
{
	struct moca_setup setup = { .interval_ns = 50000000, .heat_ns = 999999 };
	struct session x;
	int err = session_try(&x, &setup);

	check(err == -EINVAL, "looks every 0.999999 ms", "%s", strerror(-err));
	close(x.fd);
	setup = (struct moca_setup){ .flags = MOCA_SETUP_MANUAL };
	session_open(&x, &setup);
	session_do(&x, MOCA_IOC_START, "START");
	err = ioctl(x.fd, MOCA_IOC_LOOK) ? errno : 0;
	check(err == EINVAL, "LOOK without heat", "%s", strerror(err));
	session_close(&x);
}

static void refused(void)
{
	const struct moca_setup setup = {
		.flags = MOCA_SETUP_MANUAL, .heat_ns = 1,
	};
	struct moca_about about = { .size = sizeof(about) };
	struct session x;
	int err = session_try(&x, &setup);

	check(err == -EOPNOTSUPP, "heat is refused", "%s", strerror(-err));
	if (ioctl(x.fd, MOCA_IOC_ABOUT, &about))
		die("ABOUT");
	check(!(about.features & MOCA_HAS_HEAT), "and not offered",
	      "features %x", about.features);
	close(x.fd);
}

static void totals(void)
{
	struct moca_totals t = session_totals(&s);

	check(t.looks && t.looked >= t.hot && t.hot && t.look_ns &&
	      t.monitor_ns >= t.look_ns, "sums", "%llu looks, %llu looked, %llu "
	      "hot, %llu of %llu ns", t.looks, t.looked, t.hot, t.look_ns,
	      t.monitor_ns);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	pid = (uint32_t)getpid();
	if (argc > 1 && !strcmp(argv[1], "refused")) {
		refused();
		return failures != 0;
	}
	if (argc > 1) {
		open_session(MOCA_SETUP_KEEP_THP, 0);
		huge();
		session_close(&s);
		return failures != 0;
	}
	refusals();
	open_session(0, 0);
	simple();
	open_pages();
	munmap(memory, PAGES * PAGE);
	remembered();
	child();
	totals();
	again();
	session_close(&s);
	open_session(MOCA_SETUP_NO_INJECT, 0);
	pages = PAGES;
	get();
	begin();
	writes(0, 2);
	look();
	reads(0, 2);
	look();
	tick();
	has("without false faults", 0, 2, 2, 0, 2, 1);
	session_close(&s);
	munmap(memory, PAGES * PAGE);
	late("a late process", 0);
	late("a late process, without false faults", MOCA_SETUP_NO_INJECT);
	open_session(0, 4);
	no_room();
	last_look();
	session_close(&s);
	return failures != 0;
}

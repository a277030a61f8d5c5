// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hostile use of /dev/moca: calls, mappings and ring contents at random, from
 * threads that share the descriptors, while a program is traced. The kernel must
 * say nothing, the program's data must be right, no mapping may be writable that
 * should not be, and at the end all sessions must be gone.
 * usage: fuzz SEED SECONDS
 */
#include <poll.h>
#include <time.h>

#include "busy.h"

#define THREADS 4
#define FDS 8
#define MAPS 4
#define CALLS 12		/* ioctl numbers that there are */

static const struct moca_setup small = { .flags = MOCA_SETUP_MANUAL,
					 .chunk_bytes = 16 << 10,
					 .ring_chunks = 16 };
static volatile int fds[FDS];
static volatile int stop;
static struct busy *victim;
static char *edge;		/* behind it nothing can be used */
static char *read_only;
static long wrong_writable;

struct hand {
	unsigned long seed;
	pthread_t thread;
	struct { char *at; size_t len; int prot; } maps[MAPS];
	long calls[CALLS], good[CALLS], mapped, polls, opened;
};

static unsigned long rnd(struct hand *h)
{
	h->seed ^= h->seed << 13;
	h->seed ^= h->seed >> 7;
	h->seed ^= h->seed << 17;
	return h->seed >> 11;
}

/* Few bits, many, limits. */
static uint64_t odd(struct hand *h)
{
	switch (rnd(h) % 6) {
	case 0:
		return rnd(h) % 4;
	case 1:
		return 1ull << rnd(h) % 64;
	case 2:
		return (1ull << rnd(h) % 64) - 1;
	case 3:
		return -(uint64_t)(rnd(h) % 3);
	case 4:
		return rnd(h) % 8192;
	default:
		return rnd(h) << 32 ^ rnd(h);
	}
}

static void setup_of(struct hand *h, struct moca_setup *a)
{
	*a = (struct moca_setup){
		.size = sizeof(*a), .flags = rnd(h) % 16,
		.interval_ns = 1000000 * (1 + rnd(h) % 20),
		.chunk_bytes = 16384 << rnd(h) % 3,
		.ring_chunks = 4 << rnd(h) % 4,
		.budget_permille = rnd(h) % 2 * (rnd(h) % 100),
	};
}

static int some_pid(struct hand *h)
{
	switch (rnd(h) % 6) {
	case 0:
		return getpid();
	case 1:
		return 1 + rnd(h) % 2;	/* init, a thread of the kernel */
	case 2:
		return (int)odd(h);
	default:
		return victim->pid;
	}
}

/* What a call takes, as it should be, or nearly. */
static size_t fill(struct hand *h, unsigned int nr, char *to)
{
	const struct moca_target target = { sizeof(target), some_pid(h) };
	const struct moca_pace pace = {
		.size = sizeof(pace), .budget_permille = rnd(h) % 50,
		.interval_ns = 1000000 * (1 + rnd(h) % 50),
	};
	const struct moca_buffer_control control = {
		.size = sizeof(control), .active = rnd(h) % 2,
		.buffer_bytes = 4096 << rnd(h) % 4,
	};
	static const size_t sizes[CALLS] = { 16, 56, 8, 8, 0, 0, 16, 0, 96, 16,
					     32, 16 };
	size_t n = sizes[nr];

	memset(to, 0, n);
	if (n)
		*(uint32_t *)to = n;
	if (nr == 1)
		setup_of(h, (void *)to);
	else if (nr == 2 || nr == 3)
		memcpy(to, &target, sizeof(target));
	else if (nr == 6)
		memcpy(to, &pace, sizeof(pace));
	else if (nr == 9)
		memcpy(to, &control, sizeof(control));
	if (n > 4 && rnd(h) % 4 == 0)
		for (int i = rnd(h) % 3; i >= 0; i--) {
			uint64_t v = odd(h);
			size_t len = rnd(h) % 2 ? 4 : 8;
			size_t at = rnd(h) % (n / 4) * 4;

			memcpy(to + at, &v, at + len > n ? 4 : len);
		}
	return n;
}

static void *address(struct hand *h, const char *data, size_t n, char *room)
{
	switch (rnd(h) % 12) {
	case 0:
		return NULL;
	case 1:
		return (void *)odd(h);
	case 2:
		return (void *)(0xffff800000000000ul + (odd(h) & ~7ul));
	case 3:
		return read_only;
	case 4:		/* the end is missing */
		memcpy(edge - n / 2, data, n / 2);
		return edge - n / 2;
	case 5:		/* just so that it fits */
		memcpy(edge - n, data, n);
		return edge - n;
	case 6: {	/* longer, and what is behind is zero or not */
		uint32_t size = n + rnd(h) % 64;

		memset(room + n, rnd(h) % 2, 64);
		memcpy(room, data, n);
		if (n)
			memcpy(room, &size, 4);
		return room;
	}
	default:
		memcpy(room, data, n);
		return room;
	}
}

static void do_ioctl(struct hand *h, int fd)
{
	unsigned int nr = rnd(h) % 16 ? rnd(h) % CALLS : rnd(h) % 256;
	static const unsigned long codes[CALLS] = {
		MOCA_IOC_ABOUT, MOCA_IOC_SETUP, MOCA_IOC_REGISTER,
		MOCA_IOC_UNREGISTER, MOCA_IOC_START, MOCA_IOC_STOP,
		MOCA_IOC_PACE, MOCA_IOC_TICK, MOCA_IOC_TOTALS,
		MOCA_IOC_BUFFERS, MOCA_IOC_UPDATE, MOCA_IOC_SWITCH,
	};
	char data[256], room[512];
	unsigned long code;
	size_t n;

	if (nr >= CALLS || rnd(h) % 32 == 0) {
		ioctl(fd, _IOC(rnd(h) % 4, MOCA_IOC_MAGIC, nr & 255,
			       rnd(h) % 128), (void *)odd(h));
		return;
	}
	n = fill(h, nr, data);
	code = codes[nr];
	h->calls[nr]++;
	h->good[nr] += ioctl(fd, code, address(h, data, n, room)) == 0;
}

static void do_map(struct hand *h, int fd)
{
	int i = rnd(h) % MAPS, prot = rnd(h) % 8 ? rnd(h) % 4 : rnd(h) % 8;
	size_t len = (rnd(h) % 2 ? 1 : 1 + rnd(h) % 64) * PAGE;
	uint64_t at = rnd(h) % 4 ? rnd(h) % 4 * (256 << 10) << rnd(h) % 5 :
				   odd(h) & ~(PAGE - 1);
	char *m;

	if (h->maps[i].at)
		munmap(h->maps[i].at, h->maps[i].len);
	h->maps[i].at = NULL;
	if (rnd(h) % 8 == 0)
		len = odd(h) >> rnd(h) % 32;
	if (rnd(h) % 4 == 0)
		at += rnd(h) % 66 * PAGE;
	m = mmap(NULL, len, prot, rnd(h) % 4 ? MAP_SHARED : MAP_PRIVATE, fd, at);
	if (m == MAP_FAILED)
		return;
	h->mapped++;
	h->maps[i].at = m;
	h->maps[i].len = len;
	h->maps[i].prot = prot;
	/* All but the first page of a ring (which begin at multiples of
	 * 128 kB at least) is the kernel's. */
	if ((prot & PROT_WRITE || mprotect(m, len, PROT_READ | PROT_WRITE) == 0)
	    && (len > PAGE || at % (128 << 10)))
		__atomic_add_fetch(&wrong_writable, 1, __ATOMIC_RELAXED);
	if (mprotect(m, len, prot))
		die("mprotect to what it was");
}

static void use_map(struct hand *h)
{
	int i = rnd(h) % MAPS;
	char *m = h->maps[i].at, *n;

	if (!m)
		return;
	if (h->maps[i].prot & PROT_READ)
		for (size_t o = 0; o < h->maps[i].len; o += PAGE)
			(void)*(volatile char *)(m + o);
	if (h->maps[i].prot & PROT_WRITE)
		*(volatile uint64_t *)m = odd(h);	/* consumed, maybe */
	switch (rnd(h) % 8) {
	case 0:
		n = mremap(m, h->maps[i].len, h->maps[i].len + PAGE,
			   MREMAP_MAYMOVE);
		if (n != MAP_FAILED)
			__atomic_add_fetch(&wrong_writable, 1,
					   __ATOMIC_RELAXED);
		break;
	case 1:		/* what was dropped cannot be had again: SIGBUS */
		madvise(m, h->maps[i].len, rnd(h) % 26);
		/* fall through */
	case 2:
		munmap(m, h->maps[i].len);
		h->maps[i].at = NULL;
	}
}

static void do_other(struct hand *h, int fd)
{
	struct pollfd p = { .fd = fd, .events = rnd(h) };
	char c[16];

	switch (rnd(h) % 5) {
	case 0:
		if (read(fd, c, sizeof(c)) >= 0 || write(fd, c, 1) >= 0)
			lseek(fd, odd(h), rnd(h) % 3);
		break;
	case 1:
		fcntl(fd, F_SETFL, rnd(h) % 2 ? O_NONBLOCK | O_ASYNC : 0);
		break;
	case 2:
		close(dup(fd));
		break;
	default:
		poll(&p, 1, rnd(h) % 3);
		h->polls++;
	}
}

static void *hand(void *arg)
{
	struct hand *h = arg;

	while (!stop) {
		unsigned int i = rnd(h) % FDS;
		int fd = fds[i], other;

		switch (rnd(h) % 64) {
		case 0:		/* others may be in the midst of a call */
			other = open("/dev/moca", O_RDWR | O_CLOEXEC);
			h->opened += other >= 0;
			fd = __atomic_exchange_n(&fds[i], other,
						 __ATOMIC_RELAXED);
			if (fd >= 0)
				close(fd);
			break;
		case 1 ... 6:
			do_map(h, fd);
			break;
		case 7 ... 20:
			use_map(h);
			break;
		case 21 ... 26:
			do_other(h, fd);
			break;
		default:
			do_ioctl(h, fd);
		}
	}
	for (int i = 0; i < MAPS; i++)
		if (h->maps[i].at)
			munmap(h->maps[i].at, h->maps[i].len);
	return NULL;
}

static void limit_memory(void)
{
	FILE *f = fopen("/sys/module/moca/parameters/max_mb", "w");

	if (!f || fputs("16", f) < 0 || fclose(f))
		die("max_mb");
}

static struct hand hands[THREADS];

static struct reached {
	long calls, good, mapped, opened, none;
} reached(void)
{
	struct reached r = { 0 };

	for (int i = 0; i < THREADS; i++) {
		r.mapped += hands[i].mapped;
		r.opened += hands[i].opened;
		for (int k = 0; k < CALLS; k++) {
			r.calls += hands[i].calls[k];
			r.good += hands[i].good[k];
		}
	}
	for (int k = 0; k < 9; k++) {
		long n = 0;

		for (int i = 0; i < THREADS; i++)
			n += hands[i].good[k];
		r.none += !n;
	}
	return r;
}

static int is_enough(const struct reached *r, int seconds)
{
	return r->calls > 50 * seconds && r->mapped > seconds && !r->none;
}

static void run(unsigned int seed, int seconds)
{
	struct hand *h = hands;
	struct session keep;
	struct reached r;

	signal(SIGRTMIN + 3, SIG_IGN);
	for (int i = 0; i < FDS; i++)
		fds[i] = open("/dev/moca", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < THREADS; i++) {
		h[i].seed = seed * 2654435761ul + i * 40503 + 1;
		pthread_create(&h[i].thread, NULL, hand, &h[i]);
	}
	/* Taking the hooks out, with the last session that runs, takes a second:
	 * after a while one keeps them in. */
	sleep(seconds / 4);
	session_open(&keep, &small);
	session_do(&keep, MOCA_IOC_START, "START");
	sleep(seconds - seconds / 4);
	/* On a busy host, as long as it takes. */
	for (int i = 0; i < 120; i++) {
		r = reached();
		if (is_enough(&r, seconds))
			break;
		sleep(1);
	}
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(h[i].thread, NULL);
	for (int i = 0; i < FDS; i++)
		close(fds[i]);
	r = reached();
	printf("%ld calls, %ld of them good, %ld mappings, %ld sessions\n",
	       r.calls, r.good, r.mapped, r.opened);
	check(is_enough(&r, seconds), "reached",
	      "%ld calls that never did anything", r.none);
	check(!wrong_writable, "no mapping that may not be written is",
	      "%ld are", wrong_writable);
}

int main(int argc, char **argv)
{
	unsigned int seed = argc > 1 ? atoi(argv[1]) : 0;
	static struct session s[16];
	int n = 0, status;
	size_t records;
	pid_t pid;

	setvbuf(stdout, NULL, _IOLBF, 0);
	seed = seed ?: time(NULL);
	printf("seed %u\n", seed);
	limit_memory();
	edge = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	read_only = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	edge += 2 * PAGE;
	mprotect(edge, PAGE, PROT_NONE);
	victim = busy_start(1);
	/* Apart: signals of what it does to itself end it, not us. */
	pid = fork();
	if (!pid) {
		run(seed, argc > 2 ? atoi(argv[2]) : 10);
		exit(failures != 0);
	}
	waitpid(pid, &status, 0);
	check(!status, "the fuzzer's end", "status 0x%x", status);
	busy_hold(victim);
	check(!victim->faults, "no false fault is left", "%ld",
	      victim->faults);
	busy_release(victim);
	for (; n < 16; n++)
		if (session_try(&s[n], &small))
			break;
	check(n == 16, "all sessions are gone", "%d of 16 can be made", n);
	if (session_register(&s[0], victim->pid))
		die("REGISTER");
	session_do(&s[0], MOCA_IOC_START, "START");
	usleep(100000);
	session_do(&s[0], MOCA_IOC_TICK, "TICK");
	records = session_drain(&s[0], NULL, NULL);
	check(records > BUSY_PAGES, "the module works as before", "%zu records",
	      records);
	while (n)
		session_close(&s[--n]);
	check(busy_end(victim), "data", "wrong");
	return failures != 0;
}

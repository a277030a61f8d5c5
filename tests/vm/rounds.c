// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every access of an interval has its record, and it says the truth: two
 * threads, each on its CPU, touch a third of the pages between two ticks, chosen
 * at random, by reading or writing, at known addresses and instructions.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "session.h"

#define PAGES 4096
#define ROUNDS 12

enum { NONE, READ, WRITE };

static struct { unsigned char what, who; } plan[PAGES];
static unsigned char *memory;
static pthread_barrier_t barrier;
static volatile int stop;
static pid_t tids[2];

__attribute__((noinline)) static void do_write(unsigned char *p)
{
	*(volatile unsigned char *)p = 7;
}

__attribute__((noinline)) static void do_read(unsigned char *p)
{
	(void)*(volatile unsigned char *)p;
}

static unsigned char *place(size_t i)
{
	return memory + i * PAGE + i * 8 % 4088;
}

static void *worker(void *arg)
{
	int me = arg != NULL;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(me, &set);
	sched_setaffinity(0, sizeof(set), &set);
	tids[me] = syscall(SYS_gettid);
	for (;;) {
		pthread_barrier_wait(&barrier);
		if (stop)
			return NULL;
		for (size_t i = 0; i < PAGES; i++) {
			if (plan[i].what == NONE || plan[i].who != me)
				continue;
			if (plan[i].what == WRITE)
				do_write(place(i));
			else
				do_read(place(i));
		}
		pthread_barrier_wait(&barrier);
	}
}

static struct {
	long expected, missed, extra, twice, type, tid, cpu, ip, addr, pfn, frame,
	     not_false, swept, node, interval;
} sum;
static int seen[PAGES];
static uint64_t frames[PAGES], now_interval;
static int frames_wanted;

static void look(void *arg, const struct moca_chunk_head *h,
		 const struct moca_rec *rec)
{
	const struct moca_rec_access *a = (const void *)rec;
	uint64_t i = (a->addr - (uintptr_t)memory) / PAGE, code;

	if (rec->type != MOCA_REC_ACCESS || a->addr < (uintptr_t)memory ||
	    i >= PAGES)
		return;
	if (a->flags & MOCA_ACC_SWEPT)
		sum.swept++;
	if (plan[i].what == NONE) {
		sum.extra++;
		return;
	}
	if (seen[i]++) {
		sum.twice++;
		return;
	}
	code = (uintptr_t)(plan[i].what == WRITE ? do_write : do_read);
	sum.type += !(a->flags & MOCA_ACC_WRITE) != (plan[i].what == READ);
	sum.tid += rec->tid != (uint32_t)tids[plan[i].who];
	sum.cpu += h->cpu != plan[i].who;
	sum.ip += a->ip < code || a->ip > code + 64;
	sum.addr += a->addr != (uintptr_t)place(i);
	sum.not_false += !(a->flags & MOCA_ACC_FALSE);
	sum.node += a->node < 0;
	sum.interval += h->interval != now_interval;
	sum.frame += !a->pfn;
	frames[i] = a->pfn;
}

static void check_frames(int pagemap)
{
	for (size_t i = 0; i < PAGES; i++) {
		uint64_t e = 0;

		if (!seen[i] || !frames[i])
			continue;
		if (pread(pagemap, &e, 8, (uintptr_t)place(i) / PAGE * 8) != 8)
			die("pagemap");
		sum.pfn += (e & ((1ull << 55) - 1)) != frames[i];
	}
}

int main(int argc, char **argv)
{
	const struct moca_setup setup = { .flags = MOCA_SETUP_MANUAL };
	int pagemap = open("/proc/self/pagemap", O_RDONLY);
	struct session s;
	pthread_t t[2];

	setvbuf(stdout, NULL, _IOLBF, 0);
	frames_wanted = !getuid();
	srand(argc > 1 ? atoi(argv[1]) : 1);
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < PAGES; i++)
		memory[i * PAGE] = 1;
	pthread_barrier_init(&barrier, NULL, 3);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	session_open(&s, &setup);
	if (session_register(&s, getpid()))
		die("REGISTER");
	session_do(&s, MOCA_IOC_START, "START");
	session_do(&s, MOCA_IOC_TICK, "TICK");
	session_drain(&s, NULL, NULL);
	for (int r = 0; r < ROUNDS; r++) {
		memset(seen, 0, sizeof(seen));
		for (size_t i = 0; i < PAGES; i++) {
			plan[i].what = rand() % 3 ? NONE : READ + rand() % 2;
			plan[i].who = rand() % 2;
			sum.expected += plan[i].what != NONE;
		}
		now_interval = session_totals(&s).interval;
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		session_do(&s, MOCA_IOC_TICK, "TICK");
		session_drain(&s, look, NULL);
		for (size_t i = 0; i < PAGES; i++)
			sum.missed += plan[i].what != NONE && !seen[i];
		check_frames(pagemap);
	}
	stop = 1;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	check(sum.expected > ROUNDS * PAGES / 4, "work", "%ld", sum.expected);
	check(!sum.missed, "all seen", "%ld of %ld missed", sum.missed,
	      sum.expected);
	check(!sum.extra, "nothing else", "%ld more", sum.extra);
	check(!sum.twice, "once", "%ld twice", sum.twice);
	check(!sum.swept, "by faults", "%ld found by sweeps", sum.swept);
	check(!sum.not_false, "false", "%ld not", sum.not_false);
	check(!sum.type, "read or write", "%ld wrong", sum.type);
	check(!sum.tid, "thread", "%ld wrong", sum.tid);
	check(!sum.cpu, "cpu", "%ld wrong", sum.cpu);
	check(!sum.ip, "instruction", "%ld wrong", sum.ip);
	check(!sum.addr, "address", "%ld wrong", sum.addr);
	check(!sum.pfn, "frame", "%ld wrong", sum.pfn);
	check(!sum.frame || !frames_wanted, "frames", "%ld without", sum.frame);
	check(!sum.node, "node", "%ld without", sum.node);
	check(!sum.interval, "interval", "%ld wrong", sum.interval);
	check(!s.lost && !session_totals(&s).lost, "none lost", "%lu",
	      (unsigned long)s.lost);
	session_do(&s, MOCA_IOC_STOP, "STOP");
	session_close(&s);
	return failures != 0;
}

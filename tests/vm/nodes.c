// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * On a machine of two nodes: each record says the node that its page is on, and
 * pages stay where they are, also with NUMA balancing, whoever touches them.
 */
#include <sched.h>
#include <sys/syscall.h>

#include "session.h"

#define PAGES 512
#define ROUNDS 10
#define MPOL_BIND 2
#define MPOL_MF_MOVE 2

static char *memory;
static long seen, wrong;

static int node_of(size_t i)
{
	return i / 8 % 2;
}

static void look(void *arg, const struct moca_chunk_head *h,
		 const struct moca_rec *rec)
{
	const struct moca_rec_access *a = (const void *)rec;
	uint64_t i = (a->addr - (uintptr_t)memory) / PAGE;

	if (rec->type != MOCA_REC_ACCESS || a->addr < (uintptr_t)memory ||
	    i >= PAGES)
		return;
	seen++;
	wrong += a->node != node_of(i);
}

/* How many pages are not where they were put; asked by move_pages. */
static long moved(void)
{
	void *pages[PAGES];
	int status[PAGES];
	long n = 0;

	for (size_t i = 0; i < PAGES; i++)
		pages[i] = memory + i * PAGE;
	if (syscall(SYS_move_pages, 0, (long)PAGES, pages, NULL, status, 0))
		die("move_pages");
	for (size_t i = 0; i < PAGES; i++)
		n += status[i] != node_of(i);
	return n;
}

/* Pages that are gone before anybody sweeps; half are read at first. */
static void gone(struct session *s)
{
	if (madvise(memory, PAGES * PAGE, MADV_DONTNEED))
		die("madvise");
	session_do(s, MOCA_IOC_TICK, "TICK");
	session_drain(s, look, NULL);
	seen = wrong = 0;
	for (size_t i = 0; i < PAGES; i++) {
		if (i % 2)
			(void)*(volatile char *)(memory + i * PAGE);
		memory[i * PAGE] = 1;
		if (madvise(memory + i * PAGE, PAGE, MADV_DONTNEED))
			die("madvise");
	}
	session_do(s, MOCA_IOC_TICK, "TICK");
	session_drain(s, look, NULL);
	check(seen == PAGES && !wrong, "node of what is gone",
	      "%ld of %ld wrong", wrong, seen);
}

/* Each page to the other node, and back; asked while they are made to fault. */
static void move(struct session *s)
{
	int nodes[PAGES], status[PAGES];
	void *pages[PAGES];
	long away;

	session_do(s, MOCA_IOC_TICK, "TICK");
	check(!moved(), "move_pages finds them", "%ld not", moved());
	for (int back = 0; back < 2; back++) {
		for (size_t i = 0; i < PAGES; i++) {
			pages[i] = memory + i * PAGE;
			nodes[i] = back ? node_of(i) : !node_of(i);
		}
		session_do(s, MOCA_IOC_TICK, "TICK");
		if (syscall(SYS_move_pages, 0, (long)PAGES, pages, nodes,
			    status, MPOL_MF_MOVE) < 0)
			die("move_pages");
		session_do(s, MOCA_IOC_TICK, "TICK");
		away = moved();
		check(away == (back ? 0 : PAGES), back ? "moved back" :
		      "moved away", "%ld of %d are away", away, PAGES);
	}
	session_drain(s, NULL, NULL);
}

static long hints(void)
{
	char line[128];
	long n = -1;
	FILE *f = fopen("/proc/vmstat", "r");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "numa_hint_faults %ld", &n);
	if (f)
		fclose(f);
	return n;
}

int main(void)
{
	const struct moca_setup setup = { .flags = MOCA_SETUP_MANUAL };
	struct session s;
	long before;

	setvbuf(stdout, NULL, _IOLBF, 0);
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	session_open(&s, &setup);
	if (session_register(&s, getpid()))
		die("REGISTER");
	session_do(&s, MOCA_IOC_START, "START");
	for (size_t i = 0; i < PAGES; i += 8) {
		unsigned long mask = 1ul << node_of(i);

		if (syscall(SYS_mbind, memory + i * PAGE, 8 * PAGE, MPOL_BIND,
			    &mask, 8 * sizeof(mask), 0))
			die("mbind");
	}
	before = hints();
	for (int r = 0; r < ROUNDS; r++) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(r % 2, &set);
		sched_setaffinity(0, sizeof(set), &set);
		for (size_t i = 0; i < PAGES; i++)
			memory[i * PAGE]++;
		session_do(&s, MOCA_IOC_TICK, "TICK");
		session_drain(&s, look, NULL);
	}
	check(seen == ROUNDS * PAGES, "all seen", "%ld of %d", seen,
	      ROUNDS * PAGES);
	check(!wrong, "node", "%ld of %ld wrong", wrong, seen);
	/* Ours are mended before the kernel takes them for hints. */
	check(before >= 0 && hints() - before < seen / 20, "no hints",
	      "%ld hints of %ld false faults", hints() - before, seen);
	move(&s);
	session_close(&s);
	check(!moved(), "where they were", "%ld pages moved", moved());
	session_open(&s, &setup);
	if (session_register(&s, getpid()))
		die("REGISTER");
	session_do(&s, MOCA_IOC_START, "START");
	gone(&s);
	session_close(&s);
	return failures != 0;
}

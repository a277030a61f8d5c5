// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mprotect gives all entries of a range the new rights, false faults as well, and
 * mremap moves entries that are open: what is touched then, in the same interval,
 * has its record, and what is not, has none.
 */
#include <pthread.h>

#include "session.h"

#define PAGES 64
#define CLOSED_FIRST 16384	/* kmod/opened.c */

static struct session s;
static char *memory;
static long pages = PAGES;
static long faults, swept, late;

static void look(void *arg, const struct moca_chunk_head *h,
		 const struct moca_rec *rec)
{
	const struct moca_rec_access *a = (const void *)rec;

	if (rec->type != MOCA_REC_ACCESS || a->addr < (uintptr_t)memory ||
	    a->addr >= (uintptr_t)memory + pages * PAGE)
		return;
	faults += !(a->flags & MOCA_ACC_SWEPT);
	swept += !!(a->flags & MOCA_ACC_SWEPT);
	late += rec->time_ns > h->end_ns;
}

static void tick(void)
{
	faults = swept = 0;
	session_do(&s, MOCA_IOC_TICK, "TICK");
	session_drain(&s, look, NULL);
}

/* The interval has a record of each of n pages, and of no other. */
static void has(const char *name, long n)
{
	tick();
	check(faults == n && !swept, name, "%ld faults, not %ld; %ld swept",
	      faults, n, swept);
}

static void get(void)
{
	memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap");
}

static void rights(int prot)
{
	if (mprotect(memory, PAGES * PAGE, prot))
		die("mprotect");
}

static void touch(long step)
{
	for (long i = 0; i < pages; i += step)
		(void)*(volatile char *)(memory + i * PAGE);
}

static void write_some(long step)
{
	for (long i = 0; i < pages; i += step)
		((volatile char *)memory)[i * PAGE] = 1;
}

static void write_all(void)
{
	write_some(1);
}

/* To where nothing was: a mapping of ours, which it replaces. */
static void move(void)
{
	char *from = memory;

	get();
	if (mremap(from, pages * PAGE, pages * PAGE,
		   MREMAP_MAYMOVE | MREMAP_FIXED, memory) != memory)
		die("mremap");
}

static void change_rights(void)
{
	get();
	write_all();
	has("first touches", PAGES);
	rights(PROT_READ);
	touch(1);
	has("read after mprotect", PAGES);
	rights(PROT_READ | PROT_WRITE);
	touch(4);
	has("some read after mprotect", PAGES / 4);
	rights(PROT_READ);
	has("none read after mprotect", 0);
	rights(PROT_READ | PROT_WRITE);
	write_all();
	rights(PROT_NONE);
	has("written before PROT_NONE", PAGES);
	rights(PROT_READ);
	has("none read since PROT_NONE", 0);
	touch(2);
	has("half read since PROT_NONE", PAGES / 2);
	munmap(memory, PAGES * PAGE);
}

static void change_place(void)
{
	get();
	write_all();
	move();
	touch(4);
	has("some read after mremap", PAGES / 4);
	move();
	has("none read after mremap", 0);
	touch(1);
	move();
	touch(2);
	has("half read after mremap", PAGES / 2);
	munmap(memory, PAGES * PAGE);
}

/* More than is closed before it is moved: the task closes what is left. */
static void change_place_of_much(void)
{
	pages = CLOSED_FIRST + PAGES;
	get();
	write_some(16);
	move();
	has("none read after a large mremap", 0);
	touch(16);
	move();
	touch(32);
	has("some read after a large mremap", pages / 32);
	munmap(memory, pages * PAGE);
	pages = PAGES;
}

/* Another might have read what is left before mremap returned. */
static void change_place_of_much_beside_another(void)
{
	pages = CLOSED_FIRST + PAGES;
	get();
	for (long i = CLOSED_FIRST; i < pages; i++)
		((volatile char *)memory)[i * PAGE] = 1;
	move();
	tick();
	check(!faults && swept == PAGES, "several threads: by nobody known",
	      "%ld faults, %ld of %d swept", faults, swept, PAGES);
	check(!late, "swept when the interval ends", "%ld later", late);
	touch(16);
	has("read in the next interval", pages / 16);
	munmap(memory, pages * PAGE);
	pages = PAGES;
}

static pthread_barrier_t barrier;

static void *wait(void *arg)
{
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void change_place_beside_another(void)
{
	pthread_t t;

	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&t, NULL, wait, NULL))
		die("pthread_create");
	get();
	write_all();
	move();
	touch(4);
	has("several threads: some read after mremap", PAGES / 4);
	move();
	has("several threads: none read after mremap", 0);
	munmap(memory, PAGES * PAGE);
	change_place_of_much_beside_another();
	pthread_barrier_wait(&barrier);
	pthread_join(t, NULL);
}

int main(void)
{
	const struct moca_setup setup = { .flags = MOCA_SETUP_MANUAL };

	setvbuf(stdout, NULL, _IOLBF, 0);
	session_open(&s, &setup);
	if (session_register(&s, getpid()))
		die("REGISTER");
	session_do(&s, MOCA_IOC_START, "START");
	change_rights();
	change_place();
	change_place_of_much();
	change_place_beside_another();
	session_close(&s);
	return failures != 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What faults cost, per page, in ns of the guest: instructions, when QEMU counts
 * them (icount). Writes lines "WHEN WHAT NS" to figures; tests/bench/kmod/run
 * makes ratios of them.
 */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "session.h"

#define PAGES 4096
#define TIMES 8

static char *anon, *shared;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static double writes(char *m)
{
	double t = now();

	for (size_t i = 0; i < PAGES; i++)
		*(volatile char *)(m + i * PAGE) = 1;
	return (now() - t) / PAGES;
}

static double reads(char *m)
{
	double t = now();

	for (size_t i = 0; i < PAGES; i++)
		(void)*(volatile char *)(m + i * PAGE);
	return (now() - t) / PAGES;
}

static FILE *figures;

static void tell(const char *what, const char *when, double v)
{
	fprintf(figures, "%s %s %.1f\n", when, what, v);
}

/* Faults of this process that are its own; least of TIMES. */
static void native(const char *when)
{
	double first = 1e9, minor = 1e9, hot = 1e9;

	/* The kernel's caches are as after the first rounds. */
	for (int i = 0; i < TIMES; i++) {
		madvise(anon, PAGES * PAGE, MADV_DONTNEED);
		madvise(shared, PAGES * PAGE, MADV_DONTNEED);
		writes(anon);
		writes(shared);
	}

	for (int i = 0; i < TIMES; i++) {
		double t;

		madvise(anon, PAGES * PAGE, MADV_DONTNEED);
		t = writes(anon);
		first = t < first ? t : first;
		madvise(shared, PAGES * PAGE, MADV_DONTNEED);
		t = writes(shared);
		minor = t < minor ? t : minor;
		t = writes(anon);
		hot = t < hot ? t : hot;
	}
	tell("first_touch", when, first);
	tell("minor_fault", when, minor);
	tell("no_fault", when, hot);
}

/* False faults, and what it costs to make them. */
static void traced(struct session *s)
{
	double r = 1e9, w = 1e9, inject = 1e9, empty = 1e9;

	for (int i = 0; i < TIMES; i++) {
		double t;

		writes(shared);
		t = now();
		session_do(s, MOCA_IOC_TICK, "TICK");
		t = (now() - t) / PAGES;
		inject = t < inject ? t : inject;
		session_drain(s, NULL, NULL);
		t = writes(shared);
		w = t < w ? t : w;
		session_do(s, MOCA_IOC_TICK, "TICK");
		session_drain(s, NULL, NULL);
		t = reads(shared);
		r = t < r ? t : r;
		session_do(s, MOCA_IOC_TICK, "TICK");
		session_drain(s, NULL, NULL);
		t = now();
		session_do(s, MOCA_IOC_TICK, "TICK");
		t = (now() - t) / PAGES;
		empty = t < empty ? t : empty;
		session_drain(s, NULL, NULL);
	}
	tell("false_write", "traced", w);
	tell("false_read", "traced", r);
	tell("inject", "traced", inject);
	tell("idle_sweep", "traced", empty);
}

/* What a look takes, by page of `shared`, most of what this process has. */
static double look(struct session *s)
{
	uint64_t before = session_totals(s).look_ns;

	session_do(s, MOCA_IOC_LOOK, "LOOK");
	session_drain(s, NULL, NULL);
	return (double)(session_totals(s).look_ns - before) / PAGES;
}

static void heat(void)
{
	const struct moca_setup setup = {
		.flags = MOCA_SETUP_MANUAL, .ring_chunks = 512, .heat_ns = 1,
	};
	double idle = 1e9, read = 1e9, written = 1e9;
	struct session s;

	madvise(anon, PAGES * PAGE, MADV_DONTNEED);
	session_open(&s, &setup);
	if (session_register(&s, getpid()))
		die("REGISTER");
	session_do(&s, MOCA_IOC_START, "START");
	writes(shared);
	look(&s);
	for (int i = 0; i < TIMES; i++) {
		double t = look(&s);

		idle = t < idle ? t : idle;
		reads(shared);
		t = look(&s);
		read = t < read ? t : read;
		writes(shared);
		t = look(&s);
		written = t < written ? t : written;
	}
	tell("look_idle", "heat", idle);
	tell("look_read", "heat", read);
	tell("look_written", "heat", written);
	session_close(&s);
}

int main(void)
{
	const struct moca_setup setup = {
		.flags = MOCA_SETUP_MANUAL, .ring_chunks = 512,
	};
	int fd = memfd_create("cost", 0);
	struct session s;
	pid_t other;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (getenv("OUT") && chdir(getenv("OUT")))
		die("the folder of results");
	figures = fopen("figures", "w");
	if (!figures)
		die("figures");
	if (ftruncate(fd, PAGES * PAGE))
		die("memfd");
	anon = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	shared = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, 0);
	madvise(anon, PAGES * PAGE, MADV_NOHUGEPAGE);
	writes(shared);
	native("alone");
	/* Somebody else is traced. */
	session_open(&s, &setup);
	other = fork();
	if (!other) {
		pause();
		_exit(0);
	}
	if (session_register(&s, other))
		die("REGISTER");
	session_do(&s, MOCA_IOC_START, "START");
	native("untraced");
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	if (session_register(&s, getpid()))
		die("REGISTER");
	native("traced");
	session_do(&s, MOCA_IOC_TICK, "TICK");
	session_drain(&s, NULL, NULL);
	traced(&s);
	check(!session_totals(&s).lost, "cost", "%llu records lost",
	      session_totals(&s).lost);
	session_close(&s);
	heat();
	if (fclose(figures))
		die("figures");
	return failures != 0;
}

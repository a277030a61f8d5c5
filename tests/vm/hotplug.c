// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A CPU that was offline at SETUP, comes, goes and comes again: what is touched on
 * it has its records, and none is lost.
 */
#include <sched.h>

#include "session.h"

#define PAGES 64
#define CPU 1

static char *memory;

struct seen {
	long there, elsewhere;
};

static void look(void *arg, const struct moca_chunk_head *h,
		 const struct moca_rec *rec)
{
	const struct moca_rec_access *a = (const void *)rec;
	struct seen *s = arg;

	if (rec->type != MOCA_REC_ACCESS ||
	    a->addr - (uintptr_t)memory >= PAGES * PAGE)
		return;
	if (h->cpu == CPU)
		s->there++;
	else
		s->elsewhere++;
}

static int put_online(int online)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY);
	int err = fd < 0 || write(fd, online ? "1" : "0", 1) != 1 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

static void go_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static void touch(struct session *s, int cpu, const char *name)
{
	struct seen seen = { 0 };

	go_to(cpu);
	for (size_t i = 0; i < PAGES; i++)
		memory[i * PAGE]++;
	session_do(s, MOCA_IOC_TICK, "TICK");
	session_drain(s, look, &seen);
	check(seen.there == (cpu == CPU ? PAGES : 0) &&
	      seen.elsewhere == (cpu == CPU ? 0 : PAGES) &&
	      !session_totals(s).lost, name,
	      "%ld there, %ld elsewhere, %llu lost", seen.there,
	      seen.elsewhere, session_totals(s).lost);
}

int main(void)
{
	const struct moca_setup setup = { .flags = MOCA_SETUP_MANUAL };
	struct session s;
	int err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	go_to(0);
	err = put_online(0);
	if (err == -ENOENT) {
		printf("skip hotplug: this kernel keeps its CPUs\n");
		return 0;
	}
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (err || memory == MAP_FAILED)
		die("take a CPU away");
	session_open(&s, &setup);
	if (session_register(&s, getpid()))
		die("REGISTER");
	session_do(&s, MOCA_IOC_START, "START");
	touch(&s, 0, "one CPU");
	if (put_online(1))
		die("bring a CPU");
	touch(&s, CPU, "a CPU that has come");
	touch(&s, CPU, "once more");
	go_to(0);
	if (put_online(0))
		die("take a CPU away");
	touch(&s, 0, "it has gone");
	if (put_online(1))
		die("bring a CPU");
	touch(&s, CPU, "it has come again");
	session_close(&s);
	return failures != 0;
}

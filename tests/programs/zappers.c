/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * zappers COUNT: has had so many tasks of Moca's in its memory (zap.h), one
 * after the other: each is ended by a call that asks for a single task, while
 * calls that change memory go on. There may never be two at once.
 */
#include "case.h"

#include <dirent.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <sys/syscall.h>

static int has_our_memory(pid_t pid)
{
	return !syscall(SYS_kcmp, getpid(), pid, KCMP_VM, 0, 0);
}

/* Processes that have this memory, and one of them. Who has ended has none. */
static int zappers(pid_t *one)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;

	CHECK(d);
	while ((e = readdir(d)))
		if (atoi(e->d_name) > 0 && atoi(e->d_name) != getpid() &&
		    has_our_memory(atoi(e->d_name))) {
			*one = atoi(e->d_name);
			n++;
		}
	closedir(d);
	return n;
}

/*
 * pkill and pgrep by the program's name must not match the zapper. The zapper sets
 * its own name soon after it begins.
 */
static int has_own_name(pid_t pid)
{
	char path[64], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	for (int i = 0; i < 60000 && has_our_memory(pid); i++) {
		f = fopen(path, "re");
		if (f && !fgets(name, sizeof(name), f))
			*name = 0;
		if (f)
			fclose(f);
		if (!strcmp(name, "moca-zap\n"))
			return 1;
		pause_ms(1);
	}
	return !has_our_memory(pid);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0;

	for (int seen = 0; seen < count;) {
		pid_t one = 0;
		int now;

		for (int i = 0; i < 20; i++) {
			char *p = map_pages(16);

			fill(p, 16, i);
			CHECK(filled(p, 16, i) && !munmap(p, 16 * PAGE));
		}
		now = zappers(&one);
		if (now > 1)
			fprintf(stderr, "%d at once, behind %d\n", now, seen);
		CHECK(now <= 1);
		CHECK(!now || has_own_name(one));
		seen += now;
		if (now)
			unshare(CLONE_FS);
	}
	printf("%d\n", count);
	return 0;
}

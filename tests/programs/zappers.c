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

/* Processes that have this memory. One that has ended has none. */
static int zappers(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;

	CHECK(d);
	while ((e = readdir(d)))
		n += atoi(e->d_name) > 0 && atoi(e->d_name) != getpid() &&
		     !syscall(SYS_kcmp, getpid(), atoi(e->d_name), KCMP_VM, 0,
			      0);
	closedir(d);
	return n;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0;

	for (int seen = 0; seen < count;) {
		int now;

		for (int i = 0; i < 20; i++) {
			char *p = map_pages(16);

			fill(p, 16, i);
			CHECK(filled(p, 16, i) && !munmap(p, 16 * PAGE));
		}
		now = zappers();
		if (now > 1)
			fprintf(stderr, "%d at once, behind %d\n", now, seen);
		CHECK(now <= 1);
		seen += now;
		if (now)
			unshare(CLONE_FS);
	}
	printf("%d\n", count);
	return 0;
}

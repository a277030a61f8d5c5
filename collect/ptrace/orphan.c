// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/orphan.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/ptrace/maps.h"
#include "collect/ptrace/tasks.h"
#include "collect/ptrace/wait.h"

/* A new task stops before it runs; what does not is none. */
#define WAIT_MS 1000

/* A number of /proc/PID/status; 0 when it cannot be had. */
static pid_t status_of(pid_t pid, const char *field)
{
	char path[64], line[256];
	size_t len = strlen(field);
	pid_t value = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (!value && fgets(line, sizeof(line), f))
		if (!strncmp(line, field, len))
			value = atoi(line + len);
	fclose(f);
	return value;
}

void orphans_of(const struct task *t)
{
	pid_t self = gettid();
	struct dirent *e;
	DIR *d = opendir("/proc");

	while (d && (e = readdir(d))) {
		pid_t pid = atoi(e->d_name);
		int status, got = 0;

		/* All forked before t ended, so they are there by now. */
		if (pid <= 0 || tasks_find(pid) ||
		    status_of(pid, "TracerPid:") != self)
			continue;
		for (int i = 0; i < WAIT_MS && !got; i++) {
			got = wait_poll(pid, &status);
			if (!got)
				usleep(1000);
		}
		if (got > 0 && WIFSTOPPED(status) && tasks_add(pid))
			tasks_find(pid)->stop = TASK_STOPPED;
	}
	if (d)
		closedir(d);
}

/* Whether the stub in u is the one of mm: u was forked from it. */
static int has_memory_of(pid_t pid, const struct mm *mm)
{
	struct vma_list l;
	int found = 0;

	if (maps_read(pid, &l))
		return 0;
	for (size_t i = 0; i < l.count && !found; i++)
		found = l.items[i].start == STUB_BASE &&
			l.items[i].ino == mm->memfd_ino &&
			makedev(l.items[i].major, l.items[i].minor) ==
				mm->memfd_dev;
	maps_free(&l);
	return found;
}

struct task *orphan_next(const struct task *t)
{
	struct task *u;

	for (u = tasks_next(NULL); u; u = tasks_next(u)) {
		if (u->own || u->announced || u->stop != TASK_STOPPED)
			continue;
		if (t->mm->state == MM_MOVED ? has_memory_of(u->tid, t->mm) :
			    !tasks_find(status_of(u->tid, "PPid:")))
			return u;
	}
	return NULL;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "import/perf-run.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "import/perf-line.h"

extern char **environ;

#define MAGIC "PERFILE2"

/* perf with these arguments, whose output *f is to be read. 0 or errno. */
static int start(char *const argv[], pid_t *pid, FILE **f)
{
	posix_spawn_file_actions_t files;
	int fds[2], err;

	if (pipe2(fds, O_CLOEXEC))
		return errno;
	*f = fdopen(fds[0], "r");
	err = *f ? posix_spawn_file_actions_init(&files) : ENOMEM;
	if (err) {
		if (*f)
			fclose(*f);
		else
			close(fds[0]);
		close(fds[1]);
		return err;
	}
	err = posix_spawn_file_actions_adddup2(&files, fds[1], STDOUT_FILENO);
	if (!err)
		err = posix_spawn_file_actions_addopen(&files, STDIN_FILENO,
						       "/dev/null", O_RDONLY, 0);
	/* It warns of symbols, which nobody asked it for. */
	if (!err)
		err = posix_spawn_file_actions_addopen(&files, STDERR_FILENO,
						       "/dev/null", O_WRONLY, 0);
	if (!err)
		err = posix_spawnp(pid, "perf", &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	close(fds[1]);
	if (err)
		fclose(*f);
	return err;
}

/* 0, or what to say of how it ended. */
static int finish(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status;
}

static FILE *cannot(struct import *x, int err)
{
	if (err == ENOENT)
		import_wrong(x, x->path, "it is perf's data, which perf script reads, and there is no perf here: install it (Debian: linux-perf), or run perf script -G --ns --show-task-events --show-mmap-events -F " PERF_FIELDS " where it is, and import what that prints");
	else
		import_wrong(x, x->path, "perf, which is to read it, cannot be run: %s",
			     strerror(err));
	return NULL;
}

/*
 * What the samples of all events have. perf evlist -v prints a line of each:
 * "page-faults: type: 1, ... sample_type: IP|TID|TIME|ADDR|DATA_SRC, ...".
 */
struct has {
	int addr, cpu, memory;
};

static void look(const char *line, struct has *has)
{
	const char *s = strstr(line, "sample_type: ");
	char types[512];

	if (!s)
		return;
	s += strlen("sample_type: ");
	snprintf(types, sizeof(types), "|%.*s|", (int)strcspn(s, ", "), s);
	has->addr &= strstr(types, "|ADDR|") != NULL;
	has->cpu &= strstr(types, "|CPU|") != NULL;
	has->memory &= strstr(types, "|DATA_SRC|") != NULL &&
		       strstr(types, "|WEIGHT") != NULL;
}

static int look_at_events(struct import *x, struct has *has)
{
	char *argv[] = { (char *)"perf", (char *)"evlist", (char *)"-v",
			 (char *)"-i", (char *)x->path, NULL };
	struct import_error ignored;
	struct lines l;
	pid_t pid;
	FILE *f;
	int err = start(argv, &pid, &f), n = 0;

	if (err) {
		cannot(x, err);
		return -EBADMSG;
	}
	if (!lines_open(&l, f, x->path, &ignored))
		for (; lines_next(&l) > 0; n++)
			/* It records no samples: perf's own. */
			if (strncmp(l.text, "dummy:", strlen("dummy:")))
				look(l.text, has);
	lines_close(&l);
	fclose(f);
	if (finish(pid) || !n)
		return import_wrong(x, x->path, "perf evlist cannot read it: 'perf evlist -v -i %s' says why", x->path);
	if (!has->addr)
		return import_wrong(x, x->path, "its samples have no addresses: record with perf record -d, or perf mem record");
	return 0;
}

FILE *perf_run_open(struct perf_run *r, struct import *x)
{
	struct has has = { 1, 1, 1 };
	char magic[sizeof(MAGIC) - 1], fields[128];
	char *argv[] = {
		(char *)"perf", (char *)"--no-pager", (char *)"script",
		(char *)"-G", (char *)"--ns", (char *)"--show-task-events",
		(char *)"--show-mmap-events", (char *)"--show-lost-events",
		(char *)"-i", (char *)x->path, (char *)"-F", fields, NULL,
	};
	FILE *f = import_open(x, x->path);
	int err;

	r->pid = 0;
	if (!f)
		return NULL;
	if (fread(magic, 1, sizeof(magic), f) != sizeof(magic) ||
	    memcmp(magic, MAGIC, sizeof(magic))) {
		rewind(f);
		return f;
	}
	fclose(f);
	if (look_at_events(x, &has))
		return NULL;
	snprintf(fields, sizeof(fields), "comm,pid,tid,%stime,event,addr,%sip",
		 has.cpu ? "cpu," : "", has.memory ? "data_src,weight," : "");
	err = start(argv, &r->pid, &f);
	return err ? cannot(x, err) : f;
}

int perf_run_close(struct perf_run *r, struct import *x, FILE *f, int err)
{
	int status;

	fclose(f);
	if (!r->pid)
		return err;
	status = finish(r->pid);
	if (err || !status)
		return err;
	return import_wrong(x, x->path, "perf script failed on it (status %d): 'perf script -i %s' says why",
			    status, x->path);
}

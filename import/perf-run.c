// SPDX-License-Identifier: GPL-2.0-or-later
#include "import/perf-run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "import/perf-line.h"

#define MAGIC "PERFILE2"

/*
 * The child: its output goes to fds[1], an error to failed. It ends with this process,
 * however that ends: it may compute for long before it writes and finds nobody.
 */
static void become(char *const argv[], pid_t parent, int out, int failed)
{
	int err = 0, in = open("/dev/null", O_RDWR);

	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		err = errno;
	if (getppid() != parent)
		_exit(127);
	/* It warns of symbols, which nobody asked it for. */
	/* Where it is the output already, it would be closed. */
	if (out == STDOUT_FILENO)
		fcntl(out, F_SETFD, 0);
	if (!err && (in < 0 || dup2(in, STDIN_FILENO) < 0 ||
		     dup2(in, STDERR_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0))
		err = errno;
	if (!err) {
		execvp("perf", argv);
		err = errno;
	}
	if (write(failed, &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(127);
}

/* The child runs perf: 0; or the errno for which it does not, and it is gone. */
static int began(pid_t pid, int failed)
{
	int err = 0;
	ssize_t n;

	do
		n = read(failed, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return 0;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return err;
}

/* perf with these arguments, whose output *f is to be read. 0 or errno. */
static int start(char *const argv[], pid_t *pid, FILE **f)
{
	const pid_t self = getpid();
	int fds[2], failed[2], err = 0;

	if (pipe2(fds, O_CLOEXEC))
		return errno;
	*f = fdopen(fds[0], "r");
	if (!*f || pipe2(failed, O_CLOEXEC)) {
		err = *f ? errno : ENOMEM;
		close(fds[1]);
		if (*f)
			fclose(*f);
		else
			close(fds[0]);
		return err;
	}
	*pid = fork();
	if (!*pid)
		become(argv, self, fds[1], failed[1]);
	err = *pid < 0 ? errno : 0;
	close(fds[1]);
	close(failed[1]);
	if (!err)
		err = began(*pid, failed[0]);
	close(failed[0]);
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
	int any_memory;		/* those of an event have it */
};

static void look(const char *line, struct has *has)
{
	const char *s = strstr(line, "sample_type: ");
	char types[512];
	int memory;

	if (!s)
		return;
	s += strlen("sample_type: ");
	snprintf(types, sizeof(types), "|%.*s|", (int)strcspn(s, ", "), s);
	has->addr &= strstr(types, "|ADDR|") != NULL;
	has->cpu &= strstr(types, "|CPU|") != NULL;
	memory = strstr(types, "|DATA_SRC|") != NULL &&
		 strstr(types, "|WEIGHT") != NULL;
	has->memory &= memory;
	has->any_memory |= memory;
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

/* Does a text have samples of loads and stores? Those of others are "|OP N/A|". */
static int has_sources(FILE *f)
{
	static const char op[] = "|OP ";
	const size_t len = sizeof(op) - 1;
	size_t kept = 0, n;
	char text[65536];

	rewind(f);
	while ((n = fread(text + kept, 1, sizeof(text) - kept, f)) > 0) {
		const char *end = text + kept + n, *s = text;

		while ((s = memmem(s, (size_t)(end - s), op, len)) &&
		       s + len < end) {
			s += len;
			if (*s != 'N')
				return 1;
		}
		kept = kept + n < len ? kept + n : len;
		memmove(text, end - kept, kept);
	}
	return 0;
}

FILE *perf_run_open(struct perf_run *r, struct import *x)
{
	struct has has = { 1, 1, 1, 0 };
	char magic[sizeof(MAGIC) - 1], fields[128];
	char *argv[] = {
		(char *)"perf", (char *)"--no-pager", (char *)"script",
		(char *)"-G", (char *)"--ns", (char *)"--show-task-events",
		(char *)"--show-mmap-events", (char *)"--show-lost-events",
		(char *)"-i", (char *)x->path, (char *)"-F", fields, NULL,
	};
	FILE *f = import_open(x, x->path);
	int err;

	*r = (struct perf_run){ .pid = 0 };
	if (!f)
		return NULL;
	if (fread(magic, 1, sizeof(magic), f) != sizeof(magic) ||
	    memcmp(magic, MAGIC, sizeof(magic))) {
		r->memory = has_sources(f);
		rewind(f);
		return f;
	}
	fclose(f);
	if (look_at_events(x, &has))
		return NULL;
	snprintf(fields, sizeof(fields), "comm,pid,tid,%stime,period,event,addr,%sip",
		 has.cpu ? "cpu," : "", has.memory ? "data_src,weight," : "");
	r->memory = has.memory;
	r->apart = has.any_memory && !has.memory;
	err = start(argv, &r->pid, &f);
	return err ? cannot(x, err) : f;
}

int perf_run_close(struct perf_run *r, struct import *x, FILE *f, int err)
{
	int status;

	fclose(f);
	if (!r->pid)
		return err;
	/* What it says is not wanted any more. */
	if (err)
		kill(r->pid, SIGKILL);
	status = finish(r->pid);
	if (err || !status)
		return err;
	return import_wrong(x, x->path, "perf script failed on it (status %d): 'perf script -i %s' says why",
			    status, x->path);
}

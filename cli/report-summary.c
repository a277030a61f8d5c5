// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What could be better, by moca summary: it reads the trace itself, so it is
 * another process, which works on another CPU meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/report.h"
#include "lib/base/err.h"

#define LIMIT (4u << 20)	/* a summary with more is not put into a page */

static _Noreturn void run(int out, const char *path, const char *topology)
{
	const char *argv[8] = { "moca", "summary", "--json" };
	int n = 3, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (topology) {
		argv[n++] = "--topology";
		argv[n++] = topology;
	}
	argv[n++] = "--";
	argv[n] = path;
	dup2(null, 0);
	dup2(out, 1);
	/* What is wrong with the trace, we say ourselves. */
	dup2(null, 2);
	execv("/proc/self/exe", (char *const *)argv);
	_exit(127);
}

void report_summary_start(struct report_summary *s, const struct report *r,
			  const char *topology)
{
	s->pid = 0;
	s->out = tmpfile();
	if (!s->out)
		return;
	fflush(NULL);
	s->pid = fork();
	if (!s->pid)
		run(fileno(s->out), r->path, topology);
	if (s->pid < 0)
		s->pid = 0;
}

static int take(FILE *f, struct report *r)
{
	struct stat st;
	char *text;
	int err;

	if (fstat(fileno(f), &st) || st.st_size <= 0 || st.st_size > LIMIT)
		return 0;
	text = malloc((size_t)st.st_size);
	if (!text)
		return -ENOMEM;
	rewind(f);
	err = fread(text, 1, (size_t)st.st_size, f) == (size_t)st.st_size ?
	      report_blob(r, "summary", text, (size_t)st.st_size) : 0;
	free(text);
	return err;
}

int report_summary_end(struct report_summary *s, struct report *r)
{
	int status = -1, err = 0;

	if (s->pid)
		while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
			;
	/* 1: a damaged trace, of which there is a summary all the same. */
	if (s->pid && WIFEXITED(status) && WEXITSTATUS(status) <= 1)
		err = take(s->out, r);
	if (s->out)
		fclose(s->out);
	return err;
}

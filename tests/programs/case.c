/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "case.h"

#include <sys/wait.h>
#include <time.h>

void pause_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

int wait_for(int pid)
{
	int status = -1, got;

	do
		got = waitpid(pid, &status, __WALL);
	while (got < 0 && errno == EINTR);
	CHECK(got == pid);
	return status;
}

void wait_ok(int pid)
{
	int status = wait_for(pid);

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void print_status(const char *what, int status)
{
	printf("%s: %s %d%s\n", what, WIFSIGNALED(status) ? "signal" : "exit",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
	       WIFSIGNALED(status) && WCOREDUMP(status) ? ", core" : "");
	fflush(stdout);
}

int cases_main(int argc, char **argv, const struct test_case *cases)
{
	const struct test_case *c;

	for (c = cases; argc > 1 && c->name; c++) {
		if (strcmp(c->name, argv[1]))
			continue;
		c->run();
		printf("%s: done\n", c->name);
		return fflush(stdout) ? 1 : 0;
	}
	for (c = cases; c->name; c++)
		fprintf(stderr, "%s\n", c->name);
	return 2;
}

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

/* Milliseconds until a recorder that is not seen is taken for one without ptrace. */
#define AWAIT_MS 2000

static int is_traced(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	int tracer = 0;

	while (f && !tracer && fgets(line, sizeof(line), f))
		sscanf(line, "TracerPid: %d", &tracer);
	if (f)
		fclose(f);
	return tracer != 0;
}

void await_recorder(void)
{
	if (!getenv("ATTACHED"))
		return;
	for (int i = 0; i < AWAIT_MS / 2 && !is_traced(); i++)
		pause_ms(2);
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

static const struct test_case *all;

static const struct test_case *find_case(const char *name)
{
	for (const struct test_case *c = all; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	fprintf(stderr, "%s: no case is called \"%s\"\n",
		program_invocation_short_name, name);
	return NULL;
}

void exec_case(const char *name)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	CHECK(n > 0);
	path[n] = 0;
	if (!find_case(name))
		exit(2);
	fflush(stdout);
	execl(path, program_invocation_name, name, (char *)NULL);
	CHECK(!"exec");
}

int cases_main(int argc, char **argv, const struct test_case *cases)
{
	const struct test_case *c;

	all = cases;
	if (argc > 1) {
		c = find_case(argv[1]);
		if (!c)
			return 2;
		c->run();
		printf("%s: done\n", c->name);
		return fflush(stdout) ? 1 : 0;
	}
	for (c = cases; c->name; c++)
		fprintf(stderr, "%s\n", c->name);
	return 2;
}

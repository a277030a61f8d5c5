// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The number that libmocatrace gives a process' image: printed twice by this
 * image, by a fork's child, and by the same process after exec.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/trace/emitter.h"

int main(int argc, char **argv)
{
	char *again[] = { argv[0], "again", NULL };
	int pid = getpid(), status;
	pid_t child;

	printf("%016llx\n", (unsigned long long)agent_incarnation(pid));
	fflush(stdout);
	if (argc > 1)
		return 0;
	printf("%016llx\n", (unsigned long long)agent_incarnation(pid));
	fflush(stdout);
	child = fork();
	if (!child) {
		printf("%016llx\n",
		       (unsigned long long)agent_incarnation(getpid()));
		fflush(stdout);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		return 1;
	execv("/proc/self/exe", again);
	return 1;
}

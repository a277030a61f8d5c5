// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * peak COMMAND ARGUMENT...: run it without its output, and print how many KiB of memory
 * it had at most. What a process had when it executed counts for what it executes: so
 * this one is small, where an interpreter is larger than what is measured.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage used;
	int status, null;
	pid_t pid;

	if (argc < 2)
		return 2;
	pid = fork();
	if (pid < 0)
		return 3;
	if (!pid) {
		null = open("/dev/null", O_WRONLY);
		if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
			_exit(126);
		execv(argv[1], argv + 1);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &used) != pid || status)
		return 1;
	printf("%ld\n", used.ru_maxrss);
	return 0;
}

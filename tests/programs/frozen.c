/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 32 MiB; behind the first line of stdin a fork, whose child does nothing. */
#include "case.h"

#include <sys/syscall.h>
#include <sys/wait.h>

int main(void)
{
	const size_t pages = 8192;
	char *p = mmap(NULL, pages * PAGE, RW, ANON, -1, 0);
	size_t good = 0;
	int status;
	pid_t pid;

	memset(p, 7, pages * PAGE);
	CHECK(write(1, "ready\n", 6) == 6 && read(0, &status, 1) == 1);
	pid = (pid_t)syscall(SYS_fork);
	if (!pid)
		syscall(SYS_exit_group, 0);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
	for (size_t i = 0; i < pages; i++)
		good += p[i * PAGE] == 7;
	printf("%zu\n", good);
	return 0;
}

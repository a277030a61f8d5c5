// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: launch AGENT min=N PROGRAM [ARG...]. Starts a program as `moca record`
 * does: with LD_PRELOAD for the agent, and the program's own, which the agent
 * shall put back, in the memory behind it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Where the string that begins with text is in the stopped child. */
static unsigned long find(const char *text, unsigned long from,
			  const char *buf, size_t len)
{
	size_t n = strlen(text), i;

	for (i = 0; i + n < len; i++)
		if (!memcmp(buf + i, text, n))
			return from + i;
	return 0;
}

static void fill_in(pid_t pid)
{
	static char maps[1 << 16], stack[1 << 20];
	unsigned long low, high, orig, field;
	char path[64], hex[17], *line;
	struct iovec local, remote;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	n = fread(maps, 1, sizeof(maps) - 1, f);
	maps[n] = 0;
	fclose(f);
	line = strstr(maps, "[stack]");
	while (line > maps && line[-1] != '\n')
		line--;
	if (sscanf(line, "%lx-%lx", &low, &high) != 2 ||
	    high - low > sizeof(stack))
		exit(3);
	local = (struct iovec){ stack, high - low };
	remote = (struct iovec){ (void *)low, high - low };
	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) < 0)
		exit(3);
	orig = find("@LD_PRELOAD=", low, stack, high - low);
	if (orig) {
		local = (struct iovec){ "", 1 };
		remote = (struct iovec){ (void *)orig++, 1 };
		if (process_vm_writev(pid, &local, 1, &remote, 1, 0) != 1)
			exit(3);
	}
	field = find("orig=0000000000000000;", low, stack, high - low);
	if (!field)
		exit(3);
	snprintf(hex, sizeof(hex), "%016lx", orig);
	local = (struct iovec){ hex, 16 };
	remote = (struct iovec){ (void *)(field + 5), 16 };
	if (process_vm_writev(pid, &local, 1, &remote, 1, 0) != 16)
		exit(3);
}

int main(int argc, char **argv)
{
	const char *own = getenv("LD_PRELOAD");
	char preload[4096], config[256];
	char *env[256];
	int i, n = 0, status;
	pid_t pid;

	if (argc < 4)
		return 2;
	if (own)
		snprintf(preload, sizeof(preload),
			 "LD_PRELOAD=%s:%s@LD_PRELOAD=%s", argv[1], own, own);
	else
		snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", argv[1]);
	snprintf(config, sizeof(config),
		 "MOCA_ALLOC=%s;fn=xnew:1;orig=0000000000000000;", argv[2]);
	env[n++] = config;
	for (i = 0; environ[i] && n < 250; i++)
		env[n++] = strncmp(environ[i], "LD_PRELOAD=", 11) ?
				   environ[i] : preload;
	if (!own)
		env[n++] = preload;
	env[n] = NULL;
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execve(argv[3], argv + 3, env);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return 3;
	fill_in(pid);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 3;
	return WEXITSTATUS(status);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/companion.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void ignore_signals(void)
{
	const int all[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
			    SIGUSR2, SIGPIPE, SIGXFSZ, SIGTSTP, SIGTTIN,
			    SIGTTOU };
	sigset_t none;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		signal(all[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

pid_t companion_fork(const char *name, int *control)
{
	int pair[2], err;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		err = -errno;
		close(pair[0]);
		close(pair[1]);
		return err;
	}
	close(pair[pid ? 1 : 0]);
	*control = pair[pid ? 0 : 1];
	if (pid)
		return pid;
	ignore_signals();
	prctl(PR_SET_NAME, name, 0, 0, 0);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/trace/beside.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/trace/shm.h"
#include "collect/trace/slot.h"
#include "lib/base/err.h"
#include "lib/format/meta.h"
#include "lib/ring/layout.h"

struct moca_trace_session {
	pid_t pid;
	int control;
	char id[17];
	char *dir;
};

static void ignore_signals(void)
{
	const int all[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
			    SIGUSR2, SIGPIPE, SIGXFSZ, SIGTSTP, SIGTTIN,
			    SIGTTOU };
	sigset_t none;
	size_t i;

	/* They are for the program and for `moca record`, whose end is ours. */
	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		signal(all[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int beside_main(const char *dir, uint64_t session, int control)
{
	const struct tracer_options opt = {
		.name = "", .dir = dir, .filter = "", .mask = UINT32_MAX,
		.mode = MOCA_RING_BLOCK, .timeout_ms = 100,
		.subbuf_size = TRACER_SUBBUF_BESIDE,
		.subbufs = TRACER_SUBBUFS_BESIDE, .is_private = 1,
		.session = session, .beside = 1, .quiet = 1,
	};
	struct tracer_result result;
	struct tracer_session *s;
	const char *id;
	int status;

	ignore_signals();
	prctl(PR_SET_NAME, "moca-trace", 0, 0, 0);
	if (tracer_session_open(&s, &opt) || tracer_session_begin(s))
		return 1;
	tracer_session_set_control(s, control);
	id = tracer_session_id(s);
	send(control, id, strlen(id) + 1, MSG_NOSIGNAL);
	tracer_session_run(s, &status);
	tracer_session_close(s, &result);
	send(control, &result, sizeof(result), MSG_NOSIGNAL);
	return 0;
}

int moca_trace_session_start(struct moca_trace_session **out, const char *dir)
{
	struct moca_trace_session *s = calloc(1, sizeof(*s));
	uint64_t session = tracer_random_session();
	int pair[2], err;

	if (!s)
		return -ENOMEM;
	snprintf(s->id, sizeof(s->id), "%016" PRIx64, session);
	s->dir = strdup(dir);
	if (!s->dir) {
		err = -ENOMEM;
		goto err_free;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		err = -errno;
		goto err_free;
	}
	fflush(NULL);
	s->pid = fork();
	if (s->pid < 0) {
		err = -errno;
		close(pair[0]);
		close(pair[1]);
		goto err_free;
	}
	if (!s->pid) {
		close(pair[0]);
		_exit(beside_main(dir, session, pair[1]));
	}
	close(pair[1]);
	s->control = pair[0];
	*out = s;
	return 0;
err_free:
	free(s->dir);
	free(s);
	return err;
}

int moca_trace_session_ready(struct moca_trace_session *s)
{
	char id[sizeof(s->id)];
	ssize_t n;

	do
		n = recv(s->control, id, sizeof(id), 0);
	while (n < 0 && errno == EINTR);
	if (n == sizeof(id))
		return 0;
	/* It has said why. */
	close(s->control);
	waitpid(s->pid, NULL, 0);
	free(s->dir);
	free(s);
	return -ECANCELED;
}

const char *moca_trace_session_id(const struct moca_trace_session *s)
{
	return s->id;
}

/* It was killed. What it left is for recover, or else there are no buffers. */
static int clean_up(const struct moca_trace_session *s)
{
	uint64_t session = strtoull(s->id, NULL, 16);
	struct tracer_registry reg;
	struct tracer_shm shm;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", s->dir, MOCA_META_SESSION);
	if (!access(path, F_OK))
		return -EOWNERDEAD;
	if (!tracer_registry_open(&reg)) {
		tracer_registry_reclaim(&reg, session);
		tracer_registry_close(&reg);
	}
	tracer_shm_path(path, sizeof(path), session);
	if (!tracer_shm_open(&shm, path))
		tracer_shm_remove(&shm);
	return -EPIPE;
}

int moca_trace_session_finish(struct moca_trace_session *s,
			      struct tracer_result *result)
{
	ssize_t n;
	int err;

	memset(result, 0, sizeof(*result));
	send(s->control, "", 1, MSG_NOSIGNAL);
	do
		n = recv(s->control, result, sizeof(*result), 0);
	while (n < 0 && errno == EINTR);
	close(s->control);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	err = n == sizeof(*result) ? result->error : clean_up(s);
	free(s->dir);
	free(s);
	return err;
}

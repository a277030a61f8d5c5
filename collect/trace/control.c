// SPDX-License-Identifier: GPL-2.0-or-later
/* The commands of `moca trace VERB NAME`, as the collector obeys them. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/trace/tracer.h"

#define ARGS_MAX 8

struct command {
	struct tracer_session *s;
	struct tracer_connection *c;
	const char *args[ARGS_MAX];	/* after the verb */
	size_t count;
};

__attribute__((format(printf, 3, 4)))
static void answer(struct command *cmd, int error, const char *fmt, ...)
{
	char buf[4096 + 512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	tracer_connection_reply(cmd->s, cmd->c, error, 0, buf, NULL, 0);
}

/* The answer comes when the job is done. */
static struct tracer_job *begin_job(struct command *cmd,
				    enum tracer_job_kind kind)
{
	struct tracer_job *job = tracer_job_new(kind);

	if (!job) {
		answer(cmd, -ENOMEM, "the collector has no memory left");
		return NULL;
	}
	tracer_connection_await(cmd->s, cmd->c, job);
	return job;
}

/* Tell programs. 0, or an answer was given. */
static int set_wish(struct command *cmd, const struct tracer_wish *wish)
{
	int err = tracer_slot_set(&cmd->s->slot, wish);

	if (err) {
		answer(cmd, err, "the registry %s/%s was cut short; end all "
		       "traces and remove it", cmd->s->slot.reg.path,
		       MOCA_REGISTRY_FILE);
		return err;
	}
	cmd->s->wish = *wish;
	return 0;
}

static void do_start(struct command *cmd)
{
	struct tracer_wish wish = cmd->s->wish;

	if (wish.state == MOCA_SLOT_ACTIVE) {
		answer(cmd, -EEXIST, "there is a trace of this name, and it is "
		       "recording; choose another name, or end it with: moca "
		       "trace destroy %s", cmd->s->slot.name);
		return;
	}
	wish.state = MOCA_SLOT_ACTIVE;
	if (!set_wish(cmd, &wish))
		answer(cmd, 0, "%s: recording again", cmd->s->slot.name);
}

static void do_stop(struct command *cmd)
{
	struct tracer_wish wish = cmd->s->wish;
	struct tracer_job *job;

	wish.state = MOCA_SLOT_STOPPED;
	if (set_wish(cmd, &wish))
		return;
	job = begin_job(cmd, TRACER_JOB_SETTLE);
	if (job)
		tracer_job_post(cmd->s, job);
}

static void do_switch(struct command *cmd)
{
	struct tracer_job *job;

	if (cmd->s->opt.mode == MOCA_RING_OVERWRITE) {
		answer(cmd, -EINVAL, "a flight recorder hands nothing over; "
		       "copy what is in it with: moca trace snapshot %s",
		       cmd->s->slot.name);
		return;
	}
	job = begin_job(cmd, TRACER_JOB_FLUSH);
	if (job)
		tracer_job_post(cmd->s, job);
}

/* "filter=SPEC", "mask=HEX" */
static void do_filter(struct command *cmd)
{
	struct tracer_wish wish = cmd->s->wish;
	const char *arg;
	size_t i, where;
	char *end;

	for (i = 0; i < cmd->count; i++) {
		arg = cmd->args[i];
		if (!strncmp(arg, "filter=", 7)) {
			if (moca_filter_check(arg + 7, &where)) {
				answer(cmd, -EINVAL, "bad filter '%s'",
				       arg + 7);
				return;
			}
			strcpy(wish.filter, arg + 7);
		} else if (!strncmp(arg, "mask=", 5)) {
			errno = 0;
			wish.mask = (uint32_t)strtoul(arg + 5, &end, 16);
			if (errno || *end || !arg[5] || strlen(arg + 5) > 8) {
				answer(cmd, -EINVAL, "bad mask '%s'", arg + 5);
				return;
			}
		}
	}
	if (!set_wish(cmd, &wish))
		answer(cmd, 0, "%s: filter '%s', mask %08x",
		       cmd->s->slot.name, wish.filter, wish.mask);
}

/* DIR/snapshot-N, the first that is not there. */
static int default_snapshot(struct tracer_session *s, struct tracer_job *job)
{
	char path[4096 + 32];
	int err = -EEXIST;

	while (err == -EEXIST || err == -ENOTEMPTY) {
		snprintf(path, sizeof(path), "%s/snapshot-%u", s->dir,
			 s->snapshots++);
		err = tracer_directory_try(path, &job->path, &job->dirfd);
	}
	return err;
}

static void do_snapshot(struct command *cmd)
{
	struct tracer_session *s = cmd->s;
	struct tracer_job *job;
	int err;

	if (s->opt.mode != MOCA_RING_OVERWRITE) {
		answer(cmd, -EINVAL, "a snapshot is of a flight recorder, "
		       "which %s is not (moca trace start --flight); what this "
		       "one records is in %s at any time", s->slot.name,
		       s->dir);
		return;
	}
	job = tracer_job_new(TRACER_JOB_SNAPSHOT);
	if (!job) {
		answer(cmd, -ENOMEM, "the collector has no memory left");
		return;
	}
	err = cmd->count && *cmd->args[0] ?
		      tracer_directory_try(cmd->args[0], &job->path,
					   &job->dirfd) :
		      default_snapshot(s, job);
	if (err) {
		answer(cmd, err, "cannot write a snapshot into %s: %s; choose "
		       "another directory with -o",
		       cmd->count && *cmd->args[0] ? cmd->args[0] : s->dir,
		       err == -ENOTEMPTY ? "it is not empty" : strerror(-err));
		free(job);
		return;
	}
	tracer_connection_await(s, cmd->c, job);
	tracer_job_post(s, job);
}

/* With what is in the buffers now: so the counts are of now, too. */
static void do_status(struct command *cmd)
{
	struct tracer_job *job = begin_job(cmd, TRACER_JOB_FLUSH);

	if (!job)
		return;
	job->answer = cmd->count && !strcmp(cmd->args[0], "json") ?
			      TRACER_ANSWER_JSON : TRACER_ANSWER_TEXT;
	tracer_job_post(cmd->s, job);
}

static void answer_status(struct command *cmd, const struct tracer_job *job)
{
	char *text = job->answer == TRACER_ANSWER_JSON ?
			     tracer_status_json(cmd->s) :
			     tracer_status_text(cmd->s);

	tracer_connection_reply(cmd->s, cmd->c, text ? 0 : -ENOMEM, 0, text,
				NULL, 0);
	free(text);
}

static void do_destroy(struct command *cmd)
{
	tracer_session_finish(cmd->s);
	/* Answered when all is on disk; there may be several who wait. */
	tracer_connection_await(cmd->s, cmd->c, cmd->s->finish);
}

static const struct {
	const char *verb;
	void (*run)(struct command *cmd);
} commands[] = {
	{ "start", do_start },	     { "stop", do_stop },
	{ "switch", do_switch },     { "filter", do_filter },
	{ "snapshot", do_snapshot }, { "status", do_status },
	{ "destroy", do_destroy },
};

void tracer_request_control(struct tracer_session *s,
			    struct tracer_connection *c, const char *payload,
			    size_t len)
{
	struct command cmd = { .s = s, .c = c };
	const char *p = payload, *end = payload + len, *verb = payload;
	size_t i;

	if (!len || end[-1]) {
		answer(&cmd, -EPROTO, "no command");
		return;
	}
	for (p += strlen(p) + 1; p < end && cmd.count < ARGS_MAX;
	     p += strlen(p) + 1)
		cmd.args[cmd.count++] = p;
	if (s->finish && strcmp(verb, "destroy")) {
		answer(&cmd, -ESHUTDOWN, "%s is coming to its end",
		       s->slot.name);
		return;
	}
	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (!strcmp(commands[i].verb, verb)) {
			commands[i].run(&cmd);
			return;
		}
	}
	answer(&cmd, -ENOSYS, "this collector does not know the command '%s'; "
	       "is it of another version?", verb);
}

/* What could not be written is told by every command that should have. */
static int disk_answer(struct command *cmd)
{
	int err = atomic_load(&cmd->s->disk_error);

	if (err)
		answer(cmd, err, "cannot write into %s: %s; not all that was "
		       "recorded is on disk", cmd->s->dir, strerror(-err));
	return err;
}

static void answer_snapshot(struct command *cmd, const struct tracer_job *job)
{
	if (job->error)
		answer(cmd, job->error, "cannot write a snapshot into %s: %s",
		       job->path, strerror(-job->error));
	else
		answer(cmd, 0, "%llu events of %u threads in %s",
		       (unsigned long long)job->events, job->streams,
		       job->path);
}

void tracer_control_done(struct tracer_session *s, struct tracer_job *job)
{
	struct command cmd = { .s = s, .c = tracer_connection_of(s, job) };

	/* The client may have left. */
	if (cmd.c && job->answer != TRACER_ANSWER_DONE)
		answer_status(&cmd, job);
	else if (cmd.c && job->kind == TRACER_JOB_SNAPSHOT)
		answer_snapshot(&cmd, job);
	else if (cmd.c && !disk_answer(&cmd))
		answer(&cmd, 0, job->kind == TRACER_JOB_SETTLE ?
					"%s: stopped; %llu events so far" :
					"%s: %llu events are on disk",
		       s->slot.name,
		       (unsigned long long)atomic_load(&s->totals.events));
	if (job->dirfd >= 0)
		close(job->dirfd);
	free(job->path);
	free(job);
}

void tracer_control_end(struct tracer_session *s,
			const struct tracer_result *result)
{
	struct command cmd = { .s = s };

	if (!s->finish)
		return;
	while ((cmd.c = tracer_connection_of(s, s->finish)))
		if (!disk_answer(&cmd))
			answer(&cmd, 0, "%llu events of %u threads in %s%s",
			       (unsigned long long)atomic_load(
				       &s->totals.events),
			       atomic_load(&s->totals.streams), s->dir,
			       result->refused.threads ?
				       "; some threads had no buffer, as the "
				       "notes of moca info tell" : "");
}

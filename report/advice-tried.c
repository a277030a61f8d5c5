// SPDX-License-Identifier: GPL-2.0-or-later
/* What moca try measured of what a finding advises. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/text/json.h"
#include "lib/text/terminal.h"
#include "lib/text/text.h"
#include "report/advice.h"

void advice_tried_read(struct advice_view *v)
{
	int fd = open(v->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	v->tried = (struct moca_tried){ 0 };
	err = fd < 0 ? -ENOENT : moca_tried_read(&v->tried, fd);
	v->tried_error = err == -ENOENT ? 0 : err;
	if (fd >= 0)
		close(fd);
}

void advice_tried_warn(const char *command, const char *path)
{
	struct advice_view v = { .path = path };

	advice_tried_read(&v);
	if (v.tried_error)
		moca_warn("%s: what moca try measured of '%s' is left out: the file '%s' there %s", command,
			  path, MOCA_TRIED_NAME, v.tried_error == -EBADMSG ?
			  "is damaged (the next moca try keeps it as '"
			  MOCA_TRIED_DAMAGED "')" :
			  strerror(-v.tried_error));
	moca_tried_free(&v.tried);
}

static const char *verdict(const char *result)
{
	static const char *const words[][2] = {
		{ "quicker", "it helps" },
		{ "less-cpu-time", "it helps: it takes less CPU time" },
		{ "slower", "no gain: the program is slower with it" },
		{ "no-difference", "no gain: there is no difference" },
		{ "undecided", "no gain is shown: more rounds were needed" },
		{ "differs", "no gain: the program does something else with it" },
	};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(words[i][0], result))
			return words[i][1];
	return "a result that this Moca does not know";
}

static void say_ratio(FILE *f, const char *what,
		      const struct moca_tried_ratio *r)
{
	char a[TEXT_MAX];

	fprintf(f, "%s %s", what, text_than(a, r->mean));
	fprintf(f, " (from %s", text_than(a, r->low));
	fprintf(f, " to %s)", text_than(a, r->high));
}

static void sentence(const struct moca_tried_change *c, char *buf, size_t size)
{
	time_t when = (time_t)(c->when_ns / 1000000000);
	FILE *f = fmemopen(buf, size, "w");
	char day[32] = "an unknown day", a[TEXT_MAX];
	struct tm tm;

	buf[0] = 0;
	if (!f)
		return;
	if (localtime_r(&when, &tm))
		strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	fprintf(f, "%.64s: %s; ", c->id, verdict(c->result));
	if (!isnan(c->predicted))
		fprintf(f, "predicted %.0f %% less CPU time, ",
			100 * c->predicted);
	say_ratio(f, "measured: time", &c->wall);
	say_ratio(f, ", CPU time", &c->cpu);
	fprintf(f, ", %.0f %% confidence, n = %llu, on %s",
		100 * c->confidence, (unsigned long long)c->rounds, day);
	if (c->faults[0])
		fprintf(f, "; page faults %s",
			text_than(a, (double)c->faults[1] /
					      (double)c->faults[0]));
	if (*c->command)
		fprintf(f, "; of another command than the recorded one: %.200s",
			c->command);
	fclose(f);
	buf[size - 1] = 0;
}

void advice_tried_print(const struct advice_view *v,
			const struct moca_finding *x, int width)
{
	const char *finding = moca_finding_id(x->kind);
	const char *lead = "     Tried      ";
	char text[1024];
	size_t i;

	for (i = 0; i < v->tried.count; i++) {
		if (!moca_tried_follows(&v->tried.items[i], finding))
			continue;
		sentence(&v->tried.items[i], text, sizeof(text));
		terminal_wrap(lead, text, width);
		lead = "                ";
	}
	if (v->tried_error)
		terminal_wrap(lead, "what moca try measured cannot be read: the file 'tried' of the trace is damaged; the next moca try keeps it as 'tried.damaged', and writes a new one",
			      width);
}

static void json_ratio(struct json *j, const char *key,
		       const struct moca_tried_ratio *r)
{
	json_open(j, key, '{');
	json_double(j, "ratio", r->mean);
	json_double(j, "ratio_low", r->low);
	json_double(j, "ratio_high", r->high);
	json_close(j, '}');
}

static void json_pair(struct json *j, const char *key, const uint64_t x[2])
{
	json_open(j, key, '[');
	json_uint(j, NULL, x[0]);
	json_uint(j, NULL, x[1]);
	json_close(j, ']');
}

static void json_change(struct json *j, const struct moca_tried_change *c)
{
	char text[1024];

	sentence(c, text, sizeof(text));
	json_open(j, NULL, '{');
	json_string(j, "id", c->id);
	json_string(j, "result", c->result);
	json_string(j, "text", text);
	json_string(j, "setting", *c->setting ? c->setting : NULL);
	json_string(j, "command", *c->command ? c->command : NULL);
	json_string(j, "plan", *c->plan ? c->plan : NULL);
	json_uint(j, "when_ns", c->when_ns);
	json_uint(j, "rounds", c->rounds);
	json_double(j, "confidence", c->confidence);
	json_double(j, "predicted_cpu_share", c->predicted);
	json_ratio(j, "wall", &c->wall);
	json_ratio(j, "cpu", &c->cpu);
	json_pair(j, "faults", c->faults);
	json_pair(j, "peak_bytes", c->peak_bytes);
	json_close(j, '}');
}

void advice_tried_json(struct json *j, const struct advice_view *v,
		       const struct moca_finding *x)
{
	const char *finding = moca_finding_id(x->kind);
	size_t i;

	json_open(j, "tried", '[');
	for (i = 0; i < v->tried.count; i++)
		if (moca_tried_follows(&v->tried.items[i], finding))
			json_change(j, &v->tried.items[i]);
	json_close(j, ']');
}

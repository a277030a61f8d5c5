// SPDX-License-Identifier: GPL-2.0-or-later
/* What /proc/PID/stat says, also with names that are made to mislead. */
#include "collect/rate/stat.h"
#include "tests/unit/trace-util.h"

#define REST " S 41 42 43 0 -1 4194304 1001 1002 1003 1004 11 12 13 14 20 0 5 0 9"

static int parse(const char *name, struct rate_stat *s)
{
	char text[256];

	snprintf(text, sizeof(text), "7 (%s)%s", name, REST);
	return rate_stat_parse(s, text);
}

static int test_fields(void)
{
	struct rate_stat s;

	CHECK(!parse("cat", &s));
	CHECK(!strcmp(s.name, "cat") && s.state == 'S' && s.ppid == 41);
	CHECK(s.minor == 1001 && s.reaped_minor == 1002);
	CHECK(s.major == 1003 && s.reaped_major == 1004);
	CHECK(s.reaped_ticks == 27 && s.threads == 5);
	return 0;
}

static int test_names(void)
{
	struct rate_stat s;

	CHECK(!parse(") R 1 2 (", &s) && s.minor == 1001);
	CHECK(!strcmp(s.name, ") R 1 2 (") && s.state == 'S');
	CHECK(!parse("", &s) && !*s.name);
	CHECK(!parse("a name that is far too long for it", &s));
	CHECK(strlen(s.name) == STAT_NAME - 1 && s.threads == 5);
	return 0;
}

static int test_garbage(void)
{
	static const char *const bad[] = {
		"", "7", "7 (a", "7 a)", "7 (a)", "7 (a) ", "7 (a) S",
		"7 (a) S 1 2 3", "7 )a( S 1", "7 (a) S x 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
		"7 (a) S  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
	};
	struct rate_stat s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(rate_stat_parse(&s, bad[i]) == -EBADMSG);
	return 0;
}

/* Of this process itself, by the file. */
static int test_self(void)
{
	struct rate_stat s;
	uint64_t ns;
	int fd = rate_open(getpid(), 0, "stat");

	CHECK(fd >= 0);
	CHECK(!rate_stat_read(&s, fd) && s.ppid == getppid());
	CHECK(s.threads == 1 && s.minor > 10 && s.state == 'R');
	close(fd);
	fd = rate_open(getpid(), getpid(), "schedstat");
	CHECK(fd >= 0 && !rate_run_read(&ns, fd));
	close(fd);
	CHECK(rate_open(0x7ffffffe, 0, "stat") == -ENOENT);
	return 0;
}

int main(void)
{
	run("rate: fields of stat", test_fields);
	run("rate: names in stat", test_names);
	run("rate: no stat at all", test_garbage);
	run("rate: stat of this process", test_self);
	return failures ? 1 : 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* What is told of waits that take long, by times that the test makes up. */
#include "collect/run/waiting.h"

#include <sys/wait.h>

#include "tests/unit/trace-util.h"

static char line[256];

static int look(uint64_t s)
{
	return waiting_look(s * 1000000000, line, sizeof(line));
}

static int t_long(void)
{
	CHECK(!look(1));
	waiting_begin(WAITING_CALL, 4711);
	CHECK(!look(2));
	CHECK(!look(6));
	CHECK(look(7));
	CHECK(strstr(line, "task 4711 has taken 5 s"));
	/* Once. */
	CHECK(!look(8) && !look(100));
	waiting_end(WAITING_CALL);
	CHECK(!look(200));
	return 0;
}

/* Many short ones are none that takes long. */
static int t_short(void)
{
	for (uint64_t s = 300; s < 330; s++) {
		waiting_begin(WAITING_DISK, 0);
		CHECK(!look(s));
		waiting_end(WAITING_DISK);
		if (s % 2)
			CHECK(!look(s));
	}
	/* An end without a begin, as of what was never begun. */
	waiting_end(WAITING_TERM);
	CHECK(!look(340) && !look(350));
	return 0;
}

/* Two at once are two lines. A second signal begins no second wait. */
static int t_two(void)
{
	waiting_begin(WAITING_TERM, 12);
	waiting_begin(WAITING_DISK, 0);
	CHECK(!look(400));
	waiting_begin(WAITING_TERM, 12);
	CHECK(look(405) && strstr(line, "disk"));
	CHECK(look(405) && strstr(line, "process 12 was sent the signal"));
	CHECK(!look(406));
	waiting_end(WAITING_TERM);
	waiting_end(WAITING_DISK);
	CHECK(!look(500) && !look(600));
	return 0;
}

/* Another process begins it. */
static int t_shared(void)
{
	pid_t pid;

	waiting_init();
	CHECK(!look(700));
	pid = fork();
	if (!pid) {
		waiting_begin(WAITING_FINISH, 0);
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid);
	CHECK(!look(701));
	CHECK(look(706) && strstr(line, "recording is over"));
	return 0;
}

int main(void)
{
	run("waiting: what takes long is told once", t_long);
	run("waiting: what is short is not", t_short);
	run("waiting: two at once", t_two);
	run("waiting: told by another process", t_shared);
	return failures != 0;
}

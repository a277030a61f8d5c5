// SPDX-License-Identifier: GPL-2.0-or-later
/* Which files that programs map are Moca's own. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/run/own.h"
#include "tests/unit/trace-util.h"

static char dir[] = "/tmp/libmoca-own-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[2][4096];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static int make(const char *name)
{
	int fd = open(in_dir(name), O_RDWR | O_CREAT | O_EXCL, 0600);

	/* The kernel's clock of files is up to a tick behind. */
	usleep(20000);
	return fd < 0 || close(fd);
}

static int is_own(const char *name)
{
	struct stat st;

	return !stat(in_dir(name), &st) &&
	       own_is(getpid(), in_dir(name), 0, st.st_ino);
}

static int t_file(void)
{
	CHECK(!make("libmoca-alloc.so") && !make("libmoca-alloc.so.other"));
	own_file(in_dir("libmoca-alloc.so"));
	CHECK(is_own("libmoca-alloc.so") && is_own("libmoca-alloc.so"));
	CHECK(!is_own("libmoca-alloc.so.other"));
	CHECK(!unlink(in_dir("libmoca-alloc.so.other")));
	return 0;
}

/* A file that is not ours any more has its number still, as a new one may. */
static int t_number(void)
{
	CHECK(is_own("libmoca-alloc.so"));
	CHECK(!rename(in_dir("libmoca-alloc.so"), in_dir("libmoca-alloc.so.1")));
	CHECK(!is_own("libmoca-alloc.so.1"));
	CHECK(!unlink(in_dir("libmoca-alloc.so.1")) && !rmdir(dir));
	return 0;
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	run("own: its file", t_file);
	run("own: the number of its file", t_number);
	return failures != 0;
}

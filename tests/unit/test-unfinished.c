// SPDX-License-Identifier: GPL-2.0-or-later
/* What a command has begun to write, when it fails and when a signal ends it. */
#include "lib/cmdline/unfinished.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/trace-util.h"

static int exists(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

/* A folder with two files, one of another's in a shared folder. */
static int begin(void)
{
	char *beside;
	int at;

	if (unfinished_folder("shared", 0700, 1) ||
	    unfinished_folder("shared/own", 0700, 0) ||
	    unfinished_folder("shared", 0700, 1) != -EEXIST)
		return -1;
	at = open("shared/own", O_RDONLY | O_DIRECTORY);
	if (at < 0 || unfinished_file(at, "a", 0600) < 0 ||
	    unfinished_file(AT_FDCWD, "shared/own/b", 0600) < 0 ||
	    unfinished_file(at, "a", 0600) != -EEXIST ||
	    unfinished_file(AT_FDCWD, "none/c", 0600) != -ENOENT ||
	    unfinished_beside("beside", &beside) < 0 || !exists(beside))
		return -1;
	free(beside);
	return 0;
}

static int others(void)
{
	int fd = open("shared/others", O_WRONLY | O_CREAT, 0600);

	return fd < 0 ? -1 : close(fd);
}

/* All but what is of others; that is removed. */
static int gone(void)
{
	return !exists("shared/own") && !system("! ls beside.* 2>/dev/null") &&
	       !unlink("shared/others") && !rmdir("shared");
}

static int t_remove(void)
{
	CHECK(!begin() && !others());
	CHECK(!unfinished_remove() && gone());
	/* Once is enough. */
	CHECK(!begin() && !others());
	unfinished_keep();
	CHECK(!unfinished_remove() && exists("shared/own/a"));
	CHECK(!system("rm -r shared beside.*"));
	return 0;
}

/* What others put into a folder of one's own: it stays, and is told. */
static int t_left(void)
{
	int fd;

	CHECK(!begin() && !others());
	fd = open("shared/own/strange", O_WRONLY | O_CREAT, 0600);
	CHECK(fd >= 0 && !close(fd));
	CHECK(unfinished_remove() == 1 && exists("shared/own/strange"));
	CHECK(!exists("shared/own/a"));
	CHECK(!unlink("shared/own/strange") && !rmdir("shared/own"));
	return !gone();
}

/* Of a whole folder all files go, more than one read of it tells; folders stay. */
static int t_whole(void)
{
	char name[64];
	int fd;

	CHECK(!unfinished_folder_whole("whole", 0700));
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "whole/a-file-of-some-length-%d", i);
		fd = open(name, O_WRONLY | O_CREAT, 0600);
		CHECK(fd >= 0 && !close(fd));
	}
	CHECK(!mkdir("whole/folder", 0700));
	CHECK(unfinished_remove() == 1 && exists("whole/folder"));
	CHECK(!rmdir("whole/folder") && !rmdir("whole"));
	/* Nothing but files. */
	CHECK(!unfinished_folder_whole("whole", 0700));
	fd = open("whole/.hidden", O_WRONLY | O_CREAT, 0600);
	CHECK(fd >= 0 && !close(fd) && !symlink("/", "whole/link"));
	CHECK(!unfinished_remove() && !exists("whole"));
	return 0;
}

static int t_replace(void)
{
	char *name;
	int fd = unfinished_beside("target", &name);

	CHECK(fd >= 0 && write(fd, "new", 3) == 3 && !close(fd));
	CHECK(!unfinished_replace(name, "target") && !exists(name));
	CHECK(!unfinished_remove() && exists("target"));
	CHECK(unfinished_replace(name, "target") == -ENOENT);
	free(name);
	return unlink("target");
}

static int ends(int sig, int ignored)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		/* What it says is another test's. */
		close(STDERR_FILENO);
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		signal(SIGHUP, ignored ? SIG_IGN : SIG_DFL);
		unfinished_signals("test");
		if (begin() || others())
			_exit(1);
		raise(sig);
		_exit(7);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

static int t_signals(void)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < 3; i++) {
		int status = ends(sigs[i], 0);

		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == sigs[i]);
		CHECK(gone());
	}
	CHECK(ends(SIGHUP, 1) == 7 << 8 && exists("shared/own/a"));
	CHECK(!system("rm -r shared beside.*"));
	return 0;
}

int main(void)
{
	char top[] = "/tmp/moca-test-unfinished-XXXXXX";

	if (!mkdtemp(top) || chdir(top))
		return 1;
	run("unfinished/remove", t_remove);
	run("unfinished/left", t_left);
	run("unfinished/whole", t_whole);
	run("unfinished/replace", t_replace);
	run("unfinished/signals", t_signals);
	return rmdir(top) || failures != 0;
}

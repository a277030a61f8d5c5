// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/mp3/status: what may be written there, by whom, and what it lists. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/vm/rate.h"

#define STRING(s) (s), sizeof(s) - 1

/* A child that waits to be killed. */
static pid_t start_idle(uid_t uid, int dumpable)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		give_up("pipe");
	pid = fork();
	if (!pid) {
		if (uid && (setgid(uid) || setuid(uid)))
			_exit(1);
		/* setuid() has made it unreadable. */
		prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (pid < 0 || read(ready[0], &byte, 1) != 1)
		give_up("start a child");
	close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void bad_input(void)
{
	static const struct {
		const char *text;
		size_t n;
		int err;
	} table[] = {
		{ STRING(""), 0 },
		{ STRING("R"), EINVAL },
		{ STRING("R "), EINVAL },
		{ STRING("R x"), EINVAL },
		{ STRING("R -1"), EINVAL },
		{ STRING("R +1"), EINVAL },
		{ STRING("R 0"), EINVAL },
		{ STRING("R 0x1"), EINVAL },
		{ STRING("R 1x"), EINVAL },
		{ STRING("R 1 1"), EINVAL },
		{ STRING("R 1\nR 1"), EINVAL },
		{ STRING("R 1\0R"), EINVAL },
		{ STRING("R1"), EINVAL },
		{ STRING("r 1"), EINVAL },
		{ STRING("X 1"), EINVAL },
		{ STRING("RU 1"), EINVAL },
		{ STRING("1"), EINVAL },
		{ STRING("\0\0\0\0"), EINVAL },
		{ STRING("\xff\xfe R 1"), EINVAL },
		{ STRING("R 2147483648"), EINVAL },
		{ STRING("R 99999999999999999999999999999999"), EINVAL },
		{ STRING("R 2147483647"), ESRCH },
		{ STRING("U 2147483647"), ENOENT },
		{ STRING("U"), EINVAL },
		{ STRING("U 1"), ENOENT },
	};
	char big[5000], name[80];
	size_t i;
	int err;

	/* Nothing to write is no write: the kernel does not even ask. */
	for (i = 1; i < sizeof(table) / sizeof(*table); i++) {
		err = put(table[i].text, table[i].n);
		snprintf(name, sizeof(name), "refused: \"%s\"", table[i].text);
		for (char *p = name; *p; p++)
			if (*p < ' ' || *p > '~')
				*p = '?';
		check(name, err == table[i].err, "error %d instead of %d", err,
		      table[i].err);
	}
	memset(big, ' ', sizeof(big));
	memcpy(big, "R 1", 3);
	err = put(big, sizeof(big));
	check("refused: 5,000 bytes", err == EINVAL, "error %d", err);
	err = put((char *)-4096L, 10);
	check("refused: an address of nobody", err == EFAULT, "error %d", err);
	check("nothing was registered by that", !listed(0), "%d are listed",
	      listed(0));
}

static void good_input(void)
{
	static const struct {
		const char *name, *before, *after;
	} forms[] = {
		{ "plain", "R ", "" },
		{ "a line", "R ", "\n" },
		{ "spaces", "R  ", "  " },
		{ "white space", "  R\t", " \r\n" },
		{ "zeros", "R 00", "\n" },
	};
	pid_t pid = start_idle(0, 1);
	char line[60];
	int n, err;

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		n = snprintf(line, sizeof(line), "%s%d%s", forms[i].before, pid,
			     forms[i].after);
		err = put(line, (size_t)n + (i == 1));
		check(forms[i].name, !err && listed(pid) == 1,
		      "error %d, listed %d times", err, listed(pid));
		err = tell('R', pid);
		check("twice", err == EEXIST, "error %d", err);
		err = tell('U', pid);
		check("taken back", !err && !listed(pid), "error %d", err);
		err = tell('U', pid);
		check("taken back twice", err == ENOENT, "error %d", err);
	}
	end(pid);
	err = tell('R', pid);
	check("R of one that is dead", err == ESRCH, "error %d", err);
	err = tell('U', pid);
	check("U of one that never was registered", err == ENOENT, "error %d",
	      err);
}

/* What is taken back after its end. */
static void dead(void)
{
	pid_t pid = start_idle(0, 1), zombie = start_idle(0, 1);
	int err;

	tell('R', pid);
	end(pid);
	err = tell('U', pid);
	check("U at once after it was reaped", !err, "error %d", err);

	pid = start_idle(0, 1);
	tell('R', pid);
	end(pid);
	sleep_ms(300);
	check("one that is reaped is not listed", !listed(pid), "it is");
	err = tell('U', pid);
	check("U long after it was reaped", !err, "error %d", err);
	err = tell('U', pid);
	check("and only once", err == ENOENT, "error %d", err);

	kill(zombie, SIGKILL);
	sleep_ms(200);
	err = tell('R', zombie);
	check("R of a zombie", err == ESRCH, "error %d", err);
	waitpid(zombie, NULL, 0);

	zombie = start_idle(0, 1);
	tell('R', zombie);
	kill(zombie, SIGKILL);
	sleep_ms(200);
	err = tell('U', zombie);
	check("U of a zombie", !err, "error %d", err);
	waitpid(zombie, NULL, 0);
}

/* By another user: his own, another's, one that hides. Exit: a bit each. */
static int as_user(pid_t own, pid_t other, pid_t hiding, int root_fd)
{
	char line[32];
	int bad = 0, n;

	if (setgid(1000) || setuid(1000))
		return 1;
	bad |= (tell('R', own) != 0) << 1;
	bad |= (tell('R', other) != EPERM) << 2;
	bad |= (tell('R', hiding) != EPERM) << 3;
	bad |= (listed(0) != 1 || listed(own) != 1) << 4;
	bad |= (tell('U', 1) == 0) << 5;
	/* What root has opened gives no rights to who has them not. */
	n = snprintf(line, sizeof(line), "R %d", other);
	bad |= (write(root_fd, line, (size_t)n) != -1 || errno != EPERM) << 6;
	return bad;
}

static void users(void)
{
	pid_t own = start_idle(1000, 1), other = start_idle(1001, 1);
	pid_t hiding = start_idle(1000, 0), root = start_idle(0, 1), child;
	int fd = open(STATUS, O_WRONLY), status, err, user_fd;
	char line[32];
	ssize_t n;

	tell('R', root);
	child = fork();
	if (!child)
		_exit(as_user(own, other, hiding, fd));
	waitpid(child, &status, 0);
	check("another user", WIFEXITED(status) && !WEXITSTATUS(status),
	      "bits %x", WEXITSTATUS(status));
	close(fd);
	check("root sees both", listed(0) == 2, "%d", listed(0));
	err = tell('R', hiding);
	check("root may register one that hides", !err, "error %d", err);
	tell('U', hiding);

	/* Opened by a user, written to by root: as a setuid program would. */
	if (setegid(1000) || seteuid(1000))
		give_up("seteuid");
	user_fd = open(STATUS, O_WRONLY);
	if (seteuid(0) || setegid(0))
		give_up("seteuid back");
	n = snprintf(line, sizeof(line), "R %d", other);
	n = write(user_fd, line, (size_t)n);
	check("a file that a user has opened, written to by root",
	      n < 0 && errno == EPERM, "%zd, error %d", n, errno);
	close(user_fd);

	tell('U', own);
	tell('U', root);
	end(own);
	end(other);
	end(hiding);
	end(root);
	check("nobody is left", !listed(0), "%d are", listed(0));
}

static void set_limit(const char *text)
{
	FILE *f = fopen("/sys/module/moca/parameters/rate_user_tasks", "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		give_up("rate_user_tasks");
}

/* By a user who may have three of these five. Exit: a bit each. */
static int of_three(const pid_t *pids)
{
	int bad = 0;

	if (setgid(1000) || setuid(1000))
		return 1;
	for (int i = 0; i < 3; i++)
		bad |= (tell('R', pids[i]) != 0) << 1;
	bad |= (tell('R', pids[3]) != ENOSPC) << 2;
	bad |= (tell('R', pids[0]) != EEXIST) << 3;
	bad |= (tell('U', pids[1]) != 0) << 4;
	bad |= (tell('R', pids[3]) != 0) << 5;
	bad |= (tell('R', pids[4]) != ENOSPC) << 6;
	return bad;
}

/* Who is no profiler has some of the slots only; ends give them back. */
static void slots_of_user(void)
{
	const volatile uint32_t *registered = &map_info()->registered;
	pid_t pids[5], child;
	int status, err;

	for (int i = 0; i < 5; i++)
		pids[i] = start_idle(1000, 1);
	set_limit("3");
	child = fork();
	if (!child)
		_exit(of_three(pids));
	waitpid(child, &status, 0);
	check("slots of a user", WIFEXITED(status) && !WEXITSTATUS(status),
	      "bits %x", WEXITSTATUS(status));
	err = tell('R', pids[4]);
	check("root has more", !err && listed(0) == 4, "error %d, %d listed",
	      err, listed(0));
	err = tell('U', pids[4]);
	for (int i = 0; i < 4; i++)
		end(pids[i]);
	/* The next round notices; a round is due 20 times in a second. */
	for (int i = 0; i < 12000 && *registered; i++)
		sleep_ms(10);
	for (int i = 0; i < 4; i++)
		pids[i] = start_idle(1000, 1);
	child = fork();
	if (!child)
		_exit(of_three(pids));
	waitpid(child, &status, 0);
	check("slots of processes that ended", !err && WIFEXITED(status) &&
	      !WEXITSTATUS(status), "bits %x", WEXITSTATUS(status));
	set_limit("512");
	for (int i = 0; i < 5; i++) {
		tell('U', pids[i]);
		end(pids[i]);
	}
}

static void __attribute__((noreturn)) *sleep_long(void *arg)
{
	*(pid_t *)arg = (pid_t)syscall(SYS_gettid);
	for (;;)
		pause();
}

static void threads(void)
{
	volatile pid_t tid = 0;
	pthread_t t;
	int err;

	pthread_create(&t, NULL, sleep_long, (void *)&tid);
	while (!tid)
		sleep_ms(1);
	err = tell('R', tid);
	check("R of a thread", !err, "error %d", err);
	check("is of its process", listed(getpid()) == 1 && listed(0) == 1,
	      "%d lines", listed(0));
	err = tell('R', getpid());
	check("and so it is there already", err == EEXIST, "error %d", err);
	err = tell('U', getpid());
	check("U of the process", !err, "error %d", err);
}

/* Numbers are those of the reader's namespace. Exit: a bit each. */
static int in_namespace(pid_t outer)
{
	pid_t child = start_idle(0, 1);
	int bad = 0;

	bad |= (getpid() != 1) << 0;
	bad |= (tell('R', child) != 0) << 1;
	bad |= (listed(child) != 1 || listed(0) != 1) << 2;
	bad |= (tell('R', outer) != ESRCH) << 3;
	bad |= (tell('U', child) != 0) << 4;
	bad |= (tell('R', child) != 0) << 5;
	return bad;
}

static void namespaces(void)
{
	pid_t outer = start_idle(0, 1), child;
	int status;

	/* A number that is not used inside. */
	tell('R', outer);
	child = fork();
	if (!child) {
		if (unshare(CLONE_NEWPID))
			_exit(2);
		child = fork();
		if (!child)
			_exit(in_namespace(outer));
		waitpid(child, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 255);
	}
	waitpid(child, &status, 0);
	check("a pid namespace", WIFEXITED(status) && !WEXITSTATUS(status),
	      "bits %x", WEXITSTATUS(status));
	tell('U', outer);
	end(outer);
	sleep_ms(200);
	check("what died with it is gone", !listed(0), "%d are left",
	      listed(0));
}

/* The process goes on as another thread: exec by one that does not lead. */
static void *run_sleep(void *arg)
{
	(void)arg;
	execl("/proc/self/exe", "rate-status", "idle", NULL);
	_exit(1);
}

static void exec_by_thread(void)
{
	pid_t pid = fork();
	pthread_t t;
	int err;

	if (!pid) {
		tell('R', getpid());
		sleep_ms(150);
		pthread_create(&t, NULL, run_sleep, NULL);
		for (;;)
			pause();
	}
	sleep_ms(600);
	check("still there after exec by a thread", listed(pid) == 1, "%d",
	      listed(pid));
	err = tell('U', pid);
	check("U after exec by a thread", !err, "error %d", err);
	end(pid);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		for (;;)
			pause();
	bad_input();
	good_input();
	dead();
	users();
	slots_of_user();
	namespaces();
	exec_by_thread();
	threads();
	return failures != 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who may trace whom, and what he is shown: users with and without rights, the
 * administrator's allow_own, programs that get other rights on the way,
 * descriptors that change hands, namespaces.
 */
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "session.h"

#define ME 1000
#define ANOTHER 1001
#define REGION ((unsigned char *)0x120000000000ul)
#define PAGES 16

static const struct moca_setup setup = {
	.flags = MOCA_SETUP_MANUAL, .chunk_bytes = 16 << 10, .ring_chunks = 16,
};
static char self[256];

static void become(uid_t uid, int cap)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { 0 };

	if (cap >= 0 && prctl(PR_SET_KEEPCAPS, 1))
		die("PR_SET_KEEPCAPS");
	if (setgroups(0, NULL) || setgid(uid) || setuid(uid))
		die("setuid");
	if (cap >= 0) {
		d[cap / 32].effective = d[cap / 32].permitted = 1u << cap % 32;
		if (syscall(SYS_capset, &h, d))
			die("capset");
	}
	/* Another user's now, and his own to look at. */
	prctl(PR_SET_DUMPABLE, 1);
}

/* A process of a user that waits to be killed. */
static pid_t sleeper(uid_t uid, int dumpable)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready))
		die("pipe");
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (uid)
			become(uid, -1);
		prctl(PR_SET_DUMPABLE, dumpable);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	if (read(ready[0], &c, 1) != 1)
		die("a sleeper");
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* fn in a child as that user; its failures are ours. */
static void as(uid_t uid, int cap, void (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		failures = 0;
		become(uid, cap);
		fn();
		exit(failures != 0);
	}
	waitpid(pid, &status, 0);
	failures += status != 0;
	if (!WIFEXITED(status))
		check(0, "a user's part", "status 0x%x", status);
}

static void allow_own(int yes)
{
	FILE *f = fopen("/sys/module/moca/parameters/allow_own", "w");

	if (!f || fprintf(f, "%d", yes) < 0 || fclose(f))
		die("allow_own");
}

static void is(int got, int want, const char *what)
{
	check(got == want, what, "%s instead of %s", strerror(-got),
	      strerror(-want));
}

/* Of the test's own, from before it became somebody. */
static pid_t of_root, of_me, of_another, of_me_hidden;

/* ---- without allow_own ---- */

static void nobody(void)
{
	struct moca_about about = { .size = sizeof(about) };
	struct session s;

	is(session_try(&s, &setup), -EPERM, "user: SETUP");
	is(ioctl(s.fd, MOCA_IOC_ABOUT, &about) ? -errno : 0, 0, "user: ABOUT");
	is(session_register(&s, getpid()), -EINVAL, "user: REGISTER");
	is(ioctl(s.fd, MOCA_IOC_START) ? -errno : 0, -EINVAL, "user: START");
	close(s.fd);
	/* All rights, but in a namespace of his own. */
	if (unshare(CLONE_NEWUSER)) {
		printf("skip namespace: user: %s\n", strerror(errno));
		return;
	}
	is(session_try(&s, &setup), -EPERM, "user, own namespace: SETUP");
	close(s.fd);
}

/* Records of this process in REGION or anywhere, and what they show. */
struct sight {
	uint32_t pid;
	long accesses, frames, region, execs, rights, tasks;
};

static void see(void *arg, const struct moca_chunk_head *h,
		const struct moca_rec *rec)
{
	const struct moca_rec_access *a = (const void *)rec;
	const struct moca_rec_gap *g = (const void *)rec;
	struct sight *s = arg;

	if (rec->type == MOCA_REC_ACCESS && a->pid == s->pid) {
		s->accesses++;
		s->frames += a->pfn != 0;
		s->region += a->addr - (uintptr_t)REGION < PAGES * PAGE;
	}
	s->tasks += rec->type == MOCA_REC_TASK && rec->tid == s->pid;
	s->execs += rec->type == MOCA_REC_EXEC && rec->tid == s->pid;
	s->rights += rec->type == MOCA_REC_GAP && g->pid == s->pid &&
		     g->reason == MOCA_GAP_RIGHTS;
}

static struct sight look_at_self(struct session *s)
{
	struct sight seen = { .pid = getpid() };

	is(session_register(s, getpid()), 0, "REGISTER of itself");
	session_do(s, MOCA_IOC_START, "START");
	for (int i = 0; i < 3; i++) {
		session_do(s, MOCA_IOC_TICK, "TICK");
		session_drain(s, see, &seen);
	}
	session_do(s, MOCA_IOC_STOP, "STOP");
	is(session_unregister(s, getpid()), 0, "UNREGISTER of itself");
	return seen;
}

static void profiler(void)
{
	struct sight seen;
	struct session s;

	session_open(&s, &setup);
	is(session_register(&s, of_me), 0, "CAP_PERFMON: one's own");
	is(session_register(&s, of_another), 0, "CAP_PERFMON: another's");
	is(session_register(&s, of_root), 0, "CAP_PERFMON: root's");
	seen = look_at_self(&s);
	check(seen.accesses && !seen.frames, "CAP_PERFMON: no frames",
	      "%ld of %ld accesses with one", seen.frames, seen.accesses);
	session_close(&s);
}

/* ---- with it ---- */

static void owner(void)
{
	struct sight seen;
	struct session s;

	session_open(&s, &setup);
	is(session_register(&s, of_me), 0, "owner: his own");
	is(session_register(&s, of_another), -EPERM, "owner: another's");
	is(session_register(&s, of_root), -EPERM, "owner: root's");
	is(session_register(&s, 1), -EPERM, "owner: init");
	is(session_register(&s, 2), -EPERM, "owner: a kernel thread");
	is(session_register(&s, of_me_hidden), -EPERM, "owner: not dumpable");
	is(session_unregister(&s, of_root), -EPERM, "owner: UNREGISTER");
	seen = look_at_self(&s);
	check(seen.accesses && !seen.frames, "owner: no frames",
	      "%ld of %ld accesses with one", seen.frames, seen.accesses);
	prctl(PR_SET_DUMPABLE, 0);
	is(session_register(&s, getpid()), -EPERM, "owner: himself, hidden");
	session_close(&s);
}

static void owner_in_namespace(void)
{
	struct session s;

	if (unshare(CLONE_NEWUSER)) {
		printf("skip namespace: owner: %s\n", strerror(errno));
		return;
	}
	session_open(&s, &setup);
	is(session_register(&s, of_another), -EPERM,
	   "own namespace: another's");
	is(session_register(&s, of_root), -EPERM, "own namespace: root's");
	session_close(&s);
}

/* ---- programs that have other rights ---- */

static int image(void)
{
	if (mmap(REGION, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		 MAP_ANONYMOUS | MAP_FIXED, -1, 0) != REGION)
		return 1;
	for (int i = 0; i < PAGES; i++)
		((volatile unsigned char *)REGION)[i * PAGE] = 1;
	return 0;
}

static void exec_seen(const char *path, int follow)
{
	struct sight seen = { 0 };
	struct session s;
	int go[2], status;
	char c, what[128];

	session_open(&s, &setup);
	if (pipe(go))
		die("pipe");
	seen.pid = fork();
	if (!seen.pid) {
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		execl(path, "rights", "image", NULL);
		_exit(1);
	}
	if (session_register(&s, seen.pid))
		die("REGISTER");
	session_do(&s, MOCA_IOC_START, "START");
	if (write(go[1], "", 1) != 1)
		die("pipe");
	waitpid(seen.pid, &status, 0);
	session_do(&s, MOCA_IOC_TICK, "TICK");
	session_drain(&s, see, &seen);
	snprintf(what, sizeof(what), "exec of %s", path);
	check(!status && seen.execs == 1 && seen.rights == !follow &&
	      (follow ? seen.region >= PAGES : !seen.region), what,
	      "status 0x%x, %ld EXEC, %ld GAP_RIGHTS, %ld accesses", status,
	      seen.execs, seen.rights, seen.region);
	session_close(&s);
	close(go[0]);
	close(go[1]);
}

static void execs(void)
{
	exec_seen("/tmp/plain", 1);
	exec_seen("/tmp/setuid", 0);
	exec_seen("/tmp/setgid", 0);
	exec_seen("/tmp/unreadable", 0);
}

static void copy_self(const char *path, mode_t mode)
{
	int from = open(self, O_RDONLY), to;
	char data[65536];
	ssize_t n;

	to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	while ((n = read(from, data, sizeof(data))) > 0)
		if (write(to, data, n) != n)
			die(path);
	if (from < 0 || to < 0 || n < 0 || fchmod(to, mode))
		die(path);
	close(from);
	close(to);
}

/* ---- descriptors that change hands ---- */

static struct session handed;

static void use_handed(void)
{
	is(session_register(&handed, of_another), -EPERM,
	   "root's session in a user's hands: another's");
	is(session_register(&handed, of_me), 0,
	   "root's session in a user's hands: his own");
}

/* Opened by a user, used by root: his rights count. */
static void use_users(void)
{
	if (setresuid(ME, ME, 0))
		die("setresuid");
	handed.fd = open("/dev/moca", O_RDWR | O_CLOEXEC);
	if (setresuid(0, 0, 0))
		die("setresuid");
	handed.setup = setup;
	handed.setup.size = sizeof(setup);
	if (ioctl(handed.fd, MOCA_IOC_SETUP, &handed.setup))
		die("SETUP");
	is(session_register(&handed, of_another), -EPERM,
	   "a user's session in root's hands: another's");
	is(session_register(&handed, of_root), -EPERM,
	   "a user's session in root's hands: root's");
	close(handed.fd);
}

/* ---- numbers ---- */

static void in_pid_namespace(void)
{
	struct sight seen = { 0 };
	struct session s;
	int status;

	session_open(&s, &setup);
	check(getpid() == 1, "pid namespace", "we are %d", getpid());
	is(session_register(&s, of_root), -ESRCH, "pid namespace: from outside");
	is(session_register(&s, 1), 0, "pid namespace: from inside");
	session_do(&s, MOCA_IOC_START, "START");
	seen.pid = fork();
	if (!seen.pid)
		_exit(image());
	waitpid(seen.pid, &status, 0);
	session_do(&s, MOCA_IOC_TICK, "TICK");
	session_drain(&s, see, &seen);
	check(seen.pid < 10 && seen.tasks == 1 && seen.region >= PAGES,
	      "pid namespace: numbers as inside", "of %u %ld tasks, %ld "
	      "accesses", seen.pid, seen.tasks, seen.region);
	session_close(&s);
}

static void pid_namespace(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (unshare(CLONE_NEWPID))
			die("unshare");
		pid = fork();
		if (!pid) {
			failures = 0;
			in_pid_namespace();
			exit(failures != 0);
		}
		waitpid(pid, &status, 0);
		_exit(status != 0);
	}
	waitpid(pid, &status, 0);
	failures += status != 0;
}

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct sight seen;
	struct session s;

	if (argc > 1 && !strcmp(argv[1], "image"))
		return image();
	setvbuf(stdout, NULL, _IOLBF, 0);
	self[n > 0 ? n : 0] = 0;
	of_root = sleeper(0, 1);
	of_me = sleeper(ME, 1);
	of_me_hidden = sleeper(ME, 0);
	of_another = sleeper(ANOTHER, 1);
	copy_self("/tmp/plain", 0755);
	copy_self("/tmp/setuid", 04755);
	copy_self("/tmp/setgid", 02755);
	copy_self("/tmp/unreadable", 0711);

	as(ME, -1, nobody);
	as(ME, CAP_PERFMON, profiler);
	allow_own(1);
	as(ME, -1, owner);
	as(ME, -1, owner_in_namespace);
	as(ME, -1, execs);
	session_open(&handed, &setup);
	as(ME, -1, use_handed);
	session_close(&handed);
	use_users();
	allow_own(0);
	pid_namespace();

	session_open(&s, &setup);
	is(session_register(&s, 2), -EINVAL, "root: a kernel thread");
	is(session_register(&s, of_me_hidden), 0, "root: not dumpable");
	seen = look_at_self(&s);
	check(seen.accesses && seen.frames, "root: frames", "%ld of %ld",
	      seen.frames, seen.accesses);
	session_close(&s);
	end(of_root);
	end(of_me);
	end(of_me_hidden);
	end(of_another);
	return failures != 0;
}

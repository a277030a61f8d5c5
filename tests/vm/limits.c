// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What users may take who are no profilers (allow_own=1): kernel memory, which is
 * charged to their cgroup, sessions, and CPU time of monitors.
 */
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <dirent.h>
#include <time.h>

#include "session.h"

#define ME 1000
#define ANOTHER 1001
#define SUB 100000		/* an id of a namespace that ME made */
#define MANY 16
#define MB (1ul << 20)

/* The default of rings: 12 MB and 4 MB on two CPUs. */
static const struct moca_setup usual = { .flags = MOCA_SETUP_MANUAL };
static const struct moca_setup small = {
	.flags = MOCA_SETUP_MANUAL, .chunk_bytes = 16 << 10, .ring_chunks = 4,
};

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die(path);
	close(fd);
}

static void parameter(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/moca/parameters/%s", name);
	put(path, value);
}

/* The number behind a word that begins a line of a file; -1: there is none. */
static long number_in(const char *path, const char *word)
{
	FILE *f = fopen(path, "r");
	size_t len = strlen(word);
	char line[256];
	long n = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, word, len))
			n = atol(line + len);
	if (f)
		fclose(f);
	return n;
}

static void become(uid_t uid)
{
	if (setgroups(0, NULL) || setgid(uid) || setuid(uid))
		die("setuid");
	prctl(PR_SET_DUMPABLE, 1);
}

/* fn in a child as that user; its failures are ours. */
static void as(uid_t uid, void (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		failures = 0;
		become(uid);
		fn();
		exit(failures != 0);
	}
	waitpid(pid, &status, 0);
	failures += status != 0;
	if (!WIFEXITED(status))
		check(0, "a user's part", "status 0x%x", status);
}

/* How many sessions there may be; *err: why not one more. */
static int open_all(struct session *s, const struct moca_setup *setup, int *err)
{
	int n = 0;

	for (*err = 0; n < MANY; n++) {
		*err = session_try(&s[n], setup);
		if (*err) {
			close(s[n].fd);
			break;
		}
	}
	return n;
}

static void close_all(struct session *s, int n)
{
	while (n)
		session_close(&s[--n]);
}

/* ---- memory ---- */

static struct session many[MANY];
static int to_root[2], to_user[2];	/* pipes: a byte, and on it goes */

static void await(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		die("a pipe");
}

static void awake(int fd)
{
	if (write(fd, "", 1) != 1)
		die("a pipe");
}

/* In the child: as another id, in a namespace that ME owns. */
static int in_namespace(void)
{
	struct session s;

	if (unshare(CLONE_NEWUSER))
		return errno == ENOSYS || errno == EINVAL ? 2 : 1;
	awake(to_root[1]);
	await(to_user[0]);
	if (setgid(1) || setuid(1))
		return 1;
	return session_try(&s, &usual) == -ENOSPC ? 0 : 1;
}

static void memory_of_user(void)
{
	long before = number_in("/proc/meminfo", "VmallocUsed:"), used;
	int err, n = open_all(many, &usual, &err), status, again;
	unsigned long sum = 0;
	pid_t pid;

	used = number_in("/proc/meminfo", "VmallocUsed:") - before;
	for (int i = 0; i < n; i++)
		sum += many[i].setup.ring_bytes * many[i].setup.rings;
	check(n && err == -ENOSPC && sum > 30 * MB && sum < 64 * MB,
	      "memory: of a user", "%d sessions of %lu MB, then %s", n,
	      sum / MB, strerror(-err));
	/* What else runs here takes some, too. */
	check(used * 1024 > (long)sum && used * 1024 < (long)(72 * MB),
	      "memory: as the kernel counts it", "%ld kB", used);

	pid = fork();
	if (!pid)
		_exit(in_namespace());
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		printf("skip memory: namespaces: none here\n");
	else
		check(!status, "memory: his other ids count as his",
		      "status 0x%x", status);
	close_all(many, n);
	again = open_all(many, &usual, &err);
	check(again == n, "memory: is given back", "%d sessions, then %d", n,
	      again);
	close_all(many, again);
}

/* While the user is at it, root gives his namespace ids. */
static void memory(void)
{
	char path[64], map[64];
	pid_t pid, user;
	int status;

	if (pipe(to_root) || pipe(to_user))
		die("pipe");
	user = fork();
	if (!user) {
		failures = 0;
		close(to_root[0]);
		close(to_user[1]);
		become(ME);
		memory_of_user();
		exit(failures != 0);
	}
	close(to_root[1]);
	close(to_user[0]);
	if (read(to_root[0], path, 1) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", user,
			 user);
		pid = number_in(path, "");
		snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
		snprintf(map, sizeof(map), "0 %d 1\n1 %d 100", ME, SUB);
		put(path, map);
		snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
		put(path, map);
		awake(to_user[1]);
	}
	waitpid(user, &status, 0);
	failures += status != 0;
	close(to_root[0]);
	close(to_user[1]);
}

#define GROUPS "/tmp/limits-groups"

static void charged_to(const char *group)
{
	long before, after;
	char path[128];
	struct session s;
	int status;
	pid_t pid = fork();

	if (!pid) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", group);
		put(path, "0");
		become(ME);
		snprintf(path, sizeof(path), "%s/memory.current", group);
		before = number_in(path, "");
		session_open(&s, &usual);
		after = number_in(path, "");
		failures = 0;
		check(after - before > (long)(s.setup.ring_bytes *
					      s.setup.rings),
		      "memory: charged to who asks", "%ld bytes of %llu",
		      after - before, s.setup.ring_bytes * s.setup.rings);
		exit(failures != 0);
	}
	waitpid(pid, &status, 0);
	failures += status != 0;
}

static void charged(void)
{
	int fd;

	mkdir(GROUPS, 0755);
	if (mount("none", GROUPS, "cgroup2", 0, NULL)) {
		printf("skip memory: cgroups: %s\n", strerror(errno));
		return;
	}
	fd = open(GROUPS "/cgroup.subtree_control", O_WRONLY);
	if (fd < 0 || write(fd, "+memory", 7) != 7) {
		printf("skip memory: cgroups: %s\n", strerror(errno));
	} else {
		if (mkdir(GROUPS "/some", 0755))
			die("mkdir of a cgroup");
		charged_to(GROUPS "/some");
		rmdir(GROUPS "/some");
		if (write(fd, "-memory", 7) != 7)
			die("memory controller");
	}
	close(fd);
	umount(GROUPS);
}

/* ---- sessions ---- */

static void two_sessions(void)
{
	struct session s[MANY];
	int err, n = open_all(s, &small, &err);

	check(n == 2 && err == -EUSERS, "sessions: of a user",
	      "%d, then %s", n, strerror(-err));
	close_all(s, n);
}

static void sessions(void)
{
	struct session s[3];
	int n;

	parameter("user_sessions", "2");
	as(ME, two_sessions);
	for (n = 0; n < 3; n++)
		session_open(&s[n], &small);
	as(ANOTHER, two_sessions);
	close_all(s, n);
	parameter("user_sessions", "8");
	check(1, "sessions: root has more", " ");
}

/* Of so many sessions the user has `users`, and root the rest. */
static void share_out(const char *limit, int most, int users)
{
	struct session s[2 * MANY];
	int err, n, all;

	parameter("max_sessions", limit);
	if (seteuid(ME))
		die("seteuid");
	n = open_all(s, &small, &err);
	check(n == users && err == -EUSERS, "sessions: users leave some",
	      "of %s %d, then %s", limit, n, strerror(-err));
	if (seteuid(0))
		die("seteuid");
	all = n + open_all(s + n, &small, &err);
	check(all == most && err == -EUSERS, "sessions: those are root's",
	      "of %s %d, then %s", limit, all, strerror(-err));
	close_all(s, all);
	parameter("max_sessions", "16");
}

/* With the session that main() keeps: a quarter, and one at least. */
static void reserved(void)
{
	share_out("8", 7, 5);
	share_out("3", 2, 1);
	share_out("2", 1, 0);
}

/* ---- CPU time ---- */

#define SESSIONS 2
#define WORK_PAGES 512
#define INTERVALS 10

/* fn of each monitor's folder in /proc. */
static long each_monitor(long (*fn)(const char *folder))
{
	char path[300], name[32];
	struct dirent *e;
	DIR *d = opendir("/proc");
	long sum = 0;
	FILE *f;

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (f && fgets(name, sizeof(name), f) &&
		    !strncmp(name, "moca/", 5)) {
			*strrchr(path, '/') = 0;
			sum += fn(path);
		}
		if (f)
			fclose(f);
	}
	closedir(d);
	return sum;
}

/* CPU time in ns. */
static long time_of(const char *folder)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/schedstat", folder);
	return number_in(path, "");
}

static long is_realtime(const char *folder)
{
	char path[320], line[512] = "", *p;
	unsigned int policy = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/stat", folder);
	f = fopen(path, "r");
	if (!f || !fgets(line, sizeof(line), f))
		die(path);
	fclose(f);
	/* The 41st field; the name is the second. */
	p = strrchr(line, ')');
	for (int i = 2; p && i < 41; i++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, "%u", &policy) != 1)
		die("a policy");
	return policy != SCHED_OTHER;
}

static pid_t worker(void)
{
	pid_t pid = fork();
	volatile char *p;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	p = mmap(NULL, WORK_PAGES * PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (;;)
		for (size_t i = 0; i < WORK_PAGES; i++)
			p[i * PAGE]++;
}

/* Until each session has ended so many intervals more. */
static void pass(struct session *s, int n, unsigned int intervals)
{
	uint64_t begin[SESSIONS];

	for (int i = 0; i < n; i++)
		begin[i] = session_totals(&s[i]).interval;
	for (int i = 0; i < n; i++)
		while (session_totals(&s[i]).interval < begin[i] + intervals) {
			for (int k = 0; k < n; k++)
				session_drain(&s[k], NULL, NULL);
			usleep(2000);
		}
}

static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000l + t.tv_nsec;
}

static void begin(struct session *s, pid_t *pids, int n)
{
	const struct moca_setup fast = { .interval_ns = 1000000,
					 .chunk_bytes = 64 << 10,
					 .ring_chunks = 16 };

	for (int i = 0; i < n; i++) {
		pids[i] = worker();
		session_open(&s[i], &fast);
		if (session_register(&s[i], pids[i]))
			die("REGISTER");
		session_do(&s[i], MOCA_IOC_START, "START");
	}
}

static void end(struct session *s, pid_t *pids, int n)
{
	for (int i = 0; i < n; i++) {
		session_close(&s[i]);
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

static void share_of_user(void)
{
	struct session s[SESSIONS];
	pid_t pids[SESSIONS];
	long used, took, from;

	begin(s, pids, SESSIONS);
	check(!each_monitor(is_realtime), "CPU: a user's monitor is no real-time "
	      "task", "it is");
	from = now_ns();
	used = -each_monitor(time_of);
	pass(s, SESSIONS, INTERVALS);
	used += each_monitor(time_of);
	/* What was used until now is rested from before the second of these. */
	pass(s, SESSIONS, 2);
	took = now_ns() - from;
	check(used > 0 && used < took * 6 / 100, "CPU: five in a hundred",
	      "%ld us of %ld us", used / 1000, took / 1000);
	end(s, pids, SESSIONS);
}

static void share(void)
{
	struct session s;
	pid_t pid;

	if (access("/proc/self/schedstat", R_OK)) {
		printf("skip CPU: this kernel does not count it\n");
		return;
	}
	as(ME, share_of_user);
	begin(&s, &pid, 1);
	check(each_monitor(is_realtime) == 1, "CPU: a profiler's is one",
	      "it is not");
	end(&s, &pid, 1);
}

int main(void)
{
	struct session keep;

	setvbuf(stdout, NULL, _IOLBF, 0);
	/* With it the hooks stay in: taking them out takes a second. */
	session_open(&keep, &small);
	session_do(&keep, MOCA_IOC_START, "START");
	parameter("allow_own", "1");
	memory();
	charged();
	sessions();
	reserved();
	share();
	session_close(&keep);
	/* A limit of one session leaves no place to reserve for root. */
	share_out("1", 1, 1);
	parameter("allow_own", "0");
	return failures != 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first process of a test's guest: runs the cases of /etc/cases, one
 * after the other, and tells the host about them over serial lines.
 *
 * /etc/modules: a path per line, loaded in this order.
 * /etc/cases: NAME \t SECONDS \t MODULE \t ARGUMENT...; MODULE is "-", or the
 * path of a module with its parameters, loaded before the case and removed
 * after it. Without a case a shell is started on the console.
 *
 * ttyS1, a line each: "hello RELEASE CPUS NODES", "begin NAME", what the
 * case prints as "out TEXT" and "err TEXT", "why TEXT" for what went wrong
 * around it, "end NAME exit N|signal N|timeout MILLISECONDS", "bye".
 * ttyS2: the kernel's messages. /dev/vda: a tar file of /out.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <sys/io.h>
#endif
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define MAX_ARGS 32
#define EXIT_PORT 0xf4
#define EXIT_VALUE 42 /* QEMU ends with 2 * EXIT_VALUE + 1 */

static int results = -1, messages = -1, kmsg = -1, ended = -1;

static void write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return;
		p += w;
		n -= w;
	}
}

__attribute__((format(printf, 1, 2)))
static void tell(const char *format, ...)
{
	char line[4200];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(line, sizeof(line) - 1, format, ap);
	va_end(ap);
	if (n < 0)
		return;
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	write_all(results, line, n);
}

static long milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int open_serial(const char *path)
{
	struct termios t;
	int fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0 && tcgetattr(fd, &t) == 0) {
		cfmakeraw(&t);
		cfsetspeed(&t, B115200);
		tcsetattr(fd, TCSANOW, &t);
	}
	return fd;
}

static void leave(int value)
{
	sync();
	if (results >= 0)
		tcdrain(results);
	if (messages >= 0)
		tcdrain(messages);
#ifdef __x86_64__
	ioperm(EXIT_PORT, 1, 1);
	outb(value, EXIT_PORT);
#else
	/* The host sees by the last line of the results whether all was well. */
	reboot(RB_POWER_OFF);
#endif
	for (;;)
		pause();
}

static void mount_one(const char *type, const char *at, const char *options)
{
	mkdir(at, 0755);
	if (mount(type, at, type, 0, options) < 0 && errno != EBUSY)
		fprintf(stderr, "init: cannot mount %s at %s: %s\n", type, at,
			strerror(errno));
}

static void mount_all(void)
{
	mount_one("devtmpfs", "/dev", NULL);
	mount_one("proc", "/proc", NULL);
	mount_one("sysfs", "/sys", NULL);
	mount_one("debugfs", "/sys/kernel/debug", NULL);
	mount_one("tracefs", "/sys/kernel/tracing", NULL);
	mount_one("tmpfs", "/dev/shm", "mode=1777");
	mount_one("tmpfs", "/tmp", "mode=1777,size=75%");
	mount_one("tmpfs", "/out", "mode=1777,size=75%");
	mount_one("devpts", "/dev/pts", NULL);
}

/* What the kernel has said since the last call, to the host. */
static void pass_messages(void)
{
	char record[8400], *text, *end;
	unsigned long long us;
	unsigned int level;
	ssize_t n;

	for (;;) {
		n = read(kmsg, record, sizeof(record) - 1);
		if (n < 0 && errno == EPIPE) {
			dprintf(messages, "moca-vm: messages were lost\n");
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		record[n] = 0;
		text = strchr(record, ';');
		if (!text || sscanf(record, "%u,%*u,%llu", &level, &us) != 2)
			continue;
		end = strchr(++text, '\n'); /* a dictionary follows */
		dprintf(messages, "[%5llu.%06llu] %.*s\n", us / 1000000,
			us % 1000000,
			end ? (int)(end - text) : (int)strlen(text), text);
	}
}

__attribute__((format(printf, 1, 2)))
static void mark(const char *format, ...)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	char line[300];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line) - 1, format, ap);
	va_end(ap);
	strcat(line, "\n"); /* else the kernel waits for the rest of the line */
	if (fd >= 0) {
		write_all(fd, line, strlen(line));
		close(fd);
	}
	pass_messages();
}

static int load_module(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, parameters, 0) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* /lib/a-b.ko is called a_b. */
static void module_name(const char *path, char name[64])
{
	const char *base = strrchr(path, '/');
	char *p;

	snprintf(name, 64, "%s", base ? base + 1 : path);
	p = strstr(name, ".ko");
	if (p)
		*p = 0;
	for (p = name; *p; p++)
		if (*p == '-')
			*p = '_';
}

static int unload_module(const char *path)
{
	long until = milliseconds() + 3000;
	char name[64];

	module_name(path, name);
	/* The last reference may go a little after the process that had it. */
	while (syscall(SYS_delete_module, name, O_NONBLOCK) < 0) {
		if ((errno != EAGAIN && errno != EBUSY) ||
		    milliseconds() > until)
			return -errno;
		usleep(20000);
	}
	return 0;
}

static void load_all(void)
{
	char line[512];
	FILE *f = fopen("/etc/modules", "r");
	int err;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		err = load_module(line, "");
		if (err && err != -EEXIST)
			tell("why cannot load %s: %s", line, strerror(-err));
	}
	if (f)
		fclose(f);
}

/*
 * Processes of user space other than this one; the first one's name. Their
 * command line says nothing of them: it is empty in the midst of execve.
 */
static int count_others(char name[32])
{
	const unsigned int kernel_thread = 0x00200000;
	char path[300], comm[32], state;
	DIR *d = opendir("/proc");
	struct dirent *e;
	unsigned int flags;
	int found = 0, got;

	while (d && (e = readdir(d))) {
		FILE *f;

		if (atoi(e->d_name) <= 1)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		got = fscanf(f, "%*d (%31[^)]) %c %*d %*d %*d %*d %*d %u", comm,
			     &state, &flags);
		fclose(f);
		if (got == 3 && state != 'Z' && !(flags & kernel_thread) &&
		    !found++)
			strcpy(name, comm);
	}
	if (d)
		closedir(d);
	return found;
}

/* What the case left running is ended, and told. */
static void end_others(void)
{
	long until = milliseconds() + 2000;
	char name[32];
	int left = 0;

	while (milliseconds() < until && (left = count_others(name))) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		usleep(20000);
	}
	if (left)
		tell("why it left %d processes behind: %s", left, name);
	kill(-1, SIGKILL);
	while (waitpid(-1, NULL, WNOHANG) >= 0)
		usleep(1000);
}

struct stream {
	const char *tag;
	int fd;
	size_t n;
	char line[4096];
};

static void pass_line(struct stream *s)
{
	tell("%s %.*s", s->tag, (int)s->n, s->line);
	s->n = 0;
}

/* false at the end */
static bool pass_output(struct stream *s)
{
	char data[4096];
	ssize_t n, i;

	while ((n = read(s->fd, data, sizeof(data))) > 0)
		for (i = 0; i < n; i++) {
			if (data[i] == '\n') {
				pass_line(s);
				continue;
			}
			s->line[s->n++] = data[i];
			if (s->n == sizeof(s->line))
				pass_line(s);
		}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (s->n)
		pass_line(s);
	close(s->fd);
	s->fd = -1;
	return false;
}

static pid_t start(char **args, const char *name, int out, int err)
{
	pid_t pid = fork();
	char dir[128];
	sigset_t none;

	if (pid)
		return pid;
	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(open("/dev/null", O_RDONLY), 0);
	dup2(out, 1);
	dup2(err, 2);
	snprintf(dir, sizeof(dir), "/out/%s", name);
	mkdir(dir, 0777);
	setenv("OUT", dir, 1);
	if (chdir("/tmp") == 0)
		execvp(args[0], args);
	dprintf(2, "cannot start %s: %s\n", args[0], strerror(errno));
	_exit(127);
}

/* Where everything hangs, for the host to read. */
static void say_where(void)
{
	int fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		write_all(fd, "w", 1);
		write_all(fd, "l", 1);
		close(fd);
	}
	usleep(200000);
}

/* Until pid has ended and nothing more comes from it; -1 after the limit. */
static int follow(pid_t pid, struct stream *s, long limit)
{
	long until = milliseconds() + limit;
	int status = 0;
	bool alive = true;

	while (alive) {
		struct pollfd p[] = {
			{ .fd = ended, .events = POLLIN },
			{ .fd = kmsg, .events = POLLIN },
			{ .fd = s[0].fd, .events = POLLIN },
			{ .fd = s[1].fd, .events = POLLIN },
		};
		struct signalfd_siginfo info;
		int i, now;
		pid_t got;

		poll(p, 4, 500);
		pass_messages();
		for (i = 0; i < 2; i++)
			if (s[i].fd >= 0 && p[2 + i].revents)
				pass_output(&s[i]);
		while (read(ended, &info, sizeof(info)) > 0)
			;
		while ((got = waitpid(-1, &now, WNOHANG)) > 0)
			if (got == pid) {
				status = now;
				alive = false;
			}
		if (alive && milliseconds() > until) {
			say_where();
			return -1;
		}
	}
	for (int i = 0; i < 2; i++)
		if (s[i].fd >= 0)
			pass_output(&s[i]);
	return status;
}

static int make_pipe(int fds[2])
{
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	return 0;
}

static void run(char **args, const char *name, long limit)
{
	static struct stream s[2];
	long began = milliseconds();
	int out[2], err[2], status;
	char how[64];
	pid_t pid;

	if (make_pipe(out) || make_pipe(err)) {
		tell("why cannot make a pipe: %s", strerror(errno));
		return;
	}
	pid = start(args, name, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	s[0] = (struct stream){ .tag = "out", .fd = out[0] };
	s[1] = (struct stream){ .tag = "err", .fd = err[0] };
	status = follow(pid, s, limit);
	if (status == -1)
		snprintf(how, sizeof(how), "timeout");
	else if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "signal %d", WTERMSIG(status));
	else
		snprintf(how, sizeof(how), "exit %d", WEXITSTATUS(status));
	if (status == -1)
		kill(-1, SIGKILL);
	end_others();
	for (int i = 0; i < 2; i++)
		if (s[i].fd >= 0 && pass_output(&s[i]))
			close(s[i].fd);
	tell("status %s %ld", how, milliseconds() - began);
}

static int run_plain(char *const *args)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execv(args[0], args);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status;
}

/*
 * A tar file of all cases' files so far, as a later case may end the guest.
 * The disk is only for it.
 */
static void keep_files(void)
{
	char *const tar[] = { "/bin/busybox", "tar", "cf", "/dev/vda", "-C",
			      "/out", ".", NULL };

	if (access("/dev/vda", W_OK) < 0)
		tell("why there is no disk for the files of the cases");
	else if (run_plain(tar) != 0)
		tell("why cannot write the files of the cases to the disk");
	sync();
}

/* rmdir() leaves what is not empty. */
static bool has_files(const char *name)
{
	char dir[128];

	snprintf(dir, sizeof(dir), "/out/%s", name);
	return rmdir(dir) < 0 && errno == ENOTEMPTY;
}

static void run_case(char *line)
{
	char *field[3 + MAX_ARGS + 1] = { NULL }, *parameters;
	int n = 0, err;

	for (char *p = strtok(line, "\t"); p && n < 3 + MAX_ARGS;
	     p = strtok(NULL, "\t"))
		field[n++] = p;
	if (n < 4)
		return;
	tell("begin %s", field[0]);
	mark("moca-vm: begin %s", field[0]);
	parameters = strchr(field[2], ' ');
	if (parameters)
		*parameters++ = 0;
	err = strcmp(field[2], "-") ?
		load_module(field[2], parameters ? parameters : "") : 0;
	if (err)
		tell("why cannot load %s: %s", field[2], strerror(-err));
	else
		run(field + 3, field[0], atol(field[1]) * 1000);
	if (strcmp(field[2], "-") && !err) {
		err = unload_module(field[2]);
		if (err)
			tell("why cannot remove %s: %s", field[2],
			     strerror(-err));
	}
	if (has_files(field[0]))
		keep_files();
	mark("moca-vm: end %s", field[0]);
	tell("end %s", field[0]);
}

/* One object that nothing points to any more is a line of dmesg. */
static void scan_for_leaks(void)
{
	const char *path = "/sys/kernel/debug/kmemleak";
	char data[4096], *save, *line;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	tell("begin kmemleak");
	mark("moca-vm: begin kmemleak");
	/* Objects younger than five seconds are left out. */
	sleep(6);
	write_all(fd, "scan\n", 5);
	sleep(1);
	write_all(fd, "scan\n", 5);
	while ((n = read(fd, data, sizeof(data) - 1)) > 0) {
		data[n] = 0;
		for (line = strtok_r(data, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			tell("out %s", line);
	}
	close(fd);
	tell("status exit 0 0");
	mark("moca-vm: end kmemleak");
	tell("end kmemleak");
}

static void hello(void)
{
	struct utsname u;
	int nodes = 0;
	char path[64];

	uname(&u);
	do {
		snprintf(path, sizeof(path),
			 "/sys/devices/system/node/node%d", nodes);
	} while (access(path, F_OK) == 0 && ++nodes);
	tell("hello %s %ld %d", u.release, sysconf(_SC_NPROCESSORS_ONLN), nodes);
}

static void give_shell(void)
{
	char *const shell[] = { "/bin/busybox", "setsid", "-c", "/bin/sh", "-l",
				NULL };

	printf("\nModules: /lib/moca; test programs: /tests. "
	       "The end: exit, or ctrl-A x.\n");
	fflush(stdout);
	run_plain(shell);
	keep_files();
	leave(EXIT_VALUE);
}

int main(void)
{
	char *const links[] = { "/bin/busybox", "--install", "-s", "/bin", NULL };
	static char line[8192];
	sigset_t child;
	FILE *f;

	mount_all();
	setenv("PATH", "/tests:/bin:/usr/bin", 1);
	setenv("HOME", "/", 1);
	setenv("LC_ALL", "C", 1);
	results = open_serial("/dev/ttyS1");
	messages = open_serial("/dev/ttyS2");
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	run_plain(links);
	f = fopen("/etc/cases", "r");
	if (!f) {
		load_all();
		give_shell();
	}
	if (results < 0 || messages < 0 || kmsg < 0) {
		printf("init: a serial line or /dev/kmsg is missing\n");
		leave(1);
	}
	hello();
	load_all();
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	ended = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
	pass_messages();
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		run_case(line);
	}
	scan_for_leaks();
	tell("bye");
	pass_messages();
	leave(EXIT_VALUE);
}

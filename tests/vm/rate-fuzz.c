// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Input of all kinds for the status file, the device mp3 and the tracer's calls:
 * rate-fuzz SECONDS [SEED]. The kernel must stay silent, and the profiler must
 * work afterwards.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "include/uapi/moca.h"
#include "tests/vm/rate.h"

#define WORKERS 6
#define MAPPINGS 16
#define FILES 8

static uint64_t state;

static uint64_t random_next(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 2685821657736338717ull;
}

static uint64_t below(uint64_t n)
{
	return (random_next() >> 11) % n;
}

/* Small, large, near a power of two, or anything. */
static uint64_t number(void)
{
	switch (below(5)) {
	case 0:
		return below(8);
	case 1:
		return below(70000);
	case 2:
		return (1ull << below(64)) + below(3) - 1;
	case 3:
		return -below(5000);
	default:
		return random_next();
	}
}

static struct { char *p; size_t n; } maps[MAPPINGS];
static int files[FILES];

static pid_t some_pid(void)
{
	switch (below(5)) {
	case 0:
		return getpid();
	case 1:
		return getppid();
	case 2:
		return (pid_t)number();
	default:
		return (pid_t)below(400) + 1;
	}
}

static void write_line(void)
{
	char line[300];
	size_t n;

	n = (size_t)snprintf(line, sizeof(line), "%c %d", "RU"[below(2)],
			     some_pid());
	if (!below(4))
		line[below(n)] = (char)random_next();
	if (!below(6))
		for (n = below(sizeof(line)); below(sizeof(line)) > 2;)
			line[below(sizeof(line))] = (char)random_next();
	put(line, n);
}

static void read_list(void)
{
	int fd = open(STATUS, O_RDWR | O_CLOEXEC);
	char buf[500];

	if (fd < 0)
		return;
	for (int i = 0; i < 4; i++) {
		lseek(fd, (off_t)number(), (int)below(5));
		if (read(fd, buf, below(sizeof(buf))) < 0)
			break;
	}
	if (pread(fd, buf, 10, (off_t)number()) < 0 ||
	    pwrite(fd, "R 1", 3, (off_t)number()) < 0)
		errno = 0;
	if (write(fd, (void *)number(), below(80)) < 0)
		errno = 0;
	close(fd);
}

static int some_file(void)
{
	static const char *const names[] = { DEVICE, "/dev/moca", STATUS };
	uint64_t i = below(FILES);

	if (files[i] > 0 && below(10))
		return files[i];
	if (files[i] > 0)
		close(files[i]);
	files[i] = open(names[below(3)], (int)below(3) | O_CLOEXEC |
			(below(2) ? O_SYNC : 0));
	return files[i];
}

static void map_some(void)
{
	uint64_t i = below(MAPPINGS), pages = below(3) ? below(140) + 1 :
							 number() % (1u << 20);
	off_t at = (off_t)(below(2) ? below(132) : number()) * 4096;
	void *p;

	if (maps[i].p)
		munmap(maps[i].p, maps[i].n);
	maps[i].p = NULL;
	if (!below(4))
		at = (off_t)((1ull << 40) + number() % (1u << 30) / 4096 * 4096);
	p = mmap(NULL, pages * 4096, (int)below(8),
		 below(2) ? MAP_SHARED : MAP_PRIVATE, some_file(), at);
	if (p == MAP_FAILED)
		return;
	maps[i].p = p;
	maps[i].n = pages * 4096;
}

/* Faults of the program's own doing go through a pipe: EFAULT, not SIGSEGV. */
static void use_mapping(void)
{
	uint64_t i = below(MAPPINGS);
	size_t at, n;
	int p[2];
	void *moved;

	if (!maps[i].p)
		return;
	n = below(2) ? 4096 : maps[i].n;
	at = below(maps[i].n / 4096) * 4096;
	if (at + n > maps[i].n)
		n = maps[i].n - at;
	switch (below(6)) {
	case 0:
		mprotect(maps[i].p + at, n, (int)below(8));
		break;
	case 1:
		madvise(maps[i].p + at, n, (int)below(30));
		break;
	case 2:
		munmap(maps[i].p + at, n);
		break;
	case 3:
		moved = mremap(maps[i].p, maps[i].n, number() % (1u << 22),
			       MREMAP_MAYMOVE);
		if (moved != MAP_FAILED)
			maps[i].p = NULL;
		break;
	default:
		if (pipe2(p, O_NONBLOCK | O_CLOEXEC))
			return;
		if (write(p[1], maps[i].p + at, 4096) > 0 && below(2) &&
		    read(p[0], maps[i].p + below(maps[i].n), 64) < 0)
			errno = 0;
		close(p[0]);
		close(p[1]);
	}
}

static void call(void)
{
	static const unsigned long commands[] = {
		MOCA_IOC_UPDATE, MOCA_IOC_SWITCH, MOCA_IOC_BUFFERS,
		MOCA_IOC_UPDATE, MOCA_IOC_SWITCH, MOCA_IOC_ABOUT,
		MOCA_IOC_REGISTER, MOCA_IOC_START, MOCA_IOC_STOP,
		MOCA_IOC_TICK, MOCA_IOC_TOTALS, MOCA_IOC_PACE,
	};
	uint32_t arg[32];
	struct moca_setup s = {
		.size = sizeof(s), .flags = MOCA_SETUP_MANUAL |
		MOCA_SETUP_NO_INJECT, .ring_chunks = 4, .chunk_bytes = 16384,
	};
	struct moca_target t = { .size = sizeof(t), .pid = getpid() };
	int fd = some_file();
	size_t i;

	switch (below(12)) {
	case 0:
		ioctl(fd, MOCA_IOC_SETUP, &s);
		return;
	case 1:
		ioctl(fd, MOCA_IOC_REGISTER, &t);
		return;
	case 2:
		ioctl(fd, number(), number());
		return;
	}
	for (i = 0; i < 32; i++)
		arg[i] = (uint32_t)(below(3) ? 0 : number());
	arg[0] = (uint32_t)(below(8) ? 16 + 16 * below(2) : number());
	ioctl(fd, commands[below(sizeof(commands) / sizeof(*commands))],
	      below(20) ? (unsigned long)arg : number());
}

/* The calls as a program makes them: so that buffers come and go, full. */
static void trace(void)
{
	struct moca_buffer_update u = { .size = sizeof(u) };
	struct moca_buffer_switch w = { .size = sizeof(w) };
	struct moca_buffer_control c = {
		sizeof(c), (uint32_t)below(4), 1, 4096u << below(4),
	};
	int fd = some_file();
	char *p;

	if (!below(3))
		ioctl(fd, MOCA_IOC_BUFFERS, &c);
	if (ioctl(fd, MOCA_IOC_UPDATE, &u) || !u.buffer_bytes)
		return;
	p = mmap(NULL, u.buffer_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 (off_t)u.offset);
	if (p == MAP_FAILED)
		return;
	memset(p, 1, below(u.buffer_bytes) + 1);
	w.session = u.session;
	w.used = (uint32_t)below(u.buffer_bytes + 1);
	if (below(2))
		ioctl(fd, MOCA_IOC_SWITCH, &w);
	munmap(p, u.buffer_bytes);
}

static void *trace_and_end(void *arg)
{
	trace();
	return arg;
}

/* Processes that come, go, are registered, and change who they are. */
static void fork_some(void)
{
	pthread_t t;
	pid_t pid;

	if (below(2)) {
		if (!pthread_create(&t, NULL, trace_and_end, NULL))
			pthread_join(t, NULL);
		return;
	}
	pid = fork();
	if (pid) {
		if (pid > 0 && below(2))
			tell('R', pid);
		if (pid > 0 && below(2))
			kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		if (pid > 0 && below(2))
			tell('U', pid);
		return;
	}
	state += (uint64_t)getpid();
	tell('R', getpid());
	if (below(2))
		trace();
	if (below(2) && setuid(1000))
		_exit(1);
	if (below(2))
		execl("/proc/self/exe", "rate-fuzz", NULL);
	_exit(0);
}

static void set_rate(void)
{
	int fd = open("/sys/module/moca/parameters/rate_hz", O_WRONLY);
	char text[20];
	int n = snprintf(text, sizeof(text), "%lu", below(1200));

	if (fd < 0)
		return;
	if (write(fd, text, (size_t)n) != n)
		errno = 0;
	close(fd);
}

static void work(uint64_t end_ns)
{
	static void (*const what[])(void) = {
		write_line, write_line, write_line, read_list, map_some,
		map_some, use_mapping, use_mapping, use_mapping, call, call,
		call, trace, fork_some, set_rate,
	};
	uint64_t rounds = 0;

	signal(SIGRTMIN + 3, SIG_IGN);
	/* On a busy host, as long as it takes. */
	while (clock_ns(CLOCK_MONOTONIC) < end_ns || rounds < 100) {
		what[below(sizeof(what) / sizeof(*what))]();
		rounds++;
	}
	fprintf(stderr, "%lu calls\n", rounds);
	_exit(rounds < 100);
}

/* Those that live on: kernel threads, init, and this one. */
static void take_back(void)
{
	FILE *f = fopen(STATUS, "re");
	int nr;

	while (f && fscanf(f, "%d", &nr) == 1)
		tell('U', nr);
	if (f)
		fclose(f);
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	uint64_t seed = argc > 2 ? strtoul(argv[2], NULL, 10) :
				   clock_ns(CLOCK_REALTIME);
	const struct moca_rate_info *info;
	int status, bad = 0, err;
	uint64_t told, began, ms;
	pid_t pid;

	if (!seconds)
		return 0;
	fprintf(stderr, "seed %lu\n", seed);
	for (int i = 0; i < WORKERS; i++) {
		pid = fork();
		if (pid)
			continue;
		state = seed * 2 + 1 + (uint64_t)i * 0x9e3779b97f4a7c15ull;
		/* Half of them are a user's. */
		if (i % 2 && (setgid(1000) || setuid(1000)))
			_exit(1);
		work(clock_ns(CLOCK_MONOTONIC) + seconds * 1000000000u);
	}
	while ((pid = wait(&status)) > 0)
		/* One that overwrote its own memory has had its way. */
		bad += !WIFSIGNALED(status) && WEXITSTATUS(status);
	check("all have done something", !bad, "%d have not", bad);

	take_back();
	sleep_ms(1100);
	check("who died is gone", !listed(0), "%d are listed", listed(0));
	err = open("/sys/module/moca/parameters/rate_hz", O_WRONLY);
	if (err < 0 || write(err, "20", 2) != 2)
		give_up("set rate_hz");
	close(err);
	info = map_info();
	told = info->told;
	began = clock_ns(CLOCK_MONOTONIC);
	err = tell('R', getpid());
	/* On a busy host, as long as it takes. */
	for (int i = 0; i < 100 && (i < 5 || info->told <= told + 5); i++)
		sleep_ms(100);
	err |= tell('U', getpid());
	told = info->told - told;
	ms = (clock_ns(CLOCK_MONOTONIC) - began) / 1000000;
	check("and it works", !err && told > 5 && told < 10 + 20 * ms / 1000,
	      "error %d, %lu samples in %lu ms", err, (unsigned long)told,
	      (unsigned long)ms);
	return failures != 0;
}

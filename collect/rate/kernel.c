// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counting by the module: what is registered in /proc/mp3/status is counted
 * there, in sum. It samples at times that are multiples of its period, as rounds
 * are: a round waits for the sample that is due, and tells what is new.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collect/rate/rate.h"
#include "collect/rate/stat.h"
#include "include/uapi/moca-rate.h"
#include "lib/ring/clock.h"

#define STATUS "/proc/mp3/status"
#define DEVICE "/dev/mp3"
#define LOOK_NS 250000l		/* between two looks for a sample */

struct process {
	pid_t pid;
	int stat;		/* descriptor of its stat; -1: it has ended */
};

struct state {
	struct rate_sink sink;
	const struct moca_rate_info *info;
	struct process *processes;
	uint32_t count, alive;
	uint64_t told;		/* samples that we know */
	struct moca_rate_counts at;
	uint64_t last_ns;
};

/* "R PID" or "U PID". 0 or -errno. */
static int tell(char what, pid_t pid)
{
	int fd = open(STATUS, O_WRONLY | O_CLOEXEC), err = 0, n;
	char line[32];

	if (fd < 0)
		return -errno;
	n = snprintf(line, sizeof(line), "%c %d", what, pid);
	if (write(fd, line, (size_t)n) != n)
		err = -errno;
	close(fd);
	return err;
}

/*
 * Its notes are behind the samples, of which there may be more than usual: they
 * say so themselves, so look for them where the module was loaded without
 * parameters, and where its parameter says.
 */
static size_t notes_at(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = MOCA_RATE_PAGES * page, wanted;
	FILE *f = fopen("/sys/module/moca/parameters/rate_samples", "re");
	unsigned int samples;

	if (f && fscanf(f, "%u", &samples) == 1) {
		wanted = samples * sizeof(struct moca_rate_slot);
		wanted = (wanted + page - 1) / page * page;
		if (wanted > bytes)
			bytes = wanted;
	}
	if (f)
		fclose(f);
	return bytes;
}

static int map_info(const struct moca_rate_info **out)
{
	int fd = open(DEVICE, O_RDONLY | O_CLOEXEC);
	void *p;

	if (fd < 0)
		return -errno;
	p = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED,
		 fd, (off_t)notes_at());
	close(fd);
	if (p == MAP_FAILED)
		return -errno;
	*out = p;
	return 0;
}

static void unmap_info(const struct moca_rate_info *info)
{
	munmap((void *)info, (size_t)sysconf(_SC_PAGESIZE));
}

int rate_kernel_state(uint32_t *hz, uint32_t *registered)
{
	const struct moca_rate_info *info;
	int err = map_info(&info);

	if (err)
		return err;
	if (info->version != MOCA_RATE_VERSION)
		err = -EPROTO;
	*hz = info->hz;
	*registered = info->registered;
	unmap_info(info);
	return err;
}

static int kernel_open(void **out, const struct rate_options *opt,
		       const struct rate_sink *sink)
{
	struct state *s;
	int err;

	/* What was before it registered it does not know. */
	if (opt->children || opt->from_birth)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->sink = *sink;
	err = map_info(&s->info);
	if (!err && s->info->version != MOCA_RATE_VERSION) {
		err = -EPROTO;
		unmap_info(s->info);
	}
	if (err) {
		free(s);
		return err;
	}
	*out = s;
	return 0;
}

static int kernel_add(void *state, pid_t pid)
{
	struct state *s = state;
	struct process *p;
	clockid_t clock;
	int err;

	for (uint32_t i = 0; i < s->count; i++)
		if (s->processes[i].pid == pid)
			return 0;
	p = realloc(s->processes, (s->count + 1) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	s->processes = p;
	p += s->count;
	*p = (struct process){ .pid = pid, .stat = rate_open(pid, 0, "stat") };
	if (p->stat < 0)
		return !kill(pid, 0) || errno == EPERM ? -EACCES : -ESRCH;
	/* The module would take the process of a thread. */
	err = clock_getcpuclockid(pid, &clock) ? -EINVAL : tell('R', pid);
	if (err) {
		close(p->stat);
		return err == -EEXIST ? -EBUSY : err;
	}
	s->count++;
	s->alive++;
	return 0;
}

/* It was to end: what it did last is told now, if it was the last one. */
static void end_process(struct state *s, struct process *p)
{
	close(p->stat);
	p->stat = -1;
	s->alive--;
	tell('U', p->pid);
}

static int is_dead(const struct rate_stat *st)
{
	return st->state == 'Z' && st->threads <= 1;
}

static void look_at(struct state *s, struct process *p, char *name)
{
	struct rate_stat st;
	int err = rate_stat_read(&st, p->stat);

	if (!err && name)
		strcpy(name, st.name);
	if (err || is_dead(&st))
		end_process(s, p);
}

/* The sample that is due: half a period at most. */
static void wait_for_sample(const struct state *s)
{
	const struct timespec step = { 0, LOOK_NS };
	uint64_t end = moca_now_ns() + 500000000u / (s->info->hz ?: 1);

	/* Pairs with the module's release: the sums are there. */
	while (__atomic_load_n(&s->info->told, __ATOMIC_ACQUIRE) == s->told &&
	       moca_now_ns() < end)
		nanosleep(&step, NULL);
}

static struct moca_rate_counts read_sums(struct state *s)
{
	s->told = __atomic_load_n(&s->info->told, __ATOMIC_ACQUIRE);
	return (struct moca_rate_counts){
		.minor = s->info->minor,
		.major = s->info->major,
		.cpu_ns = s->info->cpu_ns,
	};
}

static void begin(struct state *s, uint64_t ns)
{
	char name[STAT_NAME] = "?", all[32];

	if (s->count)
		look_at(s, &s->processes[0], name);
	if (s->count > 1)
		snprintf(all, sizeof(all), "%u processes", s->count);
	wait_for_sample(s);
	s->at = read_sums(s);
	s->sink.task(s->sink.arg, ns, 0, s->count ? s->processes[0].pid : 0,
		     MOCA_RATE_PROCESS, s->count > 1 ? all : name);
}

static void tell_new(struct state *s, uint64_t ns)
{
	struct moca_rate_counts now = read_sums(s), d = {
		.wall_ns = ns - s->last_ns,
		.minor = now.minor - s->at.minor,
		.major = now.major - s->at.major,
		.cpu_ns = now.cpu_ns - s->at.cpu_ns,
	};

	s->at = now;
	if (d.minor | d.major | d.cpu_ns)
		s->sink.sample(s->sink.arg, ns, 0, &d);
}

static int kernel_round(void *state, uint64_t ns)
{
	struct state *s = state;
	struct rate_tick tick = { .ns = ns };
	uint32_t before = s->alive, i;

	if (!s->last_ns) {
		begin(s, ns);
	} else {
		for (i = 0; i < s->count; i++)
			if (s->processes[i].stat >= 0)
				look_at(s, &s->processes[i], NULL);
		if (s->alive)
			wait_for_sample(s);
		tell_new(s, ns);
		tick.wall_ns = ns - s->last_ns;
	}
	s->last_ns = ns;
	/* What others register is in the sums. */
	if (s->alive && s->info->registered > before)
		return -EBUSY;
	tick.processes = tick.tasks = s->alive;
	if (before && !s->alive)
		s->sink.end(s->sink.arg, ns, 0, 1);
	s->sink.tick(s->sink.arg, &tick);
	return (int)s->alive;
}

static int kernel_watch(void *state, pid_t parent, pid_t child)
{
	(void)state;
	(void)parent;
	(void)child;
	return -EOPNOTSUPP;
}

static int kernel_ended(void *state, pid_t pid)
{
	const struct state *s = state;
	struct rate_stat st;
	uint32_t i = 0;

	while (i < s->count && s->processes[i].pid != pid)
		i++;
	return i == s->count || s->processes[i].stat < 0 ||
	       rate_stat_read(&st, s->processes[i].stat) || is_dead(&st);
}

static void kernel_close(void *state)
{
	struct state *s = state;

	for (uint32_t i = 0; i < s->count; i++)
		if (s->processes[i].stat >= 0)
			end_process(s, &s->processes[i]);
	unmap_info(s->info);
	free(s->processes);
	free(s);
}

const struct rate_source rate_source_kernel = {
	.name = "kernel",
	.open = kernel_open,
	.add = kernel_add,
	.watch = kernel_watch,
	.round = kernel_round,
	.ended = kernel_ended,
	.close = kernel_close,
};

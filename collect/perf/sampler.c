// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/perf/sampler.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <moca/types.h>

#include "collect/perf/clock.h"
#include "collect/perf/ring.h"
#include "lib/base/arch.h"

#define PAGE 4096ul
/* Pages of a ring: as many as the user may lock, between these. */
#define RING_PAGES_MAX (1u << 11)	/* 8 MiB: 1 ms to have them made */
#define RING_PAGES_MIN (1u << 3)
#define SAMPLE_BYTES_MAX 80
/* With copies of stacks: of all rings together, and of one at most. */
#define STACK_RINGS_BYTES (128ul << 20)
#define STACK_RING_PAGES_MAX (1u << 14)
/* Bytes that one step of a string instruction touches at most. */
#define STRING_STEP 64
/* Of a record: its length has 16 bits. */
#define RECORD_BYTES_MAX (1u << 16)

struct ring {
	struct perf_ring perf;
	int fd;
};

struct trace_format {
	uint64_t id[2];		/* of page_fault_user, page_fault_kernel */
	unsigned int addr, ip, error;	/* offsets in the raw data */
};

struct sampler {
	enum sampler_source source;
	unsigned int cpus;
	size_t data_bytes;
	struct ring *rings;
	int *fds;		/* all events */
	unsigned int *fd_cpu;	/* the CPU of each */
	size_t fd_count;
	struct trace_format trace;
	uint32_t stack_bytes;	/* copied of each stack; 0: none */
	uint64_t ahead_ns;	/* our clock of perf's */
	int counts_lost;	/* events can be asked what they lost */
	uint64_t told;		/* of it, by records in the rings */
	char *record;		/* one that is not in one piece in its ring */
};

static int perf_open(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	int fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1,
			 PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int read_format(const char *dir, const char *event, uint64_t *id,
		       struct sampler *s)
{
	char path[256], line[256], *p;
	FILE *f;

	snprintf(path, sizeof(path), "%s/events/exceptions/%s/format", dir,
		 event);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	*id = 0;
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "ID:", 3))
			*id = strtoull(line + 3, NULL, 10);
		p = strstr(line, "offset:");
		if (!p)
			continue;
		if (strstr(line, " address;"))
			s->trace.addr = atoi(p + 7);
		else if (strstr(line, " ip;"))
			s->trace.ip = atoi(p + 7);
		else if (strstr(line, " error_code;"))
			s->trace.error = atoi(p + 7);
	}
	fclose(f);
	return *id && s->trace.addr && s->trace.ip && s->trace.error ? 0 :
								      -ENOENT;
}

static int read_formats(const char *dir, struct sampler *s)
{
	int ret = read_format(dir, "page_fault_user", &s->trace.id[0], s);

	return ret ? ret :
		     read_format(dir, "page_fault_kernel", &s->trace.id[1], s);
}

/* tracefs is mounted in a mount namespace of a child: nobody else sees it. */
static int read_formats_private(struct sampler *s)
{
	struct trace_format found;
	int fds[2], status, ret;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		ret = -EPERM;
		if (!unshare(CLONE_NEWNS) &&
		    !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		    !mount("tracefs", "/sys/kernel", "tracefs", 0, NULL))
			ret = read_formats("/sys/kernel", s);
		found = s->trace;
		if (!ret && write(fds[1], &found, sizeof(found)) < 0)
			ret = -EIO;
		_exit(ret ? 1 : 0);
	}
	close(fds[1]);
	ret = -EPERM;
	if (pid > 0 && read(fds[0], &found, sizeof(found)) == sizeof(found)) {
		s->trace = found;
		ret = 0;
	}
	close(fds[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return ret;
}

static int find_tracepoints(struct sampler *s)
{
	if (!read_formats("/sys/kernel/tracing", s) ||
	    !read_formats("/sys/kernel/debug/tracing", s))
		return 0;
	return geteuid() ? -EACCES : read_formats_private(s);
}

static void base_attr(struct perf_event_attr *a, int on_exec)
{
	memset(a, 0, sizeof(*a));
	a->size = sizeof(*a);
	a->sample_period = 1;
	a->inherit = 1;
	a->disabled = 1;
	a->enable_on_exec = on_exec;
	a->watermark = 1;
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
}

static void attr_of(const struct sampler *s, int which, int on_exec,
		    struct perf_event_attr *a)
{
	base_attr(a, on_exec);
	if (s->counts_lost)
		a->read_format = PERF_FORMAT_LOST;
	if (s->stack_bytes) {
		a->sample_regs_user = MOCA_PERF_STACK_REGS;
		a->sample_stack_user = s->stack_bytes;
	}
	if (s->source == SAMPLER_TRACEPOINT) {
		a->type = PERF_TYPE_TRACEPOINT;
		a->config = s->trace.id[which];
		a->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				 PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
		return;
	}
	a->type = PERF_TYPE_SOFTWARE;
	a->config = PERF_COUNT_SW_PAGE_FAULTS;
	a->exclude_kernel = s->source == SAMPLER_USER_ONLY;
	a->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			 PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU |
			 PERF_SAMPLE_REGS_INTR |
			 (s->stack_bytes ? PERF_SAMPLE_REGS_USER |
					   PERF_SAMPLE_STACK_USER : 0);
	a->sample_regs_intr = MOCA_PERF_FAULT_REGS;
}

/* The best source that a first event can be opened for. */
static int choose_source(struct sampler *s, pid_t tid, int tracepoints,
			 const char **what)
{
	struct perf_event_attr a;
	int fd;

	for (int src = tracepoints && !find_tracepoints(s) ?
			       SAMPLER_TRACEPOINT : SAMPLER_SOFTWARE;
	     src <= SAMPLER_USER_ONLY; src++) {
		s->source = src;
		s->counts_lost = 1;
		attr_of(s, 0, 1, &a);
		fd = perf_open(&a, tid, 0);
		if (fd == -EINVAL) {	/* before Linux 6.0 */
			s->counts_lost = 0;
			a.read_format = 0;
			fd = perf_open(&a, tid, 0);
		}
		if (fd >= 0) {
			close(fd);
			return 0;
		}
		*what = "open the page-fault event of perf";
		if (fd != -EACCES && fd != -EPERM)
			return fd;
	}
	return -EACCES;
}

static int map_ring(struct sampler *s, unsigned int cpu, int fd, size_t *pages)
{
	for (; *pages >= RING_PAGES_MIN; *pages /= 2) {
		int err = perf_ring_map(&s->rings[cpu].perf, fd, *pages);

		if (!err) {
			s->rings[cpu].fd = fd;
			return 0;
		}
		if (err != -EPERM && err != -ENOMEM)
			return err;
		if (cpu)
			return -EAGAIN;	/* begin anew with smaller ones */
	}
	return -EPERM;
}

static void unmap_rings(struct sampler *s)
{
	for (unsigned int c = 0; c < s->cpus; c++)
		perf_ring_unmap(&s->rings[c].perf);
}

static int map_rings(struct sampler *s, const int *first)
{
	size_t pages = RING_PAGES_MAX;
	int ret;

	while (s->stack_bytes && pages < STACK_RING_PAGES_MAX &&
	       2 * pages * s->cpus * PAGE <= STACK_RINGS_BYTES)
		pages *= 2;
	do {
		ret = 0;
		for (unsigned int c = 0; c < s->cpus && !ret; c++) {
			s->rings[c].fd = -1;
			if (first[c] >= 0)
				ret = map_ring(s, c, first[c], &pages);
		}
		if (ret == -EAGAIN) {
			unmap_rings(s);
			pages /= 2;
		}
	} while (ret == -EAGAIN);
	s->data_bytes = pages * PAGE;
	return ret;
}

/* Wake us when a ring is a quarter full; known only once it is mapped. */
static uint32_t watermark(size_t bytes)
{
	return bytes / 4;
}

static int cpu_online(unsigned int cpu)
{
	char path[64], state = '1';
	int fd;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online",
		 cpu);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, &state, 1) != 1)
			state = '1';
		close(fd);
	}
	return state != '0';	/* no file: it cannot be switched off */
}

static int open_events(struct sampler *s, const pid_t *tids, size_t count,
		       int on_exec, int *first)
{
	int kinds = s->source == SAMPLER_TRACEPOINT ? 2 : 1, fd;
	struct perf_event_attr a;

	for (unsigned int c = 0; c < s->cpus; c++) {
		first[c] = -1;
		if (!cpu_online(c))
			continue;
		for (size_t i = 0; i < count * kinds; i++) {
			attr_of(s, i % kinds, on_exec, &a);
			a.wakeup_watermark = watermark(RING_PAGES_MAX * PAGE);
			if (s->source == SAMPLER_USER_ONLY)
				a.wakeup_watermark = 128 << 10;
			fd = perf_open(&a, tids[i / kinds], c);
			if (fd == -ESRCH)
				continue;	/* that thread has ended */
			if (fd < 0)
				return fd;
			s->fd_cpu[s->fd_count] = c;
			s->fds[s->fd_count++] = fd;
			if (first[c] < 0)
				first[c] = fd;
		}
		if (first[c] < 0)
			return -ESRCH;
	}
	return 0;
}

/* All events of a CPU write into the ring of its first one. */
static int share_rings(struct sampler *s, const int *first)
{
	for (size_t i = 0; i < s->fd_count; i++)
		if (s->fds[i] != first[s->fd_cpu[i]] &&
		    ioctl(s->fds[i], PERF_EVENT_IOC_SET_OUTPUT,
			  first[s->fd_cpu[i]]))
			return -errno;
	return 0;
}

int sampler_open(struct sampler **out, const pid_t *tids, size_t count,
		 int on_exec, int tracepoints, uint32_t stack_bytes,
		 const char **what)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int ret, *first = NULL;

	if (!s)
		return -ENOMEM;
	s->cpus = sysconf(_SC_NPROCESSORS_CONF);
	s->stack_bytes = stack_bytes;
	s->ahead_ns = perf_clock_ahead();
	s->record = malloc(RECORD_BYTES_MAX);
	s->rings = calloc(s->cpus, sizeof(*s->rings));
	s->fds = calloc(count * s->cpus * 2, sizeof(*s->fds));
	first = calloc(s->cpus, sizeof(*first));
	s->fd_cpu = calloc(count * s->cpus * 2, sizeof(*s->fd_cpu));
	ret = s->rings && s->fds && s->fd_cpu && first && s->record ? 0 : -ENOMEM;
	if (!ret)
		ret = choose_source(s, tids[0], tracepoints, what);
	if (!ret) {
		*what = "open the page-fault events of perf";
		ret = open_events(s, tids, count, on_exec, first);
	}
	if (!ret) {
		*what = "map the buffers of the page-fault events";
		ret = map_rings(s, first);
	}
	if (!ret)
		ret = share_rings(s, first);
	free(first);
	if (ret) {
		sampler_close(s);
		return ret;
	}
	*out = s;
	return 0;
}

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	if (s->rings)
		unmap_rings(s);
	for (size_t i = 0; i < s->fd_count; i++)
		close(s->fds[i]);
	free(s->rings);
	free(s->fds);
	free(s->fd_cpu);
	free(s->record);
	free(s);
}

enum sampler_source sampler_source(const struct sampler *s)
{
	return s->source;
}

unsigned int sampler_cpus(const struct sampler *s)
{
	return s->cpus;
}

unsigned int sampler_polls(const struct sampler *s, struct pollfd *p)
{
	for (unsigned int i = 0; i < s->cpus; i++)
		p[i] = (struct pollfd){ s->rings[i].fd, POLLIN, 0 };
	return s->cpus;
}

void sampler_polled(const struct sampler *s, const struct pollfd *p)
{
	for (unsigned int i = 0; i < s->cpus; i++)
		if (p[i].revents & POLLHUP)
			usleep(1000);
}

size_t sampler_ring_bytes(const struct sampler *s)
{
	return s->data_bytes;
}

void sampler_start(struct sampler *s)
{
	for (size_t i = 0; i < s->fd_count; i++)
		ioctl(s->fds[i], PERF_EVENT_IOC_ENABLE, 0);
}

void sampler_stop(struct sampler *s)
{
	for (size_t i = 0; i < s->fd_count; i++)
		ioctl(s->fds[i], PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t sampler_untold(const struct sampler *s)
{
	struct { uint64_t value, lost; } of;
	uint64_t all = 0;

	for (size_t i = 0; i < s->fd_count && s->counts_lost; i++)
		if (read(s->fds[i], &of, sizeof(of)) == (ssize_t)sizeof(of))
			all += of.lost;
	return all > s->told ? all - s->told : 0;
}

void sampler_snapshot(struct sampler *s)
{
	for (unsigned int c = 0; c < s->cpus; c++)
		if (s->rings[c].perf.page)
			perf_ring_look(&s->rings[c].perf);
}

uint64_t sampler_room(const struct sampler *s)
{
	uint64_t most = 0;

	for (unsigned int c = 0; c < s->cpus; c++) {
		const struct perf_ring *r = &s->rings[c].perf;
		uint64_t used = r->page ? perf_ring_used(r) : 0;

		if (used > most)
			most = used;
	}
	return (s->data_bytes - most) /
	       (SAMPLE_BYTES_MAX + s->stack_bytes + (s->stack_bytes ? 48 : 0));
}

static int parse_raw(const struct sampler *s, const char *body, size_t n,
		     struct sample *out)
{
	uint64_t error;
	uint32_t size;

	if (n < 28)
		return 0;
	memcpy(&out->pid, body, 4);
	memcpy(&out->tid, body + 4, 4);
	memcpy(&out->time_ns, body + 8, 8);
	out->time_ns += s->ahead_ns;
	memcpy(&out->cpu, body + 16, 2);
	memcpy(&size, body + 24, 4);
	body += 28;
	if (size > n - 28 || s->trace.addr + 8 > size ||
	    s->trace.ip + 8 > size || s->trace.error + 8 > size)
		return 0;
	memcpy(&out->addr, body + s->trace.addr, 8);
	memcpy(&out->ip, body + s->trace.ip, 8);
	memcpy(&error, body + s->trace.error, 8);
	/* Bits of the x86 page-fault error code. */
	out->at_source = out->at_target = 0;
	out->type = error & 16 ? MOCA_ACCESS_EXEC :
		    error & 2 ? MOCA_ACCESS_WRITE : MOCA_ACCESS_READ;
	out->mode = error & 4 ? MOCA_MODE_USER : MOCA_MODE_KERNEL;
	return 1;
}

/* A part of a record that is read from its begin to its end. */
struct part {
	const char *p;
	size_t n;
};

static int take(struct part *b, void *out, size_t n)
{
	if (b->n < n)
		return 0;
	memcpy(out, b->p, n);
	b->p += n;
	b->n -= n;
	return 1;
}

/* The registers and the copy of the stack, in the order of perf_event_open(2). */
static int parse_stack(struct part *b, struct user_stack *out)
{
	uint64_t abi, size, bytes;

	*out = (struct user_stack){ 0 };
	if (!take(b, &abi, 8))
		return 0;
	if (abi != PERF_SAMPLE_REGS_ABI_NONE &&
	    (!take(b, &out->bp, 8) || !take(b, &out->sp, 8) ||
	     !take(b, &out->ip, 8)))
		return 0;
	if (!take(b, &size, 8) || size > b->n)
		return 0;
	out->copy = (const uint8_t *)b->p;
	b->p += size;
	b->n -= size;
	if (size && (!take(b, &bytes, 8) || bytes > size))
		return 0;
	out->bytes = size ? (uint32_t)bytes : 0;
	/* Of a 32-bit program: its frames are others. */
	out->known = abi == PERF_SAMPLE_REGS_ABI_64;
	return 1;
}

static int parse_software(const struct sampler *s, const char *body, size_t n,
			  int kernel, struct sample *out)
{
	uint64_t abi, si, di;
	struct part b;

	if (n < 48)
		return 0;
	b = (struct part){ body + 40, n - 40 };
	out->at_source = out->at_target = 0;
	memcpy(&out->ip, body, 8);
	memcpy(&out->pid, body + 8, 4);
	memcpy(&out->tid, body + 12, 4);
	memcpy(&out->time_ns, body + 16, 8);
	out->time_ns += s->ahead_ns;
	memcpy(&out->addr, body + 24, 8);
	memcpy(&out->cpu, body + 32, 2);
	out->type = MOCA_ACCESS_UNKNOWN;
	if (s->stack_bytes && !parse_stack(&b, &out->stack))
		return 0;
	if (take(&b, &abi, 8) && abi != PERF_SAMPLE_REGS_ABI_NONE &&
	    take(&b, &si, 8) && take(&b, &di, 8)) {
		/* What a string move, also the kernel's, has got to. */
		out->at_source = MOCA_IS_X86 && out->addr - si < STRING_STEP;
		out->at_target = MOCA_IS_X86 && out->addr - di < STRING_STEP;
	}
	out->mode = kernel ? MOCA_MODE_KERNEL : MOCA_MODE_USER;
	return 1;
}

int sampler_next(struct sampler *s, unsigned int cpu, uint64_t until,
		 struct sample *out, uint64_t *lost)
{
	struct perf_ring *r = &s->rings[cpu].perf;
	struct perf_event_header h;
	const char *body;
	size_t n;
	int ok;

	out->stack.known = 0;
	/* The caller is done with the last one: room for the next. */
	if (s->stack_bytes && r->page && r->tail - r->released > s->data_bytes / 16)
		perf_ring_release(r);
	while (perf_ring_header(r, &h)) {
		n = perf_ring_length(&h);
		body = perf_ring_at(r, s->record, n);
		if (h.type == PERF_RECORD_LOST && n >= 16) {
			memcpy(lost, body + 8, 8);
			s->told += *lost;
			perf_ring_skip(r, &h);
			return 2;
		}
		if (h.type != PERF_RECORD_SAMPLE) {
			perf_ring_skip(r, &h);
			continue;
		}
		ok = s->source == SAMPLER_TRACEPOINT ?
			     parse_raw(s, body, n, out) :
			     parse_software(s, body, n,
					    (h.misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
						    PERF_RECORD_MISC_KERNEL,
					    out);
		if (ok && out->time_ns > until)
			break;
		perf_ring_skip(r, &h);
		if (ok)
			return 1;
	}
	if (r->page)
		perf_ring_release(r);
	return 0;
}

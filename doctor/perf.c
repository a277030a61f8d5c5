// SPDX-License-Identifier: GPL-2.0-or-later
/* Probes of perf: page faults, the ring's size, the tracepoint. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor/probe.h"

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
/* Rings of all CPUs together that a probe may allocate. */
#define RINGS_MAX (64ul << 20)

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	attr->size = sizeof(*attr);
	return syscall(SYS_perf_event_open, attr, pid, cpu, -1,
		       PERF_FLAG_FD_CLOEXEC);
}

static struct perf_event_attr fault_event(int exclude_kernel)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
			       PERF_SAMPLE_CPU,
		.inherit = 1,
		.disabled = 1,
		.exclude_kernel = exclude_kernel,
		.exclude_hv = 1,
	};
}

/*
 * Take one fault, in user mode or inside read(2), and count it. How many were
 * counted, or -errno.
 */
static int count_fault(int exclude_kernel, int in_kernel)
{
	struct perf_event_attr attr = fault_event(exclude_kernel);
	uint64_t n = 0;
	int fd, zero, err = 0;
	char *page;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -ENOMEM;
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	fd = open_event(&attr, 0, -1);
	if (fd < 0 || zero < 0) {
		err = -errno;
	} else {
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		if (!in_kernel)
			*(volatile char *)page = 1;
		else if (read(zero, page, 1) != 1)
			err = -EIO;
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		if (read(fd, &n, sizeof(n)) != sizeof(n))
			err = -EIO;
	}
	if (fd >= 0)
		close(fd);
	if (zero >= 0)
		close(zero);
	munmap(page, 4096);
	return err ? err : (int)n;
}

static const char *paranoid(char *buf, size_t size)
{
	return probe_read(PARANOID, buf, size) ? "unknown" : buf;
}

/* The sysctl allows it, and so another does not. */
static int refused_by_filter(const char *level)
{
	char *end;
	long n = strtol(level, &end, 10);

	return end != level && n <= 2;
}

void probe_perf_user(struct probe *p)
{
	int n = count_fault(1, 0);
	char level[32];

	paranoid(level, sizeof(level));
	if (n > 0) {
		probe_set(p, PROBE_OK, "a fault of our own was counted (perf_event_paranoid is %s)",
			  level);
		return;
	}
	probe_set(p, PROBE_NO, "%s (perf_event_paranoid is %s)",
		  n ? strerror(-n) : "a fault was not counted", level);
	p->without = "no recording at all: page faults are what is recorded";
	p->fix = n == -ENOSYS || n == -ENOENT ?
			 "use a kernel with CONFIG_PERF_EVENTS" :
		 n == -EPERM && refused_by_filter(level) ?
			 "in a container: a seccomp profile that allows perf_event_open (--security-opt seccomp=unconfined allows all), --cap-add PERFMON" :
			 "sudo sysctl kernel.perf_event_paranoid=2";
}

void probe_perf_kernel(struct probe *p)
{
	int n = count_fault(0, 1);

	if (n > 0) {
		probe_set(p, PROBE_OK, "a fault inside read(2) was counted");
		return;
	}
	probe_set(p, PROBE_NO, "%s",
		  n ? strerror(-n) : "a fault inside read(2) was not counted");
	p->without = "pages that only system calls touch (a buffer that read() fills) are not seen; the certificate says how many";
	p->fix = "sudo sysctl kernel.perf_event_paranoid=1";
}

/* Can every CPU have a ring of so many pages at the same time? */
static int rings_fit(size_t pages, int cpus)
{
	size_t size = (pages + 1) * 4096;
	struct ring {
		int fd;
		void *map;
	} *rings = calloc(cpus, sizeof(*rings));
	struct perf_event_attr attr = fault_event(1);
	int i, fits = rings != NULL;

	for (i = 0; i < cpus && fits; i++) {
		rings[i].map = MAP_FAILED;
		rings[i].fd = open_event(&attr, getpid(), i);
		/* A CPU that is offline has no ring. */
		if (rings[i].fd < 0 && errno == ENODEV)
			continue;
		if (rings[i].fd >= 0)
			rings[i].map = mmap(NULL, size, PROT_READ | PROT_WRITE,
					    MAP_SHARED, rings[i].fd, 0);
		fits = rings[i].map != MAP_FAILED;
	}
	while (rings && i--) {
		if (rings[i].map != MAP_FAILED)
			munmap(rings[i].map, size);
		if (rings[i].fd >= 0)
			close(rings[i].fd);
	}
	free(rings);
	return fits;
}

void probe_perf_ring(struct probe *p)
{
	int cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t pages = 1024;
	struct rlimit lock;
	char mlock_kb[32], limit[32] = "unlimited";

	while (pages > 1 && pages * 4096 * cpus > RINGS_MAX)
		pages /= 2;
	while (pages && !rings_fit(pages, cpus))
		pages /= 2;
	if (probe_read("/proc/sys/kernel/perf_event_mlock_kb", mlock_kb,
		       sizeof(mlock_kb)))
		snprintf(mlock_kb, sizeof(mlock_kb), "unknown");
	if (!getrlimit(RLIMIT_MEMLOCK, &lock) && lock.rlim_cur != RLIM_INFINITY)
		snprintf(limit, sizeof(limit), "%llu KiB",
			 (unsigned long long)lock.rlim_cur / 1024);
	if (!pages) {
		probe_set(p, PROBE_NO, "no ring can be mapped (perf_event_mlock_kb %s, RLIMIT_MEMLOCK %s)",
			  mlock_kb, limit);
		p->without = "no recording at all: samples have nowhere to go";
	} else {
		probe_set(p, pages < 512 ? PROBE_LIMITED : PROBE_OK,
			  "%zu KiB on each of %d CPUs (perf_event_mlock_kb %s, RLIMIT_MEMLOCK %s)",
			  4 * pages, cpus, mlock_kb, limit);
		if (pages < 512)
			p->without = "fewer pages can be observed in one interval; nothing is lost by that";
	}
	if (pages < 512)
		p->fix = "sudo sysctl kernel.perf_event_mlock_kb=4100";
}

/* The tracepoint's number, from either place of tracefs; -errno. */
static int tracepoint_id(const char **where)
{
	static const char *const paths[] = {
		"/sys/kernel/tracing/events/exceptions/page_fault_user/id",
		"/sys/kernel/debug/tracing/events/exceptions/page_fault_user/id",
	};
	char buf[32];
	int err = -ENOENT, ret;
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		ret = probe_read(paths[i], buf, sizeof(buf));
		if (!ret) {
			*where = "tracefs is mounted";
			return atoi(buf);
		}
		if (ret != -ENOENT)
			err = ret;
	}
	return err;
}

/* root may mount tracefs where nobody else sees it. */
static int mount_tracefs(void)
{
	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL))
		return -errno;
	return 0;
}

struct tracepoint {
	int err;
	int mounted;
};

static void try_tracepoint(struct tracepoint *r)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW,
		.disabled = 1,
	};
	const char *where;
	int id = tracepoint_id(&where), fd;

	if (id == -ENOENT && !geteuid()) {
		r->err = mount_tracefs();
		if (r->err)
			return;
		r->mounted = 1;
		id = tracepoint_id(&where);
	}
	if (id < 0) {
		r->err = id;
		return;
	}
	attr.config = id;
	fd = open_event(&attr, 0, -1);
	r->err = fd < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
}

void probe_tracepoint(struct probe *p)
{
	struct tracepoint r = { .err = -EIO };
	int fds[2], status;
	pid_t pid;

	/* In a child: a mount must not be seen by anybody else. */
	if (!pipe2(fds, O_CLOEXEC)) {
		fflush(NULL);
		pid = fork();
		if (!pid) {
			try_tracepoint(&r);
			_exit(write(fds[1], &r, sizeof(r)) != sizeof(r));
		}
		close(fds[1]);
		if (pid > 0 && read(fds[0], &r, sizeof(r)) != sizeof(r))
			r.err = -EIO;
		close(fds[0]);
		if (pid > 0)
			waitpid(pid, &status, 0);
	}
	if (!r.err) {
		probe_set(p, PROBE_OK, "exceptions:page_fault_user can be opened%s",
			  r.mounted ? " (tracefs mounted privately)" : "");
		return;
	}
	probe_set(p, PROBE_NO, "exceptions:page_fault_user: %s",
		  r.err == -ENOENT ? "no tracefs is mounted, or the kernel lacks the tracepoint" :
				     strerror(-r.err));
	p->without = "--tracepoints: read or write comes from the instruction alone; where that does not tell, the type is unknown";
	p->fix = "run moca as root";
}

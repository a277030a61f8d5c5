// SPDX-License-Identifier: GPL-2.0-or-later
/* Probes of memory: userfaultfd, memfd, physical pages, limits. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "doctor/probe.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif

#define PAGE 4096ul
#define ALLOW_UFFD "in a container: docker run --security-opt seccomp=unconfined"

static int open_uffd(void)
{
	return syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
}

void probe_userfaultfd(struct probe *p)
{
	int full = syscall(SYS_userfaultfd, O_CLOEXEC), err = 0;
	int user = open_uffd();
	char allowed[32];

	if (user < 0)
		err = errno;
	if (probe_read("/proc/sys/vm/unprivileged_userfaultfd", allowed,
		       sizeof(allowed)))
		snprintf(allowed, sizeof(allowed), "unknown");
	if (user >= 0) {
		probe_set(p, PROBE_OK, "for faults in user mode%s (unprivileged_userfaultfd is %s)",
			  full >= 0 ? " and in system calls" :
				      ", which is enough",
			  allowed);
	} else {
		probe_set(p, PROBE_NO, "%s", strerror(err));
		p->without = "reads of neighbouring pages are missed: the kernel maps 16 pages at one fault";
		p->fix = err == ENOSYS ?
				 "use a kernel with CONFIG_USERFAULTFD, 5.19 or newer" :
				 ALLOW_UFFD;
	}
	if (user >= 0)
		close(user);
	if (full >= 0)
		close(full);
}

/* Register one page of fd's (or anonymous) memory with features. -errno. */
static int try_register(uint64_t features, int fd, int flags)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_WP };
	int uffd = open_uffd(), err = 0;
	void *map;

	if (uffd < 0)
		return -errno;
	map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);
	reg.range.start = (uintptr_t)map;
	reg.range.len = PAGE;
	if (map == MAP_FAILED || ioctl(uffd, UFFDIO_API, &api) ||
	    ioctl(uffd, UFFDIO_REGISTER, &reg))
		err = -errno;
	if (map != MAP_FAILED)
		munmap(map, PAGE);
	close(uffd);
	return err;
}

void probe_wp_shmem(struct probe *p)
{
	int fd = memfd_create("moca-doctor", MFD_CLOEXEC), err;

	err = fd < 0 || ftruncate(fd, PAGE) ? -errno :
	      try_register(UFFD_FEATURE_WP_HUGETLBFS_SHMEM, fd, MAP_SHARED);
	if (fd >= 0)
		close(fd);
	if (!err) {
		probe_set(p, PROBE_OK, "a page of a memfd was registered (WP_HUGETLBFS_SHMEM)");
		return;
	}
	probe_set(p, PROBE_NO, "WP_HUGETLBFS_SHMEM: %s", strerror(-err));
	p->without = "of 16 neighbouring pages that are read, only one is seen";
	p->fix = err == -EPERM ? ALLOW_UFFD : "use Linux 5.19 or newer";
}

void probe_wp_async(struct probe *p)
{
	int err = try_register(UFFD_FEATURE_WP_ASYNC, -1,
			       MAP_PRIVATE | MAP_ANONYMOUS);

	if (!err) {
		probe_set(p, PROBE_OK, "a private page was registered (WP_ASYNC)");
		return;
	}
	probe_set(p, PROBE_NO, "WP_ASYNC: %s", strerror(-err));
	p->without = "reads of neighbouring pages of files are missed, and '--stack' does not work";
	p->fix = err == -EPERM ? ALLOW_UFFD : "use Linux 6.7 or newer";
}

/* A huge sparse memfd, one page of it written and given back. -errno. */
static int try_memfd(void)
{
	int fd = memfd_create("moca-doctor", MFD_CLOEXEC), err = 0;
	char *map = MAP_FAILED;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, 1l << 62))
		map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			   1l << 61);
	if (map == MAP_FAILED) {
		err = -errno;
	} else {
		map[0] = 1;
		if (lseek(fd, 0, SEEK_DATA) != 1l << 61 ||
		    madvise(map, PAGE, MADV_DONTNEED) || map[0] != 1 ||
		    madvise(map, PAGE, MADV_REMOVE))
			err = errno ? -errno : -EIO;
		munmap(map, PAGE);
	}
	close(fd);
	return err;
}

void probe_memfd(struct probe *p)
{
	int err = try_memfd();

	if (!err) {
		probe_set(p, PROBE_OK, "a page's entry was dropped and its data kept");
		return;
	}
	probe_set(p, PROBE_NO, "%s", strerror(-err));
	p->without = "no recording: there is no memory whose entries can be dropped";
	p->fix = "use a kernel with CONFIG_MEMFD_CREATE and CONFIG_SHMEM";
}

void probe_process_madvise(struct probe *p)
{
	int pidfd = syscall(SYS_pidfd_open, getpid(), 0), err = 0;
	struct iovec iov = { NULL, PAGE };

	iov.iov_base = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (iov.iov_base == MAP_FAILED || pidfd < 0 ||
	    syscall(SYS_process_madvise, pidfd, &iov, 1, MADV_DONTNEED, 0) < 0)
		err = errno;
	if (iov.iov_base != MAP_FAILED)
		munmap(iov.iov_base, PAGE);
	if (pidfd >= 0)
		close(pidfd);
	if (!err) {
		probe_set(p, PROBE_OK, "process_madvise(MADV_DONTNEED) works");
		return;
	}
	probe_set(p, PROBE_LIMITED, "process_madvise(MADV_DONTNEED): %s",
		  strerror(err));
	p->without = "nothing is missed; each region needs a system call of its own, which costs a little time";
	p->fix = "use Linux 6.13 or newer";
}

void probe_pagemap(struct probe *p)
{
	volatile char here = 1;
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), err = 0;

	if (fd < 0 || pread(fd, &entry, sizeof(entry),
			    (uintptr_t)&here / PAGE * sizeof(entry)) !=
			      sizeof(entry))
		err = errno;
	if (fd >= 0)
		close(fd);
	if (!err && entry & ((1ull << 55) - 1)) {
		probe_set(p, PROBE_OK, "frame numbers can be read");
		return;
	}
	probe_set(p, PROBE_NO, "%s", err ? strerror(err) :
					   "frame numbers are hidden from this user");
	p->without = "physical addresses are 0 in the trace";
	p->fix = "run moca as root (CAP_SYS_ADMIN)";
}

void probe_move_pages(struct probe *p)
{
	static char here[4096];
	void *page = here;
	int node = -ENOSYS;

	here[0] = 1;
	if (!syscall(SYS_move_pages, 0, 1ul, &page, NULL, &node, 0) &&
	    node >= 0) {
		probe_set(p, PROBE_OK, "a page of ours is on node %d", node);
		return;
	}
	probe_set(p, PROBE_NO, "%s", strerror(node < 0 ? -node : errno));
	p->without = "the NUMA node of pages is unknown in the trace";
	p->fix = "use a kernel with CONFIG_NUMA (in a container: docker run --cap-add SYS_NICE)";
}

void probe_machine(struct probe *p)
{
	char nodes[64];

	if (probe_read("/sys/devices/system/node/online", nodes, sizeof(nodes)))
		snprintf(nodes, sizeof(nodes), "0");
	probe_set(p, PROBE_OK, "%ld CPUs, NUMA node%s %s, pages of %ld bytes",
		  sysconf(_SC_NPROCESSORS_ONLN),
		  strpbrk(nodes, "-,") ? "s" : "", nodes,
		  sysconf(_SC_PAGESIZE));
}

/* The chosen one of "always [madvise] never". */
static void chosen(const char *path, char *buf, size_t size)
{
	char *open, *close;

	if (probe_read(path, buf, size)) {
		snprintf(buf, size, "absent");
		return;
	}
	open = strchr(buf, '[');
	close = open ? strchr(open, ']') : NULL;
	if (!close)
		return;
	*close = 0;
	memmove(buf, open + 1, close - open);
}

void probe_thp(struct probe *p)
{
	char private[96], shmem[96];

	chosen("/sys/kernel/mm/transparent_hugepage/enabled", private,
	       sizeof(private));
	chosen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", shmem,
	       sizeof(shmem));
	probe_set(p, PROBE_OK, "private memory: %.30s, shared memory: %.30s",
		  private, shmem);
	if (!strcmp(private, "always") &&
	    (!strcmp(shmem, "never") || !strcmp(shmem, "advise"))) {
		p->status = PROBE_LIMITED;
		p->without = "nothing is missed, but a recorded program has small pages where it has huge ones otherwise, and runs slower for that";
	} else if (!strcmp(shmem, "always") || !strcmp(shmem, "force")) {
		p->status = PROBE_LIMITED;
		p->without = "accesses may be seen once per 2 MiB and not once per page";
		p->fix = "echo never | sudo tee /sys/kernel/mm/transparent_hugepage/shmem_enabled";
	}
}

void probe_overcommit(struct probe *p)
{
	char mode[32];

	if (probe_read("/proc/sys/vm/overcommit_memory", mode, sizeof(mode)))
		snprintf(mode, sizeof(mode), "unknown");
	probe_set(p, PROBE_OK, "vm.overcommit_memory is %s", mode);
	if (strcmp(mode, "2"))
		return;
	p->status = PROBE_LIMITED;
	p->without = "programs that reserve much more memory than they use (Java, Go, sanitizers) may fail to start, recorded or not";
	p->fix = "sudo sysctl vm.overcommit_memory=0";
}

void probe_map_count(struct probe *p)
{
	char max[32];

	if (probe_read("/proc/sys/vm/max_map_count", max, sizeof(max)))
		snprintf(max, sizeof(max), "0");
	probe_set(p, PROBE_OK, "vm.max_map_count is %s", max);
	if (atol(max) >= 65530)
		return;
	p->status = PROBE_LIMITED;
	p->without = "programs with very many mappings may fail: a recording needs some more";
	p->fix = "sudo sysctl vm.max_map_count=65530";
}

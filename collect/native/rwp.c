// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/native/rwp.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define PAGE 4096ul
/* What the headers of older kernels lack: of linux/userfaultfd.h, */
#define FEATURE_RWP (1ull << 17)
#define FEATURE_RWP_ASYNC (1ull << 18)
#define REGISTER_MODE_RWP (1ull << 3)
#define RWPROTECT_MODE_RWP 1ull
struct rwprotect {
	struct uffdio_range range;
	uint64_t mode;
};
#define RWPROTECT _IOWR(UFFDIO, 9, struct rwprotect)
/* of linux/fs.h. */
struct scan_region {
	uint64_t start, end, categories;
};
struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t inverted, mask, anyof_mask, return_mask;
};
#define SCAN _IOWR('f', 16, struct scan)
#define SCAN_ACCESSED (1ull << 9)
struct query {
	uint64_t size, flags, addr, start, end, rights, page_size, offset, ino;
	uint32_t major, minor, name_size, id_size;
	uint64_t name_at, id_at;
};
#define QUERY _IOWR('f', 17, struct query)
#define SCAN_REGIONS 512

/* Pages that are tried to learn what one takes, and how often. */
#define PRICE_PAGES 256
#define PRICE_TRIES 9

static int call(int fd, unsigned long request, void *arg)
{
	int ret;

	do {
		ret = ioctl(fd, request, arg);
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : ret;
}

int rwp_begin(int uffd)
{
	struct uffdio_api api = {
		.api = UFFD_API, .features = FEATURE_RWP | FEATURE_RWP_ASYNC,
	};
	int err = call(uffd, UFFDIO_API, &api);

	/* Older kernels do not know what is asked for. */
	return err == -EINVAL ? -EOPNOTSUPP : err;
}

int rwp_register(int uffd, uint64_t start, uint64_t end)
{
	struct uffdio_register r = {
		.range = { start, end - start }, .mode = REGISTER_MODE_RWP,
	};

	return call(uffd, UFFDIO_REGISTER, &r);
}

int rwp_protect(int uffd, uint64_t start, uint64_t end)
{
	struct rwprotect w = {
		.range = { start, end - start }, .mode = RWPROTECT_MODE_RWP,
	};

	return call(uffd, RWPROTECT, &w);
}

int rwp_mapping_at(int maps, uint64_t addr, struct rwp_mapping *out)
{
	struct query q = { .size = sizeof(q), .addr = addr };
	int err = call(maps, QUERY, &q);

	*out = (struct rwp_mapping){ q.start, q.end, q.rights, q.ino };
	return err;
}

int rwp_touched(int pagemap, uint64_t start, uint64_t end, rwp_visit visit,
		void *arg)
{
	struct scan_region found[SCAN_REGIONS];
	struct scan s = {
		.size = sizeof(s), .start = start, .end = end,
		.vec = (uintptr_t)found, .vec_len = SCAN_REGIONS,
		.mask = SCAN_ACCESSED, .return_mask = SCAN_ACCESSED,
	};
	int n;

	while (s.start < end) {
		n = call(pagemap, SCAN, &s);
		if (n < 0)
			return n;
		for (int i = 0; i < n && i < SCAN_REGIONS; i++)
			visit(arg, found[i].start, found[i].end);
		/* It must get on, whatever the kernel says. */
		if (s.walk_end <= s.start)
			return -EIO;
		s.start = s.walk_end;
	}
	return 0;
}

static void touch(volatile char *p)
{
	for (size_t i = 0; i < PRICE_PAGES; i++)
		p[i * PAGE] = 1;
}

/* Memory of our own, registered; its descriptor, or -errno. */
static int try_own(char **memory)
{
	int fd = (int)syscall(SYS_userfaultfd, RWP_FLAGS), err;
	char *p;

	if (fd < 0)
		return -errno;
	err = rwp_begin(fd);
	if (err)
		goto err_fd;
	p = mmap(NULL, PRICE_PAGES * PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		err = -errno;
		goto err_fd;
	}
	madvise(p, PRICE_PAGES * PAGE, MADV_NOHUGEPAGE);
	touch(p);
	err = rwp_register(fd, (uintptr_t)p, (uintptr_t)p + PRICE_PAGES * PAGE);
	if (err)
		goto err_memory;
	*memory = p;
	return fd;

err_memory:
	munmap(p, PRICE_PAGES * PAGE);
err_fd:
	close(fd);
	return err;
}

double rwp_price_ns(void)
{
	uint64_t best = UINT64_MAX, before, ns;
	char *p;
	int fd = try_own(&p);

	if (fd < 0)
		return 0;
	for (int i = 0; i < PRICE_TRIES; i++) {
		before = moca_now_ns();
		if (rwp_protect(fd, (uintptr_t)p,
				(uintptr_t)p + PRICE_PAGES * PAGE))
			break;
		touch(p);
		ns = moca_now_ns() - before;
		best = ns < best ? ns : best;
	}
	munmap(p, PRICE_PAGES * PAGE);
	close(fd);
	return best == UINT64_MAX ? 0 : (double)best / PRICE_PAGES;
}

int rwp_probe(void)
{
	char *p;
	int fd = try_own(&p), err;

	if (fd < 0)
		return fd;
	err = rwp_protect(fd, (uintptr_t)p, (uintptr_t)p + PRICE_PAGES * PAGE);
	if (!err)
		touch(p);	/* asynchronous: else this would wait for ever */
	munmap(p, PRICE_PAGES * PAGE);
	close(fd);
	return err;
}

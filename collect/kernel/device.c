// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel/device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define RINGS_MAX 8193u
#define PAGE ((size_t)getpagesize())

int kernel_device_open(struct kernel_device *dev)
{
	int err;

	memset(dev, 0, sizeof(*dev));
	dev->fd = open(KERNEL_DEVICE, O_RDWR | O_CLOEXEC);
	if (dev->fd < 0)
		return -errno;
	dev->about.size = sizeof(dev->about);
	if (ioctl(dev->fd, MOCA_IOC_ABOUT, &dev->about)) {
		err = -errno;
		goto err_close;
	}
	err = -EPROTONOSUPPORT;
	if (dev->about.abi != MOCA_ABI)
		goto err_close;
	return 0;

err_close:
	close(dev->fd);
	dev->fd = -1;
	return err;
}

void kernel_device_close(struct kernel_device *dev)
{
	for (unsigned int i = 0; i < dev->ring_count; i++)
		if (dev->maps[i])
			munmap(dev->maps[i], dev->ring_bytes);
	free(dev->maps);
	free(dev->rings);
	dev->maps = NULL;
	dev->rings = NULL;
	dev->ring_count = 0;
	if (dev->fd >= 0)
		close(dev->fd);
	dev->fd = -1;
}

/* All of it to be read, and its first page to be written. */
static int map_ring(struct kernel_device *dev, unsigned int i, off_t offset)
{
	char *map = mmap(NULL, dev->ring_bytes, PROT_READ, MAP_SHARED, dev->fd,
			 offset);

	if (map == MAP_FAILED)
		return -errno;
	dev->maps[i] = map;
	if (mmap(map, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 dev->fd, offset) == MAP_FAILED)
		return -errno;
	return kernel_ring_init(&dev->rings[i], map, dev->ring_bytes);
}

int kernel_device_setup(struct kernel_device *dev,
			const struct moca_setup *want)
{
	struct moca_setup s = *want;
	int err = 0;

	s.size = sizeof(s);
	if (ioctl(dev->fd, MOCA_IOC_SETUP, &s))
		return -errno;
	if (s.rings < 2 || s.rings > RINGS_MAX || s.ring_bytes < 3 * PAGE ||
	    s.ring_bytes > 1ull << 33 || s.ring_bytes % PAGE ||
	    s.ring_stride < s.ring_bytes || s.ring_stride % PAGE ||
	    s.ring_stride > INT64_MAX / RINGS_MAX)
		return -EBADMSG;
	dev->rings = calloc(s.rings, sizeof(*dev->rings));
	dev->maps = calloc(s.rings, sizeof(*dev->maps));
	if (!dev->rings || !dev->maps)
		return -ENOMEM;
	dev->ring_count = s.rings;
	dev->ring_bytes = s.ring_bytes;
	for (unsigned int i = 0; i < s.rings && !err; i++)
		err = map_ring(dev, i, (off_t)(i * s.ring_stride));
	return err;
}

int kernel_device_register(struct kernel_device *dev, pid_t pid)
{
	struct moca_target t = { .size = sizeof(t), .pid = pid };

	return ioctl(dev->fd, MOCA_IOC_REGISTER, &t) ? -errno : 0;
}

int kernel_device_start(struct kernel_device *dev)
{
	return ioctl(dev->fd, MOCA_IOC_START) ? -errno : 0;
}

int kernel_device_stop(struct kernel_device *dev)
{
	int ret;

	do
		ret = ioctl(dev->fd, MOCA_IOC_STOP);
	while (ret && errno == EINTR);
	return ret ? -errno : 0;
}

int kernel_device_totals(struct kernel_device *dev, struct moca_totals *out)
{
	memset(out, 0, sizeof(*out));
	out->size = sizeof(*out);
	return ioctl(dev->fd, MOCA_IOC_TOTALS, out) ? -errno : 0;
}

static int is_power(uint64_t v, uint64_t low, uint64_t high)
{
	return v >= low && v <= high && !(v & (v - 1));
}

int kernel_ring_init(struct kernel_ring *r, void *map, size_t bytes)
{
	const struct moca_ring_kernel *k;

	if (bytes < 2 * PAGE + sizeof(struct moca_chunk_head))
		return -EBADMSG;
	k = (const void *)((char *)map + PAGE);
	*r = (struct kernel_ring){
		.user = map,
		.kernel = k,
		.chunks = (char *)map + 2 * PAGE,
		.chunk_bytes = k->chunk_bytes,
		.ring_chunks = k->ring_chunks,
	};
	if (!is_power(r->chunk_bytes, 4096, 1 << 20) ||
	    !is_power(r->ring_chunks, 2, 4096) ||
	    (uint64_t)r->chunk_bytes * r->ring_chunks > bytes - 2 * PAGE)
		return -EBADMSG;
	r->consumed = r->user->consumed;
	return 0;
}

int kernel_ring_take(struct kernel_ring *r, const void **chunk)
{
	/* Pairs with the module's release when a chunk is whole. */
	uint64_t produced = __atomic_load_n(&r->kernel->produced,
					    __ATOMIC_ACQUIRE);

	if (produced == r->consumed)
		return 0;
	if (produced - r->consumed > r->ring_chunks)
		return -EBADMSG;
	*chunk = r->chunks + (r->consumed % r->ring_chunks) * r->chunk_bytes;
	return 1;
}

void kernel_ring_done(struct kernel_ring *r)
{
	/* Pairs with the module's acquire before it writes there again. */
	__atomic_store_n(&r->user->consumed, ++r->consumed, __ATOMIC_RELEASE);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /dev/moca, as the collector uses it; include/uapi/moca.h is the contract. All
 * else in this folder knows records only: rings can be made by hand, too.
 */
#ifndef MOCA_KERNEL_DEVICE_H
#define MOCA_KERNEL_DEVICE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "include/uapi/moca.h"

#define KERNEL_DEVICE "/dev/moca"

/* One mapped ring. One thread reads it. */
struct kernel_ring {
	struct moca_ring_user *user;
	const struct moca_ring_kernel *kernel;
	const char *chunks;
	uint32_t chunk_bytes;
	uint32_t ring_chunks;
	uint64_t consumed;
};

struct kernel_device {
	int fd;			/* -1: closed */
	struct moca_about about;
	struct kernel_ring *rings;	/* one per CPU, and the monitor's, last */
	unsigned int ring_count;	/* 0 before setup */
	void **maps;
	size_t ring_bytes;
};

/*
 * 0; -EPROTONOSUPPORT: the module speaks another version (dev->about.abi), or
 * -errno: -ENOENT, -ENODEV and -ENXIO where there is no module.
 */
int kernel_device_open(struct kernel_device *dev);
void kernel_device_close(struct kernel_device *dev);

/* Make the rings, and map them. want->size is set here. 0 or -errno. */
int kernel_device_setup(struct kernel_device *dev,
			const struct moca_setup *want);
int kernel_device_register(struct kernel_device *dev, pid_t pid);
int kernel_device_start(struct kernel_device *dev);
/* What is recorded is in the rings when this returns. */
int kernel_device_stop(struct kernel_device *dev);
int kernel_device_totals(struct kernel_device *dev, struct moca_totals *out);

/*
 * A ring of that many bytes, whose first page may be written. What the module
 * says of its size is checked. 0 or -EBADMSG.
 */
int kernel_ring_init(struct kernel_ring *r, void *map, size_t bytes);
/*
 * The next chunk that was handed over; it stays until kernel_ring_done. 1; 0:
 * there is none; -EBADMSG: the positions make no sense.
 */
int kernel_ring_take(struct kernel_ring *r, const void **chunk);
void kernel_ring_done(struct kernel_ring *r);

#endif

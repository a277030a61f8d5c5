/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PAGEMAP_SCAN of Linux 6.7 (Documentation/admin-guide/mm/pagemap.rst): here, as
 * Debian 12's linux/fs.h does not have it.
 */
#ifndef MOCA_FAULT_SCAN_H
#define MOCA_FAULT_SCAN_H

#include <stdint.h>
#include <sys/ioctl.h>

struct scan_region {
	uint64_t start, end, categories;
};

struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask;
	uint64_t return_mask;
};

#define SCAN _IOWR('f', 16, struct scan_arg)
#define SCAN_PROTECT 1ull	/* flag: write-protect what is found */
/* Categories. */
#define SCAN_WRITTEN (1u << 1)
#define SCAN_PRESENT (1u << 3)
#define SCAN_SWAPPED (1u << 4)

#endif

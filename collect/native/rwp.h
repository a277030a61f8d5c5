/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * userfaultfd's read-write protection (RWP, Linux 7.3), asynchronous: a page that is
 * protected faults once when it is touched, and the kernel makes it accessible by
 * itself. Data stay where they are. Closing the descriptor ends all of it. The
 * kernel is asked by feature bits, never by its version.
 */
#ifndef MOCA_NATIVE_RWP_H
#define MOCA_NATIVE_RWP_H

#include <stdint.h>

/* For userfaultfd(2), in the program. Needs no rights. */
#define RWP_FLAGS 0x80801	/* O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY */

/*
 * Is it there? 0; -ENOSYS: no userfaultfd; -EOPNOTSUPP: without RWP; -errno: this
 * user may not. It is tried on memory of our own: leaves nothing.
 */
int rwp_probe(void);

/* Ask for it on a new descriptor. 0 or -errno; -EOPNOTSUPP: the kernel has none. */
int rwp_begin(int uffd);
/*
 * Memory [start, end) can be protected from now on. 0; -EINVAL, -EPERM: not this
 * kind of memory; -EBUSY: another userfaultfd has it; -ENOMEM, -ESRCH: there is no
 * such memory any more.
 */
int rwp_register(int uffd, uint64_t start, uint64_t end);
/*
 * All pages of [start, end) shall fault once. 0; -ENOENT: some of it is not
 * registered, and nothing was done; -ENOMEM, -ESRCH as above.
 */
int rwp_protect(int uffd, uint64_t start, uint64_t end);

/* The mapping at addr as it is now. */
struct rwp_mapping {
	uint64_t start, end;
	uint64_t rights;	/* read, write, execute, shared */
	uint64_t ino;
};
/* maps: /proc/PID/maps. 0; -ENOENT: there is none; -errno. */
int rwp_mapping_at(int maps, uint64_t addr, struct rwp_mapping *out);

/*
 * Which pages of [start, end) were touched since they were protected, as the page
 * tables say: visit gets each run. pagemap: /proc/PID/pagemap. 0 or -errno.
 */
typedef void (*rwp_visit)(void *arg, uint64_t start, uint64_t end);
int rwp_touched(int pagemap, uint64_t start, uint64_t end, rwp_visit visit,
		void *arg);

/* ns that a page takes: to protect it, and the fault that follows, without its
 * sample. 0: it cannot be measured. */
double rwp_price_ns(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MOCA_FAULT_PUNCH_H
#define MOCA_FAULT_PUNCH_H

#include <stdint.h>

/*
 * Give back the memory of [off, off + len), whole pages of a memfd: it reads as
 * zero from now on. Where the kernel does not take it, it is overwritten. 0 or
 * -errno: some of it is what it was.
 */
int memfd_punch(int fd, uint64_t off, uint64_t len);

#endif

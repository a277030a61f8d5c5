/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/moca: what is between user space and sessions. */
#ifndef MOCA_KMOD_DEVICE_H
#define MOCA_KMOD_DEVICE_H

#include <linux/types.h>

/* At load and unload; features: MOCA_HAS_* to tell. 0 or -errno. */
int moca_device_init(u32 features);
void moca_device_exit(void);

#endif

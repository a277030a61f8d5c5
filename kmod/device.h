/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/moca: what is between user space and sessions. */
#ifndef MOCA_KMOD_DEVICE_H
#define MOCA_KMOD_DEVICE_H

/* At load and unload. 0 or -errno. */
int moca_device_init(void);
void moca_device_exit(void);

#endif

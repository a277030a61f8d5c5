// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>

#include "arch.h"
#include "device.h"
#include "flush.h"
#include "rate.h"
#include "space.h"
#include "user-buffer.h"

static int __init moca_init(void)
{
	int err;

	if (moca_arch_refuses()) {
		pr_err("moca: this kernel runs with encrypted memory: its page tables are not like others\n");
		return -EOPNOTSUPP;
	}
	moca_flush_init();
	err = moca_rate_init();
	if (err)
		return err;
	err = moca_device_init();
	if (err)
		moca_rate_exit();
	return err;
}

static void __exit moca_exit(void)
{
	moca_rate_exit();
	moca_device_exit();
	moca_space_exit();
	moca_buffers_exit();
}

module_init(moca_init);
module_exit(moca_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Which task touches which page, by false page faults");
MODULE_AUTHOR("Moca");

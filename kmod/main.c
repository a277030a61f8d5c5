// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>

#include "arch.h"
#include "device.h"
#include "flush.h"
#include "space.h"

static int __init moca_init(void)
{
	if (moca_arch_refuses()) {
		pr_err("moca: this kernel runs with encrypted memory: its page tables are not like others\n");
		return -EOPNOTSUPP;
	}
	moca_flush_init();
	return moca_device_init();
}

static void __exit moca_exit(void)
{
	moca_device_exit();
	moca_space_exit();
}

module_init(moca_init);
module_exit(moca_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Which task touches which page, by false page faults");
MODULE_AUTHOR("Moca");

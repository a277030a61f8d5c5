// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>

#include "rate.h"

static int __init stand_in_init(void)
{
	return moca_rate_init();
}
module_init(stand_in_init);

static void __exit stand_in_exit(void)
{
	moca_rate_exit();
}
module_exit(stand_in_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Stand-in for moca.ko: its rate profiler alone");

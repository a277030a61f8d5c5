// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>

static int __init stand_in_init(void)
{
	return 0;
}
module_init(stand_in_init);

static void __exit stand_in_exit(void)
{
}
module_exit(stand_in_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Stand-in for moca.ko: its rate profiler alone");

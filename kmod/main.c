// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>

#include "rate.h"
#include "user.h"

#ifdef MOCA_NO_PAGES
/* Kbuild says why. */
static int __init pages_init(void)
{
	pr_warn("moca: no page tracing, no /dev/moca: this is %s; the rate profiler works\n",
		MOCA_NO_PAGES);
	return 0;
}

static void pages_exit(void)
{
}
#else
#include "arch.h"
#include "device.h"
#include "flush.h"
#include "space.h"
#include "user-buffer.h"

static int __init pages_init(void)
{
	if (moca_arch_refuses()) {
		pr_err("moca: this kernel runs with encrypted memory: its page tables are not like others\n");
		return -EOPNOTSUPP;
	}
	return moca_flush_init() ?: moca_device_init();
}

static void pages_exit(void)
{
	moca_device_exit();
	moca_space_exit();
	moca_buffers_exit();
}
#endif

static int __init moca_init(void)
{
	int err = moca_rate_init();

	if (err)
		return err;
	err = pages_init();
	if (err) {
		moca_rate_exit();
		moca_user_exit();
	}
	return err;
}

static void __exit moca_exit(void)
{
	moca_rate_exit();
	pages_exit();
	moca_user_exit();
}

module_init(moca_init);
module_exit(moca_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Which task touches which page, by false page faults");
MODULE_AUTHOR("Moca");

// SPDX-License-Identifier: GPL-2.0-only
#include "rate.h"

int moca_rate_init(void)
{
	int err = moca_rate_buffer_init();

	if (err)
		return err;
	err = moca_rate_tasks_init();
	if (err)
		goto err_buffer;
	err = moca_rate_status_init();
	if (err)
		goto err_tasks;
	return 0;
err_tasks:
	moca_rate_tasks_exit();
err_buffer:
	moca_rate_buffer_exit();
	return err;
}

void moca_rate_exit(void)
{
	moca_rate_status_exit();
	moca_rate_tasks_exit();
	moca_rate_buffer_exit();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The probe of the kernel module: is it there, and may this user use it? */
#include "collect/kernel/record.h"
#include "doctor/probe.h"

void probe_kernel_module(struct probe *p)
{
	struct moca_kernel_check c;
	char names[128];

	moca_kernel_try(&c, 0);
	if (c.state == MOCA_KERNEL_READY) {
		probe_set(p, PROBE_OK, "loaded, and this user may use it (%s)",
			  moca_kernel_features(c.features, names,
					       sizeof(names)));
		return;
	}
	probe_set(p, PROBE_NO, "%s", c.state == MOCA_KERNEL_ABSENT ?
			  "not loaded (no /dev/moca)" : c.why);
	p->without = "recording is from user space, which sees less: see below";
	p->fix = c.fix;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The probe of userfaultfd's read-write protection: memory can stay where it is. */
#include "collect/native/record.h"
#include "doctor/probe.h"

void probe_rwp(struct probe *p)
{
	struct moca_native_check c;

	moca_native_try(&c);
	if (!c.error) {
		probe_set(p, PROBE_OK, "a page of ours was protected, and faulted "
			  "once");
		return;
	}
	probe_set(p, PROBE_NO, "%s", c.why);
	p->without = "memory is moved onto a memfd to be observed, which costs time "
		     "and memory";
	p->fix = "boot Linux 7.3 or newer; --via user needs nothing of it";
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Is moca.ko there? */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/probe.h"
#include "collect/rate/rate.h"

void probe_module(struct probe *p)
{
	uint32_t hz, registered;
	int err = rate_kernel_state(&hz, &registered);

	if (!err && !access("/proc/mp3/status", W_OK)) {
		probe_set(p, PROBE_OK,
			  "loaded; it samples %u processes at %u Hz",
			  registered, hz);
		return;
	}
	p->without = "no rates by the module ('moca rate --via kernel'); they are counted from /proc";
	if (err == -ENOENT) {
		probe_set(p, PROBE_NO, "not loaded");
		p->fix = "sudo modprobe moca (where it is installed)";
		return;
	}
	probe_set(p, PROBE_LIMITED, "loaded, but /dev/mp3: %s",
		  err ? strerror(-err) : "no /proc/mp3/status");
	p->fix = "sudo rmmod moca; sudo modprobe moca rate_mode=0666";
}

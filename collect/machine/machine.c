// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/machine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/machine/gather.h"
#include "lib/format/machine.h"

#define WAIT_MS 10000

/* In a process of its own: the environment is nobody else's. */
static void add_xml(struct moca_machine *m)
{
	hwloc_topology_t h;
	char *xml = NULL;
	int len = 0;

	/* Plugins look for GPUs and X servers; XML needs none of them. */
	setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
	setenv("HWLOC_HIDE_ERRORS", "2", 1);
	unsetenv("HWLOC_XMLFILE");
	unsetenv("HWLOC_SYNTHETIC");
	unsetenv("HWLOC_COMPONENTS");
	if (hwloc_topology_init(&h))
		return;
	/* What others may use is part of the machine. */
	hwloc_topology_set_flags(h, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	/* It would run on each CPU in turn, beside the program. */
	hwloc_topology_set_components(h, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
				      "x86");
	if (hwloc_topology_load(h) ||
	    hwloc_topology_export_xmlbuffer(h, &xml, &len, 0) || len < 2)
		return;
	m->xml = xml;
	m->xml_len = (size_t)len - 1;	/* it counts the NUL */
}

static int describe(int dirfd, pid_t program, uint64_t now_ns)
{
	struct moca_machine m;
	int err = machine_gather(&m, program);

	if (err)
		return err;
	add_xml(&m);
	return moca_machine_write(dirfd, &m, now_ns);
}

void machine_begin(struct machine_job *j, int dirfd, pid_t program,
		   uint64_t now_ns)
{
	int ends[2], err;

	*j = (struct machine_job){ .fd = -1 };
	if (!program)
		program = getpid();
	if (pipe2(ends, O_CLOEXEC))
		return;
	j->pid = fork();
	if (!j->pid) {
		/* What comes from the terminal is for the program. */
		setpgid(0, 0);
		close(ends[0]);
		err = describe(dirfd, program, now_ns);
		/* If nobody waits any more, nobody is told. */
		if (write(ends[1], &err, sizeof(err)) < 0)
			_exit(1);
		_exit(0);
	}
	close(ends[1]);
	if (j->pid < 0) {
		j->pid = 0;
		close(ends[0]);
		return;
	}
	j->fd = ends[0];
}

int machine_wait(struct machine_job *j)
{
	struct pollfd p = { .fd = j->fd, .events = POLLIN };
	int err = -EAGAIN, got;

	if (j->fd < 0)
		return err;
	do
		got = poll(&p, 1, WAIT_MS);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		err = -ETIMEDOUT;
	else if (read(j->fd, &err, sizeof(err)) != sizeof(err))
		err = -EIO;	/* it died */
	close(j->fd);
	j->fd = -1;
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/machine-xml.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>


#define TEXT_MAX (16l << 20)
#define SECONDS 10
#define MEMORY (1ul << 30)

static void confine(void)
{
	static const struct {
		int what;
		rlim_t most;
	} limits[] = {
		{ RLIMIT_CPU, SECONDS }, { RLIMIT_CORE, 0 },
		{ RLIMIT_FSIZE, TEXT_MAX }, { RLIMIT_DATA, MEMORY },
	};
	int null = open("/dev/null", O_RDWR), i;

	for (i = 0; i < (int)(sizeof(limits) / sizeof(*limits)); i++)
		setrlimit(limits[i].what, &(struct rlimit){
				limits[i].most, limits[i].most });
	for (i = 0; i < 3 && null >= 0; i++)
		dup2(null, i);
	signal(SIGPIPE, SIG_DFL);
	alarm(SECONDS);
	/* hwloc's own parser: no entities, no other files. */
	setenv("HWLOC_LIBXML", "0", 1);
	setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
	unsetenv("HWLOC_XMLFILE");
	unsetenv("HWLOC_SYNTHETIC");
	unsetenv("HWLOC_COMPONENTS");
	unsetenv("HWLOC_THISSYSTEM");
}

/* In the child: 0 if all went well. */
static int parse(const struct moca_machine *m,
		 int (*describe)(hwloc_topology_t h, FILE *out,
				 const struct moca_machine *m), int fd)
{
	FILE *out = fdopen(fd, "w");
	hwloc_topology_t h;
	int err;

	if (!out || m->xml_len >= INT_MAX || hwloc_topology_init(&h))
		return 1;
	if (hwloc_topology_set_xmlbuffer(h, m->xml, (int)m->xml_len + 1) ||
	    hwloc_topology_set_flags(h,
			HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) ||
	    hwloc_topology_load(h))
		return 1;
	err = describe(h, out, m);
	return fclose(out) || err;
}

/* All that comes, as a string; NULL: too much, or no memory. */
static char *read_all(int fd)
{
	size_t room = 1 << 16, len = 0;
	char *text = malloc(room), *p;
	ssize_t n = 1;

	while (text && n) {
		if (len + 1 == room) {
			p = room < (size_t)TEXT_MAX ?
				    realloc(text, room *= 2) : NULL;
			if (!p)
				break;
			text = p;
		}
		n = read(fd, text + len, room - 1 - len);
		if (n < 0 && errno != EINTR)
			break;
		len += n > 0 ? (size_t)n : 0;
	}
	if (text && !n) {
		text[len] = 0;
		return text;
	}
	free(text);
	return NULL;
}

int machine_xml_read(const struct moca_machine *m,
		     int (*describe)(hwloc_topology_t h, FILE *out,
				     const struct moca_machine *m),
		     char **text)
{
	int ends[2], status;
	pid_t pid;

	*text = NULL;
	if (!m || !m->xml)
		return -ENOENT;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		close(ends[0]);
		confine();
		_exit(parse(m, describe, ends[1]));
	}
	close(ends[1]);
	if (pid > 0)
		*text = read_all(ends[0]);
	close(ends[0]);
	if (pid < 0)
		return -EAGAIN;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (*text && WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	free(*text);
	*text = NULL;
	return -EBADMSG;
}

static int compare(hwloc_topology_t h, FILE *out, const struct moca_machine *m)
{
	hwloc_obj_t node = NULL;

	/* Without /sys hwloc supposes one node, and the trace knows of none. */
	if (!m->node_count)
		return 0;
	/* A node without CPUs has those of its neighbours there: not compared. */
	while ((node = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_NUMANODE, node)))
		if (node->os_index > INT_MAX ||
		    moca_machine_node(m, (int32_t)node->os_index) < 0)
			return 1;
	return 0;
}

int machine_xml_check(const struct moca_machine *m)
{
	char *text;
	int err = machine_xml_read(m, compare, &text);

	free(text);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/probe.h"
#include "cli/text.h"
#include "cli/trace.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"

static const char *const status_names[] = {
	[PROBE_OK] = "ok", [PROBE_LIMITED] = "limited", [PROBE_NO] = "no"
};

/* Without any one of these there is no recording. */
static const char *const needed[] = { "page_faults", "ring", "ptrace",
				      "seccomp", "pidfd_getfd", "memfd" };

/* One way of recording, and what decides about each thing it may see. */
struct way {
	const char *name;
	const char *summary;
};

static const struct way fault = {
	"moca record", "page faults, from user space"
};

/* What a recording can show, and the probe that it takes. */
static const struct {
	const char *probe;
	const char *sees;
	const char *misses;
} sights[] = {
	{ "page_faults", "each page's first use in each interval, by each program and thread",
	  "any access: faults cannot be recorded here" },
	{ "kernel_faults", "accesses inside system calls, such as read() into a buffer",
	  "pages that only system calls touch; the certificate counts them" },
	{ "wp_shmem", "each page by itself",
	  "15 of 16 neighbouring pages that are only read" },
	{ "wp_async", "reads of each page of mapped files by itself",
	  "neighbouring pages of mapped files; '--stack' does not work" },
	{ "tracepoint", "read or write exactly inside system calls too, with '--tracepoints'",
	  "read or write of some accesses inside system calls: it comes from the instruction and the string registers" },
	{ "pagemap", "physical addresses", "physical addresses" },
	{ "move_pages", "the NUMA node of each page",
	  "the NUMA node of pages" },
	{ "attach", "programs that are already running ('-p PID')",
	  "programs that are already running ('-p PID')" },
};

#define SIGHTS (sizeof(sights) / sizeof(sights[0]))

/* No way of recording by page faults sees these, on any machine. */
static const char *const never[] = {
	"how often a page is used within one interval: it is reported once, and once more when a write follows a read",
	"which other threads use the page in the same interval: the first is reported; over several intervals all show up",
	"single accesses to the main thread's stack after its first touch (--stack adds its writes)",
};

#define NEVER (sizeof(never) / sizeof(never[0]))

static const char *can_record(const struct probe *probes, int n)
{
	size_t i;

	for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (probe_find(probes, n, needed[i])->status == PROBE_NO)
			return needed[i];
	return NULL;
}

static void print_system(void)
{
	struct utsname u;

	if (!uname(&u))
		printf("Linux %s on %s, user id %u%s\n\n", u.release,
		       u.machine, geteuid(), geteuid() ? "" : " (root)");
}

static void print_probe(const struct probe *p)
{
	printf("%-8s %-43s %s\n", status_names[p->status], p->title, p->found);
	if (p->without)
		printf("         without it: %s\n", p->without);
	if (p->fix)
		printf("         to allow it: %s\n", p->fix);
}

static void print_ways(const struct probe *probes, int n)
{
	const char *missing = can_record(probes, n);
	size_t i;

	printf("\nWays of recording\n%s (%s): %s\n", fault.name, fault.summary,
	       missing ? "does not work here" : "works here");
	if (missing) {
		const struct probe *p = probe_find(probes, n, missing);

		printf("  it needs: %s\n", p->title);
		if (p->fix)
			printf("  to allow it: %s\n", p->fix);
		return;
	}
	printf("  sees here:\n");
	for (i = 0; i < SIGHTS; i++)
		if (probe_find(probes, n, sights[i].probe)->status != PROBE_NO)
			printf("    + %s\n", sights[i].sees);
	printf("  cannot see here:\n");
	for (i = 0; i < SIGHTS; i++)
		if (probe_find(probes, n, sights[i].probe)->status == PROBE_NO)
			printf("    - %s\n", sights[i].misses);
	for (i = 0; i < NEVER; i++)
		printf("    - %s\n", never[i]);
}

static void json_ways(struct json *j, const struct probe *probes, int n)
{
	const char *missing = can_record(probes, n);
	size_t i;

	json_open(j, "ways", '[');
	json_open(j, NULL, '{');
	json_string(j, "command", fault.name);
	json_string(j, "method", fault.summary);
	json_bool(j, "works", !missing);
	json_string(j, "missing", missing);
	json_open(j, "sees", '[');
	for (i = 0; i < SIGHTS && !missing; i++)
		if (probe_find(probes, n, sights[i].probe)->status != PROBE_NO)
			json_string(j, NULL, sights[i].sees);
	json_close(j, ']');
	json_open(j, "cannot_see", '[');
	for (i = 0; i < SIGHTS; i++)
		if (probe_find(probes, n, sights[i].probe)->status == PROBE_NO)
			json_string(j, NULL, sights[i].misses);
	for (i = 0; i < NEVER; i++)
		json_string(j, NULL, never[i]);
	json_close(j, ']');
	json_close(j, '}');
	json_close(j, ']');
}

static void print_json(const struct probe *probes, int n)
{
	struct json j = { .f = stdout };
	struct utsname u = { 0 };
	int i;

	uname(&u);
	json_open(&j, NULL, '{');
	json_string(&j, "kernel", u.release);
	json_string(&j, "machine", u.machine);
	json_uint(&j, "uid", geteuid());
	json_open(&j, "probes", '[');
	for (i = 0; i < n; i++) {
		json_open(&j, NULL, '{');
		json_string(&j, "id", probes[i].id);
		json_string(&j, "title", probes[i].title);
		json_string(&j, "status", status_names[probes[i].status]);
		json_string(&j, "found", probes[i].found);
		json_string(&j, "without", probes[i].without);
		json_string(&j, "fix", probes[i].fix);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_ways(&j, probes, n);
	json_close(&j, '}');
}

int cmd_doctor(int argc, char **argv)
{
	struct probe probes[PROBES_MAX];
	int json = 0, first, n, i;
	const struct option_spec specs[] = {
		OPT_FLAG(0, "json", &json, "print JSON for programs"),
		OPT_END
	};

	first = moca_options_parse_mixed(specs, argc, argv,
		"moca doctor [OPTIONS]",
		"Try what recording needs on this machine and as this user, and say what a recording loses where something is missing and which command allows it.\n"
		"Exit code: 0 when programs can be recorded, 1 when not.");
	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	if (first < argc) {
		moca_error("doctor: '%s' is too much: it takes no operand",
			   argv[first]);
		return EXIT_USAGE;
	}
	n = probe_all(probes);
	if (json) {
		print_json(probes, n);
	} else {
		print_system();
		for (i = 0; i < n; i++)
			print_probe(&probes[i]);
		print_ways(probes, n);
	}
	return can_record(probes, n) ? 1 : 0;
}

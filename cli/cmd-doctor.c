// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/commands.h"
#include "doctor/probe.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"
#include "lib/text/json.h"

static const char *const status_names[] = {
	[PROBE_OK] = "ok", [PROBE_LIMITED] = "limited", [PROBE_NO] = "no"
};

/* What a recording can show, and the probe that it takes. */
struct sight {
	const char *probe;
	const char *sees;
	const char *misses;
};

/* One way of recording, and what decides about each thing it may see. */
struct way {
	const char *name;
	const char *summary;
	const char *const *needed;	/* without any one of these there is
					   none; NULL-terminated */
	const struct sight *sights;	/* the last has no probe */
	const char *const *never;	/* not seen on any machine; the same */
};

static const struct sight fault_sights[] = {
	{ "page_faults", "each page's first use in each interval, by each program and thread",
	  "any access: faults cannot be recorded here" },
	{ "kernel_faults", "accesses inside system calls, such as read() into a buffer",
	  "pages that only system calls touch; the certificate counts them" },
	{ "wp_shmem", "each page by itself",
	  "15 of 16 neighbouring pages that are only read" },
	{ "wp_async", "reads of each page of mapped files by itself, where the program may map them to write",
	  "neighbouring pages of mapped files; '--stack' does not work" },
	{ "tracepoint", "read or write exactly inside system calls too, with '--tracepoints'",
	  "read or write of some accesses inside system calls: it comes from the instruction and the string registers" },
	{ "pagemap", "physical addresses", "physical addresses" },
	{ "move_pages", "the NUMA node of each page",
	  "the NUMA node of pages" },
	{ "attach", "programs that are already running ('-p PID')",
	  "programs that are already running ('-p PID')" },
	{ 0 }
};

static const char *const fault_needed[] = {
	"page_faults", "ring", "ptrace", "seccomp", "pidfd_getfd", "memfd", NULL
};

static const char *const fault_never[] = {
	"15 of 16 neighbouring pages that are read through a shared mapping of a file which was opened for reading only (MAP_SHARED, O_RDONLY); the certificate counts them",
	"how often a page is used within one interval: it is reported once, and once more when a write follows a read",
	"which other threads use the page in the same interval: the first is reported; over several intervals all show up",
	"single accesses to the main thread's stack after its first touch (--stack adds its writes)",
	"names of code that a program compiles while it runs, unless it writes them: node --perf-basic-prof, java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit, python3 -X perf (3.12)",
	NULL
};

static const struct sight exact_sights[] = {
	{ "translator", "each load and store of each thread, by page or cache line ('--granularity'), and which was the first",
	  "any access: it does not work here" },
	{ 0 }
};

static const char *const exact_needed[] = {
	"ptrace", "pidfd_getfd", "memfd", "translator", "address_space", NULL
};

static const char *const exact_never[] = {
	"accesses inside system calls",
	"when each access was: counts are of a thread's life, or of slices of time ('--slice')",
	"programs that run already, 32-bit programs, programs below a limit of address space or a seccomp filter",
	NULL
};

static const struct sight kernel_sights[] = {
	{ "kernel_module", "each page's first use in each interval, by each program and thread: also main stacks, files that were written, and what system calls do",
	  "any access: there is no module, or not for this user" },
	{ "pagemap", "physical addresses", "physical addresses" },
	{ 0 }
};

static const char *const kernel_needed[] = { "kernel_module", NULL };

static const char *const kernel_never[] = {
	"how often a page is used within one interval: it is reported once, as what it was used for first",
	"which other threads use the page in the same interval: the first is reported; over several intervals all show up",
	"allocations of the programs that the first one starts",
	NULL
};

static const struct sight native_sights[] = {
	{ "rwp", "each page's first use in each interval, by each program and thread: also main stacks; nothing is moved, a fork copies nothing",
	  NULL },
	{ NULL, NULL, NULL },
};
static const char *const native_needed[] = {
	"rwp", "page_faults", "ptrace", "pidfd_getfd", "seccomp", NULL
};
static const char *const native_never[] = {
	"how often a page is used within one interval: it is reported once, as what it was used for first",
	"repeated uses of files on disk: code, initialised variables, mapped files; each page's first is reported",
	"programs that run already ('--via user' does), call stacks, physical addresses, nodes of pages",
	NULL
};

/* Places in the table of the ways that moca record chooses from by itself. */
enum { WAY_FAULT = 0, WAY_KERNEL = 2 };

static const struct way ways[] = {
	[WAY_FAULT] = { "moca record", "page faults, from user space",
			fault_needed, fault_sights, fault_never },
	{ "moca record --exact", "every access, counted inside the program",
	  exact_needed, exact_sights, exact_never },
	[WAY_KERNEL] = { "moca record --via kernel",
			 "page faults, by the kernel module", kernel_needed,
			 kernel_sights, kernel_never },
	{ "moca record --via native",
	  "page faults, on memory that stays where it is", native_needed,
	  native_sights, native_never },
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* NULL, or the probe that it fails for. */
static const char *is_missing(const struct way *w, const struct probe *probes,
			      int n)
{
	size_t i;

	for (i = 0; w->needed[i]; i++)
		if (probe_find(probes, n, w->needed[i])->status == PROBE_NO)
			return w->needed[i];
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

static void print_way(const struct way *w, const struct probe *probes, int n)
{
	const char *missing = is_missing(w, probes, n);
	const struct sight *s;
	size_t i;

	printf("%s (%s): %s\n", w->name, w->summary,
	       missing ? "does not work here" : "works here");
	if (missing) {
		const struct probe *p = probe_find(probes, n, missing);

		printf("  it needs: %s\n", p->title);
		if (p->fix)
			printf("  to allow it: %s\n", p->fix);
		return;
	}
	printf("  sees here:\n");
	for (s = w->sights; s->probe; s++)
		if (probe_find(probes, n, s->probe)->status != PROBE_NO)
			printf("    + %s\n", s->sees);
	printf("  cannot see here:\n");
	for (s = w->sights; s->probe; s++)
		if (probe_find(probes, n, s->probe)->status == PROBE_NO)
			printf("    - %s\n", s->misses);
	for (i = 0; w->never[i]; i++)
		printf("    - %s\n", w->never[i]);
}

static void json_way(struct json *j, const struct way *w,
		     const struct probe *probes, int n)
{
	const char *missing = is_missing(w, probes, n);
	const struct sight *s;
	size_t i;

	json_open(j, NULL, '{');
	json_string(j, "command", w->name);
	json_string(j, "method", w->summary);
	json_bool(j, "works", !missing);
	json_string(j, "missing", missing);
	json_open(j, "sees", '[');
	for (s = w->sights; s->probe && !missing; s++)
		if (probe_find(probes, n, s->probe)->status != PROBE_NO)
			json_string(j, NULL, s->sees);
	json_close(j, ']');
	json_open(j, "cannot_see", '[');
	for (s = w->sights; s->probe; s++)
		if (probe_find(probes, n, s->probe)->status == PROBE_NO)
			json_string(j, NULL, s->misses);
	for (i = 0; w->never[i]; i++)
		json_string(j, NULL, w->never[i]);
	json_close(j, ']');
	json_close(j, '}');
}

static void print_json(const struct probe *probes, int n)
{
	struct json j = { .f = stdout };
	struct utsname u = { 0 };
	size_t w;
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
	json_open(&j, "ways", '[');
	for (w = 0; w < WAYS; w++)
		json_way(&j, &ways[w], probes, n);
	json_close(&j, ']');
	json_close(&j, '}');
}

int cmd_doctor(int argc, char **argv)
{
	struct probe probes[PROBES_MAX];
	int json = 0, first, n, i;
	size_t w;
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
	/* What does not fit below ulimit -f is to be told, not to die of. */
	signal(SIGXFSZ, SIG_IGN);
	n = probe_all(probes);
	if (json) {
		print_json(probes, n);
	} else {
		print_system();
		for (i = 0; i < n; i++)
			print_probe(&probes[i]);
		printf("\nWays of recording\n");
		for (w = 0; w < WAYS; w++)
			print_way(&ways[w], probes, n);
	}
	return is_missing(&ways[WAY_FAULT], probes, n) &&
	       is_missing(&ways[WAY_KERNEL], probes, n);
}

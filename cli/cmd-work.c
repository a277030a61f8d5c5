// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * moca work: a worker whose memory use is known, to try profilers with. It does
 * what the workers of the course's page fault profiler do: it registers, takes
 * memory, accesses it, gives it back, and unregisters.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"
#include "lib/text/text.h"

#define STATUS "/proc/mp3/status"
#define ITERATIONS 20u
#define PAGE 4096u
/* Of local access: so many pages, and one access of so many goes elsewhere. */
#define WINDOW 64u
#define FAR 1000u
#define CALIBRATE_LOOPS 20000000u

static const char usage[] = "moca work [OPTIONS] MB R|L N";
static const char about[] =
	"Take MB mebibytes of memory and write N single bytes of it, 20 times: anywhere (R), or mostly within 64 pages of each other (L). Registers with /proc/mp3/status, if there is one.";

struct work {
	uint64_t mb, accesses, iterations, seed, compute_ns;
	int local, quiet;
	uint8_t *memory;
	size_t pages;
	uint64_t loops;		/* of spin() per access */
	uint64_t centre;	/* of local access: first page of the window */
	uint64_t state;		/* of the random numbers */
	uint64_t touched;	/* distinct pages */
	uint8_t *seen;		/* a bit per page */
};

/* xorshift64*: Marsaglia 2003, Vigna 2016. */
static uint64_t random_next(uint64_t *x)
{
	*x ^= *x >> 12;
	*x ^= *x << 25;
	*x ^= *x >> 27;
	return *x * 2685821657736338717ull;
}

static uint64_t below(struct work *w, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)random_next(&w->state) * n) >> 64);
}

static void spin(uint64_t loops)
{
	for (uint64_t i = 0; i < loops; i++)
		__asm__ volatile("" : : "r"(i));
}

/* By CPU time: what others take of the CPU must not count as computing. */
static void calibrate(struct work *w)
{
	uint64_t begin = moca_thread_cpu_ns(), ns;

	if (!w->compute_ns)
		return;
	spin(CALIBRATE_LOOPS);
	ns = moca_thread_cpu_ns() - begin;
	w->loops = (uint64_t)((double)CALIBRATE_LOOPS * (double)w->compute_ns /
			      (double)(ns ? ns : 1));
}

static uint64_t next_page(struct work *w)
{
	uint64_t window = w->pages < WINDOW ? w->pages : WINDOW;

	if (!w->local)
		return below(w, w->pages);
	if (!below(w, FAR))
		w->centre = below(w, w->pages - window + 1);
	return w->centre + below(w, window);
}

static void iterate(struct work *w)
{
	uint64_t i, page;

	for (i = 0; i < w->accesses; i++) {
		page = next_page(w);
		w->memory[page * PAGE + below(w, PAGE)]++;
		if (!(w->seen[page / 8] & 1u << page % 8)) {
			w->seen[page / 8] |= (uint8_t)(1u << page % 8);
			w->touched++;
		}
		spin(w->loops);
	}
}

/*
 * "R PID" or "U PID". 0; -ENOENT: there is no profiler; -EEXIST: somebody else
 * has registered us, who takes it back, too; -errno.
 */
static int tell_profiler(char what)
{
	int fd = open(STATUS, O_WRONLY | O_CLOEXEC), err = 0;
	char buf[32];
	int n = snprintf(buf, sizeof(buf), "%c %d", what, getpid());

	if (fd < 0)
		return -errno;
	if (write(fd, buf, (size_t)n) != n)
		err = -errno;
	close(fd);
	return err;
}

static int take_memory(struct work *w)
{
	size_t bytes = w->mb << 20;

	w->pages = bytes / PAGE;
	w->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	w->seen = calloc(w->pages / 8 + 1, 1);
	if (w->memory == MAP_FAILED || !w->seen) {
		moca_error("work: cannot take %lu MiB of memory: %s", w->mb,
			   strerror(w->seen ? errno : ENOMEM));
		return -ENOMEM;
	}
	/* One fault per page is what is counted. */
	madvise(w->memory, bytes, MADV_NOHUGEPAGE);
	return 0;
}

static int run(struct work *w)
{
	int registered = tell_profiler('R'), err;
	char buf[TEXT_MAX];
	uint64_t i, ns;

	if (registered == -ENOENT && !w->quiet)
		moca_say("work: there is no " STATUS " (no profiling module is "
			 "loaded): not registered");
	else if (registered && registered != -ENOENT && registered != -EEXIST)
		moca_warn("work: cannot register with " STATUS ": %s",
			  strerror(-registered));
	err = take_memory(w);
	if (err)
		return EXIT_RECORD;
	calibrate(w);
	ns = moca_now_ns();
	for (i = 0; i < w->iterations; i++)
		iterate(w);
	ns = moca_now_ns() - ns;
	munmap(w->memory, w->mb << 20);
	free(w->seen);
	if (!registered && tell_profiler('U'))
		moca_warn("work: cannot unregister from " STATUS);
	if (!w->quiet)
		printf("%lu pages touched of %zu, %lu accesses in %s\n",
		       w->touched, w->pages, w->iterations * w->accesses,
		       text_duration(buf, ns));
	return 0;
}

static int parse_number(const char *what, const char *s, uint64_t max,
			uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(s, &end, 10);
	if (*s >= '0' && *s <= '9' && !errno && !*end && *out && *out <= max)
		return 0;
	moca_error("work: %s must be a number from 1 to %lu, not '%s'", what,
		   max, s);
	return -EINVAL;
}

int cmd_work(int argc, char **argv)
{
	struct work w = { .iterations = ITERATIONS, .seed = 1 };
	const struct option_spec specs[] = {
		OPT_UINT(0, "iterations", &w.iterations, "I", "how often (default: 20)"),
		OPT_DURATION(0, "compute", &w.compute_ns, "compute so long with each access (default: 0)"),
		OPT_UINT(0, "seed", &w.seed, "S", "of the random numbers (default: 1)"),
		OPT_FLAG('q', "quiet", &w.quiet, "print nothing"),
		OPT_END
	};
	int first = moca_options_parse_mixed(specs, argc, argv, usage, about);

	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	if (argc - first != 3) {
		moca_error("work: three arguments are needed: how many MiB, R (random) or L (local), and how many accesses; as 'moca work 200 R 10000'");
		return EXIT_USAGE;
	}
	if (parse_number("MB", argv[first], 1u << 24, &w.mb) ||
	    parse_number("N", argv[first + 2], 1ull << 40, &w.accesses))
		return EXIT_USAGE;
	if (strcmp(argv[first + 1], "R") && strcmp(argv[first + 1], "L")) {
		moca_error("work: the kind of access is R (random) or L (local), not '%s'",
			   argv[first + 1]);
		return EXIT_USAGE;
	}
	w.local = argv[first + 1][0] == 'L';
	/* 0 would stay 0. */
	w.state = w.seed * 2 + 1;
	for (int i = 0; i < 8; i++)
		random_next(&w.state);
	return run(&w);
}

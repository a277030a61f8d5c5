// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/abi/alloc-events.h"
#include "lib/format/rate-writer.h"

uint64_t trace_meta_u64(const struct moca_trace *t, const char *key,
			uint64_t dflt)
{
	const char *s = moca_trace_meta(t, key);
	uint64_t v;
	char *end;

	if (!s || *s < '0' || *s > '9')
		return dflt;
	errno = 0;
	v = strtoull(s, &end, 10);
	return errno || *end ? dflt : v;
}

static int is_number(const char *s)
{
	char *end;
	double v;

	/* Not what strtod takes as well: blanks, "nan", "0x1p3". */
	if (strspn(s, "0123456789.") < strcspn(s, "%"))
		return 0;
	v = strtod(s, &end);
	return end != s && isfinite(v) && (!*end || !strcmp(end, "%"));
}

const char *trace_bad_number(const struct moca_trace *t, const char **value)
{
	static const char *const keys[] = {
		META_BUDGET, META_SLOWDOWN, META_INTERVAL, META_CPUS,
		META_NODES, META_START, META_END, META_START_TIME,
		META_FAILED, META_FAILURE,
		"cost.wall_estimate", "cost.wall_low", "cost.wall_high",
		"cost.wall_ns", "cost.wall_added_ns", "cost.cpu_estimate",
		"cost.cpu_low", "cost.cpu_high", "cost.cpu_ns",
		"cost.cpu_added_ns", "cost.total_ns", "cost.program_cpu_ns",
		"certificate.pages_seen", "certificate.pages_touched",
		"certificate.pages_other", "certificate.pages_blind",
		"certificate.records", "certificate.lost",
		"certificate.chunks", "certificate.lossy_chunks",
		"trace.events", "trace.lost", "trace.torn", "trace.refused",
		"trace.outside",
	};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		*value = moca_trace_meta(t, keys[i]);
		if (*value && !is_number(*value) &&
		    (strcmp(keys[i], META_BUDGET) || strcmp(*value, "none")))
			return keys[i];
	}
	return NULL;
}

unsigned trace_page_shift(const struct moca_trace *t)
{
	uint64_t size = trace_meta_u64(t, META_PAGE_SIZE, 4096);

	if (size < 512 || size > 1u << 30 || size & (size - 1))
		size = 4096;
	return __builtin_ctzll(size);
}

uint64_t trace_origin(const struct moca_trace *t)
{
	uint64_t origin = trace_meta_u64(t, META_START, 0);
	const struct moca_task *task;
	size_t i;

	if (origin)
		return origin;
	for (i = 0; i < moca_trace_task_count(t); i++) {
		task = moca_trace_task(t, i);
		if (task->start_ns && (!origin || task->start_ns < origin))
			origin = task->start_ns;
	}
	return origin;
}

int trace_failure(const struct moca_trace *t)
{
	const char *state = moca_trace_meta(t, "state");
	uint64_t err = trace_meta_u64(t, META_FAILURE, 0);

	return state && !strcmp(state, "failed") && err < INT_MAX ? (int)err : 0;
}

/* Is it the mount namespace of that process, "self" or a number? */
static int has_mounts(const char *process, const char *mounts)
{
	char path[TRACE_ROOT_MAX], now[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/ns/mnt", process);
	n = readlink(path, now, sizeof(now) - 1);
	now[n > 0 ? n : 0] = 0;
	return n > 0 && !strcmp(now, mounts);
}

const char *trace_root(const struct moca_trace *t, char buf[TRACE_ROOT_MAX])
{
	const char *root = getenv("MOCA_SYSROOT");
	const char *mounts = moca_trace_meta(t, META_MOUNTS);
	uint64_t pid = trace_meta_u64(t, META_MOUNTS_PID, 0);
	char process[24];

	if (root && *root)
		return root;
	if (!mounts || has_mounts("self", mounts))
		return NULL;
	snprintf(process, sizeof(process), "%" PRIu64, pid);
	if (pid && has_mounts(process, mounts))
		snprintf(buf, TRACE_ROOT_MAX, "/proc/%s/root", process);
	else
		snprintf(buf, TRACE_ROOT_MAX, "/proc/self/mounts-are-gone");
	return buf;
}

uint64_t trace_after(const struct moca_trace *t, uint64_t ns)
{
	uint64_t origin = trace_origin(t);

	return ns > UINT64_MAX - origin ? UINT64_MAX : origin + ns;
}

size_t trace_task_index(const struct moca_trace *t, uint32_t id)
{
	size_t low = 0, high = moca_trace_task_count(t);

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct moca_task *task = moca_trace_task(t, mid);

		if (task->id == id)
			return mid;
		if (task->id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return SIZE_MAX;
}

uint32_t *trace_pids(const struct moca_trace *t, size_t *count)
{
	size_t i, n = moca_trace_task_count(t);
	uint32_t *pids;

	*count = n ? moca_trace_task(t, n - 1)->id + 1 : 1;
	pids = calloc(*count, sizeof(*pids));
	for (i = 0; pids && i < n; i++)
		pids[moca_trace_task(t, i)->id] = moca_trace_task(t, i)->pid;
	return pids;
}

const char *trace_process_name(const struct moca_trace *t, uint32_t pid)
{
	const struct moca_task *task;
	const char *name = "";
	size_t i;

	for (i = 0; i < moca_trace_task_count(t); i++) {
		task = moca_trace_task(t, i);
		if (task->pid != pid)
			continue;
		if (task->tid == pid)
			return task->name;
		if (!*name)
			name = task->name;
	}
	return name;
}

char trace_type_letter(unsigned type)
{
	return type <= MOCA_ACCESS_EXEC ? "?RWX"[type] : '?';
}

char trace_mode_letter(unsigned mode)
{
	return mode <= MOCA_MODE_KERNEL ? "UK"[mode] : '?';
}

const char *trace_change_name(uint32_t type)
{
	static const char *const names[] = {
		[MOCA_CHANGE_TASK_START] = "task-start",
		[MOCA_CHANGE_TASK_END] = "task-end",
		[MOCA_CHANGE_EXEC] = "exec",
		[MOCA_CHANGE_NAME] = "name",
		[MOCA_CHANGE_MMAP] = "mmap",
		[MOCA_CHANGE_MUNMAP] = "munmap",
		[MOCA_CHANGE_DISCARD] = "discard",
		[MOCA_CHANGE_GAP] = "gap",
		[MOCA_CHANGE_SEGV] = "segv",
	};
	size_t n = sizeof(names) / sizeof(*names);

	return type < n && names[type] ? names[type] : "unknown";
}

void trace_status(char *buf, size_t size, int status)
{
	if (status == -1)
		snprintf(buf, size, "how is not known");
	else if (WIFSIGNALED(status))
		snprintf(buf, size, "killed by signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(buf, size, "exit code %d", WEXITSTATUS(status));
}

void trace_end_status(char *buf, size_t size, const struct moca_trace *t)
{
	if (!moca_trace_meta(t, META_EXIT_STATUS))
		*buf = 0;
	else if (trace_meta_u64(t, META_ENDED_PROGRAM, 0))
		snprintf(buf, size, "killed by Moca, as recording could not go on");
	else
		trace_status(buf, size,
			     (int)trace_meta_u64(t, META_EXIT_STATUS, 0));
}

int trace_events_only(const struct moca_trace *t)
{
	const char *collector = moca_trace_meta(t, META_COLLECTOR);
	size_t i, n;

	for (i = 0; i < moca_trace_task_count(t); i++)
		if (!(moca_trace_task(t, i)->flags & MOCA_TASK_EVENTS))
			return 0;
	moca_trace_event_types(t, &n);
	return n || i || (collector && !strcmp(collector, "trace"));
}

int trace_is_allocation(const struct moca_event_type *type)
{
	return !strcmp(type->facility, MOCA_ALLOC_FACILITY);
}

int trace_is_memory(const struct moca_event_type *type)
{
	return !strcmp(type->facility, "perf_mem");
}

int trace_is_heat(const struct moca_event_type *type)
{
	return !strcmp(type->facility, MOCA_HEAT_FACILITY);
}

int trace_is_rate(const struct moca_event_type *type)
{
	return !strcmp(type->facility, MOCA_RATE_FACILITY) ||
	       trace_is_heat(type);
}

int trace_has_events(const struct moca_trace *t,
		     int (*wanted)(const struct moca_event_type *type))
{
	const struct moca_event_type *const *types;
	size_t i, n;

	types = moca_trace_event_types(t, &n);
	for (i = 0; i < n && !wanted(types[i]); i++)
		;
	return i < n;
}

int trace_half_filtered(const struct moca_trace *t)
{
	return trace_meta_u64(t, "filter.begun", 0) != 0;
}

void trace_raise_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur == r.rlim_max)
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

int trace_damaged(const struct moca_damage *d)
{
	return d->files || d->chunks || d->tail_bytes;
}

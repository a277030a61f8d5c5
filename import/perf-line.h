/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of `perf script`. */
#ifndef MOCA_IMPORT_PERF_LINE_H
#define MOCA_IMPORT_PERF_LINE_H

#include <stdint.h>

#define PERF_COMM_MAX 64	/* the kernel's have 16 */
#define PERF_EVENT_MAX 128

/* The fields that a perf script is to print, for messages and for running it. */
#define PERF_FIELDS "comm,pid,tid,cpu,time,period,event,addr,ip"
#define PERF_FIELDS_MEMORY "comm,pid,tid,cpu,time,event,addr,data_src,weight,ip"

struct perf_line {
	char comm[PERF_COMM_MAX];
	uint32_t pid;		/* 0: not told */
	uint32_t tid;
	uint32_t cpu;		/* 0 where it is not told: */
	int has_cpu;
	uint64_t period;	/* 0: not told */
	uint64_t time_ns;
	char event[PERF_EVENT_MAX];	/* or PERF_RECORD_... */
	const char *rest;	/* what follows */
	/* By perf_line_fields(): */
	uint64_t addr, ip, phys;
	int has_source;
	uint64_t source;	/* union perf_mem_data_src */
	uint64_t weight;
};

/*
 * What each line has, up to the event. 0; 1: it is none (empty, a comment, a frame of
 * a call stack); -EINVAL, and *why says so. text must live as long as l.
 */
int perf_line_parse(struct perf_line *l, const char *text, const char **why);
/* The fields of a sample. 0 or -EINVAL. */
int perf_line_fields(struct perf_line *l, const char **why);

/* What follows PERF_RECORD_FORK, EXIT and COMM. 0 or -EINVAL. */
int perf_line_fork(const struct perf_line *l, uint32_t *pid, uint32_t *tid,
		   uint32_t *ppid, uint32_t *ptid);
int perf_line_comm(const struct perf_line *l, char name[PERF_COMM_MAX],
		   uint32_t *pid, uint32_t *tid, int *exec);
/* Of PERF_RECORD_LOST: how many, or 1 where it is not told. */
uint64_t perf_line_lost(const struct perf_line *l);
/* "12/13" and what ends it: pid, tid. 0 or -EINVAL. */
int perf_line_task(const char **s, char between, uint32_t *pid, uint32_t *tid);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this machine and this user may do, found by doing it. A probe leaves
 * nothing behind and never makes the calling process privileged or traced:
 * what would, happens in a child.
 */
#ifndef MOCA_DOCTOR_PROBE_H
#define MOCA_DOCTOR_PROBE_H

enum probe_status { PROBE_OK, PROBE_LIMITED, PROBE_NO };

struct probe {
	const char *id;		/* for programs */
	const char *title;	/* for people */
	enum probe_status status;
	char found[160];	/* what was seen */
	const char *without;	/* what a recording lacks; NULL = nothing */
	const char *fix;	/* the command that allows more; NULL = none */
};

#define PROBES_MAX 32

/* Run all probes. Returns how many there are. */
int probe_all(struct probe probes[PROBES_MAX]);
/* The probe with that id; aborts on an id that does not exist. */
const struct probe *probe_find(const struct probe *probes, int count,
			       const char *id);

/* The probes, by file. Each fills all fields but id and title. */
void probe_perf_user(struct probe *p);
void probe_perf_kernel(struct probe *p);
void probe_perf_ring(struct probe *p);
void probe_tracepoint(struct probe *p);
void probe_ptrace(struct probe *p);
void probe_attach(struct probe *p);
void probe_seccomp(struct probe *p);
void probe_pidfd_getfd(struct probe *p);
void probe_userfaultfd(struct probe *p);
void probe_wp_shmem(struct probe *p);
void probe_wp_async(struct probe *p);
void probe_rwp(struct probe *p);
void probe_memfd(struct probe *p);
void probe_process_madvise(struct probe *p);
void probe_pagemap(struct probe *p);
void probe_move_pages(struct probe *p);
void probe_machine(struct probe *p);
void probe_thp(struct probe *p);
void probe_overcommit(struct probe *p);
void probe_map_count(struct probe *p);
void probe_translator(struct probe *p);
void probe_address_space(struct probe *p);
void probe_kernel_module(struct probe *p);

/* The first line of a small file, without newline. 0 or -errno. */
int probe_read(const char *path, char *buf, unsigned long size);
/* Fill status and found. */
void probe_set(struct probe *p, enum probe_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif

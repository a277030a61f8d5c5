/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moca report and moca view of a job, of all its ranks at once. */
#ifndef MOCA_CLI_REPORT_JOB_H
#define MOCA_CLI_REPORT_JOB_H

/*
 * Write the page of paths[0], a folder of ranks or a profile, to out; NULL: into
 * the folder, or beside the file. *written: where it is, to be freed; NULL: nowhere.
 * An exit code.
 */
int report_job(const char *command, char *const *paths, int count,
	       const char *out, const char *topology, int quiet, char **written);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/rights.h"

#include <elf.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "collect/run/recorder.h"
#include "lib/base/proc.h"

/* The effective one: the second number of the line. */
static long effective(pid_t tid, const char *field)
{
	char text[128];
	long real, id;

	moca_proc_status(text, sizeof(text), tid, field);
	return sscanf(text, "%ld %ld", &real, &id) == 2 ? id : -1;
}

/* Does the file at path promise what tid has not got? */
static int has_not(pid_t tid, const char *path)
{
	const unsigned int setgid = S_ISGID | S_IXGRP;
	struct moca_auxv aux;
	struct stat st;
	char cap[64];
	long id;

	if (stat(path, &st))
		return 0;
	/* Few files promise any: who has executed it is asked of those alone. */
	id = st.st_mode & S_ISUID ? effective(tid, "Uid:") : -1;
	if (id >= 0 && (long)st.st_uid != id)
		return 1;
	id = (st.st_mode & setgid) == setgid ? effective(tid, "Gid:") : -1;
	if (id >= 0 && (long)st.st_gid != id)
		return 1;
	/* Root has them, and who got them is told so. */
	return getxattr(path, "security.capability", cap, sizeof(cap)) > 0 &&
	       effective(tid, "Uid:") > 0 && !moca_proc_auxv(&aux, tid) &&
	       !moca_auxv_value(&aux, AT_SECURE);
}

static int same_user_namespace(pid_t tid)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", tid);
	return !stat(path, &theirs) && !stat("/proc/self/ns/user", &ours) &&
	       theirs.st_ino == ours.st_ino;
}

int rights_lost(const struct recorder *rec, pid_t tid)
{
	struct statvfs fs;
	char path[64];

	if (rec->sees_all && rec->privileged)
		return 0;
	/* Ours is set in the program alone, not in the recorder. */
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) ||
	    (rec->attach && moca_proc_number(tid, "NoNewPrivs:")))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/exe", tid);
	return has_not(tid, path) && same_user_namespace(tid) &&
	       !statvfs(path, &fs) && !(fs.f_flag & ST_NOSUID);
}

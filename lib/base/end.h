/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a command ends that ran a program. */
#ifndef MOCA_BASE_END_H
#define MOCA_BASE_END_H

/*
 * End this process by the signal that ended the program, so that the shell sees no
 * difference: output is flushed, no second core file is written. Returns only when
 * the signal ends nothing: 128 + sig, the exit code to end with.
 */
int moca_end_by(int sig);

#endif

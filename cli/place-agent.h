/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where libmoca-place.so is, and how programs come to load it. */
#ifndef MOCA_CLI_PLACE_AGENT_H
#define MOCA_CLI_PLACE_AGENT_H

/*
 * Add to the environment of this process what the programs that it starts need to
 * follow the plan in that file in memory, which must stay open. 0, or an exit code
 * after a message.
 */
int place_agent_environment(int fd);
/*
 * The same as variables, for another environment: "LD_PRELOAD=... MOCA_PLACE=...", to be
 * freed; neither value has a blank. 0, or an exit code after a message.
 */
int place_agent_setting(int fd, char **out);

#endif

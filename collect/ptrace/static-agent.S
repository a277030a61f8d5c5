/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent for static programs (agent/alloc/static/), as a file. */
	.section .rodata
	.globl moca_static_agent, moca_static_agent_end
	.hidden moca_static_agent, moca_static_agent_end
	.balign 16
moca_static_agent:
	.incbin STATIC_AGENT
moca_static_agent_end:
	.section .note.GNU-stack, "", @progbits

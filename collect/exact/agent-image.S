/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact mode's agent (agent/exact/), as a file. Empty when it was not built. */
	.section .rodata
	.globl moca_exact_agent, moca_exact_agent_end
	.hidden moca_exact_agent, moca_exact_agent_end
	.balign 16
moca_exact_agent:
	.incbin EXACT_AGENT
moca_exact_agent_end:
	.section .note.GNU-stack, "", @progbits

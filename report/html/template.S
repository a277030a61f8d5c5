/* SPDX-License-Identifier: GPL-2.0-or-later */
	.section .rodata
	.globl moca_page_template, moca_page_template_end
	.type moca_page_template, @object
moca_page_template:
	.incbin MOCA_PAGE_TEMPLATE
moca_page_template_end:
	.byte 0
	.section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page that report/web/build.mjs makes, as bytes; see template.S. */
#ifndef MOCA_REPORT_HTML_TEMPLATE_H
#define MOCA_REPORT_HTML_TEMPLATE_H

extern const char moca_page_template[], moca_page_template_end[];

#endif

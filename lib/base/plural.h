/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "1 page", "2 pages": what is put behind the word. n is evaluated once. */
#ifndef MOCA_BASE_PLURAL_H
#define MOCA_BASE_PLURAL_H

#define PLURAL(n) ((n) == 1 ? "" : "s")

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pages were touched between two looks of the module, as events of the trace
 * (facility moca_heat). What cannot be written harms nothing else: close tells.
 */
#ifndef MOCA_KERNEL_HEAT_H
#define MOCA_KERNEL_HEAT_H

#include <stdint.h>

#include "include/uapi/moca.h"

struct kernel_heat;

struct recorder;

/* 0 or -errno. Its stream counts for rec's --max-size. */
int kernel_heat_create(struct kernel_heat **out, const struct recorder *rec);
/* h may be NULL in all that follow. */
void kernel_heat_pages(struct kernel_heat *h, const struct moca_rec_heat *r);
/* A look ended, whose pages were told. */
void kernel_heat_look(struct kernel_heat *h, const struct moca_rec_look *r);
/* Tables of which sweeps could not tell. */
uint64_t kernel_heat_lost(const struct kernel_heat *h);
/* 0, or the first error of all, -errno. */
int kernel_heat_close(struct kernel_heat *h);

#endif

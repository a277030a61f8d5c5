/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a fault costs on this machine. */
#ifndef MOCA_FAULT_CALIBRATE_H
#define MOCA_FAULT_CALIBRATE_H

/* ns of one first access after a zap, with its sample; takes about 1 ms. */
double calibrate_fault_ns(void);
/* The same without a sample: a minor fault. 0: it cannot be measured. */
double calibrate_minor_ns(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a fault costs on this machine. */
#ifndef MOCA_RUN_CALIBRATE_H
#define MOCA_RUN_CALIBRATE_H

/* ns */
struct fault_prices {
	double repeated_ns;	/* a first access after a zap, with its sample */
	double touch_ns;	/* what a first touch takes more than natively */
	double again_ns;	/* the sample of a fault that comes anyway */
	double native_touch_ns, native_free_ns;	/* of a page */
	double native_fill_ns;	/* of a page that a call fills: without a fault */
	double native_huge_ns;	/* native_touch_ns where MADV_HUGEPAGE is set */
	double native_call_ns;	/* of a call that changes memory */
};

/* Takes about 1.5 ms. */
struct fault_prices calibrate_prices(void);
/* A minor fault without a sample. 0: it cannot be measured. */
double calibrate_minor_ns(void);

#endif

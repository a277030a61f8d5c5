/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a fault costs on this machine. */
#ifndef MOCA_RUN_CALIBRATE_H
#define MOCA_RUN_CALIBRATE_H

/* ns */
struct fault_prices {
	double repeated_ns;	/* a first access after a zap, with its sample */
	double touch_ns;	/* what a first touch takes more than natively */
	double kept_ns;		/* the same, of an emptied page of the memfd; < 0:
				   less than natively */
	double again_ns;	/* a write after a read, with its sample */
	double native_touch_ns, native_free_ns;	/* of a page */
	double native_fill_ns;	/* of a page that a call fills: without a fault */
	double native_huge_ns;	/* native_touch_ns where MADV_HUGEPAGE is set */
	double native_call_ns;	/* of a call that changes memory */
	/*
	 * What a page that is read before it is written takes natively more than
	 * one that is written at once: the page of zeros is mapped, then copied.
	 * threads: while another thread of the process runs, whose CPU has to
	 * forget the page of zeros.
	 */
	double native_unshare_ns, native_unshare_threads_ns;
};

/* Takes about 4 ms. */
struct fault_prices calibrate_prices(void);
/* A minor fault without a sample. 0: it cannot be measured. */
double calibrate_minor_ns(void);

#endif

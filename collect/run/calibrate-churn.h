/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What memory costs that is given back to the kernel and taken again. It depends on
 * how much that is: pages of small blocks are in the caches when they come back, and
 * what the kernel has cleared is there when the program writes it, so that keeping
 * memory spares less than the kernel's time.
 */
#ifndef MOCA_RUN_CALIBRATE_CHURN_H
#define MOCA_RUN_CALIBRATE_CHURN_H

struct moca_meta;

#define CHURN_SMALL_BYTES (256ul << 10)
#define CHURN_LARGE_BYTES (8ul << 20)

/* CPU time of a page, ns; 0: could not be measured. */
struct churn_price {
	double renew_ns;	/* of mapping, a first touch and unmapping */
	double spared_ns;	/* what writing all of it takes less if it is kept */
};

struct churn_prices {
	struct churn_price small, large;	/* of blocks of these sizes */
};

/* Takes about 25 ms, and twice CHURN_LARGE_BYTES of memory. */
void calibrate_churn(struct churn_prices *out);
void calibrate_churn_describe(const struct churn_prices *p, struct moca_meta *m);

#endif

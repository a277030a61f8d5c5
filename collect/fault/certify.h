/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The certificate of page accesses: what exists according to a witness that
 * is not the sampler (the memfd's pages, witness.h's page tables), against
 * what has a record. Blind spots, pages that exist and have none, are kept by
 * mapping. Collector thread.
 */
#ifndef MOCA_FAULT_CERTIFY_H
#define MOCA_FAULT_CERTIFY_H

#include <stddef.h>
#include <stdint.h>

struct blind_spots;
struct message;
struct mm;
struct moca_certificate;
struct moca_meta;

struct blind_spots *certify_new(void);
void certify_free(struct blind_spots *b);

/* A mapping's existing pages (MSG_WITNESS). */
void certify_witness(struct blind_spots *b, const struct message *m);
/* A mapping ends, or is emptied (MSG_DROP): its pages count from here on. */
void certify_drop(struct blind_spots *b, struct moca_certificate *k,
		  const struct message *m);
/* The address space ends. */
void certify_end(struct blind_spots *b, struct moca_certificate *k,
		 struct mm *mm);
/* Why nothing can be certified, if so: the first reason that is told counts. */
void certify_reason(struct blind_spots *b, const char *why);

/* The keys certificate.* and blind. */
void certify_describe(const struct blind_spots *b,
		      const struct moca_certificate *k, struct moca_meta *m);
/* As certificate_sentence, with the reason that was told. */
const char *certify_sentence(const struct blind_spots *b,
			     const struct moca_certificate *k, char *buf,
			     size_t size);

#endif

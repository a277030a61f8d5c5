/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the code of a process whose memory is in a memfd did. */
#ifndef MOCA_FAULT_CODE_H
#define MOCA_FAULT_CODE_H

#include "collect/fault/memory.h"
#include "collect/perf/decode.h"

/* As decoder_type; mm NULL: not known yet. Takes mm->lock for a moment. */
uint8_t code_type(struct decoder *d, struct mm *mm, const struct sample *s);

#endif

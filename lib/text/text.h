/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How numbers and names are shown, the same in all commands. */
#ifndef MOCA_TEXT_TEXT_H
#define MOCA_TEXT_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "lib/base/plural.h"

#define TEXT_MAX 32

/* Each fills buf and returns it. */
const char *text_count(char buf[TEXT_MAX], uint64_t n);	/* 1,234,567 */
const char *text_size(char buf[TEXT_MAX], uint64_t bytes);	/* 1.5 MiB */
const char *text_duration(char buf[TEXT_MAX], uint64_t ns);	/* 2.50 s */
/* ns / n, with a second digit where it is below 10 ns; n is not 0. */
const char *text_mean(char buf[TEXT_MAX], uint64_t ns, uint64_t n);	/* 0.1 ns */
/* part of whole; never rounded up to 100 % nor down to 0. */
const char *text_percent(char buf[TEXT_MAX], uint64_t part, uint64_t whole);
/* A ratio to what was before: "23 % less", "as much". */
const char *text_than(char buf[TEXT_MAX], double ratio);

/*
 * Which share sweeps let go, of the key sample.levels (a level and how many intervals it
 * began, and so on): "1/8 of large memory in 39 of 40 intervals". Empty where all of
 * them had all, or the text is none such (or NULL).
 */
#define TEXT_SAMPLES_MAX 96
const char *text_samples(char buf[TEXT_SAMPLES_MAX], const char *levels);

/*
 * A name of the traced program, with what could act on the terminal shown as
 * \xHH. At most width columns when width > 0 (the beginning is cut off, since
 * the end of a path tells more). Returns the columns written.
 */
int text_name(FILE *f, const char *name, int width);

/*
 * A string between quotes, as in C, with what could act on the terminal or is
 * not UTF-8 shown as \xHH. csv: each quote doubled, for use between quotes.
 */
void text_string(FILE *f, const char *value, int csv);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The terminal's width and colours, and text that is broken into lines. */
#ifndef MOCA_TEXT_TERMINAL_H
#define MOCA_TEXT_TERMINAL_H

enum style { STYLE_NONE, STYLE_STRONG, STYLE_GOOD, STYLE_WARN, STYLE_DIM };

#define TERMINAL_PIPE 100	/* columns of text that goes nowhere special */

/* Columns of stdout: the terminal's, else COLUMNS, else pipe; 60 at least. */
int terminal_width(int pipe);
/* Write in this style from now on, if stdout is a terminal without NO_COLOR. */
void terminal_style(enum style s);
/*
 * Print text behind lead, broken at blanks to width columns; further lines are
 * indented as far as lead reaches. What could act on the terminal is escaped.
 */
void terminal_wrap(const char *lead, const char *text, int width);

/*
 * Print a name in just width columns, 8 or more: filled up, or its end cut off,
 * as its beginning tells more. Escaped likewise.
 */
void terminal_name(const char *name, int width);
/*
 * Print the beginning of a name that is longer than width, 8 or more, and "...";
 * escaped likewise. The columns written.
 */
int terminal_cut(const char *name, int width);

#endif

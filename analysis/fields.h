/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of text with a line for each fact, whose fields are parted by tabs
 * (analysis/baseline.h, analysis/job/file.c). What acts on a terminal and the
 * backslash are \xHH in a field.
 */
#ifndef MOCA_ANALYSIS_FIELDS_H
#define MOCA_ANALYSIS_FIELDS_H

#include <stddef.h>
#include <stdio.h>

/* Does a regular file begin with that text, of 64 bytes at most? */
int fields_begin(const char *path, const char *begin);
/* Each byte can be read back: as itself, or as \xHH. */
void fields_put(FILE *f, const char *text);
/* In place: \xHH as the byte that it is, which is not NUL. 0 or -EBADMSG. */
int fields_plain(char *text);
/*
 * All of f as a string that the caller frees, *len bytes long. 0; -EBADMSG: it is
 * empty, has a NUL, or is larger than most; -ENODATA: its last line has no end;
 * -EIO; -ENOMEM.
 */
int fields_read(FILE *f, size_t most, char **out, size_t *len);
/* The fields of a line, at most `most`: how many, or 0: there are more. */
size_t fields_split(char *line, char **fields, size_t most);

#endif

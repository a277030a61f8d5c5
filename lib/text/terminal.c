// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/text/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/text/text.h"

#define WIDTH_MIN 60
#define WORD_LEN 512

int terminal_width(int pipe)
{
	const char *s = getenv("COLUMNS");
	struct winsize w;
	int n = 0;

	if (isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w))
		n = w.ws_col;
	if (!n && s)
		n = atoi(s);
	if (!n)
		n = pipe;
	return n < WIDTH_MIN ? WIDTH_MIN : n;
}

void terminal_style(enum style s)
{
	static const char *const codes[] = {
		[STYLE_NONE] = "\033[0m", [STYLE_STRONG] = "\033[1m",
		[STYLE_GOOD] = "\033[32m", [STYLE_WARN] = "\033[33m",
		[STYLE_DIM] = "\033[2m",
	};
	static int colour = -1;
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (colour < 0)
		colour = isatty(STDOUT_FILENO) && (!no || !*no) &&
			 (!term || strcmp(term, "dumb"));
	if (colour)
		fputs(codes[s], stdout);
}

/* Columns of a word, as text_name prints it. */
static int measure(const char *word)
{
	/* Not made where there is none. */
	FILE *null = fopen("/dev/null", "r+e");
	int n;

	if (!null)
		return (int)strlen(word);
	n = text_name(null, word, 0);
	fclose(null);
	return n;
}

void terminal_wrap(const char *lead, const char *text, int width)
{
	int indent = (int)strlen(lead), at = indent, first = 1, n;
	char word[WORD_LEN];
	size_t len;

	fputs(lead, stdout);
	while (*text) {
		len = strcspn(text, " ");
		/* A word that is longer than this is broken somewhere. */
		if (len >= sizeof(word)) {
			len = sizeof(word) - 1;
			while (len > 1 &&
			       ((unsigned char)text[len] & 0xc0) == 0x80)
				len--;
		}
		memcpy(word, text, len);
		word[len] = 0;
		n = measure(word);
		if (!first && at + 1 + n > width) {
			printf("\n%*s", indent, "");
			at = indent;
			first = 1;
		}
		if (!first)
			at += printf(" ");
		text_name(stdout, word, 0);
		at += n;
		first = 0;
		text += len;
		/* Code has blanks that mean something: keep these. */
		for (text += *text == ' '; *text == ' '; text++)
			at += printf(" ");
	}
	printf("\n");
}

int terminal_cut(const char *name, int width)
{
	char buf[256];
	size_t n = (size_t)width - 3;

	if (n > sizeof(buf) - 4)
		n = sizeof(buf) - 4;
	/* Not within a character. */
	while (n && ((unsigned char)name[n] & 0xc0) == 0x80)
		n--;
	memcpy(buf, name, n);
	strcpy(buf + n, "...");
	return text_name(stdout, buf, width);
}

void terminal_name(const char *name, int width)
{
	int w;

	if (strlen(name) <= (size_t)width || strstr(name, "+0x"))
		w = text_name(stdout, name, width);
	else
		w = terminal_cut(name, width);
	printf("%*s", w < width ? width - w : 0, "");
}

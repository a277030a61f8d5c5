/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plots of lines as SVG files. */
#ifndef MOCA_TEXT_SVG_H
#define MOCA_TEXT_SVG_H

#include <stddef.h>

struct svg_series {
	const char *label;
	const double *x, *y;	/* n each, in the units of the axes */
	size_t n;
	int marks;		/* a dot at each point */
};

struct svg_plot {
	const char *title;
	const char *subtitle;	/* the conditions: it must stand by itself */
	const char *x_label, *y_label;
	const struct svg_series *series;	/* 8 at most */
	size_t count;
};

/* 0 or -errno. */
int svg_write(const char *path, const struct svg_plot *p);

#endif

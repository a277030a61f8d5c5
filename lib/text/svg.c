// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/text/svg.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#define WIDTH 860
#define HEIGHT 460
#define LEFT 90
#define RIGHT 24
#define TOP 72
#define BOTTOM 96
#define TICKS 6

/* Okabe and Ito: told apart by the colour-blind, too. */
static const char *const colors[] = { "#0072B2", "#D55E00", "#009E73",
				      "#CC79A7", "#E69F00", "#56B4E9",
				      "#000000", "#999999" };

struct scale {
	double max_x, max_y;
};

static void escape(FILE *f, const char *s)
{
	for (; *s; s++)
		switch (*s) {
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		default:
			fputc(*s, f);
		}
}

static void put_text(FILE *f, double x, double y, const char *more,
		     const char *s)
{
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, more);
	escape(f, s);
	fputs("</text>\n", f);
}

static double at_x(const struct scale *s, double x)
{
	return LEFT + x / s->max_x * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct scale *s, double y)
{
	return HEIGHT - BOTTOM - y / s->max_y * (HEIGHT - TOP - BOTTOM);
}

/* 1, 2 or 5 times a power of ten: about TICKS of them up to max. */
static double step(double max)
{
	double raw = max / TICKS, power = pow(10, floor(log10(raw)));

	return (raw <= power ? 1 : raw <= 2 * power ? 2 :
		raw <= 5 * power ? 5 : 10) * power;
}

static void number(char *buf, size_t size, double v)
{
	if (v >= 1e6)
		snprintf(buf, size, "%g M", v / 1e6);
	else if (v >= 1e4)
		snprintf(buf, size, "%g k", v / 1e3);
	else
		snprintf(buf, size, "%.6g", v);
}

static void axes(FILE *f, const struct svg_plot *p, const struct scale *s)
{
	char buf[32];
	double v;

	for (v = 0; v <= s->max_y * 1.0001; v += step(s->max_y)) {
		fprintf(f, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n",
			LEFT, WIDTH - RIGHT, at_y(s, v), at_y(s, v));
		number(buf, sizeof(buf), v);
		put_text(f, LEFT - 8, at_y(s, v) + 4, "text-anchor=\"end\"", buf);
	}
	for (v = 0; v <= s->max_x * 1.0001; v += step(s->max_x)) {
		number(buf, sizeof(buf), v);
		put_text(f, at_x(s, v), HEIGHT - BOTTOM + 18,
			 "text-anchor=\"middle\"", buf);
	}
	put_text(f, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - BOTTOM + 38,
		 "text-anchor=\"middle\"", p->x_label);
	fprintf(f, "<g transform=\"translate(20 %d) rotate(-90)\">\n",
		(TOP + HEIGHT - BOTTOM) / 2);
	put_text(f, 0, 0, "text-anchor=\"middle\"", p->y_label);
	fputs("</g>\n", f);
}

static void line(FILE *f, const struct svg_series *l, const struct scale *s,
		 const char *color)
{
	size_t i;

	fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
		color);
	for (i = 0; i < l->n; i++)
		fprintf(f, "%.1f,%.1f ", at_x(s, l->x[i]), at_y(s, l->y[i]));
	fputs("\"/>\n", f);
	for (i = 0; l->marks && i < l->n; i++)
		fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n",
			at_x(s, l->x[i]), at_y(s, l->y[i]), color);
}

int svg_write(const char *path, const struct svg_plot *p)
{
	struct scale s = { 0, 0 };
	FILE *f = fopen(path, "we");
	size_t i, k;
	double x = LEFT;

	if (!f)
		return -errno;
	for (i = 0; i < p->count; i++)
		for (k = 0; k < p->series[i].n; k++) {
			s.max_x = fmax(s.max_x, p->series[i].x[k]);
			s.max_y = fmax(s.max_y, p->series[i].y[k]);
		}
	s.max_x = s.max_x > 0 ? s.max_x * 1.03 : 1;
	s.max_y = s.max_y > 0 ? s.max_y * 1.05 : 1;
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"13\" role=\"img\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
	put_text(f, LEFT, 28, "font-size=\"18\" font-weight=\"bold\"", p->title);
	put_text(f, LEFT, 50, "fill=\"#555\"", p->subtitle);
	axes(f, p, &s);
	for (i = 0; i < p->count; i++) {
		const char *color = colors[i % 8];

		line(f, &p->series[i], &s, color);
		fprintf(f, "<rect x=\"%.1f\" y=\"%d\" width=\"14\" height=\"4\" fill=\"%s\"/>\n",
			x, HEIGHT - 22, color);
		put_text(f, x + 20, HEIGHT - 16, "", p->series[i].label);
		x += (WIDTH - LEFT) / (double)p->count;
	}
	fputs("</svg>\n", f);
	i = (size_t)ferror(f);
	return fclose(f) || i ? -EIO : 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SHOW_H
#define SHOW_H
#include <stddef.h>
#ifdef __cplusplus
extern "C"
#endif
void show(const char *name, const void *at, size_t size, int tls);
#define SHOW(name, type, v) show(name "|" type, (const void *)&(v), sizeof(v), 0)
#define SHOW_TLS(name, type, v) \
	show(name "|" type, (const void *)&(v), sizeof(v), 1)
#endif

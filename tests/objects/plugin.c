// SPDX-License-Identifier: GPL-2.0-or-later
/* Loaded, and unloaded, by plugin-host: what it had is still named. */
#include "expect.h"

char plugin_table[16 * EXPECT_PAGE] __attribute__((aligned(4096)));

void plugin_run(void);

void plugin_run(void)
{
	char *plugin_heap = aligned_alloc(4096, 24 * EXPECT_PAGE);

	expect_touch(plugin_heap, 24 * EXPECT_PAGE);
	expect("plugin_heap", "heap", 24, 1, "private");
	expect_touch(plugin_table, sizeof(plugin_table));
	expect("plugin_table", "static", 16, 1, "private");
	free(plugin_heap);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/caches.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/machine-xml.h"

static int describe(hwloc_topology_t h, FILE *out, const struct moca_machine *m)
{
	static const hwloc_obj_type_t levels[] = {
		HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE,
		HWLOC_OBJ_L2CACHE,
	};
	hwloc_obj_t cache = NULL;
	uint64_t bytes = 0;
	size_t i;

	(void)m;
	for (i = 0; i < sizeof(levels) / sizeof(*levels) && !bytes; i++)
		while ((cache = hwloc_get_next_obj_by_type(h, levels[i],
							   cache)))
			bytes += cache->attr->cache.size;
	fprintf(out, "%" PRIu64, bytes);
	return 0;
}

uint64_t moca_last_level_caches(const struct moca_machine *m)
{
	uint64_t bytes = 0;
	char *text;

	if (!machine_xml_read(m, describe, &text))
		bytes = strtoull(text, NULL, 10);
	free(text);
	return bytes;
}

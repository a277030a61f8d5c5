// SPDX-License-Identifier: GPL-2.0-or-later
#include "import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/format/meta.h"

int import_wrong(struct import *x, const char *file, const char *fmt, ...)
{
	va_list ap;

	x->error = (struct import_error){ .line = 0 };
	snprintf(x->error.file, sizeof(x->error.file), "%s", file);
	va_start(ap, fmt);
	vsnprintf(x->error.text, sizeof(x->error.text), fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

int import_note(struct import *x, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return moca_meta_add(x->meta, "note", text);
}

FILE *import_open(struct import *x, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	FILE *f;

	if (fd < 0) {
		import_wrong(x, path, "it cannot be opened: %s", strerror(errno));
		return NULL;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		import_wrong(x, path, "it is no regular file");
		close(fd);
		return NULL;
	}
	f = fdopen(fd, "r");
	if (!f) {
		close(fd);
		import_wrong(x, path, "out of memory");
	}
	return f;
}

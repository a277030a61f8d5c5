// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What libraries of the static moca ask for and do without: hwloc names disks by
 * udev, of which Debian has no static library, and looks for plugins; libdw asks
 * a server for debug information. A static program loads no libraries: glibc
 * could only load those of its own version.
 */
#include <dlfcn.h>
#include <stddef.h>

struct udev;
struct udev_device;

struct udev *udev_new(void);
struct udev *udev_unref(struct udev *udev);
struct udev_device *udev_device_new_from_subsystem_sysname(
	struct udev *udev, const char *subsystem, const char *sysname);
const char *udev_device_get_property_value(struct udev_device *device,
					   const char *key);
struct udev_device *udev_device_unref(struct udev_device *device);

struct udev *udev_new(void)
{
	return NULL;
}

struct udev *udev_unref(struct udev *udev)
{
	return NULL;
}

struct udev_device *udev_device_new_from_subsystem_sysname(
	struct udev *udev, const char *subsystem, const char *sysname)
{
	return NULL;
}

const char *udev_device_get_property_value(struct udev_device *device,
					   const char *key)
{
	return NULL;
}

struct udev_device *udev_device_unref(struct udev_device *device)
{
	return NULL;
}

void *dlopen(const char *file, int mode)
{
	return NULL;
}

void *dlsym(void *handle, const char *name)
{
	return NULL;
}

int dlclose(void *handle)
{
	return -1;
}

char *dlerror(void)
{
	static char why[] = "a static moca loads no libraries";

	return why;
}

int dladdr(const void *address, Dl_info *info)
{
	return 0;
}

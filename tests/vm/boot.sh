#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest is what was asked for: the kernel, two CPUs, two nodes, memory.
check() {
	if [ "$2" = "$3" ]; then
		echo "ok $1"
	else
		echo "not ok $1: $2 instead of $3"
	fi
}
check cpus "$(grep -c ^processor /proc/cpuinfo)" 2
check nodes "$(ls -d /sys/devices/system/node/node[0-9]* | wc -l)" 2
kb=$(awk '/^MemTotal/ { print $2 }' /proc/meminfo)
check memory "$((kb > 800000 && kb < 1048577))" 1
case $(uname -r) in
"${KERNEL:?}".* | *-"$KERNEL") echo "ok kernel" ;;
*) echo "not ok kernel: $(uname -r) instead of $KERNEL" ;;
esac
for fs in proc sysfs devtmpfs tmpfs tracefs debugfs; do
	check "$fs" "$(grep -c " $fs " /proc/mounts | sed 's/^[1-9].*/yes/')" yes
done

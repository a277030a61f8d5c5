#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the harness must see, or must not take for a failure.
case $1 in
complaint)
	echo "<4>WARNING: CPU: 0 PID: 1 at none" >/dev/kmsg
	echo "ok complaint"
	;;
left)
	sleep 1000 &
	echo "ok left"
	;;
failure)
	echo "ok first"
	echo "not ok second: as it should"
	;;
status)
	echo "ok status"
	exit 3
	;;
silent) ;;
late) sleep 1000 ;;
quit)
	echo "ok quit"
	poweroff -f
	;;
panic)
	echo "ok panic"
	echo c >/proc/sysrq-trigger
	;;
files)
	mkdir "$OUT/a" && seq 100000 >"$OUT/a/numbers" && echo "ok files"
	;;
esac

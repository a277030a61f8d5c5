#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: reload TIMES
# Loads and removes the module, again and again, while programs fault, fork
# and exit on every CPU.
times=$1

work() {
	while :; do
		dd if=/dev/zero of=/tmp/load-$1 bs=64k count=16 2>/dev/null
		cat /tmp/load-$1 | md5sum >/dev/null
		ls -l /proc/self/ >/dev/null
	done
}

pids=
for i in 1 2; do
	work $i &
	pids="$pids $!"
done

set -- /lib/moca/*.ko
module=$1
name=$(basename "$module" .ko)
i=0 why=
while [ $i -lt $times ] && [ -z "$why" ]; do
	i=$((i + 1))
	insmod "$module" 2>/tmp/why || why="insmod: $(cat /tmp/why)"
	[ -n "$why" ] || [ -d "/sys/module/$name" ] || why="it is not there"
	[ -n "$why" ] || rmmod "$name" 2>/tmp/why || why="rmmod: $(cat /tmp/why)"
	[ -n "$why" ] || ! [ -d "/sys/module/$name" ] || why="it stays"
done
for p in $pids; do
	kill -0 "$p" 2>/dev/null || why="${why:-the load ended by itself}"
	kill "$p"
done
wait 2>/dev/null
if [ -n "$why" ]; then
	echo "not ok load: round $i of $times: $why"
	exit 1
fi
echo "ok load: $times times"

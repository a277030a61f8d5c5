#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The module stays while its device is open or mapped, and goes with everything
# else under way. Bad parameters are refused.
ko=/lib/moca/moca.ko
. /tests/lib.sh.inc
for bad in rate_hz=0 rate_hz=1001 rate_hz=x rate_samples=15 \
	rate_samples=99999999 rate_tasks=0 rate_tasks=65537; do
	insmod $ko $bad 2>/dev/null && rmmod moca && why=loaded || why=
	say "refused: $bad" "$([ -z "$why" ] && echo 1)" "it was loaded"
done
insmod $ko rate_mode=0600 || exit 1
say "mode" "$(ls -l /dev/mp3 | grep -c '^crw-------')" "$(ls -l /dev/mp3)"
rmmod moca
for how in open shared private notes; do
	insmod $ko || exit 1
	/tests/rate-hold $how > /tmp/ready & pid=$!
	until grep -q ready /tmp/ready; do sleep 0.1; done
	rmmod moca 2>/dev/null && why=removed || why=
	say "stays: $how" "$([ -z "$why" ] && [ -e /dev/mp3 ] && echo 1)" \
		"it was removed"
	kill -9 $pid
	wait $pid 2>/dev/null
	rmmod moca 2>/tmp/why && why= || why=$(cat /tmp/why)
	say "goes after: $how" "$([ -z "$why" ] && ! [ -e /dev/mp3 ] && echo 1)" \
		"$why"
	: > /tmp/ready
done
# Registered processes, living and dead, and an open status file hold nothing.
i=0
while [ $i -lt 20 ]; do
	i=$((i + 1))
	insmod $ko rate_hz=1000 || exit 1
	sleep 100 & live=$!
	sleep 100 & dead=$!
	echo "R $live" > /proc/mp3/status
	echo "R $dead" > /proc/mp3/status
	kill $dead
	wait $dead 2>/dev/null
	exec 5< /proc/mp3/status
	rmmod moca || break
	read -r line <&5 && break
	exec 5<&-
	kill $live
	wait $live 2>/dev/null
done
say "goes while it samples" "$([ $i = 20 ] && echo 1)" "round $i"
say "nothing is left" "$([ -z "$(grep -w mp3 /proc/devices)" ] &&
	! [ -e /proc/mp3 ] && ! [ -e /sys/class/mp3 ] && echo 1)" "something is"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The course's own commands: two workers, then the monitor, by a node that
# mknod makes. Twice: the second monitor sees what came after the first.
work=/tests/course-worker
. /tests/lib.sh.inc
mkdir -p /tmp/course && cd /tmp/course || exit 1
major=$(awk '$2 == "mp3" { print $1 }' /proc/devices)
say "a major of its own" "$([ -n "$major" ] && echo 1)" "none in /proc/devices"
mknod node c "$major" 0 || exit 1
cmp=$(ls -l /dev/mp3 | cut -c1-10)
say "/dev entry" "$([ "$cmp" = crw-rw-rw- ] && echo 1)" "$cmp"
for memory in 24 8; do
	$work $memory R 20000 & a=$!
	$work $memory L 10000 & b=$!
	wait $a && wait $b
	say "workers of $memory MB" "$([ $? = 0 ] && echo 1)" "they failed"
	/tests/course-monitor > profile.data
	set -- $(awk 'NF != 4 { bad++ } $1 < last { bad++ }
		{ last = $1; minor += $2; cpu += $4 }
		END { print NR, bad + 0, minor, cpu }' profile.data)
	say "samples of $memory MB" "$([ "$1" -gt 1 ] && [ "$2" = 0 ] && echo 1)" \
		"$1 lines, $2 of them bad"
	# Each page of both once, nearly; and what starting the shell costs.
	say "faults of $memory MB" "$([ "$3" -ge $((memory * 256)) ] &&
		[ "$3" -lt $((memory * 512 + 4000)) ] && echo 1)" "$3 faults"
	say "CPU use of $memory MB" "$([ "$4" -gt 0 ] && echo 1)" "$4 jiffies"
done
say "nobody is left" "$([ -z "$(cat /proc/mp3/status)" ] && echo 1)" \
	"$(cat /proc/mp3/status)"

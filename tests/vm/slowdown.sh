#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The bench programs: plain, recorded by the module every 50 ms without a
# budget, and as a user records (a budget of 10 %). Lines "NAME PLAIN FIXED
# BUDGET" of seconds for tests/bench/kmod/run; "true" does nothing: it tells what
# the beginning and the end of a recording take.
seconds() {
	local from=$(cut -d' ' -f1 /proc/uptime)
	"$@" >/dev/null 2>/tmp/why || { echo "not ok $1: $(tail -n1 /tmp/why)"; exit 1; }
	awk -v a="$from" '{ print $1 - a }' /proc/uptime
}

while read -r name args; do
	program=/tests/$name
	[ $name = true ] && program="busybox true"
	plain=$(seconds $program $args)
	times=$plain
	for budget in none 10%; do
		times="$times $(seconds /tests/moca record -q --via kernel \
			--interval 50ms --budget $budget --no-allocs --no-rates \
			-o /tmp/slowdown -- $program $args)"
		rm -rf /tmp/slowdown
	done
	case $times in *not*) echo "$times"; exit 1 ;; esac
	echo "$name $times" >>"$OUT/slowdown"
done <<-END
	true
	csr 100000 60
	stencil 96 4
	is 1048576 6
	ft 512 9
	lu 64 12
	chase 64 4000000
END
echo ok slowdown

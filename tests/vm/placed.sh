#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs whose remote share is known, recorded both ways on a machine of
# several nodes. tests/vm/run compares what this machine says of the traces with
# the truth, and with what the host says.
MOCA=/tests/moca
export HOME=/tmp/placed
mkdir -p $HOME && cd $HOME || exit 1

# The kernel would move pages to who uses them.
echo 0 >/proc/sys/kernel/numa_balancing

for p in serial interleaved churn wander moved; do
	if /tests/remote $p check >plain 2>&1; then
		echo "ok $p: placed as it should be"
	else
		echo "not ok $p: $(cat plain)"
	fi
	for way in user kernel; do
		if $MOCA record -q --via $way --interval 50ms --budget none \
			-o "$OUT/$p-$way" -- /tests/remote $p >"$OUT/$p-$way.truth" 2>said &&
			$MOCA info --json "$OUT/$p-$way" >"$OUT/$p-$way.json" 2>>said; then
			echo "ok $p, $way: recorded"
		else
			echo "not ok $p, $way: recorded: $(tail -n 2 said | tr '\n' ' ')"
		fi
	done
done

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What one thread fills on a machine of several nodes: a recording finds it, a plan
# places it, and a second recording has the remote shares that the first predicted.
# tests/vm/run compares them.
MOCA=/tests/moca
PROGRAM=/tests/spread
export HOME=/tmp/spread
mkdir -p $HOME && cd $HOME || exit 1

# The kernel would move pages to who uses them.
echo 0 >/proc/sys/kernel/numa_balancing

record() {	# NAME COMMAND...
	name=$1
	shift
	if "$@" $MOCA record -q --interval 50ms --budget none -o "$OUT/$name" -- \
		$PROGRAM >/dev/null 2>said &&
		$MOCA summary --json "$OUT/$name" >"$OUT/$name.json" 2>>said; then
		echo "ok $name: recorded"
	else
		echo "not ok $name: recorded: $(tail -n 3 said | tr '\n' ' ')"
	fi
}

$PROGRAM where
record first
$MOCA summary --plan "$OUT/first" >"$OUT/found.toml" 2>said || echo "not ok plan: $(cat said)"
# What moca try would do about each, as it prints it.
for change in interleave bind; do
	$MOCA try --list "$OUT/first" $change 2>said | sed -n 's/^      //p' >"$OUT/$change.toml"
	grep -q '^memory' "$OUT/$change.toml" && echo "ok $change: planned" ||
		echo "not ok $change: planned: $(cat said)"
done
for plan in found bind; do
	$MOCA place --plan "$OUT/$plan.toml" --report "$OUT/$plan.txt" -- $PROGRAM where >"$OUT/$plan.where" 2>&1 &&
		echo "ok $plan: $(tail -n 1 "$OUT/$plan.where")" || echo "not ok $plan: $(tail -n 3 "$OUT/$plan.where")"
	record $plan $MOCA place --plan "$OUT/$plan.toml" --
done
# The rounds of moca try, at this machine's speed: it ends, and says what it measured.
if $MOCA try --json -n 3 "$OUT/first" bind -- $PROGRAM quick >"$OUT/try.json" 2>said; then
	echo "ok try"
else
	echo "not ok try: $(cat said)"
fi

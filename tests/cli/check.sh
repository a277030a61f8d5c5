#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# moca check: sound, lossy, cut off, damaged, no trace, no rights.
. "$(dirname "$0")/lib.sh.inc"

"$MAKE_TRACE" "$tmp/complete" complete && "$MAKE_TRACE" "$tmp/lossy" &&
	"$MAKE_TRACE" "$tmp/cut" truncated || { not_ok make-trace failed; finish; }

# check NAME CODE DIR PATTERN...
check() {
	local name="check: $1" code=$2 dir=$3
	shift 3
	run "$name" "$code" "$MOCA" check "$dir" || return
	cat "$tmp/err" >>"$tmp/out"
	has "$name" "$tmp/out" "$@"
}
check sound 0 "$tmp/complete" 'sound and complete; 3 tasks, 68 records in 13 chunks and 13 events'
check lossy 0 "$tmp/lossy" '^lossy: .*3 samples were lost' '^incomplete: 14 of 15' 'sound, but'
check truncated 1 "$tmp/cut" '^truncated:' 'TRUNCATED; 3 tasks, 68 records'

cp -r "$tmp/complete" "$tmp/tail"
truncate -s -5 "$tmp/tail/task-0"
check "a file cut short" 1 "$tmp/tail" '^damaged:' 'DAMAGED; 3 tasks'
cp -r "$tmp/complete" "$tmp/gone"
rm "$tmp/gone/task-1"
check "a file missing" 1 "$tmp/gone" 'DAMAGED|contradiction'
cp -r "$tmp/complete" "$tmp/foreign"
head -c 300 /dev/zero >"$tmp/foreign/task-1"
check "a foreign file" 1 "$tmp/foreign" '^damaged:'
cp -r "$tmp/complete" "$tmp/count"
sed -i 's/^certificate.records .*/certificate.records 70/' "$tmp/count/metadata"
check "wrong count" 1 "$tmp/count" 'counted 70 records, the files hold 68'

# Each byte of a file flipped, at some distance: always told, never a crash.
size=$(stat -c %s "$tmp/complete/task-0")
bad=
for ((at = 3; at < size; at += 61)); do
	rm -rf "$tmp/flip"
	cp -r "$tmp/complete" "$tmp/flip"
	byte=$(od -An -tu1 -j $at -N 1 "$tmp/flip/task-0")
	printf "\\x$(printf %02x $((byte ^ 16)))" |
		dd of="$tmp/flip/task-0" bs=1 seek=$at conv=notrunc 2>/dev/null
	"$MOCA" check "$tmp/flip" >"$tmp/out" 2>&1
	[ $? = 1 ] || bad="$bad $at"
	"$MOCA" dump "$tmp/flip" >/dev/null 2>&1
	[ $? -le 1 ] || bad="$bad dump:$at"
done
if [ -z "$bad" ]; then ok "check: flipped bits"; else not_ok "check: flipped bits" "not told at$bad"; fi

mkdir "$tmp/empty"
check "an empty directory" 2 "$tmp/empty" 'not a trace'
check "no directory" 2 "$tmp/none" 'not a trace'
check "a file" 2 "$tmp/complete/metadata" 'not a trace'
mkdir "$tmp/rubbish"
head -c 500 /dev/urandom >"$tmp/rubbish/metadata"
run "check: rubbish metadata" 2 "$MOCA" check "$tmp/rubbish" && ok "check: rubbish metadata"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$tmp"
	cp "$MOCA" "$tmp/moca"
	run "check: no rights" 2 setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$tmp/moca" check "$tmp/complete" && has "check: no rights" "$tmp/err" 'private to who'
else
	skip "check: no rights" "needs root and setpriv"
fi
finish

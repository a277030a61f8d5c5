#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside: others
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
check sound 0 "$tmp/complete" 'sound and complete; 3 tasks, 68 records in 13 chunks and 14 changes'
check lossy 0 "$tmp/lossy" '^lossy: .*3 samples were lost' '^incomplete: 14 of 15' 'sound, but'
"$MAKE_TRACE" "$tmp/killed" killed
check "what the recording noted as lost" 0 "$tmp/killed" '^incomplete: its collector was killed$' 'sound, but it does not show everything'
if grep -q 'system calls' "$tmp/out"; then not_ok "check: a remark is no loss" "told"; else ok "check: a remark is no loss"; fi
# Neighbours of what was read of a file, and what only looks so.
blind() {
	"$MAKE_TRACE" "$tmp/$1" complete "$2" && check "blind: $1" 0 "$tmp/$1" '^blind: ' "$3"
}
blind around "6 1 /lib/demo.so" '^  The kernel maps them with their neighbours'
has "check: blind: around: verdict" "$tmp/out" ': sound; complete but for a few pages of files that are only read; 3 tasks'
blind many "17 1 /lib/demo.so" 'sound, but it does not show everything'
blind unread "6 0 /lib/demo.so" 'sound, but it does not show everything'
blind written "6 1 [heap]" 'sound, but it does not show everything'
"$MAKE_TRACE" "$tmp/doubtful" doubtful
run "check: doubtful" 3 "$MOCA" check "$tmp/doubtful"
has "check: doubtful" "$tmp/out" '^doubtful: task-2, chunk 0, record 2: the access to 0xdead0000 is to no mapping of process 200' \
	'^doubtful: 1 more accesses are to memory that was not mapped' ': DOUBTFUL: the files are whole'
run "check: meaning" 0 "$MOCA" check --meaning "$tmp/complete"
has "check: meaning" "$tmp/out" 'sound and complete; 3 tasks'
run "check: without meaning" 0 "$MOCA" check --no-meaning "$tmp/doubtful" && ok "check: without meaning"
check truncated 1 "$tmp/cut" '^truncated:' 'TRUNCATED; 3 tasks, 68 records'
"$MAKE_TRACE" "$tmp/nodes" nodes
check "the machine" 0 "$tmp/nodes" 'sound and complete'
"$MAKE_TRACE" "$tmp/wrong-nodes" wrong-nodes
check "other nodes in the metadata" 1 "$tmp/wrong-nodes" '^contradiction: the machine: 2 nodes, but the metadata says 3'
cp -r "$tmp/nodes" "$tmp/no-machine"
rm "$tmp/no-machine/machine"
check "the machine is gone" 1 "$tmp/no-machine" 'DAMAGED|contradiction'
cp -r "$tmp/cut" "$tmp/full"
rm "$tmp/full/task-1"
check "truncated, and a file of which was no room" 1 "$tmp/full" '^truncated:' 'TRUNCATED; 2 tasks'

cp -r "$tmp/complete" "$tmp/tail"
truncate -s -5 "$tmp/tail/task-0"
check "a file cut short" 1 "$tmp/tail" '^damaged:' 'DAMAGED; 3 tasks'
cp -r "$tmp/complete" "$tmp/gone"
rm "$tmp/gone/task-1"
check "a file missing" 1 "$tmp/gone" 'DAMAGED|contradiction'
cp -r "$tmp/complete" "$tmp/foreign"
head -c 300 /dev/zero >"$tmp/foreign/task-1"
check "a foreign file" 1 "$tmp/foreign" '^damaged:'
cp -r "$tmp/complete" "$tmp/edited"
sed -i 's/^certificate.lost 0/certificate.lost 1/' "$tmp/edited/metadata"
check "an edited number" 1 "$tmp/edited" '^damaged: .*metadata has a wrong checksum' 'DAMAGED'
# old DIR: as an older moca left it, without checksum and seal.
old() {
	sed -i -e '/^sums /d' -e '/^checksum /d' -e '/^files\./d' "$1/metadata"
}
cp -r "$tmp/complete" "$tmp/old"
old "$tmp/old"
check "an old trace" 0 "$tmp/old" '^unverified: metadata without checksum' \
	'sound and complete as far as can be known; 3 tasks'
cp -r "$tmp/complete" "$tmp/half"
sed -i '/^checksum /d' "$tmp/half/metadata"
check "checksum cut off" 1 "$tmp/half" 'metadata has a wrong checksum' 'DAMAGED'
cp -r "$tmp/complete" "$tmp/last"
rm "$tmp/last/task-2"
check "the last file missing" 1 "$tmp/last" 'left 3 files, the directory holds 2' 'DAMAGED'
cp -r "$tmp/complete" "$tmp/cutchunk"
python3 - "$tmp/cutchunk/task-2" <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
pos = 0
while pos < len(data):
    last = pos
    pos += struct.unpack_from("<H", data, pos + 8)[0] + struct.unpack_from("<I", data, pos + 20)[0]
open(sys.argv[1], "wb").write(data[:last])
END
check "a file cut between chunks" 1 "$tmp/cutchunk" 'left 16 chunks in them, the directory holds 15' 'DAMAGED'
cp -r "$tmp/complete" "$tmp/mixed"
cp "$tmp/lossy/task-1" "$tmp/mixed/task-1"
check "a file of another trace" 1 "$tmp/mixed" '^contradiction: .*(bytes in them|of another trace)' 'DAMAGED'
cp -r "$tmp/complete" "$tmp/swapped"
mv "$tmp/swapped/task-1" "$tmp/swapped/x"
mv "$tmp/swapped/task-2" "$tmp/swapped/task-1"
mv "$tmp/swapped/x" "$tmp/swapped/task-2"
check "two files swapped" 1 "$tmp/swapped" '^damaged: 2 files' 'DAMAGED'
cp -r "$tmp/complete" "$tmp/more"
cp "$tmp/complete/task-2" "$tmp/more/task-3"
check "a file too many" 1 "$tmp/more" 'left 3 files, the directory holds 4' 'DAMAGED'
cp -r "$tmp/complete" "$tmp/count"
old "$tmp/count"
sed -i 's/^certificate.records .*/certificate.records 70/' "$tmp/count/metadata"
check "wrong count" 1 "$tmp/count" 'counted 70 records, the files hold 68'

"$MAKE_TRACE" "$tmp/events" events && "$MAKE_TRACE" "$tmp/only" only-events ||
	{ not_ok "make-trace: events" failed; finish; }
check events 0 "$tmp/events" '^lossy: .*5 events were lost' '^lossy: 1 event was begun' \
	'sound, but .*; 4 tasks, 68 records in 13 chunks, 6 events and 17 changes of tasks and mappings were verified'
check "only events" 0 "$tmp/only" 'sound, but .*; 2 tasks, 6 events and 5 changes of tasks and mappings were verified'
cp -r "$tmp/only" "$tmp/fewer"
old "$tmp/fewer"
echo 'trace.events 7' >>"$tmp/fewer/metadata"
check "fewer events than counted" 1 "$tmp/fewer" 'counted 7 events, the files hold 6'
cp -r "$tmp/only" "$tmp/untyped"
rm "$tmp/untyped/marker-types"
check "types missing" 1 "$tmp/untyped" '^damaged: 2 chunks' 'DAMAGED; 2 tasks'
cp -r "$tmp/events" "$tmp/nostream"
head -c 300 /dev/zero >"$tmp/nostream/marker-1"
check "a stream scribbled over" 1 "$tmp/nostream" '^damaged:' 'DAMAGED; .*68 records in 13 chunks, 4 events'

# flip NAME TRACE FILE STEP: each STEP-th byte of a file flipped is always told,
# never a crash.
flip() {
	local name=$1 from=$2 file=$3 step=$4 bad= size byte at
	size=$(stat -c %s "$from/$file")
	for ((at = 3; at < size; at += step)); do
		rm -rf "$tmp/flip"
		cp -r "$from" "$tmp/flip"
		byte=$(od -An -tu1 -j $at -N 1 "$tmp/flip/$file")
		printf "\\x$(printf %02x $((byte ^ 16)))" |
			dd of="$tmp/flip/$file" bs=1 seek=$at conv=notrunc 2>/dev/null
		"$MOCA" check "$tmp/flip" >"$tmp/out" 2>&1
		[ $? = 1 ] || bad="$bad $at"
		"$MOCA" dump "$tmp/flip" >/dev/null 2>&1
		[ $? -le 1 ] || bad="$bad dump:$at"
	done
	if [ -z "$bad" ]; then ok "check: $name"; else not_ok "check: $name" "not told at$bad"; fi
}
flip "flipped bits" "$tmp/complete" task-0 61
flip "flipped bits of a stream" "$tmp/only" marker-0 29
flip "flipped bits of types" "$tmp/only" marker-types 29

mkdir "$tmp/empty"
check "an empty directory" 2 "$tmp/empty" 'not a trace'
check "no directory" 2 "$tmp/none" 'not a trace'
for bad in 'budget nan' 'slowdown_estimate inf' 'cost.wall_low 1e999' 'certificate.records -1'; do
	cp -r "$tmp/complete" "$tmp/number"
	sed -i -e '/^sums /d' -e '/^checksum /d' -e "/^${bad%% *} /d" "$tmp/number/metadata"
	echo "$bad" >>"$tmp/number/metadata"
	check "$bad" 2 "$tmp/number" "metadata says '${bad#* }' for ${bad%% *}, which is no finite number"
	rm -r "$tmp/number"
done
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

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside: others
# moca try: changes that a plan makes, and what stays of them with the trace; no case
# depends on a time.
. "$(dirname "$0")/lib.sh.inc"
export LC_ALL=C
here=$(dirname "$(dirname "$(realpath "$0")")")/place
prog=$BUILD/tests/place/tried

line() { grep -n "line: $1 " "$here/tried.c" | cut -d: -f1; }
# record NAME WHAT OPTIONS...
record() {
	"$MOCA" record -q --no-summary "${@:3}" -o "$tmp/$1" -- "$prog" "$2" </dev/null >/dev/null 2>"$tmp/err"
	[ -f "$tmp/$1/launch" ] || { not_ok "record $1" "$(head -c 300 "$tmp/err")"; finish; }
}
json() { python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$tmp/out" "$1"; }
holds() { json "$2" && ok "$1" || not_ok "$1" "$(head -c 1500 "$tmp/out" | tr '\n' ' ')"; }

# Without a finding: large blocks that are touched all over.
record fill fill
run "prefault: listed" 0 "$MOCA" try --all --list "$tmp/fill" prefault prefault-huge &&
	has "prefault: listed" "$tmp/out" '^[0-9]+\. prefault: pages of large' '^ +\[\[place\]\]$' "^ +site = \"tried.c:$(line fill)\"$" \
		'^ +module = ".*/place/tried"$' '^ +prefault = true$' '^ +huge = true$'
run "prefault" 0 "$MOCA" try --all --json -n 3 "$tmp/fill" prefault && {
	holds "prefault: the plan" '[c["id"] for c in d["changes"]] == ["prefault"] and "site = \"tried.c:'"$(line fill)"'\"" in d["changes"][0]["plan"] and d["changes"][0]["setting"] is None'
	# 6 blocks in each run with it: 4, or more where it seemed to help, or may.
	holds "prefault: matched" '(lambda p: p["runs"] >= 4 and p["blocks"] == 6 * p["runs"] and p["bytes"] == p["blocks"] * 8 * 2 ** 20 and not p["not_done"])(d["changes"][0]["placed"])'
	holds "prefault: the same output" 'd["changes"][0]["result"] not in ("differs", "not-tried") and not d["changes"][0]["other_output"]'
}
run "prefault: text" 0 "$MOCA" try --all -n 3 "$tmp/fill" prefault && has "prefault: text" "$tmp/out" '^   a plan, as moca place follows it:$' '^   placed +6 blocks, 48.0 MiB in each run$'
# What is printed is a plan.
python3 -c 'import json, sys; print(json.load(sys.stdin)["changes"][0]["plan"], end="")' <<<"$("$MOCA" try --all --json -n 3 "$tmp/fill" prefault)" >"$tmp/found.toml"
run "a plan for place" 0 "$MOCA" place --plan "$tmp/found.toml" --report "$tmp/report" -- "$prog" fill && has "a plan for place" "$tmp/report" '^  prefaulted: 6, '
run "another command" 0 "$MOCA" try --all --json -n 3 "$tmp/fill" prefault -- "$prog" share &&
	holds "another command: nothing matched" 'd["changes"][0]["result"] == "not-tried" and "nothing was allocated there" in d["changes"][0]["why_not"]'
run "a static program" 0 "$MOCA" try --all --json -n 3 "$tmp/fill" prefault huge-pages -- "$BUILD/tests/programs/memory-static" &&
	holds "a static program" '[c["result"] for c in d["changes"] if c["id"] == "prefault"] == ["not-tried"] and "static program" in [c["why_not"] for c in d["changes"] if c["id"] == "prefault"][0]'
run "it sees the plan" 0 "$MOCA" try --all --json -n 3 "$tmp/fill" prefault -- "$prog" env && holds "it sees the plan" 'd["changes"][0]["result"] == "differs"'
run "variables that are there" 0 env LD_PRELOAD= "$MOCA" try --all --json -n 3 "$tmp/fill" prefault && holds "variables that are there" 'd["changes"][0]["placed"]["blocks"] == 6 * d["changes"][0]["placed"]["runs"]'
run "SIGCHLD is ignored" 0 python3 -c 'import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])' "$MOCA" try --all --json -n 3 "$tmp/fill" prefault -- \
	sh -c 'grep SigIgn /proc/self/status >&2; exec "$@"' sh "$prog" fill && holds "SIGCHLD is ignored" 'd["status"] == 0 and d["changes"][0]["placed"]["blocks"] == 6 * d["changes"][0]["placed"]["runs"]'
# What the program maps itself has a line, too.
record map map
run "a mapping" 0 "$MOCA" try --all --json -n 3 "$tmp/map" prefault-huge &&
	holds "a mapping" '"site = \"tried.c:'"$(line map)"'\"" in d["changes"][0]["plan"] and d["changes"][0]["placed"]["blocks"] == d["changes"][0]["placed"]["runs"] > 0 and not d["changes"][0]["other_output"]'

# False sharing, as counted.
record share share --exact --granularity 64
run "padding: listed" 0 "$MOCA" try --list "$tmp/share" shared-lines &&
	has "padding: listed" "$tmp/out" '^1. shared-lines: ' 'cannot be tried: change 2 \(pad-64\) does it, by a plan' '^2. pad-64: ' "^ +site = \"tried.c:$(line share)\"$" '^ +pad = 64$' '^3. pad-128: ' '^ +pad = 128$'
run "padding" 0 "$MOCA" try --json -n 3 "$tmp/share" && {
	holds "padding: both" '[c["id"] for c in d["changes"]] == ["shared-lines", "pad-64", "pad-128"] and [c["follows"] for c in d["changes"]] == [["shared-lines"]] * 3'
	holds "padding: matched" '[c["placed"] and c["placed"]["blocks"] / c["placed"]["runs"] for c in d["changes"]] == [None, 4, 4]'
	holds "padding: the same output" 'not any(c.get("other_output") for c in d["changes"])'
	grep -q ' hypervisor' /proc/cpuinfo && { holds "padding: why not here" 'all(c["note"] for c in d["changes"][1:])'; }
}
[ "$(stat -c %a "$tmp/share/tried")" = 600 ] && ok "kept: mode" || not_ok "kept: mode" "not 0600"
run "kept: summary" 0 env COLUMNS=999 "$MOCA" summary "$tmp/share" && has "kept: summary" "$tmp/out" '^     Tried      pad-64: ' '^                pad-128: ' &&
	tr -s '\n ' '  ' <"$tmp/out" >"$tmp/flat" && has "kept: rounds" "$tmp/flat" 'n = (3|15), on '
run "kept: one more" 0 "$MOCA" try -n 4 "$tmp/share" pad-128
run "kept: JSON" 0 "$MOCA" summary --json "$tmp/share" && holds "kept: JSON" '[(t["id"], t["rounds"] in n, t["command"]) for t, n in zip(d["findings"][0]["tried"], ((3, 15), (4, 20)))] == [("pad-64", True, None), ("pad-128", True, None)]'
run "kept: another command" 0 "$MOCA" try -n 3 "$tmp/share" pad-64 -- "$prog" share 1 && run "kept: another command" 0 "$MOCA" summary --json "$tmp/share" &&
	holds "kept: another command" '[t["command"] for t in d["findings"][0]["tried"]] == [None, "'"$prog"' share 1"]'
run "kept: sound" 0 "$MOCA" check "$tmp/share" && ok "kept: sound"
run "kept: report" 0 "$MOCA" report -o "$tmp/report.html" "$tmp/share" && ok "kept: report"
sed -i 's/^rounds /rounds 1/' "$tmp/share/tried"
run "damaged: summary" 0 "$MOCA" summary "$tmp/share" && has "damaged: summary" "$tmp/out" "the file 'tried' of the trace is"
"$MOCA" check "$tmp/share" >"$tmp/out" && not_ok "damaged: check" "exit code 0" || has "damaged: check" "$tmp/out" '^damaged: the file tried'
run "damaged: anew" 0 "$MOCA" try -n 3 "$tmp/share" pad-64 && run "damaged: anew" 0 "$MOCA" check "$tmp/share" && ok "damaged: anew"

# Where pages lie matters where there is more than one node.
if "$BUILD/tests/web/make-finding" "$tmp/nodes" >"$tmp/out" 2>&1; then
	run "nodes" 0 "$MOCA" try --list --topology 2x1 "$tmp/nodes" interleave && {
		if [ "$(ls -d /sys/devices/system/node/node[0-9]* 2>/dev/null | wc -l)" -le 1 ]; then
			has "nodes" "$tmp/out" 'interleave: pages' 'cannot be tried: this machine, or what the program may use of it, has one node'
		else
			has "nodes" "$tmp/out" 'interleave: pages' '(memory = "interleave"|has one node)'
		fi
	}
else
	not_ok "nodes" "make-finding failed: $(head -c 300 "$tmp/out")"
fi
finish

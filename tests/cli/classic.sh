#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside: others
# The command line of the original MOCA and its Moca-taskX files.
. "$(dirname "$0")/lib.sh.inc"

cat >"$tmp/see.py" <<'END'
# As strict as an importer of the original: it takes each word as it is.
import os, re, sys
def hexadecimal(word):
    assert re.fullmatch(r"[0-9a-f]+", word) and int(word, 16) < 1 << 63, word
    return int(word, 16)
d = sys.argv[1]
cpus = os.sysconf("SC_NPROCESSORS_CONF")
names = sorted(n for n in os.listdir(d) if n.startswith("Moca-task"))
assert names and names[0] == "Moca-task0", names
accesses = 0
for n in names:
    x = n[len("Moca-task"):]
    lines = open(os.path.join(d, n)).read().split("\n")
    assert lines.pop() == ""
    assert re.fullmatch(r"Task %s [0-9]+%s" % (x, " 4096" if x == "0" else ""), lines[0]), lines[0]
    left, number, last = 0, 0, 0
    for l in lines[1:]:
        if left == 0:
            m = re.fullmatch(r"Chunk (\d+) (\d+) (\d+) (\d+) ([01]+)", l)
            assert m, l
            assert int(m[1]) == number and len(m[5]) >= min(cpus, 2)
            assert last <= int(m[3]) < int(m[4]) < 1 << 63, l
            last = int(m[4])
            left, number, seen, mask, union = int(m[2]), number + 1, set(), int(m[5], 2), 0
            assert left > 0
            continue
        m = re.fullmatch(r"Access (\S+) (\S+) (\d+) (\d+) ([01]+)", l)
        assert m, l
        page = hexadecimal(m[1])
        assert page % 4096 == 0 and page not in seen and hexadecimal(m[2]) % 4096 == 0
        assert int(m[3]) + int(m[4]) > 0
        seen.add(page)
        union |= int(m[5], 2)
        left, accesses = left - 1, accesses + 1
        if left == 0:
            assert union == mask
    assert left == 0
assert accesses > 0
END
files() {
	if python3 "$tmp/see.py" "$2" 2>"$tmp/py"; then ok "$1"; else not_ok "$1" "$(tail -n 1 "$tmp/py")"; fi
}

run "classic: no -c" 2 "$MOCA" -a x && has "classic: no -c" "$tmp/err" 'which program'
run "classic: unknown flag" 2 "$MOCA" -c true -Z && has "classic: unknown flag" "$tmp/err" "'-Z'"
run "classic: -b out of range" 2 "$MOCA" -c true -b 99 && has "classic: -b out of range" "$tmp/err" "'-b' takes"
run "classic: -w 0" 2 "$MOCA" -c true -w 0 && has "classic: -w 0" "$tmp/err" "'-w' takes"
run "classic: open quote" 2 "$MOCA" -c true -a "'x" && has "classic: open quote" "$tmp/err" 'quote'
run "classic: help" 0 "$MOCA" -c true --help && has "classic: help" "$tmp/out" '-w MS' '-F '

if ! "$MOCA" record -q -o "$tmp/probe" -- true >/dev/null 2>&1; then
	skip "classic: recording" "moca record does not work here"
	finish
fi
mkdir "$tmp/a" "$tmp/b"
cd "$tmp/a" || exit 1
run "classic: a program" 3 "$MOCA" -c sh -a "-c 'echo out; echo err >&2; exit 3'" -b 14 -S 32768 -C 20 -u -n -d /x -G -L .5
has "classic: stdout" Moca-sh.log '^out$'
has "classic: stderr" Moca-sh.err '^err$'
has "classic: flags are explained" Moca-output.log '^-b 14: no effect' '^-S 32768: no effect' \
	'^-C 20: no effect' '^-u: no effect' '^-n: no effect' '^-d /x: no effect' '^-G: no effect' '^-L .5: no effect'
files "classic: format" .
if [ -z "$(find . -name '.moca*')" ]; then ok "classic: nothing left"; else not_ok "classic: nothing left" "$(ls -A)"; fi
cd "$tmp/b" || exit 1
touch Moca-task99 Moca-task1
run "classic: own names" 0 "$MOCA" -c "echo 'a  b'" -a "\"c d\" e\\ f" -f run.log -l moca.txt -D out -w 20 -F
has "classic: own names" out/run.log '^a  b c d e f$'
has "classic: -F is explained" out/moca.txt '^-F: '
files "classic: -D" out
run "classic: killed" 143 bash -c '"$0" -c sh -a "-c \"kill -TERM \\\$\\\$\""; exit $?' "$MOCA" && ok "classic: killed"
run "classic: not found" 127 "$MOCA" -c /nonexistent/program && ok "classic: not found"
if [ "$(id -u)" = 0 ]; then
	run "classic: -p" 0 "$MOCA" -c chrt -a "-p 0" -p 5 &&
		has "classic: -p" Moca-chrt.log 'SCHED_FIFO' 'priority: 4'
else
	skip "classic: -p" "needs root"
fi
finish

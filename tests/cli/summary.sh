#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside: others
# moca summary and moca diff: options, exit codes, widths, JSON.
. "$(dirname "$0")/lib.sh.inc"

"$MAKE_TRACE" "$tmp/trace" || not_ok "make-trace" "it failed"

run "summary" 0 "$MOCA" summary "$tmp/trace" &&
	has "summary" "$tmp/out" '^Trace ' 'what-if: 2 nodes' '^Findings' '^Data structures'
run "summary: --topology" 0 "$MOCA" summary --topology 4x16 "$tmp/trace" &&
	has "summary: --topology" "$tmp/out" 'what-if: 4 nodes, 64 CPUs'
for bad in 4 0x1 4x 99x1 /nonexistent.xml; do
	run "summary: --topology $bad" 2 "$MOCA" summary --topology "$bad" "$tmp/trace" &&
		has "summary: --topology $bad" "$tmp/err" 'NODESxCPUS'
done
cat >"$tmp/m.xml" <<'XML'
<?xml version="1.0"?><topology version="2.0"><object type="Machine" cpuset="0x7">
<object type="NUMANode" os_index="0" cpuset="0x3"/><object type="NUMANode" cpuset="0x4"/>
</object></topology>
XML
run "summary: hwloc" 0 "$MOCA" summary --topology "$tmp/m.xml" "$tmp/trace" &&
	has "summary: hwloc" "$tmp/out" '2 nodes, 3 CPUs'
for bad in x 2 -1 ''; do
	run "summary: --detail '$bad'" 2 "$MOCA" summary --detail "$bad" "$tmp/trace" &&
		has "summary: --detail '$bad'" "$tmp/err" 'from 0'
done
run "summary: --detail" 0 "$MOCA" summary --detail 1 "$tmp/trace" && ok "summary: --detail"
run "summary: no trace" 2 "$MOCA" summary && has "summary: no trace" "$tmp/err" 'which trace'
run "summary: no such trace" 2 "$MOCA" summary "$tmp/none" &&
	has "summary: no such trace" "$tmp/err" 'is not a trace'

# No line is wider than asked, but for a word that is.
COLUMNS=72 run "summary: narrow" 0 "$MOCA" summary "$tmp/trace"
if awk '/^(Data|Findings|Notes|Phases)/ { at = $1 } at == "Findings" && length > 72 { exit 1 }' "$tmp/out"; then
	ok "summary: narrow"
else
	not_ok "summary: narrow" "$(awk 'length > 72' "$tmp/out" | head -1)"
fi
# Colours on a terminal, unless NO_COLOR; none in a pipe.
tty() { script -qec "$1" /dev/null >"$tmp/out" 2>&1 </dev/null; }
tty "env -u NO_COLOR TERM=xterm $MOCA summary $tmp/trace"
has "summary: colour" "$tmp/out" $'\033\[1m'
tty "env NO_COLOR=1 TERM=xterm $MOCA summary $tmp/trace"
if grep -q $'\033' "$tmp/out"; then not_ok "summary: NO_COLOR" "it has colours"; else ok "summary: NO_COLOR"; fi
"$MOCA" summary "$tmp/trace" >"$tmp/out"
if grep -q $'\033' "$tmp/out"; then not_ok "summary: pipe" "it has colours"; else ok "summary: pipe"; fi

"$MOCA" info "$tmp/trace" >"$tmp/info"
bars=$(sed -n '/^Working set:/{n;s/^ *//p}' "$tmp/info")
if [ -n "$bars" ] && [ "$(sed -n 's/^Working set *//p' "$tmp/out")" = "$bars" ]; then
	ok "summary: the working set's bars are those of info"
else
	not_ok "summary: the working set's bars are those of info" "$bars; $(grep '^Working set' "$tmp/out")"
fi

run "summary: --json" 0 "$MOCA" summary --json --all "$tmp/trace"
if python3 - "$tmp/out" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["version"] == 3 and d["topology"]["nodes"] == 2
assert d["totals"]["accesses"] == sum(o["accesses"] for o in d["objects"] if o["data"])
for o in d["objects"]:
    assert sum(o["pages_by_node"]) == o["pages"], o["name"]
    assert o["watched_pages"] == o["pages"]
    assert o["private_pages"] + o["migratory_pages"] + o["shared_pages"] == o["pages"]
    assert sum(o["reads_in"]) + sum(o["writes_in"]) == o["accesses"]
    assert len(o["accesses_by_lane"]) == d["topology"]["lanes"]
    for part in o["parts"]:
        assert len(part["accesses"]) == d["topology"]["lanes"]
areas = d["overview"]["areas"]
assert sum(a["reads"] + a["writes"] for a in areas) <= d["totals"]["accesses"]
assert len(areas) >= 1 and all(a["begin_ns"] < a["end_ns"] for a in areas)
q = d["phases"]["qualities"]
assert all(a["p_begin"] <= b["p_begin"] for a, b in zip(q, q[1:]))
PY
then ok "summary: --json"; else not_ok "summary: --json" "see above"; fi

# --- diff ---
run "diff: itself" 0 "$MOCA" diff "$tmp/trace" "$tmp/trace" --fail-if 'accesses>+0' \
	--fail-if 'pages>+0%' --fail-if 'remote>+0%' --fail-if 'wss<-0' &&
	has "diff: itself" "$tmp/out" '^A ' 'accesses .* =$' '^Records .*: of data, as all that'
has "diff: lost samples are told" "$tmp/err" "incomplete: 3 samples were lost, and of 15 touched pages 14 were seen"
"$MAKE_TRACE" "$tmp/complete" complete || not_ok "make-trace" "it failed"
"$MAKE_TRACE" "$tmp/sampled" sampled
run "summary: samples are told" 0 "$MOCA" summary "$tmp/sampled" &&
	has "summary: samples are told" "$tmp/out" "records, which stand for about [0-9,]+ accesses to " \
	'sampling alone gives them a standard error of [0-9.]+ points at most'
run "diff: samples are told" 0 "$MOCA" diff "$tmp/complete" "$tmp/sampled" &&
	has "diff: samples are told" "$tmp/err" "/sampled' looked again at a share of large memory only \(1/4 at the least\)"
run "diff: one is not sampled" 0 "$MOCA" diff "$tmp/complete" "$tmp/sampled" && if grep -q "/complete' looked" "$tmp/err"; then
	not_ok "diff: one is not sampled" "it is told"; else ok "diff: one is not sampled"; fi
"$BUILD/tests/make-objects" "$tmp/longer" || not_ok "make-objects" "it failed"
run "diff: intervals differ" 0 "$MOCA" diff "$tmp/complete" "$tmp/longer" &&
	has "diff: intervals differ" "$tmp/out" '^Intervals +of 50 ms on average -> 1\.00 s: accesses, '
run "diff: intervals do not" 0 "$MOCA" diff "$tmp/complete" "$tmp/complete" && if grep -q '^Intervals' "$tmp/out"; then
	not_ok "diff: intervals do not" "they are told to"; else ok "diff: intervals do not"; fi
run "baseline: samples are told" 0 "$MOCA" baseline "$tmp/sampled" -o "$tmp/sampled.toml" &&
	has "baseline: samples are told" "$tmp/err" "looked again" && [ "$(grep -c 'looked again' "$tmp/err")" = 1 ] || not_ok "baseline: samples are told" "not once"
run "diff: complete" 0 "$MOCA" diff "$tmp/complete" "$tmp/complete" &&
	if grep -q incomplete "$tmp/err"; then
		not_ok "diff: complete" "$(head -c 200 "$tmp/err")"
	else
		ok "diff: complete"
	fi
run "diff: holds" 1 "$MOCA" diff "$tmp/trace" "$tmp/trace" --fail-if 'accesses>=1' &&
	has "diff: holds" "$tmp/err" 'FAILED accesses>=1: [0-9,]+ -> [0-9,]+'
run "diff: one of two holds" 1 "$MOCA" diff "$tmp/trace" "$tmp/trace" --fail-if 'accesses < 1' \
	--fail-if ' pages <= +0 ' && has "diff: one of two holds" "$tmp/err" 'pages <= '
for bad in '' x 'x>1' 'remote' 'remote>' 'remote>x' 'remote>5%%' 'pages>10%' 'pages(>1' \
	'pages()>1' 'wss(u)>1' 'remote=1' 'accesses>1e999' 'pages>+'; do
	run "diff: '$bad'" 2 "$MOCA" diff "$tmp/trace" "$tmp/trace" --fail-if "$bad" &&
		has "diff: '$bad'" "$tmp/err" 'is no condition'
done
run "diff: unknown object" 2 "$MOCA" diff "$tmp/trace" "$tmp/trace" --fail-if 'pages(no (such) one)>1k' &&
	has "diff: unknown object" "$tmp/err" "nothing in either run is called 'no \(such\) one'"
run "diff: one trace" 2 "$MOCA" diff "$tmp/trace" && has "diff: one trace" "$tmp/err" 'two traces'
run "diff: no such trace" 2 "$MOCA" diff "$tmp/trace" "$tmp/none" &&
	has "diff: no such trace" "$tmp/err" 'is not a trace'
cp -r "$tmp/trace" "$tmp/broken"
for f in "$tmp"/broken/task-*; do truncate -s -9 "$f"; done
run "diff: damaged" 1 "$MOCA" diff "$tmp/trace" "$tmp/broken" &&
	has "diff: damaged" "$tmp/err" "parts of '.*/broken' are missing, or are damaged and were left out"
run "diff: damaged, --junit" 1 "$MOCA" diff "$tmp/trace" "$tmp/broken" --fail-if 'pages>1G' --junit "$tmp/x.xml"
if python3 -c 'import sys, xml.etree.ElementTree as et
suite = et.parse(sys.argv[1]).getroot()
assert [suite.get(k) for k in ("tests", "failures", "errors")] == ["2", "0", "1"], suite.attrib
assert [len(c.findall("error")) for c in suite.findall("testcase")] == [0, 1]' "$tmp/x.xml"
then ok "diff: damaged, --junit"; else not_ok "diff: damaged, --junit" "see above"; fi
run "diff: --junit of the last run" 2 "$MOCA" diff "$tmp/trace" "$tmp/none" --fail-if 'pages>1G' --junit "$tmp/x.xml" &&
	if [ -e "$tmp/x.xml" ]; then not_ok "diff: --junit of the last run" "it stayed"
	else ok "diff: --junit of the last run"; fi
rm -r "$tmp/broken"
run "diff: --json" 0 "$MOCA" diff --json "$tmp/trace" "$tmp/trace" --fail-if 'pages>1G'
if python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert d["total"]["a"] == d["total"]["b"] and not d["conditions"][0]["holds"]
assert all(o["a"] == o["b"] for o in d["objects"])' "$tmp/out"
then ok "diff: --json"; else not_ok "diff: --json" "see above"; fi
# What is of a format's own stays text there; of XML, what is no character is none.
odd=$tmp/$'a_*|<b>& ``~@$#:\\|\a\xef\xbf\xbf'
mv "$tmp/trace" "$odd"
run "diff: --junit, --markdown" 1 "$MOCA" diff "$odd" "$odd" --markdown --junit "$tmp/x.xml" \
	--fail-if 'pages>1G' --fail-if 'accesses>=1'
if python3 -c 'import sys, xml.etree.ElementTree as et
suite = et.parse(sys.argv[1]).getroot()
cases = suite.findall("testcase")
assert suite.get("tests") == "2" and suite.get("failures") == "1", suite.attrib
assert [c.get("name") for c in cases] == ["pages>1G", "accesses>=1"]
assert [len(c.findall("failure")) for c in cases] == [0, 1]
assert cases[0].get("classname").endswith("a_*|<b>& ``~@$#:\\|\\x07\ufffd"), cases[0].attrib
assert " -> " in cases[1].find("failure").get("message")
lines = open(sys.argv[2]).read().split("\n")
assert lines[0] == "### moca diff: 1 of 2 conditions failed", lines[0]
assert lines[2].startswith("A: ``` /") and \
    lines[2].endswith("/a_*|<b>& ``~@$#:\\|\\x07\uffff ```  "), lines[2]
rows = [l for l in lines if l.startswith("| ")]
assert sum("**failed**" in r for r in rows) == 1 and sum("| ok |" in r for r in rows) == 1
tables = [[r.count("|") - r.count(r"\|") for r in t.split("\n")] for t in
          "\n".join(lines).split("\n\n") if t.startswith("| ")]
assert len(tables) >= 3 and all(len(set(t)) == 1 for t in map(lambda t: [n for n in t if n], tables)), tables
' "$tmp/x.xml" "$tmp/out"
then ok "diff: --junit, --markdown"; else not_ok "diff: --junit, --markdown" "see above"; fi
run "diff: --junit alone" 2 "$MOCA" diff "$odd" "$odd" --junit "$tmp/y" && [ ! -e "$tmp/y" ] &&
	has "diff: --junit alone" "$tmp/err" 'fail-if'
run "diff: --junit into nothing" 2 "$MOCA" diff "$odd" "$odd" --fail-if 'pages>1G' --junit "$tmp/none/y" &&
	has "diff: --junit into nothing" "$tmp/err" 'cannot write --junit'
# A baseline is what diff says of the run itself.
mv "$odd" "$tmp/trace"
file=$tmp/base
if run "baseline" 0 "$MOCA" baseline "$tmp/trace" -o "$file" && run "baseline: json" 0 "$MOCA" diff --json "$tmp/trace" "$tmp/trace"; then
	sed '/^  "a": "/d' "$tmp/out" >"$tmp/want"
	run "baseline: itself" 0 "$MOCA" diff --json "$file" "$tmp/trace"
	sed '/^  "a": "/d' "$tmp/out" | cmp -s - "$tmp/want" && ok "baseline: itself" ||
		not_ok "baseline: itself" "$(head -c 300 "$tmp/out")"
fi
run "baseline: standard output" 0 "$MOCA" baseline "$tmp/trace" -o - && cmp -s "$tmp/out" "$file" && ok "baseline: standard output"
sed 's/^total\t[0-9]*/total\t10/' "$file" >"$tmp/less"
run "baseline: fail-if" 1 "$MOCA" diff "$tmp/less" "$tmp/trace" --fail-if 'accesses>+1' &&
	has "baseline: fail-if" "$tmp/err" 'FAILED accesses>\+1: 10 -> '
cp "$file" "$tmp/kept"
run "baseline: as --junit" 2 "$MOCA" diff "$file" "$tmp/trace" --fail-if 'pages>1G' --junit "$tmp/./base" &&
	has "baseline: as --junit" "$tmp/err" 'is what is compared'
cmp -s "$file" "$tmp/kept" || not_ok "baseline: as --junit" "it is gone"
sed 's/^machine.*/machine\tanother\\x5c\\x7c/' "$file" >"$tmp/other"
run "baseline: another machine" 0 "$MOCA" diff "$tmp/other" "$tmp/trace" &&
	has "baseline: another machine" "$tmp/err" 'of another machine \(another\\\|\)'
run "baseline: no call stacks" 2 "$MOCA" diff --flame "$file" "$tmp/trace" && has "baseline: no call stacks" "$tmp/err" 'needs call stacks'
run "baseline: as B" 2 "$MOCA" diff "$tmp/trace" "$file" && has "baseline: as B" "$tmp/err" 'stands first'
run "baseline: a pipe is none" 2 "$MOCA" diff <(:) "$tmp/trace" && ok "baseline: a pipe is none"
sed 's/^way.*/way\tcounts/' "$file" >"$tmp/counts"
run "baseline: of counts" 2 "$MOCA" diff "$tmp/counts" "$tmp/trace" && has "baseline: of counts" "$tmp/err" "counts' has counts of exact mode"
# A control character of two bytes is read back.
if "$BUILD/tests/make-objects" "$tmp/c1" odd-names && run "baseline: C1" 0 "$MOCA" baseline "$tmp/c1" -o "$tmp/c1.base" &&
	has "baseline: C1 is written" "$tmp/c1.base" '\\xc2\\x9b' && run "baseline: C1" 0 "$MOCA" diff --json "$tmp/c1" "$tmp/c1"; then
	sed '/^  "a": "/d' "$tmp/out" >"$tmp/want"
	run "baseline: C1" 0 "$MOCA" diff --json "$tmp/c1.base" "$tmp/c1"
	sed '/^  "a": "/d' "$tmp/out" | cmp -s - "$tmp/want" && ok "baseline: C1" ||
		not_ok "baseline: C1" "$(head -c 300 "$tmp/out")"
fi
# A cell is one, whatever is in the name.
name='x`\|@y'
awk -v OFS='\t' -F '\t' '$1 == "object" && !n++ { $12 = "x`\\x5c|@y" } { print }' "$file" >"$tmp/named"
run "diff: --markdown, a cell" 0 "$MOCA" diff --markdown "$tmp/named" "$tmp/trace" --fail-if "pages($name)>1G" &&
	has "diff: --markdown, a cell" "$tmp/out" '^\| `` pages\(x`\\x5c\\\|@y\)>1G `` \| ok \|' '^\| `` x`\\x5c\\\|@y `` \|'
broken() {
	local name=$1
	shift
	"$@" "$file" >"$tmp/bad"
	run "baseline: $name" 2 "$MOCA" diff "$tmp/bad" "$tmp/trace" && has "baseline: $name" "$tmp/err" 'baseline'
}
broken "newer" sed '1s/1$/2/'
broken "cut" head -c -1 && has "baseline: cut: told" "$tmp/err" 'is cut off'
broken "cut at a line" sed '$d' && has "baseline: cut at a line: told" "$tmp/err" 'is cut off'
broken "an object less" sed '0,/^object/{/^object/d}' && has "baseline: an object less: told" "$tmp/err" 'damaged baseline'
broken "a line behind the end" sed '$p'
broken "a NUL" sed 's/^way/w\x00y/'
broken "no total" sed '/^total/d'
broken "two totals" sed '/^total/p'
broken "one name twice" awk -F '\t' '/^object/ { print; n++ } /^end/ { $0 = "end\t" 2 * n } 1'
broken "a negative number" sed 's/^total\t/total\t-/'
broken "no number" sed 's/^total\t/total\tnan/'
broken "a share above 1" sed 's/^object\(\(\t[^\t]*\)\{5\}\)\t[^\t]*/object\1\t2/'
broken "too few fields" sed 's/^object\t[^\t]*/object/'
broken "an unknown line" sed '2i new\tline'
broken "a byte written badly" sed 's/^of.*/of\t\\x0/'
broken "a NUL written" sed 's/^of.*/of\t\\x00/'
run "baseline: no file" 2 "$MOCA" baseline "$tmp/trace" && has "baseline: no file" "$tmp/err" 'moca baseline DIR -o FILE'
run "baseline: nowhere" 2 "$MOCA" baseline "$tmp/trace" -o "$tmp/none/x" && has "baseline: nowhere" "$tmp/err" 'cannot write'
# What is there stays until all is written.
mkdir "$tmp/dir" && echo kept >"$tmp/dir/b" && chmod 640 "$tmp/dir/b"
limited() {
	(set -o pipefail && (ulimit -f 0 && "$@" 2>&1) | cat >&2)
}
run "baseline: no room" 2 limited "$MOCA" baseline "$tmp/trace" -o "$tmp/dir/b" &&
	has "baseline: no room" "$tmp/err" 'cannot write .*File too large' &&
	has "baseline: no room: the old one" "$tmp/dir/b" '^kept$'
run "baseline: replaced" 0 "$MOCA" baseline "$tmp/trace" -o "$tmp/dir/b"
if cmp -s "$file" "$tmp/dir/b" && [ "$(ls -A "$tmp/dir")" = b ] && [ "$(stat -c %a "$tmp/dir/b")" = 640 ]
then ok "baseline: replaced"; else not_ok "baseline: replaced" "$(ls -lA "$tmp/dir")"; fi
run "baseline: full device" 2 "$MOCA" baseline "$tmp/trace" -o /dev/full &&
	has "baseline: full device" "$tmp/err" 'No space left'
ln -s dir/b "$tmp/link" && : >"$tmp/dir/b"
run "baseline: a link" 0 "$MOCA" baseline "$tmp/trace" -o "$tmp/link"
if [ -L "$tmp/link" ] && cmp -s "$file" "$tmp/dir/b"; then ok "baseline: a link"; else not_ok "baseline: a link" "$(ls -lA "$tmp")"; fi
run "baseline: no trace" 2 "$MOCA" baseline "$tmp/none" -o "$tmp/x" && has "baseline: no trace" "$tmp/err" 'is not a trace'
cp -r "$tmp/trace" "$tmp/broken"
for f in "$tmp"/broken/task-*; do truncate -s -9 "$f"; done
run "baseline: damaged" 1 "$MOCA" baseline "$tmp/broken" -o "$tmp/x" && [ ! -e "$tmp/x" ] &&
	has "baseline: damaged" "$tmp/err" 'are missing or damaged'
rm -r "$tmp/broken"
run "diff: functions in Markdown" 2 "$MOCA" diff "$tmp/trace" "$tmp/trace" --flame --markdown &&
	has "diff: functions in Markdown" "$tmp/err" '--markdown has no functions'
run "diff: two forms" 2 "$MOCA" diff "$tmp/trace" "$tmp/trace" --json --markdown &&
	has "diff: two forms" "$tmp/err" 'give one of them'
finish

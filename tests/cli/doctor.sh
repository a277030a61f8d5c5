#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside: others
# moca doctor, as whoever runs the tests and as nobody.
. "$(dirname "$0")/lib.sh.inc"

mounts=$(cat /proc/self/mounts)
cat >"$tmp/see.py" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
ids = {p["id"]: p for p in d["probes"]}
for i in "page_faults ring ptrace seccomp userfaultfd tracepoint pagemap memfd".split():
    assert ids[i]["status"] in ("ok", "limited", "no"), i
for p in d["probes"]:
    assert p["found"]
    assert p["status"] == "ok" or p["without"], p
assert d["ways"][0]["command"] == "moca record" and d["ways"][0]["cannot_see"]
assert d["ways"][0]["works"] == (int(sys.argv[3]) == 0)
assert d["ways"][2]["command"] == "moca record --via kernel"
exact = d["ways"][1]
assert exact["command"] == "moca record --exact" and exact["cannot_see"]
assert exact["works"] == (exact["missing"] is None)
assert d["uid"] == int(sys.argv[2])
if d["uid"]:
    assert ids["pagemap"]["status"] == "no" and "root" in ids["pagemap"]["fix"]
END

# doctor NAME UID COMMAND...
doctor() {
	local name=$1 uid=$2 code
	shift 2
	"$@" doctor --json >"$tmp/out" 2>"$tmp/err"
	code=$?
	if python3 "$tmp/see.py" "$tmp/out" "$uid" $code 2>"$tmp/py"; then
		ok "$name --json"
	else
		not_ok "$name --json" "$(tail -n 1 "$tmp/py")"
	fi
	"$@" doctor >"$tmp/out" 2>"$tmp/err"
	has "$name" "$tmp/out" '^Linux ' 'see page faults' '^Ways of recording' '^moca record'
}
doctor doctor "$(id -u)" "$MOCA"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$tmp"
	cp "$MOCA" "$tmp/moca"
	doctor "doctor as nobody" 65534 \
		setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/moca"
	has "doctor as nobody: a way out" "$tmp/out" 'to allow it: ' 'cannot see here'
else
	skip "doctor as nobody" "needs root and setpriv"
fi
(ulimit -v 8000000; exec "$MOCA" doctor >"$tmp/out" 2>&1)
has "doctor: little address space" "$tmp/out" '^no .*room for counters' \
	'it needs: (room for counters|count every access)' 'ulimit -v unlimited'
(ulimit -f 1000000; exec "$MOCA" doctor >"$tmp/out" 2>&1)
has "doctor: small files" "$tmp/out" '^no .*room for counters' 'ulimit -f unlimited'
(ulimit -S -f 1000000; exec "$MOCA" doctor >"$tmp/out" 2>&1)
has "doctor: small files by the soft limit" "$tmp/out" '^ok .*room for counters'
if [ "$(cat /proc/self/mounts)" = "$mounts" ]; then
	ok "doctor leaves no mount behind"
else
	not_ok "doctor leaves no mount behind" "the mounts changed"
fi
run "doctor: operand" 2 "$MOCA" doctor x && ok "doctor: operand"
finish

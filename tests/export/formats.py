# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of `moca export` share."""
import json
import os
import subprocess
import sys
import tempfile

MOCA = os.environ["MOCA"]
BUILD = os.environ["BUILD"]
TOP = os.environ.get("TOP", ".")
HERE = os.path.dirname(os.path.abspath(__file__))


class Skip(Exception):
    pass


class Suite:
    """Cases by name; `each` case gets a directory of its own."""

    def __init__(self, what):
        self.what, self.failed, self.cases = what, False, []

    def case(self, f):
        self.cases.append(f)
        return f

    def main(self):
        for f in self.cases:
            name = "%s: %s" % (self.what, f.__name__.replace("_", " "))
            if len(sys.argv) > 1 and f.__name__ not in sys.argv[1:]:
                continue
            with tempfile.TemporaryDirectory() as tmp:
                try:
                    f(tmp)
                    print("ok " + name)
                except Skip as e:
                    print("skip %s: %s" % (name, e))
                except Exception as e:
                    self.failed = True
                    print("not ok %s: %s" % (
                        name, repr(e).replace("\n", " ")[:1000]))
                sys.stdout.flush()
        sys.exit(self.failed)


def run(*args, code=0, program=MOCA, **kw):
    p = subprocess.run([program, *args], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
    assert p.returncode == code, "%s %s: exit code %d, not %d: %s" % (
        program, args, p.returncode, code, p.stderr[-500:])
    p.out, p.err = (s.decode(errors="surrogateescape")
                    for s in (p.stdout, p.stderr))
    return p


def export(trace, form, out, *options, code=0):
    return run("export", trace, "--to", form, "-o", out, *options, code=code)


def ask(trace, sql):
    """Rows of moca query, as lists."""
    return [list(r.values())
            for r in json.loads(run("query", "--json", trace, sql).out)]


def make(tmp, which, *kind):
    """A trace by tests/WHICH: make-exact, bench/make-trace ..."""
    path = os.path.join(tmp, "-".join((os.path.basename(which),) + kind))
    if not os.path.exists(path):
        run(path, *kind, program=os.path.join(BUILD, "tests", which))
    return path

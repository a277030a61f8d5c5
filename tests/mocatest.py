# SPDX-License-Identifier: GPL-2.0-or-later
"""What the test scripts share: running moca, clean-up, reporting cases.

MOCA_PLAIN=1 says that $MOCA is only a stand-in that runs the command (to try
the tests themselves): whatever needs a trace is then skipped.
"""
import atexit
import contextlib
import ctypes
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

TOP = os.environ.get(
    "TOP", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", os.path.join(TOP, "build"))
MOCA = os.environ.get("MOCA", os.path.join(BUILD, "moca"))
PLAIN = os.environ.get("MOCA_PLAIN") == "1"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
NOBODY_PREFIX = list(NOBODY) if os.getuid() == 0 else []
# The folders that tests/run has made for this test.
FOLDERS = {v: os.environ[v] for v in ("XDG_RUNTIME_DIR", "MOCA_SHM_DIR")
           if v in os.environ and "MOCA_TEST_NOBODY_DIR" in os.environ}
if FOLDERS:
    NOBODY += ["env", "XDG_RUNTIME_DIR=" + os.environ["MOCA_TEST_NOBODY_DIR"]]
OWN = {}    # in their place, when the script is run by itself
IS_ROOT = os.getuid() == 0
OWN_MOUNTS = os.path.join(BUILD, "tests", "own-mounts")

_libc = ctypes.CDLL(None, use_errno=True)
PR_SET_CHILD_SUBREAPER = 36


# Lines of output that a failed case has in the log; tests/run shows the end of it.
DETAIL = 1000


class Cases:
    """Prints the cases; exit() ends the script as tests/run expects."""

    def __init__(self):
        self.failed = 0

    def ok(self, name):
        print("ok " + name, flush=True)

    def fail(self, name, why, detail=""):
        self.failed += 1
        print("not ok %s: %s" % (name, why))
        for line in detail.splitlines()[-DETAIL:]:
            print("  | " + line[:1000])
        sys.stdout.flush()

    def skip(self, name, reason):
        print("skip %s: %s" % (name, reason), flush=True)

    def result(self, name, why, detail=""):
        """why is None when the case passed."""
        if why is None:
            self.ok(name)
        else:
            self.fail(name, why, detail)

    def each(self, function, jobs, waits=1.5):
        """function(cases, *job) for each job, as many at once as there are
        CPUs, times waits: more of those that wait for most of their time
        (environment: JOBS).

        Each runs in a process of its own, which adopts what its programs leave;
        what they print comes in the order of the jobs.
        """
        at_once = int(os.environ.get("JOBS") or
                      min(os.cpu_count() or 1, 8) * waits)
        waiting, running, ended = list(enumerate(jobs)), {}, {}
        told = 0
        sys.stdout.flush()
        while waiting or running:
            while waiting and len(running) < at_once:
                i, job = waiting.pop(0)
                out = tempfile.TemporaryFile("w+")
                pid = _job(function, job, out)
                running[pid] = i, out, job, time.monotonic()
            pid, status, used = os.wait4(-1, 0)
            if pid not in running:
                continue    # an orphan
            i, out, job, began = running.pop(pid)
            tell_seconds(time.monotonic() - began,
                         used.ru_utime + used.ru_stime, _name(function, job))
            self.failed += status != 0
            ended[i] = out
            while told in ended:
                with ended.pop(told) as out:
                    out.seek(0)
                    shutil.copyfileobj(out, sys.stdout)
                sys.stdout.flush()
                told += 1

    def exit(self):
        sys.exit(1 if self.failed or _unsound else 0)


def _name(function, job):
    names = [getattr(x, "name", None) or getattr(x, "__name__", None) or x
             for x in job]
    return " ".join(str(x) for x in names if isinstance(x, (str, int))) or \
        function.__name__


def tell_seconds(seconds, cpu, name):
    """What a case took, in the file that tests/run has for it."""
    path = os.environ.get("MOCA_TEST_SECONDS")
    if path:
        with open(path, "a") as f:
            f.write("%9.1f %7.1f  %s\n" % (seconds, cpu, name))


def _job(function, job, out):
    """In a process of its own, whose number it returns."""
    pid = os.fork()
    if pid:
        return pid
    be_subreaper()
    os.dup2(out.fileno(), 1)
    own = Cases()
    try:
        function(own, *job)
    except Exception as e:  # a mistake here must not end all of it
        own.fail(getattr(function, "__name__", "job"), "%s: %s" % (
            type(e).__name__, e), traceback.format_exc())
    finally:
        sys.stdout.flush()
        os._exit(1 if own.failed or _unsound else 0)


class Result:
    """How a program ended: status is "exit N", "signal N" or "timeout"."""

    def __init__(self, status, out, err, left, seconds):
        self.status, self.out, self.err = status, out, err
        self.left, self.seconds = left, seconds


def be_subreaper():
    """Orphans of what we start become our children, so none escapes us."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _terminated(*_):
    kill_left(0)
    os._exit(143)


def start():
    """To be called first by each script: leave nothing behind, ever."""
    be_subreaper()
    if not FOLDERS:     # not by tests/run: what others left is not ours
        OWN["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="moca-runtime-")
        atexit.register(remove_own, os.getpid())
    signal.signal(signal.SIGTERM, _terminated)
    signal.signal(signal.SIGINT, _terminated)


def remove_own(pid):
    if os.getpid() == pid:
        remove(OWN["XDG_RUNTIME_DIR"])


def descendants(pid=None):
    """Pids of all processes below pid (default: this one), zombies too."""
    children = {}
    for e in os.listdir("/proc"):
        if not e.isdigit():
            continue
        try:
            # A task's name is any bytes.
            with open("/proc/%s/stat" % e, "rb") as f:
                ppid = int(f.read().rsplit(b")", 1)[1].split()[1])
        except OSError:
            continue
        children.setdefault(ppid, []).append(int(e))
    found, todo = [], [pid or os.getpid()]
    while todo:
        c = children.get(todo.pop(), [])
        found += c
        todo += c
    return found


def comm(pid):
    try:
        with open("/proc/%d/cmdline" % pid, errors="replace") as f:
            line = f.read().replace("\0", " ").strip()
        with open("/proc/%d/stat" % pid, errors="replace") as f:
            state = f.read().rsplit(")", 1)[1].split()[0]
        return "%d[%s] %s" % (pid, state, line)
    except OSError:
        return str(pid)


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def kill_left(grace=10.0):
    """End what our dead children left behind; return its description. What ends by
    itself may need a while for that on a busy machine."""
    end = time.monotonic() + grace
    while True:
        reap()
        pids = descendants()
        if not pids:
            return ""
        if time.monotonic() > end:
            break
        time.sleep(0.02)
    text = "; ".join(comm(p) for p in pids)
    for _ in range(50):
        for p in descendants():
            try:
                os.kill(p, signal.SIGKILL)
            except OSError:
                pass
        reap()
        if not descendants():
            break
        time.sleep(0.1)
    return text


def wait_for(happened, seconds=200):
    """Until happened() is true; whether it is."""
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def status_of(rc):
    return "signal %d" % -rc if rc < 0 else "exit %d" % rc


def default_signals():
    """As a shell would start it, whatever Python changed and whoever started
    the tests ignores (nohup, a shell's &)."""
    for s in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT,
              signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP):
        signal.signal(s, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def run(argv, cwd, stdin=b"", timeout=200, env=None):
    """Run argv to its end and take its whole output."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as i, tempfile.TemporaryFile() as o, \
            tempfile.TemporaryFile() as e:
        i.write(stdin)
        i.seek(0)
        p = subprocess.Popen(argv, stdin=i, stdout=o, stderr=e, cwd=cwd,
                             env=env, start_new_session=True,
                             preexec_fn=default_signals)
        try:
            status = status_of(p.wait(timeout))
            left = kill_left()
        except subprocess.TimeoutExpired:
            status = "timeout"
            left = "; ".join(comm(q) for q in descendants())
            kill_left(0)
            p.wait()
        o.seek(0)
        e.seek(0)
        return Result(status, o.read(), e.read(), left,
                      time.monotonic() - began)


def record(argv, trace, options=()):
    """The command line that records argv into the directory trace."""
    return [MOCA, "record", "-q", "-o", trace, *options, "--", *argv]


def info(trace):
    """moca info --json as a dict, or None."""
    p = subprocess.run([MOCA, "info", "--json", trace], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
    try:
        return json.loads(p.stdout)
    except ValueError:
        return None


def check(trace, *options):
    """moca check's exit code and output (text)."""
    _checked.add(os.path.realpath(trace))
    p = subprocess.run([MOCA, "check", *options, trace], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)
    return p.returncode, p.stdout.decode(errors="replace")


def workdir(name, user_nobody=False):
    """A fresh directory that the tested user may write.

    It lies in /tmp or in tests/run's own folder there, because nobody may not
    reach a tree below /root.
    """
    d = tempfile.mkdtemp(prefix="moca-test-%s-" % name,
                         dir=tempfile.gettempdir() if FOLDERS else "/tmp")
    if user_nobody and IS_ROOT:
        os.chown(d, 65534, 65534)
    os.chmod(d, 0o755)
    return d


# Traces that a test has damaged, or made to be wrong: their paths.
_damaged = set()
_checked = set()    # the test has seen what moca check says of these
_unsound = 0    # traces that moca check has found wrong


def damaged(trace):
    """moca check need not be content with this trace; returns its path."""
    _damaged.add(os.path.realpath(trace))
    return trace


def _traces(d):
    """The traces in folder d, which no test changes any more."""
    for at, folders, files in os.walk(d):
        if "metadata" in files and \
                os.path.realpath(at) not in _damaged | _checked:
            yield at
        if at.count("/") > d.count("/") + 3:
            del folders[:]


def _why_doubtful(trace):
    """What is damaged, a test has damaged; what has no version, it wrote."""
    with open(os.path.join(trace, "metadata"), errors="replace") as f:
        meta = dict(line.rstrip("\n").partition(" ")[::2] for line in f)
    if "version" not in meta:
        return None
    code, out = check(trace)
    return "%s\n%s" % (meta.get("command"), out) if code == 3 else None


def check_traces(d):
    """What is removed has been seen by moca check: a trace without sense is a
    failed case."""
    global _unsound
    for trace in list(_traces(d)):
        why = _why_doubtful(trace)
        if why:
            _unsound += 1
            Cases().fail("moca-check: " + os.path.relpath(trace, d),
                         "the trace makes no sense", why)
    # Another trace may get the same name.
    top = os.path.realpath(d)
    for known in _checked, _damaged:
        known -= {k for k in known if os.path.commonpath((k, top)) == top}


def clean(d):
    """Remove d and make it again, empty, with the same owner."""
    check_traces(d)
    st = os.stat(d)
    shutil.rmtree(d, ignore_errors=True)
    os.makedirs(d, exist_ok=True)
    os.chown(d, st.st_uid, st.st_gid)
    os.chmod(d, 0o755)


def remove(d):
    check_traces(d)
    shutil.rmtree(d, ignore_errors=True)


def environment(**more):
    """The same for every run: nothing of the caller's shell gets in."""
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
           "LC_ALL": "C", "TZ": "UTC", "TOP": TOP, "BUILD": BUILD,
           "MOCA": MOCA, "PYTHONDONTWRITEBYTECODE": "1", **FOLDERS,
           **OWN}
    env.update(more)
    return env


@contextlib.contextmanager
def own_folders():
    """In a job of Cases.each: run-time folders that no other job meets, and
    which go with all that recorders killed with SIGKILL leave in them."""
    if not FOLDERS:
        yield
        return
    made = {v: tempfile.mkdtemp(prefix="job-", dir=os.environ[v])
            for v in (*FOLDERS, "MOCA_TEST_NOBODY_DIR")}
    os.chmod(made["MOCA_SHM_DIR"], 0o1777)
    if IS_ROOT:
        os.chown(made["MOCA_TEST_NOBODY_DIR"], 65534, 65534)
    os.environ.update(made)
    FOLDERS.update((v, made[v]) for v in FOLDERS)
    NOBODY[-1] = "XDG_RUNTIME_DIR=" + made["MOCA_TEST_NOBODY_DIR"]
    try:
        yield
    finally:
        for d in made.values():
            remove(d)


def busy_is_right(out):
    """Of tests/stress/busy, which ran until it was told to end."""
    m = re.search(r"^(\d+) rounds: (busy .*\n)$", out, re.M)
    if not m:
        return False
    p = subprocess.run([built("stress/busy"), m.group(1), "-"],
                       stdout=subprocess.PIPE, check=False)
    return p.stdout.decode() == m.group(2)


OTHERS_MOST = 0.1       # of the CPUs: with more, no time is a program's alone


def used():
    """CPU seconds of all children that have ended."""
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def busy():
    """CPU seconds that all processes of the machine have taken."""
    with open("/proc/stat") as f:
        v = [int(x) for x in f.readline().split()[1:]]
    # user, nice, system, irq, softirq, steal: not idle and iowait
    return (sum(v[:3]) + sum(v[5:8])) / os.sysconf("SC_CLK_TCK")


class Others:
    """Which part of the CPUs others take from now on."""

    def __init__(self):
        self.began, self.busy, self.own = time.monotonic(), busy(), used()
        self.own += time.process_time()

    def share(self):
        own = used() + time.process_time() - self.own
        of = (time.monotonic() - self.began) * os.cpu_count()
        return max(0.0, busy() - self.busy - own) / of if of else 0.0


def built(name):
    """The path of a test program of ours, for example programs/memory."""
    return os.path.join(BUILD, "tests", name)

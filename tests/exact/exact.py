# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of exact mode share: recording with --exact, its counts."""
import fcntl
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                ".."))
import mocatest as t  # noqa: E402


# Every loop that can be is counted when it is left, however short: agent/exact.
ALL_LOOPS = {"MOCA_EXACT_DEBUG": "4"}
# C counts no group that lies in two granules, not even the first times.
STRADDLES = {"MOCA_EXACT_DEBUG": "16"}


def record(argv, trace, *options):
    """The command line that records argv with --exact."""
    return t.record(argv, trace, ["--exact", *options])


def rows(trace):
    """{(tid, address): (loads, stores)}, of all slices together."""
    counts = {}
    with subprocess.Popen([t.built("exact/granules"), trace],
                          stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as p:
        for line in p.stdout:
            tid, address, loads, stores = line.split()
            counts[int(tid), int(address, 16)] = (int(loads), int(stores))
    if p.returncode not in (0, 3):  # 3 is sound()'s affair
        raise RuntimeError("granules: exit code %d" % p.returncode)
    return counts


def totals(trace):
    """(loads, stores) of all rows, as text; what is wrong with first touches."""
    p = subprocess.run([t.built("exact/granules"), trace, "-s"],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       check=False)
    return p.stdout.decode().split(), p.stderr.decode()


def metadata(trace):
    """The keys of a trace's metadata; values are text."""
    with open(os.path.join(trace, "metadata")) as f:
        return dict(line.rstrip("\n").split(" ", 1) for line in f
                    if " " in line)


def gaps(trace):
    """None when every executed instruction was counted, else why not."""
    meta = metadata(trace)
    if "certificate.gaps" not in meta:
        return "the certificate says nothing of gaps"
    if meta["certificate.gaps"] == "0":
        return None
    return "%s gaps: %s" % (meta["certificate.gaps"], ", ".join(
        "%s %s" % (k[10:], v) for k, v in sorted(meta.items())
        if k.startswith("exact.gap.") and v != "0"))


def sound(trace, complete=True):
    """(why, detail) of a trace that must be whole; why None when it is."""
    rc, out = t.check(trace)
    if rc:
        return "moca check: exit code %d" % rc, out
    meta = metadata(trace)
    sums, wrong = totals(trace)
    if wrong or len(sums) != 2:
        return "first touches", wrong
    for total, what in zip(sums, ("loads", "stores")):
        if total != meta.get("certificate." + what):
            return "rows have %s %s, the certificate %s" % (
                total, what, meta.get("certificate." + what)), ""
    return (gaps(trace) if complete else None), ""


def sound_but_for_chance(trace, again):
    """The same. The kernel's choice of addresses may put two mappings where they
    share counters and cannot be moved, once in some thousand processes: then
    again() records once more, and two times in a row are no chance."""
    why, detail = sound(trace)
    if why and re.fullmatch(r"\d+ gaps: folded_mappings \d+", why):
        t.remove(trace)
        again()
        why, detail = sound(trace)
    return why, detail


def folded(trace):
    """Whether the kernel's choice of addresses made mappings share counters."""
    return os.path.exists(os.path.join(trace, "metadata")) and \
        "folded_mappings" in (gaps(trace) or "")


def unfolded(trace, record):
    """What record() returns, which records anew: again where that chance came, and
    three times in a row are none."""
    for _ in range(3):
        t.remove(trace)
        result = record()
        if t.PLAIN or not folded(trace):
            break
    return result


def summed(lines, granularity):
    """Counts of 64-byte lines {(tid, address): [l, s]} by granule."""
    out = {}
    for (tid, address), (loads, stores) in lines.items():
        v = out.setdefault((tid, address // granularity * granularity), [0, 0])
        v[0] += loads
        v[1] += stores
    return {k: tuple(v) for k, v in out.items()}


def differences(expected, got, inside):
    """What differs, of addresses that inside() accepts: lines of text."""
    out = []
    for key in sorted(set(expected) | set(k for k in got if inside(k[1]))):
        e, g = expected.get(key, (0, 0)), got.get(key, (0, 0))
        if e != g:
            out.append("thread %d, %x: %d loads and %d stores instead of %d "
                       "and %d" % (*key, *g, *e))
    return out


def make_pool(seed, path, work):
    """The templates of this seed; exit 77: this CPU is too old. It takes five seconds:
    each path is made once, though several jobs ask for it."""
    said = path + ".said"
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(said):
            with open(said, "rb") as f:
                return t.Result("exit 0", f.read(), b"", "", 0)
        r = t.run([t.built("exact/pool"), str(seed), path], work, timeout=300)
        if r.status == "exit 0":
            with open(said, "wb") as f:
                f.write(r.out)
        return r


def seed_that_runs(seed, pool, how, work):
    """(seed, pool): whose sequences run natively to their end, from this seed on. With
    memory that is closed, some templates end natively by SIGSEGV, as the kernel can make
    no frame, or cannot return from it; what exact mode makes of these nobody can say."""
    if "faults" not in how:
        return seed, pool
    for more in range(0, 1000, 100):
        other = "%s-%d" % (pool, seed + more) if more else pool
        make_pool(seed + more, other, work)
        plain = t.run([t.built("exact/random"), other, "--seed",
                       str(seed + more), *how], work, timeout=300)
        if plain.status != "signal 11":
            break
    return seed + more, other

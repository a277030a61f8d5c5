# SPDX-License-Identifier: GPL-2.0-or-later
"""moca for arm64, run by qemu-user on this machine, beside the one for it: of a
trace, whichever of them recorded it, both write the same bytes."""
import glob
import os
import shutil
import subprocess
import tempfile

import kernels

# TRACE is its name, OUT a file that the command writes besides stdout.
COMMANDS = (
    "info --json TRACE", "summary --json TRACE", "objects --json --all TRACE",
    "dump --csv TRACE", "check TRACE", "report TRACE -o OUT",
    "query TRACE --csv select|*|from|accesses|limit|100000",
    "export --to csv --output OUT TRACE",
)


def run(moca, command, trace):
    """(exit code, stdout and what is in OUT, the last line of stderr)."""
    with tempfile.TemporaryDirectory() as folder:
        words = [os.path.basename(trace) if w == "TRACE" else
                 folder + "/out" if w == "OUT" else w.replace("|", " ")
                 for w in command.split()]
        # Both look there for the files of the guest's programs: the emulator
        # takes paths such as /lib for those below its -L.
        env = {**os.environ, "MOCA_SYSROOT": os.path.join(
            kernels.BUILD, "arm64/sysroot")}
        p = subprocess.run([*moca, *words], cwd=os.path.dirname(trace), env=env,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
        wrote = p.stdout.replace(folder.encode(), b"")
        for path in sorted(glob.glob(folder + "/**", recursive=True)):
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    wrote += f.read()
    said = p.stderr.decode(errors="replace").strip().splitlines() or [""]
    return p.returncode, wrote, said[-1]


def alike(traces):
    """Why the two differ of some of these traces; None: nowhere."""
    emulator = shutil.which("qemu-aarch64")
    if not emulator:
        raise kernels.Unavailable("there is no qemu-aarch64: tools/install-deps "
                                  "arm64 installs it")
    build = os.path.join(kernels.BUILD, "arm64")
    one = [os.path.join(kernels.BUILD, "moca")]
    other = [emulator, "-L", build + "/sysroot", build + "/moca"]
    for trace in traces:
        for command in COMMANDS:
            here, there = (run(by, command, trace) for by in (one, other))
            if here[0]:
                return "%s: moca %s: exit code %d: %s" % (
                    trace, command, here[0], here[2])
            if there[0]:
                return "%s: moca %s: on arm64 exit code %d: %s" % (
                    trace, command, there[0], there[2])
            if there[1] != here[1]:
                at = next((i for i, (a, b) in enumerate(zip(here[1], there[1]))
                           if a != b), min(len(here[1]), len(there[1])))
                return "%s: moca %s: byte %d: %r, on arm64 %r" % (
                    trace, command, at, here[1][at - 40:at + 40],
                    there[1][at - 40:at + 40])
    return None


def readers(label):
    """A case without a guest: the traces of earlier versions."""
    traces = [p[:-5] for p in sorted(glob.glob(os.path.join(
        kernels.TOP, "tests/data/*.json")))]
    why = alike(traces) if traces else "tests/data has no trace"
    if why:
        raise kernels.Error(why)


def recorded(folder):
    """Of tests/vm/arm64.sh, whose traces came back into this folder."""
    return alike([os.path.join(folder, n) for n in (
        "events", "rates", "objects")])

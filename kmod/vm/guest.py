# SPDX-License-Identifier: GPL-2.0-only
"""Boots a kernel with cases to run, and says what became of each."""
import os
import re
import shutil
import subprocess
import tarfile
import time

from image import Image
from kernels import DEBUG, WORK, Error, busybox

EXIT = 2 * 42 + 1  # what only init.c makes of QEMU's exit code
DISK = 512 << 20   # bytes that the files of a boot's cases may have
IDLE = 6           # seconds in which a guest that does nothing becomes one older

# Lines of the kernel's that no case may cause.
BAD = re.compile(
    r"WARNING: |BUG: |\bBUG:|kernel BUG|Oops|Kernel panic|general protection|"
    r"Bad page|Bad swap|Bad rss|[Ss]uspicious|possible recursive locking|"
    r"possible circular locking|inconsistent lock state|Call Trace|"
    r"invalid opcode|unable to handle|blocked for more than|"
    r"self-detected stall|detected stalls|soft lockup|refcount_t|"
    r"KASAN|UBSAN|ODEBUG|held lock|sleeping function called|leaked|"
    r"unreferenced object|new suspected memory leaks|"
    r"page allocation failure|moca-vm: messages were lost|"
    r"Objects remaining in|still has objects|scheduling while atomic|"
    r"Internal error")
# What looks like it and is none of it.
HARMLESS = re.compile(
    r"kasan: KernelAddressSanitizer initialized|"
    r"workqueue: .* hogged CPU|sysrq: ")


class Options:
    """What a boot may be asked for; cases with equal ones share a boot.
    compiler: what makes the module."""

    NAMES = {"nodes": 1, "memory": 1024, "cpus": 2, "icount": False,
             "append": "", "modules": (), "disk": DISK, "compiler": "gcc"}

    def __init__(self, **given):
        for name, default in self.NAMES.items():
            setattr(self, name, given.pop(name, default))
        if given:
            raise TypeError("a boot has no option %s" % ", ".join(given))
        if self.icount:
            self.cpus = 1

    def key(self):
        return tuple(sorted((n, str(getattr(self, n))) for n in self.NAMES))


class Outcome:
    """One case: lines it printed, why it failed outside of them (or None)."""

    def __init__(self):
        self.began = self.ended = False
        self.out, self.err, self.why, self.bad = [], [], [], []
        self.status, self.ms = None, 0


def parallel():
    """Whether QEMU may run the guest's CPUs in parallel. Before 8.1 a CPU can
    go on with old code while another changes it, and never end: loading the
    module under load hung in its 5th round (its probes change code)."""
    p = subprocess.run(["qemu-system-x86_64", "--version"], text=True,
                       stdout=subprocess.PIPE)
    m = re.search(r"version (\d+)\.(\d+)", p.stdout)
    return bool(m) and (int(m.group(1)), int(m.group(2))) >= (8, 1)


def emulator(kernel):
    return "qemu-system-" + ("aarch64" if kernel.machine == "arm64" else
                             kernel.machine)


def serial_lines(kernel, paths):
    """QEMU's arguments for the console, the results and the messages. What arm64's
    machine has is the console alone: the others are PCI's, of which the first is
    ttyS0 and nobody's."""
    if kernel.machine != "arm64":
        return [a for p in paths for a in ("-serial", p)]
    argv = ["-serial", paths[0]]
    for i, path in enumerate(["null", *paths[1:]]):
        kind, _, name = path.partition(":")
        argv += ["-chardev", ("file,id=s%d,path=%s" % (i, name)
                              if kind == "file" else "null,id=s%d" % i),
                 "-device", "pci-serial,chardev=s%d" % i]
    return argv


def machine(kernel, options):
    """QEMU's arguments. TCG: KVM is missing, or does not run these kernels,
    on many machines; without -cx16 QEMU 7.2 crashes 6.12 in some boots."""
    x86 = kernel.machine == "x86_64"
    argv = [emulator(kernel), "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot", "-m", str(options.memory),
            # Two nodes within one socket are what no machine has.
            "-smp", "%d,sockets=%d" % (options.cpus, options.nodes)]
    argv += ["-cpu", "max,-cx16",
             "-device", "isa-debug-exit,iobase=0xf4,iosize=4"] if x86 else \
        ["-M", "virt,gic-version=3",
         "-cpu", "max,pauth=off,sve=off,sme=off"]
    if options.icount:
        argv += ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"]
    else:
        argv += ["-accel", "tcg,thread=%s" %
                 ("multi" if parallel() else "single")]
    if options.nodes > 1:
        each = options.memory // options.nodes
        for n in range(options.nodes):
            cpus = [c for c in range(options.cpus) if c % options.nodes == n]
            argv += ["-object", "memory-backend-ram,id=m%d,size=%dM" %
                     (n, each), "-numa", ",".join(
                         ["node,nodeid=%d" % n, "memdev=m%d" % n] +
                         ["cpus=%d" % c for c in cpus])]
    return argv


def kernel_arguments(kernel, options):
    """The log buffer holds what a case says at once; user space's own lines
    in it (the marks of init.c) are not to be rationed. What the kernel does
    not know becomes a variable of init.c's environment. no_timer_check: on a
    busy host the first ticks come late, and the kernel panics. So it does not
    take a CPU for locked up that the host had no time for: RCU and watchdog
    wait for two minutes."""
    return ("console=%s quiet panic=-1 panic_on_warn=0 oops=panic "
            "log_buf_len=4M printk.devkmsg=on nokaslr no_timer_check "
            "rcupdate.rcu_cpu_stall_timeout=120 watchdog_thresh=60 KERNEL=%s %s %s" %
            ("ttyS0" if kernel.machine == "x86_64" else "ttyAMA0",
             re.sub("-(trixie|arm64)$", "", kernel.label),
             # It has no ACPI to tell of nodes.
             "tsc=reliable numa=fake=%d" % options.nodes
             if kernel.label == DEBUG else "",
             options.append)).strip()


def cpu_seconds(pid):
    """What a process has used of CPUs so far."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Boot:
    """A guest from its start to its end, in a folder of its own."""

    def __init__(self, kernel, options, name):
        self.kernel, self.options = kernel, options
        self.folder = os.path.join(WORK, "run", kernel.label, name)
        self.out = os.path.join(WORK, "out", kernel.label)
        self.image = Image()
        self.cases, self.lines, self.process = [], [], None
        self.spent = {}     # of CPUs: seconds of each step
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def base(self, modules):
        """What every guest has; modules: the files of ours."""
        self.image.copy(os.path.join(self.kernel.build, "vm/init"), "init")
        self.image.copy(busybox(self.kernel.machine), "bin/busybox")
        for name in ("sh", "tar"):
            self.image.entry("bin/" + name, 0o120777, b"busybox")
        for m in modules:
            self.image.copy(m, "lib/moca/" + os.path.basename(m))
        order = self.image.modules(self.kernel, (
            "virtio_pci", "virtio_blk", *self.options.modules))
        self.image.file("etc/modules", "".join(
            "/%s\n" % p for p in order).encode(), 0o644)

    def add(self, name, seconds, module, argv):
        """module: "" or the path in the guest, with parameters."""
        self.cases.append((name, seconds))
        self.lines.append("\t".join([name, str(seconds), module or "-",
                                     *argv]))

    def finish(self):
        if self.cases:
            self.image.file("etc/cases", "".join(
                l + "\n" for l in self.lines).encode(), 0o644)
        self.image.write(self.path("initrd.img"))

    def arguments(self, serial):
        with open(self.path("disk"), "wb") as f:
            f.truncate(self.options.disk)
        argv = machine(self.kernel, self.options) + [
            "-kernel", self.kernel.image, "-initrd", self.path("initrd.img"),
            "-append", kernel_arguments(self.kernel, self.options),
            "-drive", "file=%s,format=raw,if=none,id=d,cache=unsafe" %
            self.path("disk"), "-device", "virtio-blk-pci,drive=d"]
        return argv + serial_lines(self.kernel, list(serial))

    def text(self, name):
        try:
            with open(self.path(name), errors="replace", newline="\n") as f:
                return f.read()
        except OSError:
            return ""

    def run(self, slower=1):
        """Until the guest's end; its exit code, or why there is none."""
        files = ["console", "results", "dmesg"]
        for name in files:
            open(self.path(name), "w").close()
        try:
            with open(self.path("qemu"), "w") as log:
                self.process = subprocess.Popen(
                    self.arguments("file:" + self.path(n) for n in files),
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        except OSError as e:
            raise Error("cannot start %s: %s (tools/install-deps %s installs "
                        "it)" % (emulator(self.kernel), e.strerror,
                                 "check" if self.kernel.machine == "x86_64"
                                 else self.kernel.machine))
        try:
            how = self._wait(slower)
            # It has no exit code of ours: it is switched off, after the last word.
            if self.kernel.machine == "arm64" and how == 0 and \
                    self.text("results").endswith("\nbye\n"):
                how = EXIT
            return how
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()

    def _wait(self, slower):
        """init.c ends a case that takes too long; this ends a guest that
        cannot do so, and one that does not start. Its seconds are those of a
        CPU, so that a guest of a busy host has as many; of one that does
        nothing IDLE of ours are one."""
        limits, current, used = dict(self.cases), None, 0
        began = time.monotonic()

        def clock():
            return max(used, (time.monotonic() - began) / IDLE)

        until = 90 * slower
        while True:
            try:
                return self.process.wait(0.05)
            except subprocess.TimeoutExpired:
                pass
            step = current or "boot"
            self.spent[step] = self.spent.get(step, 0) - used
            used = cpu_seconds(self.process.pid) or used
            self.spent[step] += used
            now = re.findall(r"^(?:hello|begin|end|bye)\b.*(?=\n)",
                             self.text("results"), re.M)
            if now and now[-1] != current:
                current = now[-1]
                word, _, name = current.partition(" ")
                extra = limits.get(name, 0) if word == "begin" else 0
                until = clock() + (extra + 60) * slower
            if clock() > until:
                return "hung %s" % (
                    "before the first process started" if not current else
                    "after \"%s\"" % current)

    def started(self):
        return self.text("results").startswith("hello ")

    def outcomes(self):
        """A dict by case, in order."""
        found, current = {n: Outcome() for n, _ in self.cases}, None
        for line in self.text("results").splitlines():
            word, _, rest = line.partition(" ")
            if word == "begin":
                current = found.setdefault(rest, Outcome())
                current.began = True
            elif word == "end" and current:
                current.ended = True
            elif word == "status" and current:
                current.status, _, ms = rest.rpartition(" ")
                current.ms = int(ms)
            elif word in ("out", "err", "why"):
                # What comes before the first case belongs to it.
                getattr(current or next(iter(found.values())),
                        word).append(rest)
        self._messages(found)
        return found

    def _messages(self, found):
        """Whatever the kernel said in between belongs to the case before."""
        current = next(iter(found.values()))
        for line in self.text("dmesg").splitlines():
            m = re.search(r"moca-vm: begin (.+)$", line)
            if m and m.group(1) in found:
                current = found[m.group(1)]
            elif BAD.search(line) and not HARMLESS.search(line):
                current.bad.append(line)

    def last_words(self, lines=28):
        """Of the console: from where it went wrong, or the last ones."""
        text = self.text("console").replace("\r", "").strip()
        said = (text or self.text("qemu").strip()).splitlines()
        for i, line in enumerate(said):
            if BAD.search(line) and not HARMLESS.search(line):
                return "\n".join(said[i:i + lines])
        return "\n".join(said[-lines:])

    def fetch(self):
        """What the cases left in /out, into build/vm/out/KERNEL/CASE; why
        that did not work, or None."""
        for name, _ in self.cases:
            shutil.rmtree(os.path.join(self.out, name), ignore_errors=True)
        os.makedirs(self.out, exist_ok=True)
        try:
            with open(self.path("disk"), "rb") as f:
                if not any(f.read(512)):  # no case left any
                    return None
            with tarfile.open(self.path("disk")) as t:
                t.extractall(self.out, members=[
                    m for m in t if m.isreg() or m.isdir()])
        except (OSError, tarfile.TarError) as e:
            return "the files of the cases did not come back: %s" % e
        finally:
            os.unlink(self.path("disk"))
        return None


def boot(make, slower=1):
    """Run make()'s guest; (guest, how it ended). Once more, and only once,
    if it ended before its first process started: QEMU's or the host's fault,
    as no code of ours has run by then."""
    for _ in range(2):
        guest = make()
        how = guest.run(slower)
        if guest.started():
            break
    return guest, how

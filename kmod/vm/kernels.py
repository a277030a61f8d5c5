# SPDX-License-Identifier: GPL-2.0-only
"""The kernels that the module is tested on: where their headers, images and
modules are.

The installed headers decide the version; the image of the same version comes
from Debian's archive into build/vm/img and is kept there, not installed.
"""
import fcntl
import glob
import os
import re
import shutil
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(TOP, "build")))
WORK = os.path.join(BUILD, "vm")

# The packages that depend on the newest headers of each; tools/install-deps
# has them, too.
PACKAGES = {"6.1": "linux-headers-cloud-amd64",
            "6.12": "linux-headers-6.12-cloud-amd64"}
DEBUG = "debug"  # of make check-kasan: kmod/vm/debug-kernel


class Error(Exception):
    """What was tried, and why it failed: for the user."""


class Unavailable(Error):
    """This machine is none for it: a reason to skip."""


class Kernel:
    """release: as uname -r says; image: what QEMU boots; modules: the folder
    with the kernel's own modules (or None); headers: to build ours with."""

    def __init__(self, label, release, image, modules, headers):
        self.label, self.release, self.image = label, release, image
        self.modules, self.headers = modules, headers


def output(*argv):
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       text=True)
    return p.returncode, p.stdout, p.stderr.strip()


def installed_headers(package):
    """(release, version of the package) that the package depends on."""
    rc, text, _ = output("dpkg-query", "-W", "-f",
                         "${db:Status-Status}|${Depends}", package)
    m = re.search(r"linux-headers-(\S*\d\S*) \(= ([^)]+)\)", text)
    if rc or not text.startswith("installed|") or not m:
        raise Error("the package %s is not installed: tools/install-deps "
                    "check installs it" % package)
    return m.group(1), m.group(2)


def private_apt():
    """Options for lists of packages of our own, which need no rights."""
    base = os.path.join(WORK, "apt")
    for d in ("lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(base, d), exist_ok=True)
    return ["-o", "Dir::State::Lists=%s/lists" % base,
            "-o", "Dir::Cache=%s/cache" % base]


def download(package, version, into, arch=""):
    """The path of PACKAGE=VERSION's .deb, which apt puts into a folder."""
    os.makedirs(into, exist_ok=True)
    name = "%s%s=%s" % (package, arch and ":" + arch, version)
    get = ["apt-get", "-q", "-o", "APT::Sandbox::User=root"]
    said = ""
    # The machine's lists may be old, or none.
    for options, update in (([], False), (private_apt(), True)):
        if update:
            output(*get, *options, "update")
        p = subprocess.run([*get, *options, "download", name], cwd=into,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True)
        found = glob.glob("%s/%s_*.deb" % (into, glob.escape(package)))
        if p.returncode == 0 and found:
            return found[0]
        said = p.stdout.strip().splitlines()[-1:] or ["nothing"]
    raise Error("cannot download %s (apt-get says: %s); if the archive has a "
                "newer one, install the newer headers" % (name, said[0]))


def unpack(deb, into):
    """dpkg-deb -x, all or nothing."""
    part = into + ".part"
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(os.path.dirname(part), exist_ok=True)
    rc, _, why = output("dpkg-deb", "-x", deb, part)
    if rc:
        raise Error("cannot unpack %s: %s" % (deb, why))
    shutil.rmtree(into, ignore_errors=True)
    os.rename(part, into)


class Lock:
    """One at a time fills the cache."""

    def __enter__(self):
        os.makedirs(WORK, exist_ok=True)
        self.file = open(os.path.join(WORK, "lock"), "w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.file.close()


def debian_kernel(label):
    if not shutil.which("dpkg-query") or not shutil.which("apt-get"):
        raise Unavailable("no Debian system, whose kernels these are")
    if os.uname().machine != "x86_64":
        raise Unavailable("the guests are x86-64, this machine is not")
    release, version = installed_headers(PACKAGES[label])
    image = "linux-image-" + release
    folder = os.path.join(WORK, "img", "%s_%s" % (image, version))
    with Lock():
        if not os.path.isdir(folder):
            debs = os.path.join(WORK, "debs")
            deb = download(image, version, debs)
            unpack(deb, folder)
            os.unlink(deb)
    return Kernel(label, release, "%s/boot/vmlinuz-%s" % (folder, release),
                  "%s/lib/modules/%s" % (folder, release),
                  "/lib/modules/%s/build" % release)


def debug_kernel():
    base = os.path.join(WORK, "debug")
    try:
        with open(base + "/obj/include/config/kernel.release") as f:
            release = f.read().strip()
    except OSError:
        raise Error("there is no debug kernel: make check-kasan builds it")
    return Kernel(DEBUG, release, base + "/obj/arch/x86/boot/bzImage", None,
                  base + "/obj")


def find(label):
    return debug_kernel() if label == DEBUG else debian_kernel(label)


def build_module(kernel, source=None):
    """The paths of the modules that a folder (default: kmod/) makes."""
    source = source or os.environ.get("MOCA_KMOD") or os.path.join(TOP, "kmod")
    out = os.path.join(BUILD, os.path.basename(source.rstrip("/")),
                       kernel.release)
    p = subprocess.run([os.path.join(TOP, "kmod/vm/build-module"),
                        kernel.headers, out, source, "--", "KCFLAGS=-Werror"],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True)
    made = sorted(glob.glob(out + "/*.ko"))
    if p.returncode or not made:
        raise Error("cannot build the module of %s for %s\n%s" %
                    (source, kernel.release, p.stdout.strip()))
    return made

#!/usr/bin/python3
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
import struct
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(TOP, "build")))
WORK = os.path.join(BUILD, "vm")

# The packages that depend on the newest headers of each; tools/install-deps
# has them, too.
PACKAGES = {"6.1": "linux-headers-cloud-amd64",
            "6.12": "linux-headers-6.12-cloud-amd64",
            "6.1-rt": "linux-headers-rt-amd64",
            "6.12-rt": "linux-headers-6.12-rt-amd64"}
STOCK = ("6.1", "6.12")
RT = ("6.1-rt", "6.12-rt")  # without page tracing: kmod/Kbuild says why
DEBUG = "debug"  # that of make check-kasan
# Those of newer suites: what the release of each looks like. Headers, image and
# the C library that the headers' programs need are fetched, not installed.
SUITES = ("trixie", "trixie-backports", "sid")
FETCHED = {"6.12-trixie": r"6\.12\.[^-]*\+deb13-cloud-amd64",
           "7.2": r"7\.2\.[^-]*-cloud-amd64",
           "7.3": r"7\.3\.[^-]*-cloud-amd64",
           "7.3-rt": r"7\.3\.[^-]*-rt-amd64"}
NEWER = ("6.12-trixie", "7.2", "7.3")
NEWER_RT = ("7.3-rt",)
# For arm64, each of the version of one for x86-64.
ARM64 = {"6.12-arm64": "6.12"}
NATIVE = "7.3"  # that of page mode on native memory, without the module
DEBUG_SERIES = "6.1"


class Error(Exception):
    """What was tried, and why it failed: for the user."""


class Unavailable(Error):
    """This machine is none for it: a reason to skip."""


class Kernel:
    """release: as uname -r says; image: what QEMU boots; modules: the folder
    with the kernel's own modules (or None); headers: to build ours with (or
    None: build_module() fetches them). machine: x86_64 or arm64; build: the
    folder with our programs for it; root: where their libraries are."""

    def __init__(self, label, release, image, modules, headers,
                 machine="x86_64"):
        self.label, self.release, self.image = label, release, image
        self.modules, self.headers = modules, headers
        self.machine, self.build, self.root = machine, BUILD, ""
        if machine != "x86_64":
            self.build = os.path.join(BUILD, machine)
            self.root = os.path.join(self.build, "sysroot")


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


def archive():
    """Where this machine has Debian's packages from."""
    _, text, _ = output("apt-get", "indextargets", "--format",
                        "$(ORIGIN) $(CODENAME) $(REPO_URI)",
                        "Created-By: Packages")
    for line in text.splitlines():
        origin, _, uri = line.split(" ")
        if origin == "Debian" and uri.endswith("/debian/"):
            return uri
    raise Unavailable("apt knows no archive of Debian (apt-get update?)")


def suites_apt(suites):
    """As private_apt(), of these suites alone."""
    base = os.path.join(WORK, "apt-suites")
    options = private_apt("suites")[:6]
    with open(base + ".list", "w") as f:
        for s in suites:
            f.write("deb [signed-by=/usr/share/keyrings/debian-archive-"
                    "keyring.gpg] %s %s main\n" % (archive(), s))
    return options + ["-o", "Dir::Etc::SourceList=" + base + ".list",
                      "-o", "Dir::Etc::SourceParts=-"]


def private_apt(arch=""):
    """Options for lists of packages of our own, which need no rights, and may
    be those of another architecture."""
    base = os.path.join(WORK, "apt" + (arch and "-" + arch))
    for d in ("lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(base, d), exist_ok=True)
    options = ["-o", "Dir::State::Lists=%s/lists" % base,
               "-o", "Dir::Cache=%s/cache" % base,
               "-o", "Acquire::Languages=none"]
    if arch:  # of which nothing is installed
        open(base + "/status", "a").close()
        options += ["-o", "APT::Architecture=" + arch,
                    "-o", "APT::Architectures::=" + arch,
                    "-o", "Dir::State::status=%s/status" % base]
    return options


def download(package, version, into, arch=""):
    """The path of PACKAGE's .deb (version "": the newest), which apt puts
    into a folder."""
    os.makedirs(into, exist_ok=True)
    for old in glob.glob("%s/%s_*.deb" % (into, glob.escape(package))):
        os.unlink(old)
    name = package + (version and "=" + version)
    get = ["apt-get", "-q", "-o", "APT::Sandbox::User=root"]
    tries = [(private_apt(arch), False), (private_apt(arch), True)]
    if not arch:  # the machine's own lists may be there, and new enough
        tries[0] = ([], False)
    for options, update in tries:
        if update:
            # Lists are shared: apt does not wait for another that gets them.
            with Lock(os.path.join(WORK, "apt-update")):
                output(*get, *options, "update")
        p = subprocess.run([*get, *options, "download", name], cwd=into,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True)
        found = glob.glob("%s/%s_*.deb" % (into, glob.escape(package)))
        if p.returncode == 0 and found:
            return found[0]
    said = (p.stdout.strip().splitlines() or ["nothing"])[-1]
    raise Error("cannot download %s (apt-get says: %s); if the archive has a "
                "newer one, install the newer headers" % (name, said))


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
    """One at a time fills a folder; whoever waits finds it filled."""

    def __init__(self, folder):
        self.path = folder + ".lock"

    def __enter__(self):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self.file = open(self.path, "w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.file.close()


def busybox(machine="x86_64"):
    """The path of one without libraries. Debian's two packages of it exclude each
    other: where the other one is installed, it is fetched."""
    arch = "" if machine == "x86_64" else machine
    if not arch and os.path.exists("/bin/busybox") and \
            output("ldd", "/bin/busybox")[0]:
        return "/bin/busybox"
    folder = os.path.join(WORK, arch, "busybox")
    with Lock(folder):
        if not os.path.isdir(folder):
            deb = download("busybox-static", "",
                           os.path.join(WORK, arch, "debs"), arch)
            unpack(deb, folder)
            os.unlink(deb)
    found, = glob.glob(folder + "/**/bin/busybox", recursive=True)[:1]
    return found


# How a kernel unpacks itself, by its first bytes, and what does so here: a guest
# takes seconds for it. Of lz4 it takes few.
UNPACKERS = {b"\xfd7zXZ": ["xz", "-dc"], b"\x28\xb5\x2f\xfd": ["zstd", "-dcq"]}


def unpacked(image):
    """The path of what is in a bzImage, beside it; or of the image as it is."""
    path = image + ".elf"
    with Lock(path):
        if os.path.exists(path):
            return path
        with open(image, "rb") as f:
            head = f.read(0x260)
            at, length = struct.unpack_from("<II", head, 0x248)
            f.seek(512 * (head[0x1f1] + 1) + at)
            packed = f.read(length)
        by = [argv for magic, argv in UNPACKERS.items()
              if packed.startswith(magic) and shutil.which(argv[0])]
        # Its last four bytes are how long it is.
        p = by and subprocess.run(by[0], input=packed[:-4],
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
        if not p or p.returncode or not p.stdout.startswith(b"\x7fELF"):
            return image
        with open(path + ".new", "wb") as f:
            f.write(p.stdout)
        os.rename(path + ".new", path)
        return path


def check_machine():
    if not shutil.which("dpkg-query") or not shutil.which("apt-get"):
        raise Unavailable("no Debian system, whose kernels these are")
    if os.uname().machine != "x86_64":
        raise Unavailable("the guests are x86-64, this machine is not")


def debian_kernel(label):
    check_machine()
    release, version = installed_headers(PACKAGES[label])
    image = "linux-image-" + release
    folder = os.path.join(WORK, "img", "%s_%s" % (image, version))
    with Lock(folder):
        if not os.path.isdir(folder):
            deb = download(image, version, os.path.join(WORK, "debs"))
            unpack(deb, folder)
            os.unlink(deb)
    return Kernel(label, release,
                  unpacked("%s/boot/vmlinuz-%s" % (folder, release)),
                  "%s/lib/modules/%s" % (folder, release),
                  "/lib/modules/%s/build" % release)


def fetched_kernel(label):
    check_machine()
    base = os.path.join(WORK, "img", "fetched-" + label)
    with Lock(base):
        kept = glob.glob(base + "/release")
        if not kept:
            fetch_kernel(label, base)
        with open(base + "/release") as f:
            release = f.read().strip()
    modules, = glob.glob("%s/**/lib/modules/%s" % (base, release),
                         recursive=True)
    image = [p for p in (modules + "/vmlinuz",
                         "%s/boot/vmlinuz-%s" % (base, release))
             if os.path.exists(p)][0]
    return Kernel(label, release, unpacked(image), modules, None)


def numbers(release):
    return [int(n) for n in re.findall(r"\d+", release)]


class Suites:
    """Packages of SUITES, which this machine's apt need not know."""
    updated = False

    def __init__(self):
        self.apt = suites_apt(SUITES)
        self.get = ["apt-get", "-q", "-o", "APT::Sandbox::User=root",
                    *self.apt]

    def update(self):
        with Lock(os.path.join(WORK, "apt-update")):
            if not Suites.updated:
                output(*self.get, "update")
            Suites.updated = True

    def releases(self, pattern):
        """Of kernels that there are, the oldest first."""
        _, text, _ = output("apt-cache", *self.apt, "pkgnames",
                            "linux-image-")
        return sorted({m.group(1) for m in (
            re.fullmatch("linux-image-(%s)" % pattern, l)
            for l in text.splitlines()) if m}, key=numbers)

    def depends(self, package):
        """Whether there is one, and the packages that it needs."""
        rc, text, _ = output("apt-cache", *self.apt, "show",
                             "--no-all-versions", package)
        m = re.search(r"^Depends: (.*)$", text, re.M)
        return not rc and text, re.findall(r"[\w.+-]+(?= |,|$)",
                                           m.group(1)) if m else []

    def unpack(self, package, into):
        debs = into + ".debs"
        shutil.rmtree(debs, ignore_errors=True)
        os.makedirs(debs)
        _, said, why = output("env", "-C", debs, *self.get, "download",
                              package)
        got = glob.glob(debs + "/*.deb")
        if not got:
            raise Unavailable("cannot download %s (apt-get says: %s)" %
                              (package, (why or said)[-200:]))
        rc, _, why = output("dpkg-deb", "-x", got[0], into)
        shutil.rmtree(debs)
        if rc:
            raise Error("cannot unpack %s: %s" % (package, why))


def fetch_kernel(label, folder):
    """Image and modules, which are packages of their own by now."""
    suites, part = Suites(), folder + ".new"
    suites.update()
    found = suites.releases(FETCHED[label])
    if not found:
        raise Unavailable("none of Debian's suites %s that can be reached has "
                          "a kernel %s" % (", ".join(SUITES), label))
    release = found[-1]
    shutil.rmtree(part, ignore_errors=True)
    packages = [p + release for p in (
        "linux-binary-", "linux-modules-", "linux-base-")]
    if not suites.depends(packages[0])[0]:
        packages = ["linux-image-" + release]
    for package in packages:
        suites.unpack(package, part)
    with open(part + "/release", "w") as f:
        f.write(release + "\n")
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(part, folder)


def fetched_headers(kernel):
    """The folder to build modules with."""
    folder = os.path.join(WORK, "headers", kernel.release)
    headers = "%s/usr/src/linux-headers-%s" % (folder, kernel.release)
    with Lock(folder):
        if not os.path.isdir(folder):
            fetch_headers(kernel.release, folder)
    return headers


def fetch_headers(release, folder):
    suites, part = Suites(), folder + ".new"
    shutil.rmtree(part, ignore_errors=True)
    package = "linux-headers-" + release
    needed = [p for p in suites.depends(package)[1]
              if re.match("linux-(headers|kbuild)-", p)]
    for p in (package, *needed):
        suites.unpack(p, part)
    suites.unpack("libc6", part + "/libc")
    run_by(part, folder)
    with open("%s/usr/src/%s/Makefile" % (part, package)) as f:
        text = f.read()
    with open(f.name, "w") as f:
        f.write(text.replace("/usr/src/", folder + "/usr/src/"))
    os.rename(part, folder)


def run_by(part, folder):
    """The programs of kbuild may need a newer C library than is here: each is
    run by the loader of the one that was fetched, in the folder where all of
    it will be."""
    loader, = glob.glob(part + "/libc/**/ld-linux-x86-64.so.2",
                        recursive=True)[:1]
    here, = glob.glob(os.path.dirname(loader) + "/libc.so.6")
    start = 'exec "%s" --argv0 "$0" --library-path "%s:/lib/x86_64-linux-gnu:' \
        '/usr/lib/x86_64-linux-gnu"' % (
            loader.replace(part, folder, 1),
            os.path.dirname(here).replace(part, folder, 1))
    for path in glob.glob(part + "/usr/lib/linux-kbuild-*/**", recursive=True):
        if os.path.islink(path) or not os.path.isfile(path) or \
                not os.access(path, os.X_OK):
            continue
        with open(path, "rb") as f:
            if f.read(4) != b"\x7fELF":
                continue
        os.rename(path, path + ".elf")
        with open(path, "w") as f:
            f.write('#!/bin/sh\n%s "%s.elf" "$@"\n' % (
                start, path.replace(part, folder, 1)))
        os.chmod(path, 0o755)


def takes(compiler, option):
    return not output(compiler, "-Werror", option, "-S", "-o", "/dev/null",
                      "-x", "c", "/dev/null")[0]


def foreign_arguments(compiler):
    """For make, of headers that are a newer compiler's: what that knows and
    ours does not is left out; clang warns of what it does not know there."""
    return ["CC=" + compiler, "KCFLAGS=-Werror -Wno-attributes" + (
        " -Wno-unused-variable" if compiler == "clang" else "")] + (
        [] if takes(compiler, "-fmin-function-alignment=16") else
        ["CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT="])


def clang_options():
    """What a kernel's configuration asks of gcc and not of this clang; None:
    nothing. Structures are as they were: C sees nothing of it."""
    # Clang makes no list of where functions can be traced, objtool makes one of
    # instructions that another kernel has: ours are not traced.
    changes = {"FTRACE_MCOUNT_USE_CC": None, "UBSAN_BOUNDS_STRICT": None}
    for option, names in (
            ("-mfunction-return=thunk-extern", ("RETHUNK", "MITIGATION_RETHUNK")),
            ("-mharden-sls=all", ("SLS", "MITIGATION_SLS")),
            ("-mstack-protector-guard-symbol=__ref_stack_chk_guard",
             ("STACKPROTECTOR", "STACKPROTECTOR_STRONG"))):
        if not takes("clang", option):
            changes.update(dict.fromkeys(names))
    if not takes("clang", "-ftrivial-auto-var-init=zero"):
        changes.update({"CC_HAS_AUTO_VAR_INIT_ZERO_BARE": None,
                        "CC_HAS_AUTO_VAR_INIT_ZERO_ENABLER": "y"})
    return changes


def clang_itself():
    """What it says of the compiler."""
    _, version, _ = output("clang", "-dumpversion")
    major, minor, patch = [int(n) for n in version.split(".")[:3]]
    return {"CC_IS_GCC": None, "CC_IS_CLANG": "y", "GCC_VERSION": "0",
            "CLANG_VERSION": "%d" % (major * 10000 + minor * 100 + patch),
            "CC_IMPLICIT_FALLTHROUGH": "-Wimplicit-fallthrough",
            "GCC_ASM_GOTO_OUTPUT_BROKEN": None,
            "GCC_ASM_GOTO_OUTPUT_WORKAROUND": None,
            # Of newer compilers.
            "CC_HAS_COUNTED_BY": None, "CC_HAS_COUNTED_BY_PTR": None,
            # Before 6.15 these are gcc's alone.
            "CC_HAS_NAMED_AS": None, "CC_HAS_NAMED_AS_FIXED_SANITIZERS": None,
            "USE_X86_SEG_SUPPORT": None}


def links(source, folder):
    """A folder with links to what is in another."""
    os.makedirs(folder)
    for name in os.listdir(source):
        os.symlink(os.path.join(source, name), os.path.join(folder, name))


def replace(headers, folder, name, change):
    """A file instead of a link: what change() makes of the text."""
    os.unlink(os.path.join(folder, name))
    with open(os.path.join(headers, name)) as f, \
            open(os.path.join(folder, name), "w") as made:
        made.write(change(f.read()))


def clang_headers(headers, release):
    """The folder to build modules with as if clang had compiled the kernel."""
    if not shutil.which("clang"):
        raise Unavailable("clang is not installed")
    folder = os.path.join(WORK, "clang", release)
    shutil.rmtree(folder, ignore_errors=True)
    links(headers, folder)
    for part in ("include", "include/config", "include/generated"):
        os.unlink(os.path.join(folder, part))
        links(os.path.join(headers, part), os.path.join(folder, part))

    def configure(text):
        for symbol, value in {**clang_itself(), **clang_options()}.items():
            text = re.sub(r"^CONFIG_%s=.*\n" % symbol, "", text, flags=re.M)
            text += "CONFIG_%s=%s\n" % (symbol, value) if value else ""
        return text

    def define(text):
        for symbol, value in clang_itself().items():
            text = re.sub(r"^#define CONFIG_%s .*\n" % symbol, "", text,
                          flags=re.M)
            if value:
                text += "#define CONFIG_%s %s\n" % (
                    symbol, "1" if value == "y" else value)
        return text

    # From 6.13 on the Makefile says where the configuration is.
    replace(headers, folder, "Makefile", lambda text: re.sub(
        "^KBUILD_OUTPUT=.*", "KBUILD_OUTPUT=" + folder, text, flags=re.M))
    replace(headers, folder, "include/config/auto.conf", configure)
    replace(headers, folder, "include/generated/autoconf.h", define)
    return folder


def arm64_kernel(label):
    """What the module is compiled with for arm64, of the same version as label's.
    The headers that are the same for all, and the programs that run while it
    is built, are those of the installed headers, of the same version."""
    check_machine()
    ours, version = installed_headers(PACKAGES[label])
    release = re.sub("-cloud-amd64$", "-arm64", ours)
    package = "linux-headers-" + release
    folder = os.path.join(WORK, "arm64", "%s_%s" % (package, version))
    with Lock(folder):
        if not os.path.isdir(folder):
            deb = download(package, version, os.path.join(WORK, "debs"),
                           "arm64")
            part = folder + ".new"
            unpack(deb, part)
            os.unlink(deb)
            os.makedirs(part + "/usr/lib", exist_ok=True)
            for tools in glob.glob("/usr/lib/linux-kbuild-*"):
                os.symlink(tools, part + tools)
            os.rename(part, folder)
    return Kernel(label + "-arm64", release, None, None,
                  "%s/usr/src/%s" % (folder, package), "arm64")


def arm64_guest(label):
    """A kernel that can be booted, too."""
    kernel = arm64_kernel(ARM64[label])
    version = os.path.basename(kernel.headers.split("/usr/src/")[0])
    image = "linux-image-" + kernel.release
    version = version.rpartition("_")[2]
    folder = os.path.join(WORK, "arm64", "%s_%s" % (image, version))
    with Lock(folder):
        if not os.path.isdir(folder):
            deb = download(image, version, os.path.join(WORK, "arm64/debs"),
                           "arm64")
            unpack(deb, folder)
            os.unlink(deb)
    kernel.image = "%s/boot/vmlinuz-%s" % (folder, kernel.release)
    kernel.modules = "%s/lib/modules/%s" % (folder, kernel.release)
    return kernel


def debug_kernel():
    base = debug_folder()
    try:
        with open(base + "/obj/include/config/kernel.release") as f:
            release = f.read().strip()
    except OSError:
        raise Error("there is no debug kernel: make check-kasan builds it")
    return Kernel(DEBUG, release, base + "/obj/arch/x86/boot/bzImage", None,
                  base + "/obj")


def debug_folder():
    return os.path.join(WORK, "debug-" + DEBUG_SERIES)


def arm64_tools():
    """What CROSS_COMPILE is. The driver's package conflicts with
    gcc-multilib, which other tests need: it is unpacked, not installed."""
    passes = sorted(glob.glob("/usr/lib/gcc-cross/aarch64-linux-gnu/*/cc1"))
    if not passes or not shutil.which("aarch64-linux-gnu-ld"):
        raise Error("there is no compiler for arm64: tools/install-deps check "
                    "installs cpp-aarch64-linux-gnu and "
                    "binutils-aarch64-linux-gnu")
    version = passes[-1].split("/")[-2]
    package = "gcc-%s-aarch64-linux-gnu" % version
    folder = os.path.join(WORK, "arm64", package)
    prefix = folder + "/bin/aarch64-linux-gnu-"
    with Lock(folder):
        if not os.path.isdir(folder):
            deb = download(package, "", os.path.join(WORK, "debs"))
            part = folder + ".new"
            unpack(deb, part)
            os.unlink(deb)
            os.mkdir(part + "/bin")
            for tool in glob.glob("/usr/bin/aarch64-linux-gnu-*"):
                os.symlink(tool, "%s/bin/%s" % (part, os.path.basename(tool)))
            # Debian's headers call it with its version, and by PATH.
            for end in ("gcc", "gcc-" + version):
                driver = part + "/bin/aarch64-linux-gnu-" + end
                if os.path.lexists(driver):
                    os.unlink(driver)
                with open(driver, "w") as f:
                    f.write("#!/bin/sh\nexec %s/usr/bin/aarch64-linux-gnu-gcc"
                            "-%s -B%s/ -B/usr/bin/aarch64-linux-gnu- "
                            "\"$@\"\n" % (folder, version,
                                          os.path.dirname(passes[-1])))
                os.chmod(driver, 0o755)
            os.rename(part, folder)
    return prefix


def build_arm64(label):
    return build_module(arm64_kernel(label))


def arm64_arguments():
    """Of make. Debian's headers call the compiler with its version, by PATH."""
    prefix = arm64_tools()
    folder = os.path.dirname(prefix)
    if not os.environ["PATH"].startswith(folder + ":"):
        os.environ["PATH"] = "%s:%s" % (folder, os.environ["PATH"])
    return "ARCH=arm64", "CROSS_COMPILE=" + prefix


def build_clang(label):
    return build_module(find(label), compiler="clang")


def dkms_skips(headers):
    """Whether dkms leaves this kernel out: of what dkms.conf names, a symbol has
    to be set, and one behind a ! must not be."""
    with open(os.path.join(TOP, "kmod/dkms.conf")) as f:
        words = re.search(r'^BUILD_EXCLUSIVE_CONFIG="(.*)"$', f.read(),
                          re.M).group(1).split()
    with open(headers + "/include/config/auto.conf") as f:
        have = set(re.findall(r"^(CONFIG_\w+)=[ym]$", f.read(), re.M))
    return any((w.lstrip("!") in have) == w.startswith("!") for w in words)


def build_no_pages(label):
    """A kernel without page tracing: the build says so, and dkms skips it."""
    kernel = find(label)
    said = compile_module(kernel)[1]
    if not re.search("this is a real-time kernel .*the rate profiler only",
                     said):
        raise Error("the build does not say that there is no page tracing\n" +
                    said)
    if not dkms_skips(kernel.headers):
        raise Error("by dkms.conf, dkms builds the module for " +
                    kernel.release)


def build_dkms(label):
    """As dkms does it: from what install-dkms installs, by the commands of
    dkms.conf."""
    kernel = find(label)
    if dkms_skips(kernel.headers):
        raise Error("by dkms.conf, dkms skips " + kernel.release)
    root = os.path.join(WORK, "dkms", label)
    shutil.rmtree(root, ignore_errors=True)
    env = {k: v for k, v in os.environ.items() if k not in (
        "BUILD", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MOCA", "TOP")}
    p = subprocess.run(["make", "-s", "-C", TOP, "install-dkms",
                        "DESTDIR=" + root], env=env, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if p.returncode:
        raise Error("cannot install the module's sources\n" + p.stdout)
    # dkms builds in a copy: TREE/NAME/VERSION/build.
    source, = glob.glob(root + "/usr/src/moca-*")
    version = source.rpartition("-")[2]
    shutil.copytree(source, "%s/tree/moca/%s/build" % (root, version))
    p = subprocess.run(["bash", "-euc", '. "$0"; eval "${MAKE[0]}"',
                        source + "/dkms.conf"], text=True,
                       env={**env, "dkms_tree": root + "/tree",
                            "kernel_source_dir": kernel.headers},
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    made = "%s/tree/moca/%s/build/moca.ko" % (root, version)
    if p.returncode or not os.path.exists(made):
        raise Error("cannot build the module as dkms does\n" + p.stdout)
    return [made]


def build_debug_kernel(jobs):
    """From Debian's sources, of which one version is kept; the compiler's
    output goes to a log. Nothing is done if nothing has changed."""
    base, package = debug_folder(), "linux-source-" + DEBUG_SERIES
    src, obj, log = base + "/src", base + "/obj", base + "/build.log"
    with Lock(base):
        if not os.path.isdir(src):
            deb = download(package, "", os.path.join(WORK, "debs"))
            unpack(deb, base + "/deb")
            os.unlink(deb)
            os.makedirs(src + ".part", exist_ok=True)
            rc, _, why = output(
                "tar", "xf", "%s/deb/usr/src/%s.tar.xz" % (base, package),
                "--strip-components=1", "-C", src + ".part")
            if rc:
                raise Error("cannot unpack %s: %s" % (package, why))
            shutil.rmtree(base + "/deb")
            os.rename(src + ".part", src)
        make = ["make", "-s", "-C", src, "O=" + obj, "-j%d" % jobs]
        env = {k: v for k, v in os.environ.items() if k not in (
            "BUILD", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        fragment = os.path.join(TOP, "kmod/vm/debug.config")
        with open(log, "w") as f:
            def step(*argv):
                if subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=f,
                                  stderr=f, env=env).returncode:
                    raise Error("cannot build the debug kernel: %s failed, "
                                "see %s" % (" ".join(argv), log))
            # A configuration that is made again compiles nothing again.
            step(*make, "tinyconfig")
            with open(fragment) as given, open(obj + "/.config", "a") as c:
                lines = given.read()
                c.write(lines)
            step(*make, "olddefconfig")
            with open(obj + "/.config") as c:
                have = set(c.read().splitlines())
            lost = [l for l in lines.splitlines()
                    if l.startswith("CONFIG_") and l not in have]
            if lost:
                raise Error("the debug kernel's configuration does not take "
                            "%s" % ", ".join(lost))
            step(*make, "bzImage", "modules")
    return debug_kernel()


def find(label):
    return debug_kernel() if label == DEBUG else \
        fetched_kernel(label) if label in FETCHED else \
        arm64_guest(label) if label in ARM64 else debian_kernel(label)


def build_module(kernel, source=None, *arguments, compiler="gcc"):
    """The paths of the modules that a folder (default: kmod/) makes; arguments
    are make's."""
    return compile_module(kernel, source, *arguments, compiler=compiler)[0]


def compile_module(kernel, source=None, *arguments, compiler="gcc"):
    """As build_module(): the paths, and what the build said."""
    source = source or os.environ.get("MOCA_KMOD") or os.path.join(TOP, "kmod")
    headers = kernel.headers
    if kernel.machine == "arm64":
        arguments = (*arm64_arguments(), *arguments)
    if not headers:
        headers = fetched_headers(kernel)
        arguments = (*foreign_arguments(compiler), *arguments)
    out = os.path.join(BUILD, os.path.basename(source.rstrip("/")),
                       kernel.release)
    if compiler == "clang":
        headers, out = clang_headers(headers, kernel.release), out + "-clang"
    p = subprocess.run([os.path.join(TOP, "kmod/vm/build-module"),
                        headers, out, source, "--", "KCFLAGS=-Werror",
                        *arguments],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True)
    made = sorted(glob.glob(out + "/*.ko"))
    if p.returncode or not made:
        raise Error("cannot build the module of %s for %s\n%s" %
                    (source, kernel.release, p.stdout.strip()))
    return made, p.stdout


def main(argv):
    """usage: kernels.py build|arm64|debug [KERNEL]...: what make calls."""
    labels = argv[1:] or STOCK
    try:
        if argv[:1] == ["build"]:
            made = [m for l in labels for m in build_module(find(l))]
        elif argv[:1] == ["arm64"]:
            made = [m for l in labels for m in build_arm64(l)]
        elif argv[:1] == ["debug"]:
            made = [build_debug_kernel(os.cpu_count()).image]
        else:
            print(main.__doc__, file=sys.stderr)
            return 2
    except Error as e:
        print("moca: %s" % e, file=sys.stderr)
        return 1
    print("\n".join(os.path.relpath(m) for m in made))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: GPL-2.0-only
"""The initramfs of a guest: a cpio archive ("newc") made in memory."""
import glob
import lzma
import os
import re
import stat
import subprocess

from kernels import Error


class Image:
    def __init__(self):
        self.parts, self.paths, self.inode = [], set(), 0
        self.data = {}
        for d in ("bin", "dev", "etc", "lib", "out", "proc", "sys", "tests",
                  "tmp", "usr", "usr/bin"):
            self.folder(d)
        # Before devtmpfs there is the console only.
        self.entry("dev/console", stat.S_IFCHR | 0o600, b"", rdev=(5, 1))

    def entry(self, path, mode, data, rdev=(0, 0)):
        self.inode += 1
        name = path.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, *rdev,
                  len(name), 0)
        head = b"070701" + b"".join(b"%08x" % f for f in fields) + name
        self.parts += [head, bytes(-len(head) % 4), data,
                       bytes(-len(data) % 4)]
        self.paths.add(path)

    def folder(self, path):
        if path and path not in self.paths:
            self.folder(os.path.dirname(path))
            self.entry(path, stat.S_IFDIR | 0o755, b"")

    def file(self, path, data, mode=0o755):
        """path without the first slash; data is bytes."""
        if self.data.setdefault(path, data) != data:
            raise Error("two different files are to be the guest's /%s" % path)
        if path not in self.paths:
            self.folder(os.path.dirname(path))
            self.entry(path, stat.S_IFREG | mode, data)

    def copy(self, source, path):
        try:
            with open(source, "rb") as f:
                self.file(path, f.read())
        except OSError as e:
            raise Error("cannot put %s into the guest: %s" %
                        (source, e.strerror))

    def program(self, source, path, root=""):
        """A program and the libraries that ldd finds, at the same paths; or, of
        another machine's, those below root."""
        self.copy(source, path)
        if root:
            self._libraries(source, root)
            return
        p = subprocess.run(["ldd", source], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
        if p.returncode:  # static, or a script
            return
        missing = re.findall(r"(\S+) => not found", p.stdout)
        if missing:
            raise Error("cannot put %s into the guest: it needs %s" %
                        (source, ", ".join(missing)))
        for lib in re.findall(r"(/\S+) \(0x", p.stdout):
            self.copy(lib, os.path.normpath(lib).lstrip("/"))

    def _libraries(self, source, root):
        p = subprocess.run(["readelf", "-dlW", source], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True)
        for name in re.findall(r"NEEDED.*\[(.*)\]|interpreter: /lib/(.*)\]",
                               p.stdout):
            name = "".join(name)
            path = "lib/" + name
            found = glob.glob("%s/**/%s" % (root, name), recursive=True)
            if path in self.paths or name.startswith("libmoca"):
                continue
            if not found:
                raise Error("cannot put %s into the guest: it needs %s" %
                            (source, name))
            self.copy(found[0], path)
            self._libraries(found[0], root)

    def modules(self, kernel, names):
        """The kernel's own modules with what they depend on; their paths in
        the guest, in the order of loading."""
        order = []
        for name in names:
            self._module(kernel, name, order)
        return order

    def _module(self, kernel, name, order):
        name = name.replace("_", "-")
        path = "lib/modules/%s.ko" % name
        if path in order or not kernel.modules:
            return
        # In file names both - and _ are usual.
        pattern = re.sub("-", "[-_]", name)
        found = glob.glob("%s/kernel/**/%s.ko*" % (kernel.modules, pattern),
                          recursive=True)
        if not found:
            with open(kernel.modules + "/modules.builtin") as f:
                if re.search("/%s.ko$" % pattern, f.read(), re.M):
                    return
            raise Error("the kernel %s has no module %s" %
                        (kernel.release, name))
        with (lzma.open if found[0].endswith(".xz") else open)(
                found[0], "rb") as f:
            data = f.read()
        m = re.search(rb"\0depends=([^\0]*)\0", data)
        for needed in m.group(1).decode().split(",") if m else ():
            if needed:
                self._module(kernel, needed, order)
        self.file(path, data)
        order.append(path)

    def write(self, path):
        self.entry("TRAILER!!!", 0, b"")
        with open(path, "wb") as f:
            f.write(b"".join(self.parts))

# SPDX-License-Identifier: LGPL-2.1-or-later
"""What goes wrong, said as the command moca says it."""
import errno
import os


class Error(Exception):
    """A trace that cannot be read, or something that is missing for it. `errno`
    is libmoca's error, or None."""

    def __init__(self, message, number=None):
        super().__init__(message)
        self.errno = number


class DamageWarning(UserWarning):
    """Parts of a trace are damaged and were left out."""


def opening(path, number):
    """The error of a trace that cannot be opened."""
    said = {
        errno.ENOENT: "'%s' is not a trace: no such directory, or no file "
                      "'metadata' in it (give the directory that 'moca record "
                      "-o' wrote)",
        errno.EPROTO: "'%s' was written by a newer moca than this one: update "
                      "moca to read it",
        errno.EBADMSG: "'%s' is not a readable trace: its file 'metadata' is "
                       "damaged or of another program",
        errno.EACCES: "cannot read '%s': permission denied (traces are private "
                      "to who recorded them: read it as that user or as root)",
    }
    said[errno.ENOTDIR] = said[errno.ENOENT]
    said[errno.EPERM] = said[errno.EACCES]
    text = said.get(number)
    if text:
        return Error(text % path, number)
    return Error("cannot open the trace '%s': %s" % (
        path, os.strerror(number)), number)


def reading(path, number):
    return Error("cannot read the trace '%s': %s" % (
        path, os.strerror(number)), number)

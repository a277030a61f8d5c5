# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables that libmoca has not: what the command moca computes, as data structures."""
import collections
import json
import os
import shutil
import subprocess
import tempfile
import warnings

from . import library
from .errors import DamageWarning, Error
from .table import Table

# What moca says when it has told all the rest, and ends with 1.
DAMAGED = "damaged and were left out"


def find():
    """The command moca: MOCA_COMMAND, beside the package, or in PATH."""
    path = (os.environ.get("MOCA_COMMAND") or library.beside("bin", "moca") or
            shutil.which("moca"))
    if not path:
        raise Error("data structures and SQL are computed by the command moca, "
                    "which is not in PATH; install it (Debian: moca), or name "
                    "it by MOCA_COMMAND")
    return path


def _start(arguments, errors, **more):
    path = find()
    try:
        return subprocess.Popen([path, *arguments], stdout=subprocess.PIPE,
                                stderr=errors, **more)
    except OSError as e:
        raise Error("cannot start '%s': %s (it computes data structures and "
                    "SQL)" % (path, e.strerror), e.errno) from None


def _end(process, errors):
    """After all output: an error of the command is one here."""
    code = process.wait()
    errors.seek(0)
    said = errors.read().decode(errors="backslashreplace").strip()
    if not code:
        return
    if code == 1 and DAMAGED in said:
        warnings.warn(said, DamageWarning, stacklevel=4)
        return
    raise Error(said or "'%s' ended with %d and said nothing" % (
        process.args[0], code))


class Rows(list):
    """The rows of a statement, named tuples; `columns` has their names."""

    def __init__(self, rows, columns):
        super().__init__(rows)
        self.columns = columns

    def to_pandas(self):
        from .table import pandas
        return pandas().DataFrame.from_records(
            [tuple(r) for r in self], columns=list(self.columns))


def _row_type(columns):
    """Names of SQL that are none of Python's become _1, by their place."""
    return collections.namedtuple("Row", columns, rename=True)


def query(path, sql):
    """The rows of one SELECT of `moca query`."""
    with tempfile.TemporaryFile() as errors, \
            tempfile.TemporaryFile() as statement:
        # By a file: so it may be of any length, and begin with any byte.
        statement.write(sql.encode())
        statement.seek(0)
        process = _start(["query", "--json", path, "-"], errors,
                         stdin=statement)
        with process.stdout:
            text = process.stdout.read()
        _end(process, errors)
    rows = json.loads(text, object_pairs_hook=tuple) if text.strip() else []
    if not rows:
        return Rows([], ())
    columns = tuple(name for name, _ in rows[0])
    make = _row_type(columns)
    return Rows((make(*(value for _, value in row)) for row in rows), columns)


class CommandTable(Table):
    """A table of `moca query`, one row after the other."""

    def __init__(self, path, name):
        self._path, self.name = path, name
        self._columns = None

    def columns(self):
        if self._columns is None:
            with tempfile.TemporaryFile() as errors:
                process = _start(
                    ["export", self._path, "--to", "csv", "--table", self.name,
                     "--until", "1ns", "-q", "-o", "-"], errors,
                    stdin=subprocess.DEVNULL)
                with process.stdout:
                    heading = process.stdout.readline().decode()
                    while process.stdout.read(1 << 16):
                        pass
                _end(process, errors)
            self._columns = tuple(heading.rstrip("\n").split(","))
        return self._columns

    def __iter__(self):
        errors = tempfile.TemporaryFile()
        process = None
        try:
            process = _start(
                ["export", self._path, "--to", "jsonl", "--table", self.name,
                 "-q", "-o", "-"], errors, stdin=subprocess.DEVNULL)
            make = None
            for line in process.stdout:
                row = json.loads(line)
                if make is None:
                    self._columns = tuple(row)
                    make = _row_type(self._columns)
                yield make(*row.values())
            _end(process, errors)
        finally:
            if process:
                process.stdout.close()
                # Who stops reading early wants no more of it.
                if process.poll() is None:
                    process.kill()
                process.wait()
            errors.close()

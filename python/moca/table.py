# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables: iterators of named tuples, which numpy and pandas take as well where they are
installed."""
import warnings

from .errors import Error


def numpy():
    try:
        import numpy as module
    except ImportError:
        raise Error("arrays need numpy, which cannot be imported; install it "
                    "(Debian: python3-numpy)") from None
    return module


def pandas():
    try:
        with warnings.catch_warnings():
            # Of what it recommends besides.
            warnings.simplefilter("ignore")
            import pandas as module
    except ImportError:
        raise Error("data frames need pandas, which cannot be imported; install "
                    "it (Debian: python3-pandas)") from None
    return module


class Table:
    """Rows that are made while they are read, anew in each iteration."""

    name = ""

    def columns(self):
        """The names of the columns."""
        raise NotImplementedError

    def __iter__(self):
        raise NotImplementedError

    def to_pandas(self):
        """All rows as a pandas.DataFrame."""
        return pandas().DataFrame.from_records(
            list(self), columns=list(self.columns()))

    def to_numpy(self):
        """All rows as a record array; texts, and columns with a None, are of
        Python's objects."""
        np = numpy()
        rows = [tuple(r) for r in self]
        types = []
        for i, name in enumerate(self.columns()):
            kinds = {type(r[i]) for r in rows}
            kind = object
            if kinds == {int}:
                least, most = min(r[i] for r in rows), max(r[i] for r in rows)
                if least >= -1 << 63 and most < 1 << 63:
                    kind = np.int64
                elif least >= 0 and most < 1 << 64:
                    kind = np.uint64
            elif kinds and kinds <= {int, float}:
                kind = np.float64
            types.append((name, kind))
        return np.array(rows, dtype=types)

    def __repr__(self):
        return "<moca table %s: %s>" % (self.name, ", ".join(self.columns()))
